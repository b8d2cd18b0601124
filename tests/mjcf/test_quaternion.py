"""Quaternions on arrays of the host against MuJoCo's, one at a time and many at once."""

import mujoco
import numpy as np
import pytest

from jaxsim.algebra import quaternion, vector
from jaxsim.mjcf.algebra import conventions, frames


@pytest.fixture
def turns(rng) -> np.ndarray:
    """Unit quaternions [5, 7, 4], two of them a half turn and no turn."""
    quat = rng.normal(size=(5, 7, 4))
    quat[0, 0], quat[1, 1] = [0, 0, 1, 0], [1, 0, 0, 0]
    return vector.normalize(quat)


def each(function, width: int, *arrays: np.ndarray) -> np.ndarray:
    """A function of MuJoCo's, which writes to its first argument, of each row."""
    shape = arrays[0].shape[:-1]
    out = np.zeros((*shape, width))
    for i in np.ndindex(shape):
        function(out[i], *(a[i] for a in arrays))
    return out


def test_equals_mujoco(turns, rng):
    other, vec = turns[::-1], rng.normal(size=(5, 7, 3))
    close = {"rtol": 1e-14, "atol": 1e-15}
    np.testing.assert_allclose(quaternion.mul(turns, other), each(mujoco.mju_mulQuat, 4, turns, other), **close)
    np.testing.assert_allclose(quaternion.conj(turns), each(mujoco.mju_negQuat, 4, turns), **close)
    np.testing.assert_allclose(
        quaternion.rotate(turns, vec),
        each(lambda o, q, v: mujoco.mju_rotVecQuat(o, v, q), 3, turns, vec),
        rtol=1e-13,
        atol=1e-14,
    )
    mats = each(mujoco.mju_quat2Mat, 9, turns)
    np.testing.assert_allclose(quaternion.to_mat(turns), mats, **close)
    vel = each(lambda o, q: mujoco.mju_quat2Vel(o, q, 1.0), 3, turns)
    np.testing.assert_allclose(quaternion.log(turns), vel, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(vector.cross(vec, vec[::-1]), np.cross(vec, vec[::-1]), **close)


def test_one_equals_many(turns):
    many = quaternion.mul(turns, turns[::-1])
    one = quaternion.mul(turns[1, 2], turns[3, 2])
    np.testing.assert_allclose(many[1, 2], one, rtol=1e-15, atol=1e-16)


def test_degenerate_lengths():
    assert conventions.normalize(np.full(3, 1e-9)) == (pytest.approx(np.full(3, 1e-9)), 0.0)
    np.testing.assert_array_equal(vector.normalize(np.zeros((2, 4))), [[1, 0, 0, 0]] * 2)
    np.testing.assert_array_equal(quaternion.log(conventions.IDENTITY), np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        conventions.IDENTITY[0] = 2.0


def test_a_frame_and_its_inverse(turns, rng):
    pos, quat = rng.normal(size=3), turns[2, 3]
    back = frames.invert(pos, quat)
    there, turn = frames.compose(*back, *frames.compose(pos, quat, np.array([1.0, 2, 3]), turns[3, 3]))
    np.testing.assert_allclose(there, [1, 2, 3], rtol=1e-13)
    np.testing.assert_allclose(turn * np.sign(turn @ turns[3, 3]), turns[3, 3], rtol=1e-13)
    mat = quaternion.to_mat(quat).reshape(3, 3)
    again = frames.from_axes(*mat.T)
    np.testing.assert_allclose(again * np.sign(again @ quat), quat, rtol=1e-13)
    np.testing.assert_allclose(
        quaternion.rotate(frames.from_z_axis(mat[:, 2]), np.array([0, 0, 1.0])), mat[:, 2], rtol=1e-12
    )
