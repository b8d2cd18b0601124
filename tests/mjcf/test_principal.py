"""Principal axes as MuJoCo chooses them, for inertias with and without equal moments."""

import mujoco
import numpy as np
import pytest

from jaxsim.mjcf.algebra.principal import principal_axes

BODY = (
    '<mujoco><worldbody><body><freejoint/><inertial pos="0 0 0" mass="1" fullinertia="{}"/></body></worldbody></mujoco>'
)
MOMENTS = [(1, 1.2, 1.9), (1.9, 1.2, 1), (1, 1, 1), (1, 1, 1.5), (1.5, 1, 1), (1, 1.5, 1), (1, 1 + 1e-6, 1.5)]


def rotations() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(4)]
    slight = np.array([[1, -1e-9, 0], [1e-9, 1, 0], [0, 0, 1]])
    return [np.eye(3), slight, *(q * np.linalg.det(q) for q in turns)]


@pytest.mark.parametrize("scale", [1e-6, 1, 1e4])
@pytest.mark.parametrize("moments", MOMENTS)
def test_equals_mujoco(moments, scale):
    for turn in rotations():
        inertia = turn @ np.diag(moments) @ turn.T * scale
        full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        expected = mujoco.MjModel.from_xml_string(BODY.format(" ".join(repr(float(x)) for x in full)))
        quat, values = principal_axes(full)
        np.testing.assert_allclose(values, expected.body_inertia[1], rtol=1e-12)
        np.testing.assert_allclose(quat, expected.body_iquat[1], atol=1e-7)


def test_axes_diagonalise():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    inertia = root @ root.T
    quat, values = principal_axes(inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    mat = np.zeros(9)
    mujoco.mju_quat2Mat(mat, quat)
    axes = mat.reshape(3, 3)
    np.testing.assert_allclose(axes @ np.diag(values) @ axes.T, inertia, atol=1e-12)
    assert values[0] >= values[1] >= values[2]
