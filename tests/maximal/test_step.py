"""Steps: energy at Dojo's tolerances (dojo.md 1.3), second order, agreement with js.step, derivatives, elimination."""

import itertools
import re

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim import maximal
from jaxsim import models as bundled
from jaxsim.core.enums import EnableBit
from jaxsim.maximal import elimination, equations, factor, forces, solve

ALL = ("contact", "limit", "frictionloss")
OFF = 2 | 4 | 8 | 16  # flags: js.step without equality, frictionloss, limit and contact

# side by side: a slide that falls, one on a spring, a pendulum with a spring, a cube that tumbles
ENERGIES = """<mujoco><option timestep="0.01"/><default><geom contype="0"/></default><worldbody>
<body><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
<body pos="1 0 0"><joint type="slide" axis="1 0 0" stiffness="10"/><geom size=".1" mass="1"/></body>
<body pos="2 0 0"><joint axis="0 1 0" stiffness="5"/><geom type="box" size=".1 .1 .3" pos="0 0 -.5" mass="1"/></body>
<body pos="3 0 0"><freejoint/><geom type="box" size=".2 .2 .2" mass="1"/></body>
</worldbody></mujoco>"""

# a four-bar linkage with a motor, a coupling of joints, a welded pair, and a tree that floats
LINKED = """<mujoco><option timestep="0.01"/><default><geom contype="0"/><joint damping=".1"/></default><worldbody>
<body><joint name="crank" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .3"/>
 <body pos="0 0 .3"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .5 0 0"/>
  <body name="end" pos=".5 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3"/></body>
 </body></body>
<body pos="0 1 0"><freejoint/><geom type="box" size=".1 .2 .3" pos=".05 0 0"/>
 <body pos=".2 0 0"><joint name="a" axis="0 0 1" armature=".01" springref="30" stiffness="3"/><geom size=".1"/>
  <body pos=".2 0 0"><joint name="b" type="slide" axis="1 0 0"/><joint axis="1 0 0"/><geom size=".1" pos=".1 0 .1"/></body>
  <body pos="0 .3 0"><joint type="ball"/><geom size=".1" pos=".1 0 0"/></body>
 </body></body>
</worldbody>
<equality><connect body1="end" anchor="0 0 -.3"/><joint joint1="b" joint2="a" polycoef="0 .2 .1 0 0"/></equality>
<actuator><motor joint="crank" gear=".5"/><position joint="a" kp="4" kv=".5"/></actuator></mujoco>"""


def _energies(mechanism, state):
    """Of each link by itself (J), at the middle of the last step; springs are those of ENERGIES."""
    h = mechanism.model.opt.timestep
    spin = 0.5 * jnp.einsum("ni,nij,nj->n", state.ang, mechanism.inertia, state.ang)
    linear = 0.5 * mechanism.mass * jnp.sum(state.vel**2, 1)
    height = mechanism.mass * 9.81 * (state.pos - 0.5 * h * state.vel)[:, 2]
    q = state.qpos[:3] - 0.5 * h * state.qvel[:3]
    spring = 0.5 * jnp.asarray([0.0, 10, 5, 0]) * jnp.append(q, 0.0) ** 2
    return spin + linear + height + spring, maximal.energy(mechanism, state).sum()


def test_energy():
    model = js.load(ENERGIES)
    mechanism = jax.jit(maximal.from_model)(model)
    qvel = jnp.asarray([3.0, 1, 2, 1, -1, 5, 1, 2, 3])
    state = jax.jit(maximal.to_maximal)(mechanism, model.qpos0, qvel)
    _, (each, total) = jax.jit(lambda s: maximal.rollout(mechanism, s, length=2500, outputs=_energies))(state)
    assert np.abs(each.sum(1) - total).max() < 1e-6
    drift = np.ptp(each, axis=0) / np.abs(each[0])
    assert drift[0] < 1e-6 and drift[1] < 1e-3 and drift[2] < 1e-2 and drift[3] < 1e-8


