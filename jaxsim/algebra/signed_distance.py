"""Signed distances of the shapes of MuJoCo's plugins mujoco.sdf.*, for arrays of numpy or of JAX.

Each is a function of points [..., 3] (m) and of constants [k] that follow from the plugin's attributes; it gives
[..., 1] (m), negative inside, which is exact only for the torus and bounds the distance from below for the others.
Shapes, attributes and bounding boxes are those of MuJoCo's plugin/sdf. Angles are in rad.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.arrays import Array, namespace

PITCH = 12  # turns of a screw's thread per m
SLOPE = float(np.sqrt(2.0) / 2)

Constants = Sequence[float] | Array


class Plugin(NamedTuple):
    """A kind of shape: its attributes with their defaults; from their values, half sizes of its box and constants."""

    defaults: dict[str, float]
    half: Callable[..., tuple[float, float, float]]
    constants: Callable[..., tuple[float, ...]]
    distance: Callable[[Array, Constants], Array]


def _length(a: Array, b: Array) -> Array:
    """sqrt(a^2 + b^2), with derivative zero at zero."""
    xp, square = namespace(a, b), a * a + b * b
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, 1)), 0)


def _azimuth(x: Array, y: Array) -> Array:
    """Angle about the z axis, zero on it."""
    xp = namespace(x, y)
    return xp.arctan2(y, xp.where((x == 0) & (y == 0), 1, x))


def _torus(p: Array, c: Constants) -> Array:
    x, y, z = vector.columns(p)
    return _length(_length(x, y) - c[0], z) - c[1]


def _bowl(p: Array, c: Constants) -> Array:
    height, radius, thickness, width = (c[i] for i in range(4))
    x, y, z = vector.columns(p)
    xp, across = namespace(x), _length(x, y)
    rim = _length(across - width, z - height)
    shell = xp.abs(_length(across, z) - radius)
    return xp.where(height * across < width * z, rim, shell) - thickness


def _thread(z: Array, angle: Array, outside: Array) -> Array:
    """Distance from a helical ridge around the z axis; `outside` is the distance from its core."""
    xp = namespace(z)
    turn = z * PITCH - angle / np.pi / 2
    ridge = xp.abs(turn - xp.floor(turn) - 0.5)
    return (outside - ridge / PITCH) * SLOPE


def _hexagon(x: Array, y: Array, z: Array, angle: Array, outside: Array) -> Array:
    """Distance from a hexagonal head below the origin, with a chamfer."""
    xp, sector = namespace(x), 6 / np.pi / 2
    angle = -xp.floor(angle * sector + 0.5) / sector
    head = xp.sin(angle + np.pi * 0.5) * x - xp.sin(angle) * y - 0.5
    head = xp.maximum(head, xp.abs(z + 0.25) - 0.25)
    return xp.maximum(head, (z + outside - 0.22) * SLOPE)


def _bolt(p: Array, c: Constants) -> Array:
    x, y, z = vector.columns(p)
    xp, angle, outside = namespace(x), _azimuth(x, y), _length(x, y) - c[0]
    bolt = xp.maximum(_thread(z, angle, outside), xp.abs(z + 0.5) - 0.5)
    bolt = xp.maximum(bolt, -((z - outside) * SLOPE + SLOPE))
    return xp.minimum(bolt, _hexagon(x, y, z, angle, outside))


def _nut(p: Array, c: Constants) -> Array:
    x, y, z = vector.columns(p)
    xp, angle, outside = namespace(x), _azimuth(x, y), _length(x, y) - c[0]
    cone = (z - outside) * SLOPE
    hole = xp.maximum(_thread(z, angle, outside), -(cone + 0.5 * SLOPE))
    hole = xp.minimum(hole, -cone - 0.05 * SLOPE)
    return xp.maximum(_hexagon(x, y, z, angle, outside), -hole)


def _smooth_union(a: Array, b: Array, width: float) -> Array:
    share = namespace(a, b).clip(0.5 + 0.5 * (b - a) / width, 0, 1)
    return b * (1 - share) + a * share - width * share * (1 - share)


def _smooth_intersection(a: Array, b: Array, width: float) -> Array:
    xp = namespace(a, b)
    return xp.maximum(xp.maximum(a, b), -_smooth_union(xp.maximum(a, -b), xp.maximum(b, -a), width))


def _gear(p: Array, c: Constants) -> Array:
    x, y, z = vector.columns(p)
    xp, flat = namespace(x), _gear_section(x, y, c)
    tall = xp.abs(z) - c[9]
    return xp.minimum(xp.maximum(flat, tall), 0) + _length(xp.maximum(flat, 0), xp.maximum(tall, 0))


def _gear_section(x: Array, y: Array, c: Constants) -> Array:
    """Involute teeth around a ring."""
    turned, stride, shift, base, outer, root, inner, blend, fillet = (c[i] for i in range(9))
    xp, rho = namespace(x), _length(x, y)
    angle = _azimuth(x, y) + turned

    def within(value: Array) -> Array:
        value = value + shift / 2
        return value - stride * xp.floor(value / stride) - shift / 2

    left, right = within(angle), within(-angle - shift)
    beyond = rho > base
    ratio = base / xp.where(beyond, rho, 2 * base)
    bend = xp.arccos(ratio)
    tangent = base * xp.sqrt(1 - ratio * ratio) / ratio  # sqrt(rho^2 - base^2)
    flanks = tangent - base * (bend + xp.minimum(left, right))
    cogs = xp.where(beyond, flanks, -1e6)
    cogs = xp.maximum(xp.maximum(left, right) - (stride - shift), cogs)
    cogs = _smooth_intersection(rho - outer, cogs, blend)
    cogs = _smooth_union(rho - root, cogs, fillet)
    cogs = xp.maximum(cogs, -(rho - inner))
    return xp.where(inner > rho, inner - rho, xp.where(outer - rho < -0.2, rho - outer, cogs))


def _gear_constants(
    alpha: float, diameter: float, teeth: float, thickness: float, innerdiameter: float
) -> tuple[float, ...]:
    """Of a gear, `diameter` being that of its pitch circle."""
    teeth, diameter = np.float64(teeth), np.float64(diameter)
    pressure = 3.096e-5 * teeth * teeth - 6.557e-3 * teeth + 0.551  # angle, a fit over the number of teeth
    module = diameter / teeth
    outer = diameter / 2 + module
    depth = 2.2 * module
    inner = innerdiameter / 2 if innerdiameter >= 0 else outer - depth - 0.14 * diameter
    base = diameter * np.cos(pressure) / 2
    stride = 2 * np.pi * module / diameter
    involute = np.arccos(2 * base / diameter)
    shift = stride / 2 - 2 * (np.tan(involute) - involute)
    fillet = base - outer + depth
    return alpha, stride, shift, base, outer, outer - depth, inner, 0.0035 * diameter, fillet, thickness / 2


PLUGINS = {
    "torus": Plugin({"radius1": 0.35, "radius2": 0.15}, lambda a, b: (a + b, a + b, b), lambda a, b: (a, b), _torus),
    "bowl": Plugin(
        {"height": 0.4, "radius": 1.0, "thickness": 0.02},
        lambda h, r, t: (r + t,) * 3,
        lambda h, r, t: (h, r, t, float(np.sqrt(np.float64(r * r - h * h)))),
        _bowl,
    ),
    "bolt": Plugin({"radius": 0.26}, lambda r: (0.6, 0.6, 1.0), lambda r: (r,), _bolt),
    "nut": Plugin({"radius": 0.26}, lambda r: (0.6, 0.6, 1.0), lambda r: (r,), _nut),
    "gear": Plugin(
        {"alpha": 0.0, "diameter": 2.8, "teeth": 25.0, "thickness": 0.2, "innerdiameter": -1.0},
        lambda a, d, n, t, i: (d / 2 * 1.25, d / 2 * 1.25, t / 2 * 1.1),
        _gear_constants,
        _gear,
    ),
}
NAMES = tuple(PLUGINS)
MOST_CONSTANTS = 10


def values_of(kind: str, config: dict[str, str]) -> list[float]:
    """The values of a plugin's attributes, in its order, from those written; empty ones keep their default."""
    return list((PLUGINS[kind].defaults | {key: float(text) for key, text in config.items() if text}).values())
