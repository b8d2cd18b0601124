"""The hard contact law: closed forms, invariants, and derivatives against differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.core.enums import ContactLaw
from jaxsim.stages import hard

# everything that pushes: a box that slides and spins, a chain with limits, friction loss, a motor, and a coupling
MIXED = """
<mujoco><option timestep="0.01"/><default><geom friction="0.5 0.02 0.001"/></default><worldbody>
<geom type="plane" size="5 5 .1" condim="4"/>
<body name="box" pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .12 .1" mass="1"/></body>
<body pos="1 0 .6"><joint name="a" axis="0 1 0" range="-20 1" limited="true" damping=".2" frictionloss=".3"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/>
<body name="tip" pos=".3 0 0"><joint name="b" axis="0 1 0" frictionloss=".1" damping=".05"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".3" condim="1"/></body></body>
<body name="hung" pos="1.6 0 .6"><joint name="c" axis="0 1 0" pos="0 0 .3"/><joint axis="1 0 0" pos="0 0 .3"/><geom size=".04" mass=".2" contype="0" conaffinity="0"/></body>
</worldbody><equality><joint joint1="b" joint2="c" polycoef="0 .5 0 0 0"/></equality>
<actuator><motor joint="a"/></actuator></mujoco>
"""
STATE = (0.6, -0.2, 0.0, 0.1, -0.05, 0.3, 1.0, -2.0, -0.5, 0.0)


def _mixed(**options):
    model = js.load(MIXED, contact="hard")
    model = model.replace(opt=model.opt.replace(tolerance=1e-11, **options))
    return model, js.make_data(model).replace(qvel=jnp.array(STATE), ctrl=jnp.array([2.0]))


@pytest.mark.parametrize("yielding", [0.0, 0.01])
def test_derivatives_are_those_of_the_step_at_their_kappa(yielding, monkeypatch):
    """Both modes, with respect to all that a step depends on, against central differences of the step itself; and where
    contacts yield, as in float32, but so that it is seen."""
    monkeypatch.setitem(hard.YIELDING, "float64", yielding)
    model, data = _mixed(kappa=1e-4, kappa_gradient=1e-4)
    box = model.geom("box").id

    def outcome(x):
        qvel, qpos, ctrl, timestep, friction, size, mass = jnp.split(x, np.cumsum([10, 2, 1, 1, 1, 1]))
        m = model.replace(
            opt=model.opt.replace(timestep=timestep[0]),
            geom_friction=model.geom_friction * friction[0],
            geom_size=model.geom_size.at[box].multiply(size[0]),
            body_mass=model.body_mass * mass[0],
        )
        d = data.replace(qvel=qvel, ctrl=ctrl, qpos=data.qpos.at[jnp.array([2, 7])].set(qpos))
        d = js.step(m, d)
        return jnp.concatenate([d.qvel, d.qpos]), (d.solver_converged, d.solver_niter, d.qfrc_constraint)

    x = jnp.concatenate([data.qvel, jnp.array([0.1001, 0.012]), data.ctrl, jnp.array([0.01, 1.0, 1.0, 1.0])])

    @jax.jit  # one program for both modes and the differences
    def both(x):
        y, slope, more = jax.linearize(outcome, x, has_aux=True)
        back = jax.linear_transpose(slope, x)
        return y, jax.vmap(slope)(jnp.eye(x.size)).T, jax.vmap(lambda w: back(w)[0])(jnp.eye(y.size)), more

    _, forward, backward, (converged, niter, pushed) = both(x)
    assert converged and niter <= 60 and np.abs(pushed).max() > 5
    np.testing.assert_allclose(backward, forward, atol=1e-9)
    eps = 1e-6
    ends = [(both(x + step)[0] - both(x - step)[0]) / (2 * eps) for step in eps * jnp.eye(x.size)]
    differences = np.stack(ends, axis=1)
    scale = 1 + np.abs(differences)
    np.testing.assert_allclose(forward / scale, differences / scale, atol=1e-6)


def test_single_precision_suffices_for_a_robot():
    """Light shins on feet that stick: without factors in place of an inverse, and feet that yield a little, 76 of these
    6,400 steps did not converge."""
    with jax.enable_x64(False):
        model = js.load("hopper", contact="hard")
        low, high = model.actuator_ctrlrange.T

        def step(data, key):
            data = js.step(model, data.replace(ctrl=jax.random.uniform(key, (model.nu,), low.dtype, low, high)))
            return data, (data.solver_converged, data.solver_niter, jnp.min(data.contact.dist))

        @jax.jit
        @jax.vmap
        def rollout(key):
            return jax.lax.scan(step, js.make_data(model), jax.random.split(key, 200))[1]

        converged, niter, least = rollout(jax.random.split(jax.random.key(0), 32))
    assert least.dtype == np.float32 and least.min() > -1e-4
    assert (~converged).sum() <= 3
    assert niter.mean() < 12  # of both solves


def test_options_and_what_is_refused():
    model, data = _mixed()
    assert model.opt.contact is ContactLaw.HARD and float(model.opt.kappa_gradient) == 1e-4
    assert js.load(MIXED).opt.contact is ContactLaw.SOFT
    with pytest.raises(ValueError, match=r"opt.contact is 'firm': expected one of 'soft', 'hard'"):
        model.opt.replace(contact="firm")
    with pytest.raises(ValueError, match=r"opt.kappa is 0.0: it has to be positive"):
        model.opt.replace(kappa=0.0)
    with pytest.raises(ValueError, match="geom_friction has negative numbers"):
        model.replace(geom_friction=-model.geom_friction)
    with pytest.raises(ValueError, match="RK4 has no place for"):
        jax.eval_shape(js.step, model.replace(opt=model.opt.replace(integrator="rk4")), data)
    with pytest.raises(ValueError, match="inverse dynamics needs forces"):
        jax.eval_shape(js.inverse, model, data)


def test_impact_has_its_closed_form():
    """A block is pressed down by m g and lifted by f: its gap is (b + sqrt(b^2 + 4 k h / m)) / 2, b = h^2 (f / m - g).

    The paper's largest difference between kappa = 1e-4 and 1e-8 is 2.56e-3 m (k is the sum over touching contacts).
    """
    model = js.load(
        '<mujoco><option timestep="0.1"/><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .25">'
        '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
        '<geom type="box" size=".25 .25 .25" mass="1"/></body></worldbody></mujoco>',
        contact="hard",
    )
    data = js.make_data(model)

    @jax.jit
    @jax.vmap
    def gap(k, force):
        m = model.replace(opt=model.opt.replace(kappa=k / 4))  # four corners touch
        d = js.step(m, data.replace(qfrc_applied=jnp.stack([jnp.zeros_like(force), force])))
        return d.qpos[1], d.solver_converged & (d.solver_niter <= 20)  # of two solves

    force = np.append(np.linspace(0, 20, 21), 9.81)
    k = np.repeat([2e-4 / 3, 2e-8 / 3], len(force))
    gaps, good = gap(k, np.tile(force, 2))
    b = 0.01 * (np.tile(force, 2) - 9.81)
    np.testing.assert_allclose(gaps, (b + np.sqrt(b * b + 0.4 * k)) / 2, atol=1e-9)
    assert good.all()
    np.testing.assert_allclose(np.max(np.subtract(*np.split(np.asarray(gaps), 2))), 2.5562e-3, atol=1e-7)


# a trunk on two legs with knees and feet of two balls, dampers as in the paper's drop of Atlas
LEG = """<body pos="0 {y} 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05" mass="2"/>
<body pos="0 0 -.4"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="1"/>
<geom class="foot" pos=".12 0 -.4" mass=".1"/><geom class="foot" pos="-.08 0 -.4" mass=".1"/></body></body>"""
LEGGED = f"""<mujoco><default><joint damping="25" stiffness="1"/><geom conaffinity="0" friction=".5"/><default class="foot">
<geom size=".025"/></default></default><worldbody><geom type="plane" size="9 9 1" conaffinity="1"/>
<body pos="0 0 1.3"><joint type="free" damping="0" stiffness="0"/><geom type="box" size=".1 .2 .25" mass="15"/>
{LEG.format(y=0.15)}{LEG.format(y=-0.15)}</body></worldbody></mujoco>"""


def test_feet_never_enter_the_floor():
    """The paper's table II: a drop from half a metre, at steps of 0.1, 0.01 and 0.001 s, without penetration."""
    model = js.load(LEGGED, contact="hard")
    turned = js.algebra.quaternion.exp(jnp.array([0.0, 0.2, 0.1]))
    data = js.make_data(model)
    data = data.replace(qpos=data.qpos.at[3:7].set(turned))

    @jax.jit
    def dropped(h, steps):
        m = model.replace(opt=model.opt.replace(timestep=h))

        def step(_, carry):
            d, least, failed, low = carry
            d = js.step(m, d)
            far = jnp.min(d.contact.dist)  # of where the step began
            slow = ~d.solver_converged | (d.solver_niter > 35)  # of two solves; 20 are lost where the path has a fold
            return d, jnp.minimum(least, far), failed + slow.astype(jnp.int32), jnp.minimum(low, d.qpos[2])

        start = data, jnp.ones(()), jnp.zeros((), jnp.int32), jnp.ones(())
        return jax.lax.fori_loop(0, steps, step, start)[1:]

    for h, steps in ((0.1, 20), (0.01, 150), (0.001, 1000)):
        least, failed, low = dropped(jnp.asarray(h), steps)
        assert 0 < least < 1e-4 and low < 0.9
        assert failed == 0


