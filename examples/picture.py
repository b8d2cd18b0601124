"""Line plots as SVG, a few KB each, for the other examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

COLOURS = ("#d1495b", "#00798c", "#edae49", "#66a182", "#5f4b8b", "#2e4057")
WIDTH, HEIGHT = 620, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 34, 44  # margins
POINTS = 120  # of a curve, at most


class Curve(NamedTuple):
    """Points x [n], y [n] of one line; dashed ones are for what is to be met."""

    x: np.ndarray
    y: np.ndarray
    dashed: bool = False


def draw(
    path: Path, title: str, x_label: str, curves: Mapping[str, Curve | Sequence[Curve]], logarithmic: bool = False
) -> None:
    """Write a plot of lines by name, each in a colour of its own; several lines of one name share it.

    Args:
        path: where to.
        title: what is seen, with the unit of y.
        x_label: what x is, with its unit.
        curves: lines by name.
        logarithmic: whether y is drawn by its logarithm.
    """
    groups = {name: [lines] if isinstance(lines, Curve) else list(lines) for name, lines in curves.items()}
    every = [line for lines in groups.values() for line in lines]
    up = np.log10 if logarithmic else np.asarray
    x_ticks, y_ticks = (
        ticks(np.concatenate([np.asarray(f(getattr(c, a))) for c in every])) for a, f in (("x", np.asarray), ("y", up))
    )
    across = lambda x: LEFT + (WIDTH - LEFT - RIGHT) * (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])  # noqa: E731
    down = lambda y: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])  # noqa: E731
    parts = [_grid(x_ticks, y_ticks, across, down, logarithmic)]
    for i, (name, lines) in enumerate(groups.items()):
        colour = COLOURS[i % len(COLOURS)]
        parts += [_line(across(c.x), down(up(c.y)), colour, c.dashed) for c in lines]
        parts.append(f'<text x="{LEFT + 10}" y="{TOP + 16 * (i + 1)}" fill="{colour}">{name}</text>')
    Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="13"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{"".join(parts)}'
        f'<text x="{LEFT}" y="20">{title}</text>'
        f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text></svg>\n'
    )
    print("wrote", path)


def ticks(values: np.ndarray) -> np.ndarray:
    """About six round numbers from below the least to above the largest."""
    low, high = float(np.min(values)), float(np.max(values))
    rough = max(high - low, 1e-12) / 5
    unit = 10 ** np.floor(np.log10(rough))
    step = unit * next(s for s in (1, 2, 5, 10) if s * unit >= rough)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return step * np.arange(first, max(last, first + 1) + 1)


def _line(x: np.ndarray, y: np.ndarray, colour: str, dashed: bool) -> str:
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).astype(int))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(np.asarray(x)[chosen], np.asarray(y)[chosen]))
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>'


def _grid(x_ticks: np.ndarray, y_ticks: np.ndarray, across, down, logarithmic: bool) -> str:
    parts = []
    for x in x_ticks:
        parts.append(f'<path d="M{across(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e6e6e6"/>')
        parts.append(f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:.4g}</text>')
    for y in y_ticks:
        parts.append(f'<path d="M{LEFT} {down(y):.1f}H{WIDTH - RIGHT}" stroke="#e6e6e6"/>')
        label = f"1e{y:.3g}" if logarithmic else f"{y:.4g}"
        parts.append(f'<text x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{label}</text>')
    return "".join(parts)
