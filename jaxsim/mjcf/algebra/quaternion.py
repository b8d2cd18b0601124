"""Vectors, quaternions and rotation matrices on the host, in float64, one or many at a time.

Quaternions are (w, x, y, z). All functions work along the last axes and keep those before: a vector is [..., 3],
a quaternion [..., 4], a matrix [..., 3, 3].
"""

import math

import numpy as np

from jaxsim.core.enums import MINVAL

Array = np.ndarray
EPS = 1e-14  # mjEPS: below this a length counts as zero
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
ZERO = np.zeros(3)
IDENTITY.setflags(write=False)
ZERO.setflags(write=False)


def _product_table() -> Array:
    """[4, 4, 4]: component k of the product of the quaternion units i and j."""
    table = np.zeros((4, 4, 4))
    for i in range(4):
        table[0, i, i] = table[i, 0, i] = 1
        table[i, i, 0] = -1 if i else 1
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        table[i, j, k], table[j, i, k] = 1, -1
    return table


# products and rotations as matrices on the outer product of two quaternions: few operations on many of them, and
# no more time for a single one than its sixteen products written out
_PRODUCT = _product_table()
_ROTATION = np.einsum("ikl,ljm->ijmk", _PRODUCT, _PRODUCT * np.array([1, -1, -1, -1])[:, None])[:, :, 1:, 1:]
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: Array, b: Array) -> Array:
    """Cross products [..., 3]; np.cross takes several times longer for small arrays."""
    return a.take(_NEXT, -1) * b.take(_LAST, -1) - a.take(_LAST, -1) * b.take(_NEXT, -1)


def norm(vec: Array) -> Array:
    """Lengths [...] of vectors [..., n]."""
    return np.sqrt(np.einsum("...k,...k->...", vec, vec))


def times(mat: Array, vec: Array) -> Array:
    """Products of matrices [..., n, k] and vectors [..., k]."""
    return (mat @ vec[..., None])[..., 0]


def normalize(vec: Array) -> tuple[Array, float]:
    """One vector [n] at unit length, and its length; a shorter one than EPS stays as it is, with length 0.

    So the compiler does it (MuJoCo: mjuu_normvec); see `quat_normalize` for what the engine does.
    """
    square = float(vec @ vec)
    if square < EPS:
        return vec, 0.0
    length = math.sqrt(square)
    return (vec / length if abs(length - 1) > EPS else vec), length


def unit(vec: Array) -> Array:
    """One vector [n] at unit length, unless it is zero."""
    return normalize(vec)[0]


def _outer(a: Array, b: Array) -> Array:
    """Products [..., 16] of the components of a and b [..., 4]."""
    both = a[..., :, None] * b[..., None, :]
    return both.reshape(*both.shape[:-2], 16)


def quat_mul(a: Array, b: Array) -> Array:
    """Products of quaternions [..., 4]."""
    return _outer(a, b) @ _PRODUCT.reshape(16, 4)


def quat_conj(quat: Array) -> Array:
    """Inverse of unit quaternions [..., 4]."""
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def quat_normalize(quat: Array) -> Array:
    """Unit quaternions [..., 4]; a null quaternion becomes the identity (mju_normalize4)."""
    length = norm(quat)[..., None]
    null = length < MINVAL
    return np.where(null, IDENTITY, quat / np.where(null, 1.0, length))


def quat_to_mat(quat: Array) -> Array:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4]: the columns are q e_k q*."""
    return (_outer(quat, quat) @ _ROTATION.reshape(16, 9)).reshape(*quat.shape[:-1], 3, 3)


def quat_to_rotvec(quat: Array) -> Array:
    """Rotation vectors [..., 3] in radian, of length at most pi (mju_quat2Vel with dt 1)."""
    axis = quat[..., 1:]
    sine = norm(axis)[..., None]
    angle = 2 * np.arctan2(sine, quat[..., :1])
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return axis / np.where(sine < MINVAL, 1.0, sine) * angle


def rotate(quat: Array, vec: Array) -> Array:
    """Vectors [..., 3] turned by unit quaternions [..., 4]."""
    return times(quat_to_mat(quat), vec)