def test_what_turns_into_the_floor_within_a_step_does_not_enter_it():
    """A rod's tip on its way down a circle: 1.5 cm lower at the step's end than its velocity at the beginning says."""
    model = js.load(
        '<mujoco><option timestep="0.1"/><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .3">'
        '<joint axis="0 -1 0"/><geom pos="1 0 0" size=".02" mass="1"/></body></worldbody></mujoco>',
        contact="hard",
    )
    data = js.make_data(model).replace(qpos=jnp.array([0.3]))
    speeds = -jnp.linspace(4, 9, 41)
    end = jax.jit(jax.vmap(lambda w: js.step(model, data.replace(qvel=w[None]))))(speeds)
    height = 0.28 + np.sin(end.qpos[:, 0])
    assert end.solver_converged.all() and height.min() > 0 and (height < 1e-3).sum() > 10


def _discrete_stop(h, mu=0.25, g=9.81, height=0.25):
    """How far a cube flies and slides: Euler steps of a point that stops falling at height zero."""
    way, fall, speed = 0.0, 0.0, np.hypot(4, 0.8)
    while speed > 0:
        fall += g * h
        if height - h * fall <= 0:  # what stops it also brakes it
            speed, fall = max(speed - mu * (fall - height / h), 0), height / h
        height, way = height - h * fall, way + h * speed
    return way


