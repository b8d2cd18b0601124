"""Derivatives of a step and of short rollouts, in both modes, against central differences."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

FLOOR = '<geom type="plane" size="5 5 .1" {}/>'
CONTACTS = """<option cone="{cone}"/><worldbody><geom type="plane" size="5 5 .1" condim="1" friction=".8 .02 .01"/>
  <body pos="0 0 .098"><freejoint/><geom size=".1" condim="{first}"/></body>
  <body pos="0 .3 .098"><freejoint/><geom type="capsule" fromto="-.1 0 0 .2 .01 0" size=".1" condim="{second}"/></body>
  {more}</worldbody>"""
MORE = """<body pos="0 -.3 .098"><freejoint/><geom size=".1" condim="4"/></body>
  <body pos="0 -.6 .098"><freejoint/><geom size=".1" condim="1"/></body>"""
JOINTS = """<option integrator="{integrator}"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <body><joint name="s" type="slide" axis="1 0 .3" damping=".2"/><geom size=".1"/>
    <body pos=".2 0 0"><joint name="h" axis="0 1 0" damping=".1" stiffness="2"/><geom size=".1" pos=".1 0 0"/>
      <body pos=".3 0 0"><joint name="b" type="ball" damping=".1"/><geom size=".1" pos="0 .1 .1"/></body></body></body>
  <body pos="0 1 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody>
  <actuator><position joint="h" kp="9" kv="1"/><general joint="s" dyntype="filterexact" dynprm=".1" gaintype="affine"
    gainprm="2 .1 -.3" biastype="affine" biasprm="0 -1 -.2"/><motor joint="b" gear=".1 .2 .3"/></actuator>"""
ROWS = """<default><geom contype="0" conaffinity="0"/></default><worldbody>
  <body name="a"><joint name="s" type="slide" axis="1 0 .3" {s}/><geom size=".1"/>
    <body pos=".2 0 0"><joint name="h" axis="0 1 0" {h}/><geom size=".1" pos=".1 0 0"/>
      <body name="c" pos=".3 0 0"><joint name="b" type="ball" {b}/><geom size=".1" pos="0 .1 .1"/></body></body></body>
  <body name="d" pos=".6 0 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody>
  <tendon><fixed name="t" {t}><joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed></tendon>
  <equality>{e}</equality><actuator><motor joint="h"/></actuator>"""
PLAIN = dict.fromkeys("shbte", "")
# paths that are straight, bend round both kinds of geoms on either side, and through one; every kind of actuator
ACTUATORS = """<option integrator="implicitfast"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <site name="w" pos="-.1 .1 .2"/><site name="v" pos=".3 -.2 .3"/>
  <geom name="pole" type="cylinder" size=".06 .3" pos=".05 .05 .12" euler="90 0 0"/>
  <body><joint name="b" type="ball" damping=".05"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
    <site name="p" pos=".15 .02 .06"/><site name="beside" pos=".3 0 .2"/><site name="within" pos=".3 .01 0"/>
    <body pos=".3 0 0"><joint name="h" axis="0 1 0" damping=".02"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>
      <geom name="knob" size=".05"/><site name="q" pos=".1 0 .05"/><site name="r" pos=".1 0 -.06"/></body></body>
  </worldbody>
  <tendon><spatial name="t" stiffness="9" damping=".3" armature=".2"><site site="v"/><site site="q"/></spatial>
    <spatial name="o" stiffness="9" springlength=".1"><site site="w"/><geom geom="pole"/><site site="p"/>
      <geom geom="knob" sidesite="beside"/><site site="r"/></spatial>
    <spatial name="i" stiffness="9" springlength=".1"><site site="p"/><geom geom="knob" sidesite="within"/><site site="q"/>
    </spatial></tendon>
  <actuator><muscle tendon="o" lengthrange=".2 .7" force="20"/><muscle tendon="t" lengthrange=".2 .5" tausmooth=".4"/>
    <dcmotor joint="h" motorconst=".4" resistance="2" thermal="3 .5 0 .004 20 25" lugre="30 .4 .2 .3 .05" cogging=".2 6 .3"
      inductance="0 .02" input="pos vel" controller="3 2 .5 0 0 0"/><pid joint="h" kp="5" kv=".2" ki="3" slewmax="300"/>
    <orientation joint="b" kp="2" kv=".1"/><position joint="b" gear="0 .1 .2" kp="2"/>
    <motor site="r" refsite="p" gear="1 2 3 .1 .2 .3"/><general cranksite="q" slidersite="w" cranklength=".9"/></actuator>"""


def _rows(**parts: str) -> str:
    return ROWS.format(**{**PLAIN, **parts})


BOUNCING = CONTACTS.format(cone="pyramidal", first=3, second=3, more="")
MODELS = {
    "pyramidal": CONTACTS.format(cone="pyramidal", first=3, second=6, more=MORE),
    "elliptic": CONTACTS.format(cone="elliptic", first=3, second=6, more=MORE),
    "euler": JOINTS.format(integrator="Euler"),
    "rk4": JOINTS.format(integrator="RK4"),
    "implicitfast": JOINTS.format(integrator="implicitfast"),
    "frictionloss-limits": _rows(
        s='frictionloss="3" range="-.3 .01"',
        h='frictionloss=".001" range="-1 2" margin=".4"',
        b='frictionloss=".2" range="0 15"',
        t='frictionloss=".1" limited="true" range="-.1 .02"',
    ),
    "equalities": _rows(
        e="""<weld body1="c" body2="d" torquescale=".7"/><connect body1="a" body2="d" anchor=".2 .1 0"/>
            <joint joint1="s" joint2="h" polycoef="0 .5 .3 0 0"/><tendon tendon1="t"/>"""
    ),
    "actuators": ACTUATORS,
}
PARAMETERS = (
    "body_mass", "geom_friction", "dof_damping", "geom_size", "jnt_axis", "site_pos", "tendon_stiffness", "actuator_gainprm",
)  # fmt: skip


STEPS = 8


def _problem(xml: str, rng: np.random.Generator):
    """A smooth function of inputs and parameters after 1 and after 8 steps, and where to differentiate it.

    One program gives both: `when` weighs the state after each step.
    """
    _, model = oracle.pair_of_xml(f"<mujoco>{xml}</mujoco>")
    model = model.replace(opt=model.opt.replace(iterations=100, ls_iterations=50, tolerance=0.0))
    qvel = jnp.asarray(0.3 * rng.standard_normal(model.nv))
    data = js.make_data(model)
    weight = [jnp.asarray(rng.standard_normal(n)) for n in (model.nq, model.nv)]
    point = {
        "qpos": data.qpos + jnp.asarray((0.01 if model.njnt > 2 else 0.0) * rng.standard_normal(model.nq)),
        "qvel": qvel,
        "ctrl": jnp.asarray(0.3 * rng.standard_normal(model.nu)),
        "qfrc_applied": jnp.asarray(0.1 * rng.standard_normal(model.nv)),
        **{name: getattr(model, name) for name in PARAMETERS if getattr(model, name).size},
    }

    def loss(x, when):
        changed = model.replace(**{name: x[name] for name in PARAMETERS if name in x})
        inputs = {name: value for name, value in x.items() if name not in PARAMETERS}

        def advance(d, _):
            d = js.step(changed, d)
            return d, jnp.sum(weight[0] * d.qpos) + jnp.sum(weight[1] * d.qvel)

        _, values = jax.lax.scan(advance, data.replace(**inputs), None, length=STEPS)
        return jnp.sum(when * values)

    return loss, point


def _directions(point: dict, rng: np.random.Generator) -> dict:
    """A random direction in each input; parameters move in proportion to their size."""
    tangent = {}
    for name, x in point.items():
        scale = np.asarray(x) if name in PARAMETERS else 1.0
        tangent[name] = jnp.asarray(scale * rng.standard_normal(x.shape))
    return tangent


@pytest.mark.parametrize("name", MODELS)
def test_step_and_rollout(name, rng):
    """Reverse and forward mode agree with each other and with differences, input by input."""
    loss, point = _problem(MODELS[name], rng)
    reverse_mode = jax.jit(jax.grad(loss))
    forward_mode = jax.jit(lambda x, t, when: jax.jvp(lambda x: loss(x, when), (x,), (t,))[1])
    value = jax.jit(loss)  # the program that nothing differentiates
    whole = _directions(point, rng)
    for steps in (1, STEPS):
        when = jnp.zeros(STEPS).at[steps - 1].set(1.0)
        gradient = reverse_mode(point, when)
        for field in point:
            where = f"{field}, {steps} steps"
            direction = {k: v if k == field else jnp.zeros_like(v) for k, v in whole.items()}
            reverse = float(jnp.sum(gradient[field] * direction[field]))
            forward = float(forward_mode(point, direction, when))
            assert abs(forward - reverse) < 1e-9 * (1 + abs(reverse)), where
            differences = [_difference(value, point, direction, when, eps) for eps in (1e-5, 1e-6, 1e-7)]
            off = min(abs(x - reverse) for x in differences)
            assert off < 1e-6 * (1e-2 + abs(reverse)), f"{where}: {reverse}, by differences {differences}"


def _difference(value, point, direction, when, eps: float) -> float:
    ahead, behind = (jax.tree.map(lambda x, t, e=e: x + e * t, point, direction) for e in (eps, -eps))
    return float(value(ahead, when) - value(behind, when)) / (2 * eps)


def test_batched_derivatives_are_those_of_each_world(rng):
    """vmap of grad and of jacfwd; and the derivative of a vmapped step."""
    _, model = oracle.pair_of_xml(f"<mujoco>{BOUNCING}</mujoco>")
    data = js.make_data(model)
    qvel = jnp.asarray(0.3 * rng.standard_normal((3, model.nv)))

    def end(v):
        return js.step(model, data.replace(qvel=v)).qvel

    jacobians = jax.jit(jax.jacfwd(end))
    each = jnp.stack([jacobians(v) for v in qvel])
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jacfwd(end)))(qvel), each, atol=1e-9)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jacrev(end)))(qvel), each, atol=1e-9)
    weight = jnp.asarray(rng.standard_normal((3, model.nv)))
    of_batch = jax.jit(jax.grad(lambda v: jnp.sum(weight * jax.vmap(end)(v))))(qvel)
    np.testing.assert_allclose(of_batch, jnp.einsum("bi,bij->bj", weight, each), atol=1e-9)


RISE = {"in the air": 1.0, "on the floor": 0.0, "exact touch": 0.002}  # m
AT_REST = {
    "pyramidal": (BOUNCING, RISE),
    "elliptic": (MODELS["elliptic"], RISE),
    **{name: (MODELS[name], {"": 0.0}) for name in ("rk4", "implicitfast", "equalities", "frictionloss-limits")},
}


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("name", AT_REST)
def test_finite_in_float32(name):
    """At rest: velocities, angles and distances of zero."""
    xml, places = AT_REST[name]
    model = js.put_model(mujoco.MjModel.from_xml_string(f"<mujoco>{xml}</mujoco>"))
    data = js.make_data(model)
    assert data.qpos.dtype == jnp.float32

    def total(qpos, qvel, ctrl, mass):
        d = js.step(model.replace(body_mass=mass), data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
        return jnp.sum(d.qpos**2) + jnp.sum(d.qvel**2)

    gradient = jax.jit(jax.grad(total, (0, 1, 2, 3)))
    for place, rise in places.items():
        found = gradient(data.qpos.at[2::7].add(rise), data.qvel, data.ctrl, model.body_mass)
        assert all(bool(jnp.isfinite(g).all()) for g in found), place