@pytest.fixture(scope="module")
def linked():
    """A mechanism with loops, somewhere in motion."""
    model = js.load(LINKED)
    mechanism = jax.jit(maximal.from_model)(model)
    state = jax.jit(maximal.to_maximal)(mechanism, model.qpos0, jnp.zeros(model.nv))
    ctrl = jnp.asarray([0.3, 0.5])
    moved = jax.jit(lambda s: maximal.rollout(mechanism, s, jnp.broadcast_to(ctrl[None], (200, 2))))(state)
    return mechanism, moved


def test_loops_stay_closed(linked):
    """Dojo's four-bar is consistent to 1e-5; here to rounding, with a coupling of joints beside it."""
    mechanism, (end, run) = linked
    tip = end.pos[2] + js.algebra.quaternion.rotate(end.quat[2], jnp.asarray([0.0, 0, -0.15]))
    assert np.abs(tip - jnp.asarray([0.5, 0, 0])).max() < 1e-9
    crank, a, b = (mechanism.model.joint(name).qposadr for name in ("crank", "a", "b"))
    assert np.ptp(run.qpos[:, crank]) > 0.5
    assert np.abs(run.qpos[:, b] - 0.2 * run.qpos[:, a] - 0.1 * run.qpos[:, a] ** 2).max() < 1e-9
    assert np.abs(maximal.violation(mechanism, end)).max() < 1e-10


def test_elimination_is_the_dense_solve(linked):
    """The blocks are the Jacobian of the residual, and eliminating along the tree solves with them."""
    mechanism, (end, _) = linked
    t = mechanism.model.topology

    @jax.jit
    def compare(state):
        given = forces.forces_at(mechanism.model, state, jnp.ones(2), jnp.zeros(mechanism.model.nv))
        u, how = solve.solved(mechanism, state, given)
        b = equations.begin(mechanism, state, given)
        right, a = equations.linearised(mechanism, state, b, u)
        jacobian = jax.jacfwd(lambda u: equations.linearised(mechanism, state, b, u)[0])(u)
        tree = elimination.solve_tree(t, elimination.factor_tree(t, a.tree), jnp.ones((*u.link.shape, 2)))
        image = jax.jvp(lambda u: equations.linearised(mechanism, state, b, u)[0], (u,), (u,))[1]
        return (
            u,
            right,
            a,
            jacobian,
            elimination.dense(t, a.tree),
            tree,
            factor.solve_bordered(t, factor.factor(t, a), image),
            how,
        )

    u, right, a, jacobian, dense, tree, back, how = compare(end)
    assert solve.largest(right) < 1e-12 and how.iterations < 8
    size = u.link.size
    assert np.abs(jacobian.link.link.reshape(size, size) - dense).max() < 1e-9
    assert np.abs(jacobian.link.loop.reshape(size, -1) - a.columns.reshape(size, -1)).max() < 1e-9
    assert np.abs(jacobian.loop.link.reshape(-1, size) - a.rows.reshape(-1, size)).max() < 1e-9
    expected = np.linalg.solve(dense, np.ones(size))
    assert np.abs(tree[:, :, 1].ravel() - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(back.link - u.link).max() < 1e-7  # of the loop's three rows one says nothing, and is shared


def test_derivatives(linked):
    """Both modes, with respect to state, controls and parameters, equal central differences."""
    mechanism, (end, _) = linked
    m = mechanism.model
    names = ("body_mass", "body_inertia", "jnt_stiffness", "dof_damping", "dof_armature", "actuator_gear")

    def after(x):
        values = {name: getattr(m, name) * (1 + x["model"]) for name in names}
        model = m.replace(**values, opt=m.opt.replace(timestep=m.opt.timestep * (1 + x["h"])))
        state = end._replace(qpos=js.integrate_pos(m, end.qpos, x["qpos"], 1.0), qvel=end.qvel + x["qvel"])
        state = maximal.to_maximal(maximal.from_model(model), state.qpos, state.qvel)
        state = maximal.step(maximal.from_model(model), state, x["ctrl"])
        return js.differentiate_pos(m, 1.0, end.qpos, state.qpos), state.qvel, state.pos, state.vel, state.ang

    rng = np.random.default_rng(0)
    shapes = {"model": (), "h": (), "qpos": m.nv, "qvel": m.nv, "ctrl": m.nu}
    zero = {name: jnp.zeros(shape) for name, shape in shapes.items()}
    dx = {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}
    dx["qpos"], dx["qvel"] = dx["qpos"] * 0.1, dx["qvel"] * 0.1

    @jax.jit
    def both(x, dx):
        y, slope = jax.linearize(after, x)
        weights = jax.tree.map(lambda a: jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape), y)
        return y, slope(dx), jax.linear_transpose(slope, x)(weights)[0], weights

    _, forward, back, weights = both(zero, dx)
    eps = 1e-5
    high, low = (both(jax.tree.map(lambda d, e=e: e * d, dx), dx)[0] for e in (eps, -eps))
    for slope, up, down in zip(forward, high, low):
        assert np.abs(slope).max() > 1e-3
        assert np.abs(slope - (up - down) / (2 * eps)).max() < 1e-6 * max(1, np.abs(slope).max())
    total = sum(np.vdot(w, slope) for w, slope in zip(weights, forward))
    assert abs(total - sum(np.vdot(back[name], dx[name]) for name in dx)) < 1e-9 * abs(total)