def test_a_cube_slides_straight_and_stops():
    """Friction cones of the paper's figure 5: the exact stop is 3.4550 m away, to which steps of 0.01 s add -0.02 m."""
    model = js.load(
        '<mujoco><option timestep="0.01"/><default><geom friction="0.25"/></default><worldbody>'
        '<geom type="plane" size="5 5 .1"/><body pos="-1.5 -.5 .5"><freejoint/>'
        '<geom type="box" size=".25 .25 .25" mass="1"/></body></worldbody></mujoco>',
        contact="hard",
    )
    data = js.make_data(model).replace(qvel=jnp.array([4, 0.8, 0, 0, 0, 0]))

    def step(d, _):
        d = js.step(model, d)
        return d, (d.qpos, d.solver_niter, d.solver_converged, jnp.min(d.contact.dist))

    _, (q, niter, converged, dist) = jax.jit(lambda d: jax.lax.scan(step, d, length=400))(data)
    assert converged.all() and niter.max() <= 20 and dist.min() > 0  # of two solves
    way = np.asarray(q[-1, :2] - data.qpos[:2])
    along, across = way @ [4, 0.8] / np.hypot(4, 0.8), way @ [-0.8, 4] / np.hypot(4, 0.8)
    assert abs(along - _discrete_stop(0.01)) < 1e-3 and abs(across) < 1e-4
    assert abs(_discrete_stop(1e-5) - 3.4550) < 1e-3
    assert abs(2 * float(q[-1, 6])) < 1e-4  # yaw
    assert np.abs(q[-1] - q[200]).max() < 1e-9  # nothing creeps
    np.testing.assert_allclose(q[-1, 2], 0.25, atol=1e-4)


