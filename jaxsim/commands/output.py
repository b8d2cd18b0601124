"""What the commands print: tables for people, one JSON object for programs; progress goes to stderr."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text


def stderr() -> Console:
    """Where progress and remarks go."""
    return Console(stderr=True, highlight=False)


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON does not know become null."""
    print(json.dumps(_plain(record), allow_nan=False))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], justify: Literal["left", "right"] = "right"
) -> None:
    """Print a table: the first column to the left, the others as asked."""
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(Text(column), justify=justify if i else "left", header_style="dim", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell if isinstance(cell, str) else number(cell)) for cell in row))
    console = Console(highlight=False)
    console.print(Text(title, style="bold"))
    console.print(table)
    console.print()


def number(value: Any) -> str:
    """A number for people: whole ones with thousands apart, others to three or four digits."""
    if value is None:
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if not math.isfinite(value):
        return str(float(value))
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def count(n: int, noun: str) -> str:
    """`1 world`, `1,024 worlds`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def size(amount: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
