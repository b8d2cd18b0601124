"""What the compiler calls a unit vector, a zero length and no rotation; all else about vectors is jaxsim.algebra's."""

import math

import numpy as np

Array = np.ndarray
EPS = 1e-14  # mjEPS: below this a length counts as zero
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
ZERO = np.zeros(3)
IDENTITY.setflags(write=False)
ZERO.setflags(write=False)


def normalize(vec: Array) -> tuple[Array, float]:
    """One vector [n] at unit length, and its length; a shorter one than EPS stays as it is, with length 0.

    So the compiler does it (MuJoCo: mjuu_normvec); `algebra.vector.normalize` is what the engine does.
    """
    square = float(vec @ vec)
    if square < EPS:
        return vec, 0.0
    length = math.sqrt(square)
    return (vec / length if abs(length - 1) > EPS else vec), length


def unit(vec: Array) -> Array:
    """One vector [n] at unit length, unless it is zero."""
    return normalize(vec)[0]