# arms that turn fast, four pairs: balls at their ends that meet, a ball and a capsule, two capsules, a ball and a box
ARM = """<body pos="{at}"><joint axis="0 0 1"/><geom {shape} contype="{bit}" conaffinity="{bit}"/></body>"""
BALL, BAR = 'size=".03" pos="{x} 0 0"', 'type="capsule" size=".02" fromto="{x} -.01 {z} 0 .02 {z}"'
BOX = 'type="box" size=".15 .03 .04" pos="-.15 0 0"'
PAIRS = ((BALL, BALL), (BALL, BAR), (BAR, BAR), (BALL, BOX))
ARMS = "".join(
    ARM.format(at=f"{x} {y} {i}", bit=1 << i, shape=shape.format(x=0.3 - 1.2 * x, z=0.05 * x))
    for i, pair in enumerate(PAIRS)
    for (x, y), shape in zip(((0, 0), (0.5, 0.1)), pair)
)
ARMS = f"""<mujoco><option timestep="0.01" gravity="0 0 0"/><default><geom mass="1"/></default>
<worldbody>{ARMS}</worldbody></mujoco>"""


def test_round_ends_of_arms_that_turn_fast_stay_apart(rng):
    """They move on arcs, and touch elsewhere as they do: gaps that are linear in velocities would let the balls 11 mm
    into each other, and the ball 11 mm into the capsule and 15 mm into the box. With derivatives."""
    model = js.load(ARMS, contact="hard")
    model = model.replace(opt=model.opt.replace(tolerance=1e-11, kappa=1e-4, kappa_gradient=1e-4))
    x = rng.uniform(-1, 1, (300, 16)) * np.repeat([0.6, 30], 8)
    first = np.arange(0, 8, 2)

    @jax.jit
    @jax.vmap
    def gap(qpos):
        data = js.forward(model, js.make_data(model).replace(qpos=qpos))
        return jnp.stack([js.geom_distance(model, data, i, i + 1, 1.0)[0] for i in first])

    def outcome(x):
        end = js.step(model, js.make_data(model).replace(qpos=x[:8], qvel=x[8:]))
        return end.qvel, (end.qpos, end.solver_converged)

    @jax.jit  # one program for the derivative and the differences
    @jax.vmap
    def both(x, along):
        return jax.jvp(outcome, (x,), (along,), has_aux=True)

    along = rng.standard_normal(x.shape)
    qvel, slope, (qpos, converged) = both(x, along)
    high, low = (both(x + eps * along, along)[0] for eps in (3e-7, -3e-7))
    before, after = gap(x[:, :8]), gap(qpos)
    apart, acted = before > 0, np.abs(qvel - x[:, 8:]).reshape(-1, 4, 2).max(axis=2) > 1
    alone = apart.all(axis=1)
    assert converged[alone].all() and (apart & acted).sum(axis=0).min() > 20
    assert after[apart].min() > -1e-3  # what the law's corrections leave
    # the solver's accuracy is 1e-6 of kappa, which this scene shows; at 1e-11 they agree to 1e-6
    np.testing.assert_allclose(slope[alone], (high - low)[alone] / 6e-7, rtol=3e-6, atol=1e-5)


def test_a_third_solution_where_two_leave_something_deep():
    """A ball comes to another side of a box's corner than the first two solutions are about: they leave it 5.9 mm deep."""
    box = 'type="box" size=".03 .03 .04" pos="-.3 0 0"'
    arms = [ARM.format(at=at, bit=1, shape=x) for at, x in (("0 0 0", BALL.format(x=0.3)), (".5 .1 0", box))]
    scene = f"""<mujoco><option timestep="0.01" gravity="0 0 0"/><default><geom mass="1"/></default>
        <worldbody>{"".join(arms)}</worldbody></mujoco>"""
    model = js.load(scene, contact="hard")
    data = js.make_data(model).replace(
        qpos=jnp.array([0.50563498, 0.04580958]), qvel=jnp.array([29.37911962, -12.88858416])
    )
    end = js.step(model, data)
    gap = js.geom_distance(model, js.forward(model, end), 0, 1, 1.0)[0]
    assert end.solver_converged and -1e-4 < gap < 1e-3


