"""Compile a height field asset: from a PNG image, a binary file or numbers in the model (mjCHField)."""

from dataclasses import dataclass

import numpy as np

from jaxsim.mjcf.algebra.conventions import EPS
from jaxsim.mjcf.assets.png import read_grey
from jaxsim.mjcf.language.bounds import require_numbers
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray


@dataclass
class HField:
    """A compiled height field.

    size [4]: half lengths along x and y, greatest elevation, depth of the base, metre; data [nrow*ncol]:
    float32 elevations from 0 to 1, row by row from y = -size[1].
    """

    size: Array
    nrow: int
    ncol: int
    data: Array


def compile_hfield(
    *,
    name: str,
    size: Array,
    nrow: int = 0,
    ncol: int = 0,
    elevation: Array | None = None,
    data: bytes | None = None,
    extension: str = "",
) -> HField:
    """Compile one height field; attributes are those of MJCF's <hfield>.

    Args:
        name: of the asset, for messages.
        elevation: nrow*ncol numbers, the top row first; without them and without a file the field is flat.
        data, extension: content of the file, and ".png", or anything else for MuJoCo's binary format. Where there is a
            file, nrow, ncol and elevation do not matter.

    Raises:
        Fault: the height field cannot be compiled, and why.
    """
    try:
        return _compile(np.asarray(size, float), nrow, ncol, elevation, data, extension)
    except (Fault, OverflowError, MemoryError) as error:
        raise Fault(f"height field '{name}': {error}") from None


def _compile(size: Array, nrow: int, ncol: int, elevation: Array | None, data: bytes | None, extension: str) -> HField:
    if size.shape != (4,) or not np.all(size > 0):
        raise Fault("size must be four positive numbers")
    if data is not None:
        values = read_grey(data)[::-1].astype(np.float32) if extension.lower() == ".png" else _binary(data)
        nrow, ncol = values.shape
    elif elevation is not None and np.size(elevation) != nrow * ncol:
        raise Fault(f"elevation has {np.size(elevation)} numbers; nrow={nrow} and ncol={ncol} need {nrow * ncol}")
    if nrow < 2 or ncol < 2:
        raise Fault(f"nrow={nrow} and ncol={ncol}; expected at least 2 of each, or a file")
    require_numbers(nrow * ncol, "elevation")
    if data is None:
        given = np.zeros(nrow * ncol) if elevation is None else np.asarray(elevation)
        values = given.astype(np.float32).reshape(nrow, ncol)[::-1]
    return HField(size, nrow, ncol, _normalised(values).ravel())


def _binary(data: bytes) -> Array:
    """MuJoCo's format: number of rows, number of columns, elevations."""
    if len(data) < 8:
        raise Fault("the file ends before its header does")
    nrow, ncol = (int(n) for n in np.frombuffer(data, "<i4", 2))
    if nrow < 1 or ncol < 1:
        raise Fault(f"the file has {nrow} rows and {ncol} columns")
    if len(data) != 8 + 4 * nrow * ncol:
        raise Fault(f"the file has {len(data)} bytes; {nrow} by {ncol} elevations need {8 + 4 * nrow * ncol}")
    return np.frombuffer(data, "<f4", nrow * ncol, 8).reshape(nrow, ncol)


def _normalised(values: Array) -> Array:
    """Elevations from 0 to 1, in single precision as MuJoCo computes them."""
    if not np.all(np.isfinite(values)):
        raise Fault("an elevation is not finite")
    low, high = values.min(), values.max()
    raised = values - low
    return raised / (high - low) if high - low > EPS else raised
