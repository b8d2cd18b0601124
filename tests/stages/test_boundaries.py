"""What stages hand to each other is a pytree of arrays: each stage can be jitted and checkpointed on its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.collision.slots import contact_buffer
from jaxsim.constraint.rows import make_constraint
from jaxsim.dynamics.energy import energy
from jaxsim.sensors.table import sensors
from jaxsim.stages import forward as stages
from jaxsim.stages.integrate import integrate

# friction, a limit, a tendon, an equality, a contact; sensors that read all of them
XML = """
<mujoco>
  <option integrator="implicitfast"><flag energy="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="a" pos="0 0 .095"><joint name="z" type="slide" axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0"/>
      <geom size=".1"/><site name="s" size=".2"/>
      <body pos="0 0 .2"><joint name="h" axis="0 1 0" range="-1 .1" frictionloss=".01"/>
        <geom type="capsule" fromto="0 0 0 .1 0 0" size=".02"/><site name="tip" pos=".1 0 0"/></body></body>
  </worldbody>
  <tendon><fixed name="t" limited="true" range="-.01 .01"><joint joint="h" coef=".5"/></fixed></tendon>
  <equality><connect body1="a" anchor="0 0 0" active="false"/><joint joint1="x"/></equality>
  <actuator><motor joint="h"/></actuator>
  <sensor><touch site="s"/><force site="tip"/><accelerometer site="tip"/><jointlimitfrc joint="h"/>
    <tendonlimitpos tendon="t"/></sensor>
</mujoco>
"""


def _step(model: js.Model, data: js.Data, wrap) -> js.Data:
    """A step, stage by stage, each of them wrapped."""
    data, mid = wrap(stages.position_velocity)(model, data)
    slots = wrap(collide)(model, data)
    data = wrap(contact_buffer)(model, data, slots)
    mid = mid._replace(slots=slots, rows=wrap(make_constraint)(model, data, mid.ten_J, slots))
    data, mid = wrap(stages.smooth_acceleration)(model, data, mid)
    data, solution = wrap(stages.constrained_acceleration)(model, data, mid)
    data = wrap(sensors)(model, data, solution, mid.cdof_dot)
    return wrap(integrate)(model, wrap(energy)(model, data), mid)[0]


def _scene(slots: int | None) -> tuple[js.Model, js.Data]:
    """With slots for good, or chosen at run time."""
    model = js.load(XML, max_contacts=slots)
    data = js.make_data(model)
    return model, data.replace(qpos=data.qpos.at[2].set(0.15), qvel=data.qvel + 0.2, ctrl=data.ctrl + 0.1)


def _same(ours, theirs) -> None:
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("slots", [None, 2], ids=["fixed slots", "chosen slots"])
def test_each_stage_under_jit(slots):
    model, data = _scene(slots)
    whole = js.step(model, data)
    assert whole.ncon and whole.nefc > 4
    _same(_step(model, data, jax.jit), whole)


def test_each_stage_under_checkpoint():
    model, data = _scene(None)

    def reached(step, qpos):
        end = step(model, data.replace(qpos=qpos))
        return jnp.sum(end.qvel) + jnp.sum(end.sensordata)

    stepwise = jax.jit(jax.grad(lambda q: reached(lambda m, d: _step(m, d, jax.checkpoint), q)))(data.qpos)
    _same(stepwise, jax.jit(jax.grad(lambda q: reached(js.step, q)))(data.qpos))
    assert np.abs(stepwise).max() > 0