def test_a_bar_that_lies_beside_others_has_a_solution():
    """Its single contacts with two rails wander to the other end as it tips, where impulses at this end push it down."""
    model = js.load(
        """<mujoco><option timestep="0.01"/><default><geom type="capsule" size=".05"/></default><worldbody>
        <geom fromto="-.3 .04 0 .3 .04 0"/><geom fromto="-.3 -.04 0 .3 -.04 0"/>
        <body pos=".1 0 .0917"><freejoint/><geom fromto="-.2 0 0 .25 0 0" mass="1"/></body></worldbody></mujoco>""",
        contact="hard",
    )
    data = js.make_data(model).replace(qvel=jnp.array([0.3, 0, 0, 0, 0, 0.5]))
    _, (converged, height) = jax.jit(
        lambda d: js.rollout(model, d, length=30, outputs=lambda d: (d.solver_converged, d.qpos[2]))
    )(data)
    assert converged.all() and np.abs(height - 0.0917).max() < 1e-3


# on a belt; rolling with condim 6; below a ceiling that sticks; arms held by a tendon's range, its dry friction and
# a coupling of tendons, and one that a muscle pulls against its limit
RICH = """
<mujoco><option timestep=".005" integrator="{integrator}"/><default><geom friction=".8 .02 .01"/></default><worldbody>
<geom type="plane" size="5 5 .1" surfacevel=".4 0 0 0 0 0"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
<body pos="0 1 .1"><freejoint/><geom size=".1" mass="1" condim="6"/></body>
<geom type="box" size=".3 .3 .1" pos="0 -1 1.1"/>
<body pos="0 -1 .899"><freejoint/><geom size=".1" mass=".5" adhesion="30" gap=".02"/></body>
<body pos="2 0 1"><joint name="a" axis="0 1 0"/><geom size=".05" pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body>
<body pos="2 1 1"><joint name="b" axis="0 1 0"/><geom size=".05" pos=".3 0 0" mass=".5" contype="0" conaffinity="0"/></body>
<body pos="2 2 1"><joint name="c" axis="0 1 0"/><geom size=".05" pos=".3 0 0" mass=".5" contype="0" conaffinity="0"/></body>
<body pos="2 3 1"><joint name="d" axis="0 1 0"/><geom size=".05" pos=".3 0 0" mass=".5" contype="0" conaffinity="0"/></body>
<body pos="2 4 1"><joint name="e" axis="0 1 0" range="-10 10" limited="true" damping=".05"/>
<geom size=".05" pos=".3 0 0" mass=".5" contype="0" conaffinity="0"/></body></worldbody>
<tendon><fixed name="short" range="-.1 .1" limited="true"><joint joint="a" coef="1"/></fixed>
<fixed name="rough" frictionloss="3"><joint joint="b" coef="1"/></fixed>
<fixed name="one"><joint joint="c" coef="1"/></fixed><fixed name="two"><joint joint="d" coef="1"/></fixed></tendon>
<equality><tendon tendon1="one" tendon2="two" polycoef="0 -1 0 0 0"/></equality>
<actuator><muscle joint="e" force="30" gear="-1" lengthrange="-.3 .3"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicit"])
def test_what_a_rich_model_has_is_hard_too(integrator):
    model = js.load(RICH.format(integrator=integrator), contact="hard")
    model = model.replace(opt=model.opt.replace(kappa=1e-8))
    data = js.make_data(model).replace(ctrl=jnp.ones(1))

    def look(d):
        return d.solver_converged, jnp.min(d.contact.dist), d.qvel[0], d.ten_length, d.qpos[-5:]

    end, (found, gap, speed, length, angle) = jax.jit(lambda m, d: js.rollout(m, d, length=150, outputs=look))(
        model, data
    )
    assert found.all() and gap.min() > -1.1e-3  # m: the ball at the ceiling begins 1 mm inside
    np.testing.assert_allclose(speed[-1], 0.4, atol=1e-3)  # m/s: the belt's
    np.testing.assert_allclose(speed[3], 0.8 * 9.81 * 0.02, rtol=1e-2)  # m/s: friction on the way there
    assert end.qpos[16] > 0.89 and np.abs(end.qvel[14]) < 1e-3  # m, m/s: it hangs
    np.testing.assert_allclose(length[-1, 0], 0.1, atol=1e-4)  # rad: at the end of its range
    np.testing.assert_allclose(angle[:, 1], 0, atol=1e-4)  # rad: 1.5 N m of weight against 3 of friction
    np.testing.assert_allclose(angle[:, 2], -angle[:, 3], atol=1e-6)  # one up, one down: they balance
    np.testing.assert_allclose(np.abs(angle[-1, 4]), np.deg2rad(10), atol=1e-4)


TIED = """<mujoco><option timestep="0.01" iterations="1"/><worldbody>
<body name="hand" mocap="true" pos=".3 0 1"><site name="hand" pos="0 0 .1"/></body>
<body name="a" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/><site name="a"/></body>
<body name="b" pos="1 0 1"><joint name="1" axis="0 1 0"/><geom size=".1" pos=".2 0 0" mass="1"/></body>
<body name="c" pos="2 0 1"><joint name="2" axis="0 1 0"/><geom size=".1" pos=".2 0 0" mass="2"/></body></worldbody><equality>
{drag}<joint joint1="1" joint2="2" solref=".1 1"/></equality></mujoco>"""
HARD, COMPLIANT = {"contact": "hard"}, {"equality": "compliant"}
DRAGS = ('<weld body1="hand" body2="a" solref=".05 1"/>', '<connect site1="hand" site2="a"/>')


@pytest.mark.parametrize("drag", DRAGS)
def test_equalities_that_give_way(drag):
    """As under the soft law where nothing touches: those with mocap bodies always, all others if they are to."""
    model = js.load(TIED.format(drag=drag))
    data = js.make_data(model).replace(qvel=jnp.array([0.1, 0.2, -0.3, 1.0, -2.0, 0.5, 1.0, -0.5]))
    soft, hard, *all_soft = (
        js.step(model.replace(opt=model.opt.replace(tolerance=0.0, iterations=20, **law)), data)
        for law in ({}, HARD, HARD | COMPLIANT, {"contact": "exact"} | COMPLIANT)
    )
    np.testing.assert_allclose(hard.qvel[:6], soft.qvel[:6], atol=1e-9)
    np.testing.assert_allclose([d.qvel for d in all_soft], [soft.qvel] * 2, atol=1e-9)
    np.testing.assert_allclose(hard.qvel[6], hard.qvel[7], atol=1e-6)
    assert abs(soft.qvel[6] - soft.qvel[7]) > 0.5


def test_iterations_for_other_solvers_do_not_stop_it():
    """A model made for one iteration of Newton's method, as MJX's are."""
    assert js.step(*_mixed(iterations=1)).solver_converged


@pytest.mark.parametrize(("law", "search"), [("hard", hard.search), ("exact", hard.search_exact)])
def test_friction_stays_within_its_bounds_where_a_search_does_not_end(law, search, monkeypatch):
    """A search that ends with half as much friction again, in a world that is not held."""

    def astray(form, *args):
        w, how = search(form, *args)
        more = np.where(np.arange(form.cones.size) < form.cones.orthant, 1, 1.5)
        return w._replace(b=more * w.b), how._replace(converged=how.iterations < 0, residual=0 * how.residual)

    monkeypatch.setattr(hard, search.__name__, astray)
    monkeypatch.setattr(hard, "BEYOND", np.inf)
    model, data = _mixed(contact=law)

    def pushed(qvel):
        d = js.forward(model, data.replace(qvel=qvel))
        return d.qfrc_constraint, (d, jax.vmap(lambda i: js.contact_force(model, d, i))(jnp.arange(model.nconmax)))

    slopes, (d, force) = jax.jit(jax.jacfwd(pushed, has_aux=True))(data.qvel)
    friction = jnp.linalg.norm(force[:, 1:4] / jnp.where(d.contact.friction > 0, d.contact.friction, 1)[:, :3], axis=1)
    assert not d.solver_converged and np.isfinite(slopes).all() and d.solver_residual > 0.05  # m/s, of what was cut
    assert (friction <= force[:, 0] * (1 + 1e-9) + 1e-12).all() and friction.max() > 1