@pytest.mark.parametrize("name", ["cart_pole", "arm"])
def test_agrees_with_joint_coordinates(name):
    """As steps get small: second order, and first for dampers, which are those of the step's end as Dojo's are."""
    text = bundled.path(name).read_text()
    text = re.sub(r"<equality>.*</equality>", "", text, flags=re.DOTALL)
    model, oracle = js.load(text), mujoco.MjModel.from_xml_string(text)
    oracle.opt.disableflags, oracle.opt.integrator = OFF, mujoco.mjtIntegrator.mjINT_RK4
    rng, data = np.random.default_rng(0), mujoco.MjData(oracle)
    mujoco.mj_integratePos(oracle, data.qpos, 0.3 * rng.normal(size=model.nv), 1)
    data.qvel, data.ctrl = rng.normal(size=model.nv), 0.3 * rng.normal(size=model.nu)
    mujoco.mj_forward(oracle, data)
    qpos, qvel, qacc, ctrl = (jnp.asarray(x.copy()) for x in (data.qpos, data.qvel, data.qacc, data.ctrl))
    duration, fine = 0.02, 400
    oracle.opt.timestep = duration / fine
    mujoco.mj_step(oracle, data, fine)

    @jax.jit
    def error(h, steps, damping):
        here = model.replace(opt=model.opt.replace(timestep=h), dof_damping=damping * model.dof_damping)
        mechanism = maximal.from_model(here, without=ALL)
        # velocities of the state are those of half a step before
        state = maximal.to_maximal(mechanism, qpos, qvel - 0.5 * h * qacc)
        state = jax.lax.fori_loop(0, steps, lambda _, s: maximal.step(mechanism, s, ctrl), state)
        return jnp.max(jnp.abs(state.qpos - jnp.asarray(data.qpos)))

    errors = [float(error(duration / n, n, 1.0)) for n in (20, 40, 80)]
    assert errors[0] < 3e-3
    assert all(1.8 < a / b < 4.3 for a, b in itertools.pairwise(errors)), errors


def test_what_is_not_simulated_is_named():
    model = js.load(bundled.path("arm"))
    with pytest.raises(ValueError, match=r"friction of joints.*contacts of box and box"):
        maximal.from_model(model)
    with pytest.raises(ValueError, match="without='limits' is not one of contact, limit, frictionloss"):
        maximal.from_model(model, without=(*ALL, "limits"))
    sticky = js.load(
        """<mujoco><worldbody><geom type="plane" size="1 1 1" surfacevel="1 0 0 0 0 0"/>
        <body name="ball"><freejoint/><geom size=".1" adhesion="1"/></body></worldbody>
        <actuator><adhesion body="ball" ctrlrange="0 1"/></actuator></mujoco>"""
    )
    with pytest.raises(ValueError, match=r"moving surfaces.*surfaces that stick.*actuators that make bodies stick"):
        maximal.from_model(sticky)
    maximal.from_model(sticky, without=("contact",))
    flags = model.opt.enableflags | EnableBit.SLEEP
    with pytest.raises(ValueError, match="2 trees that may sleep"):
        maximal.from_model(model.replace(opt=model.opt.replace(enableflags=flags)), without=ALL)
