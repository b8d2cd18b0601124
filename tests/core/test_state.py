"""The state as a vector, beside mj_getState."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js

SCENE = """
<mujoco>
  <size nuserdata="3"/>
  <worldbody>
    <body mocap="true" name="m"><geom size=".1"/></body>
    <body pos="0 0 1" name="b"><freejoint/><geom size=".1"/>
      <body><joint name="j" stiffness="1" springyield=".1"/><geom size=".1" pos=".2 0 0"/></body></body>
  </worldbody>
  <equality><connect body1="m" body2="b" anchor="0 0 0" active="false"/></equality>
  <actuator><general joint="j" dyntype="filter" dynprm=".1" gainprm="1"/><motor joint="j" delay=".01" nsample="6"/></actuator>
</mujoco>
"""


def test_every_signature_is_mujocos(rng):
    mj, model = mujoco.MjModel.from_xml_string(SCENE), js.load(SCENE)
    d, full = mujoco.MjData(mj), int(js.State.INTEGRATION)
    everything = rng.normal(size=mujoco.mj_stateSize(mj, full))
    mujoco.mj_setState(mj, d, everything, full)
    data = js.put_data(model, d)
    assert {int(v) for v in mujoco.mjtState.__members__.values()} >= {int(bit) for bit in js.State}
    for sig in (0, *js.State.__members__.values(), int(js.State.QPOS | js.State.CTRL | js.State.USERDATA), full):
        expected = np.empty(mujoco.mj_stateSize(mj, int(sig)))
        mujoco.mj_getState(mj, d, expected, int(sig))
        assert js.state_size(data, sig) == len(expected)
        np.testing.assert_array_equal(js.get_state(data, sig), expected)
        back = js.set_state(js.make_data(model), js.get_state(data, sig), sig)
        np.testing.assert_array_equal(js.get_state(back, sig), expected)


def test_a_batch_goes_on_bit_for_bit(rng):
    model = js.load(SCENE)
    batch = jax.vmap(lambda v: js.make_data(model).replace(qvel=v, userdata=v[:3]))(
        jnp.asarray(rng.normal(size=(3, model.nv)))
    )
    step = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))
    batch = step(model, step(model, batch))
    saved = js.get_state(batch, js.State.INTEGRATION)
    fresh = jax.vmap(lambda _: js.make_data(model))(jnp.arange(3))
    again = js.set_state(fresh, np.asarray(saved), js.State.INTEGRATION)
    for one, other in zip(*(jax.tree.leaves(js.get_state(step(model, x))) for x in (batch, again))):
        np.testing.assert_array_equal(one, other)


def test_what_does_not_fit_is_refused():
    data = js.make_data(js.load(SCENE))
    with pytest.raises(ValueError, match=r"state has shape \(3,\), expected \(8,\) for sig=2"):
        js.set_state(data, np.zeros(3), js.State.QPOS)
    with pytest.raises(TypeError, match="either fields by name, or a vector and its sig"):
        js.set_state(data, np.zeros(3))
    with pytest.raises(ValueError, match="sig is 32768, expected bits of State, from 0 to 32767"):
        js.get_state(data, 1 << 15)
