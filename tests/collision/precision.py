"""Errors of single precision as PRECISION.md states them, and poses that are exact far from the origin."""

import re
from pathlib import Path

import numpy as np

import jaxsim
from jaxsim.core.enums import GeomType as G

TABLE = Path(jaxsim.__file__).parent / "collision" / "PRECISION.md"
FAR = np.array([1024.0, -1024.0, 0])  # m
AFAR = 1.3e-4  # m: single precision tells positions apart by 1.2e-4 there
SPACING = 2.0**-12  # m: multiples of it are exact at FAR


def rounded(pos: np.ndarray) -> np.ndarray:
    """Positions (m) that single precision has both near the origin and far away."""
    return np.round(pos / SPACING) * SPACING


def stated(pair: tuple[int, int]) -> tuple[float, float, float]:
    """Distance (m), position (m) and normal: how far off they are at most, the last two in 19 of 20 poses."""
    name = " - ".join(G(k).name.lower() for k in pair)
    row = re.search(rf"^\| {name} \| (\S+) \| (\S+) \| (\S+) \|$", TABLE.read_text(), re.MULTILINE)
    assert row, f"{TABLE} has no row for {name}"
    return tuple(float(x) for x in row.groups())


def assert_within_table(pair: tuple[int, int], double: np.ndarray, single: np.ndarray) -> None:
    """Errors of rows [n, 7] of distance, position and normal are as stated."""
    error = np.abs(single - double)
    most = error[:, 0].max(), *(np.quantile(error[:, k].max(axis=1), 0.95) for k in (slice(1, 4), slice(4, 7)))
    expected = stated(pair)
    assert all(found <= bound for found, bound in zip(most, expected)), (most, expected)
