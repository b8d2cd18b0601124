"""Derivatives of all forces by the parameters of the model, every field of it, against central differences."""

import differences
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import test_actuator_types

import jaxsim as js
from jaxsim.core.fields import MODEL_REAL

# joints, tendons and actuators with all that they can have, in a wind; every actuator of test_actuator_types
SCENE = """
<mujoco>
  <option integrator="implicit" timestep=".005" density="30" viscosity=".3" wind="1 -.5 .3"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="w" pos=".1 .2 .1" euler="10 20 30"/><site name="o" pos="0 -.3 .2"/>
    <body gravcomp=".3"><joint name="s" type="slide" axis="1 0 .3" stiffness="3 1 2" damping=".3 .1 .2" springref=".2"/>
      <geom size=".1"/><site name="p" pos="0 .1 .15" euler="5 6 7"/><geom name="ball" size=".05" pos=".1 0 .05"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0" armature=".1" frictionloss=".1" stiffness="2" range="-100 0" margin=".3"/>
        <geom type="ellipsoid" size=".1 .05 .03" pos=".1 0 0" fluidshape="ellipsoid"/><site name="q" pos=".1 .05 .12"/>
        <geom name="pole" type="cylinder" size=".04 .2" pos=".1 .04 .06" euler="80 10 0"/>
        <body pos=".3 0 0"><joint name="b" type="ball" stiffness="1" damping=".1 .2" range="0 10"/><geom size=".1" pos="0 .1 .1"/>
          <site name="r" pos=".1 .1 .1" euler="40 50 60"/></body></body></body>
    <body pos="0 1 0"><freejoint name="f"/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <tendon>
    <spatial name="t" stiffness="5 2 3" springlength=".1 .12" frictionloss=".2" range=".1 .3" margin=".05"
      actuatorfrcrange="-3 3"><site site="w"/><geom geom="ball"/><site site="q"/><geom geom="pole"/><site site="r"/></spatial>
    <spatial name="u" damping="20 10 30" armature=".1" stiffness="2" springlength=".1">
      <site site="o"/><site site="p"/><pulley divisor="2"/><site site="p"/><site site="q"/></spatial>
  </tendon>
  <actuator>{}</actuator>
</mujoco>
"""
KINDS = "".join(test_actuator_types.ACTUATORS.values()).replace('forcerange="0 1"', 'forcerange="0 9"')
STATE = ("qpos", "qvel", "act", "ctrl")
RESULTS = ("qvel", "act_dot", "actuator_force", "qfrc_passive", "qfrc_actuator")
OPTIONS = ("timestep", "gravity", "density", "viscosity", "wind")
UNUSED = ("key_", "sensor_", "numeric_", "cam_", "light_", "actuator_pidprm")
# what the chosen state must feel, so that the comparison means something
FELT = (
    *("jnt_stiffness", "jnt_stiffnesspoly", "jnt_margin", "dof_damping", "dof_dampingpoly", "geom_fluid", "geom_size"),
    *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly", "tendon_armature"),
    *("tendon_frictionloss", "tendon_range", "tendon_lengthspring", "tendon_actfrcrange", "wrap_prm", "site_pos"),
    *("actuator_dynprm", "actuator_gainprm", "actuator_biasprm", "actuator_gear", "actuator_cranklength"),
    *("actuator_damping", "actuator_armature", "actuator_lengthrange", "actuator_acc0", *OPTIONS, *STATE),
)


def test_derivatives_by_every_parameter(rng):
    """Of the speed after a step, of forces and of rates of activations, each in proportion to what it is."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(SCENE.format(KINDS)))
    data, d = js.make_data(model), mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, d.qpos, 0.1 * rng.standard_normal(mj.nv), 1.0)
    fields = [f for f in MODEL_REAL if getattr(model, f).size and not f.startswith(UNUSED)]
    point = {f: getattr(model, f) for f in fields} | {f: getattr(model.opt, f) for f in OPTIONS}
    ways = {k: jnp.asarray(np.asarray(v) * rng.uniform(0.5, 1, v.shape)) for k, v in point.items()}
    state = {
        "qpos": d.qpos, "qvel": 0.3 * rng.standard_normal(mj.nv), "act": rng.uniform(0.1, 0.5, mj.na),
        "ctrl": rng.uniform(0.1, 0.8, mj.nu),
    }  # fmt: skip
    point |= {k: jnp.asarray(v) for k, v in state.items()}
    ways |= {k: jnp.asarray(rng.standard_normal(v.shape)) for k, v in state.items()}
    for k in STATE:
        getattr(d, k)[:] = state[k]
    mujoco.mj_step(mj, d)
    weight = {k: rng.standard_normal(getattr(d, k).shape) / (1 + np.abs(getattr(d, k)).max()) for k in RESULTS}

    def loss(x):
        opt = model.opt.replace(**{k: x[k] for k in OPTIONS})
        end = js.step(model.replace(opt=opt, **{k: x[k] for k in fields}), data.replace(**{k: x[k] for k in STATE}))
        return sum(jnp.sum(jnp.asarray(weight[k]) * getattr(end, k)) for k in RESULTS)

    found = differences.compare(loss, point, ways, least=1e-4)
    assert not {name: found[name] for name in FELT if abs(found[name]) < 1e-6}
