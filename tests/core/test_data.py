"""Data: where it starts, keyframes, and that it shares no memory with the model."""

import jax
import numpy as np
import pytest

import jaxsim as js

MOCAP = """
<mujoco>
  <worldbody>
    <body name="target" mocap="true" pos="1 2 3"><geom size="1"/></body>
    <body pos="0 0 9"><freejoint/><geom size="1"/></body>
  </worldbody>
  <keyframe><key name="up" mpos="4 5 6" mquat="0 1 0 0" qpos="7 8 9 0 1 0 0" time="2"/></keyframe>
</mujoco>
"""


@pytest.fixture(scope="module")
def model():
    return js.load(MOCAP)


def test_starts_at_qpos0(model):
    data = js.make_data(model)
    np.testing.assert_array_equal(data.qpos, model.qpos0)
    np.testing.assert_array_equal(data.mocap_pos, [[1, 2, 3]])


@pytest.mark.parametrize("key", ["up", 0])
def test_keyframe(model, key):
    data = js.make_data(model, keyframe=key)
    np.testing.assert_array_equal(data.mocap_pos, [[4, 5, 6]])
    np.testing.assert_array_equal(data.mocap_quat, [[0, 1, 0, 0]])
    np.testing.assert_array_equal(data.qpos, [7, 8, 9, 0, 1, 0, 0])
    assert data.time == 2


@pytest.mark.parametrize("key", ["down", 1, -1])
def test_keyframe_that_does_not_exist(model, key):
    with pytest.raises(KeyError):
        js.make_data(model, keyframe=key)


def test_data_may_be_donated(model):
    """Data has its own memory, so giving it away leaves the model whole."""
    data = js.make_data(model)
    push = jax.jit(lambda data: data.replace(qpos=data.qpos + 1), donate_argnums=0)
    moved = push(data)
    np.testing.assert_array_equal(moved.qpos, np.asarray(model.qpos0) + 1)
