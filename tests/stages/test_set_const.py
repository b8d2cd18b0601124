"""set_const against mj_setConst after changes to every parameter that it depends on; its derivatives."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.fields import MODEL_OWN, MODEL_REAL

MODEL = """
<mujoco>
  <compiler autolimits="true"/>
  <asset><hfield name="hills" nrow="3" ncol="3" size="1 2 .3 .1"/></asset>
  <default><site group="1"/></default>
  <worldbody>
    <light name="sun" pos="0 0 3" dir="0 .2 -1"/>
    <camera name="fixed" pos="1 2 3" euler="10 20 30"/>
    <geom type="hfield" hfield="hills" pos="0 0 -1"/>
    <body name="still" pos=".5 1 0" euler="0 30 0" mocap="true"><geom type="box" size=".1 .1 .1"/></body>
    <body name="base" pos="0 0 .5" quat=".9 .1 .3 0">
      <freejoint/>
      <light mode="trackcom" pos="0 1 2" dir="0 0 -1"/>
      <camera name="track" mode="trackcom" pos="0 -3 0" xyaxes="1 0 0 0 0 1"/>
      <geom type="ellipsoid" size=".2 .1 .15" pos=".02 0 .01"/>
      <body name="arm" pos=".2 0 .1" euler="0 10 0">
        <joint name="swivel" type="ball" armature=".02" pos="0 .01 .02"/>
        <camera mode="targetbody" target="still" pos="0 0 .2"/>
        <geom type="capsule" size=".03 .2" pos=".1 0 0" margin=".02" gap=".01"/>
        <body name="hand" pos=".3 0 .05">
          <joint name="wrist" axis="0 1 0" pos="0 .01 0" ref="20" springref="5"/>
          <joint name="pull" type="slide" axis="1 .2 0"/>
          <geom type="cylinder" size=".03 .1" euler="30 0 0"/>
          <body name="nail" pos=".1 0 0"><geom type="sphere" size=".02"/></body>
        </body>
      </body>
    </body>
    <body name="cart" pos="1 0 .1">
      <joint name="rail" type="slide" axis="1 0 0"/><joint name="lift" type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .1 .1"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both" armature=".3"><joint joint="wrist" coef="1"/><joint joint="rail" coef="-.5"/></fixed>
    <fixed name="one" armature=".1" springlength=".1">
      <joint joint="wrist" coef="2"/><joint joint="pull" coef="1"/>
    </fixed>
  </tendon>
  <equality>
    <connect body1="hand" body2="cart" anchor=".1 .2 .3"/>
    <weld body1="nail" body2="still" anchor="0 .1 0"/>
    <weld body1="hand" relpose="0 .1 0 .9 .1 0 0"/>
    <joint joint1="rail" joint2="lift"/>
  </equality>
  <actuator>
    <motor joint="wrist" gear="3" armature=".04"/>
    <motor joint="swivel" gear="1 2 3"/>
    <motor jointinparent="swivel" gear="0 1 0"/>
    <motor joint="rail" gear="-2"/>
    <motor tendon="both" gear="2" armature=".05"/>
    <position joint="pull" kp="10" dampratio="1"/>
  </actuator>
</mujoco>
"""
# what users change between calls, and by how much at most
CHANGES = {
    "body_mass": 0.3, "body_inertia": 0.1, "body_ipos": 0.3, "body_pos": 0.3, "geom_pos": 0.2,
    "geom_size": 0.2, "geom_margin": 0.5, "jnt_pos": 0.3, "dof_armature": 0.3, "qpos0": 0.2,
    "actuator_gear": 0.3,
    "actuator_armature": 0.4, "wrap_prm": 0.3, "tendon_armature": 0.4, "cam_pos": 0.2, "light_pos": 0.3,
    "hfield_size": 0.2,
}  # fmt: skip


@functools.cache
def changed() -> tuple[mujoco.MjModel, js.Model]:
    """The model after changes, in MuJoCo before mj_setConst and here."""
    mj = mujoco.MjModel.from_xml_string(MODEL)
    model = js.put_model(mj, compile_only=True)
    rng = np.random.default_rng(0)
    for name, scale in CHANGES.items():
        field = getattr(mj, name)
        field *= 1 + scale * rng.uniform(-1, 1, field.shape)
        if name == "body_ipos":  # as it says itself, MuJoCo cannot unmake a simple body
            field[mj.body_simple > 0] = 0
    mujoco.mj_normalizeQuat(mj, mj.qpos0)
    mj.body_quat[1:] += 0.1 * rng.standard_normal((mj.nbody - 1, 4))
    mj.body_quat[:] /= np.linalg.norm(mj.body_quat, axis=1, keepdims=True)
    names = [*CHANGES, "body_quat"]
    new = {n: getattr(mj, n).reshape(getattr(model, n).shape) for n in names}
    return mj, model.replace(**{n: jnp.array(x) for n, x in new.items()})


def reals(mj: mujoco.MjModel, model: js.Model):
    """(name, MuJoCo's value, ours) of every real field."""
    for name in MODEL_REAL.keys() - MODEL_OWN:
        ours = np.asarray(getattr(model, name))
        yield name, np.asarray(getattr(mj, name)).reshape(ours.shape), ours


def test_equal_to_mujoco():
    mj, model = changed()
    mujoco.mj_setConst(mj, mujoco.MjData(mj))
    before = {name: ours for name, _, ours in reals(mj, model)}
    wrong, moved = {}, set()
    for name, theirs, ours in reals(mj, js.set_const(model)):
        error = oracle.error(ours, theirs)
        if not error < 1e-9:
            wrong[name] = error
        if oracle.error(before[name], theirs) > 1e-9:
            moved.add(name)
    assert not wrong
    must = """
        body_subtreemass dof_M0 dof_invweight0 body_invweight0 tendon_length0 tendon_invweight0 actuator_length0
        actuator_acc0 cam_pos0 cam_poscom0 cam_mat0 light_pos0 light_poscom0 light_dir0 dof_length geom_rbound
        body_margin eq_data geom_size
    """
    assert moved >= set(must.split()), "the test must change every derived field"


def test_identity_on_a_compiled_model(models):
    """On a model as loaded, nothing changes."""
    wrong = {}
    after = js.set_const(models.model)
    for name in MODEL_REAL:
        if name != "geom_fluid":
            error = oracle.error(getattr(after, name), getattr(models.model, name))
            if not error < 1e-9:
                wrong[name] = error
    assert not wrong


def test_derivatives_match_differences():
    _, model = changed()

    def derived(mass, pos, armature):
        m = js.set_const(model.replace(body_mass=mass, body_pos=pos, dof_armature=armature))
        weights = [m.dof_invweight0, m.body_invweight0, m.tendon_invweight0, m.actuator_acc0]
        return sum(jnp.sum(jnp.sin(3 * x)) for x in (*weights, m.dof_M0, m.dof_length, m.eq_data, m.cam_poscom0))

    at = (model.body_mass, model.body_pos, model.dof_armature)
    rng = np.random.default_rng(0)
    direction = tuple(x * rng.uniform(-1, 1, x.shape) for x in map(np.asarray, at))
    gradient = jax.grad(derived, (0, 1, 2))(*at)
    reverse = sum(float(jnp.vdot(g, x)) for g, x in zip(gradient, direction))
    forward = float(jax.jvp(derived, at, tuple(map(jnp.asarray, direction)))[1])
    step = 1e-6
    ends = [derived(*(x + s * step * v for x, v in zip(at, direction))) for s in (1, -1)]
    assert abs(forward - reverse) < 1e-9 * abs(reverse)
    assert abs(float(ends[0] - ends[1]) / (2 * step) - reverse) < 1e-6 * (1 + abs(reverse))


def test_batched():
    _, model = changed()
    mass = jnp.stack([model.body_mass, 2 * model.body_mass])
    axes = jax.tree.map(lambda _: None, model).replace(body_mass=0)
    batch = jax.vmap(js.set_const, in_axes=(axes,))(model.replace(body_mass=mass))
    single = js.set_const(model.replace(body_mass=mass[1]))
    np.testing.assert_allclose(batch.body_invweight0[1], single.body_invweight0, rtol=1e-12)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(batch.dof_M0[0], batch.dof_M0[1])
