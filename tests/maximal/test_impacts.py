"""Hard contacts and limits in maximal coordinates, against closed forms (dojo.md 1.3, 1.4) and differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import maximal

# F-5: a cube thrown, that lands and slides; and a pendulum that falls onto the end of its range
SLIDING = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 1" friction=".25"/>
<body pos="-1.5 -.5 .5"><freejoint/><geom type="box" size=".25 .25 .25" mass="1" friction=".25" contype="0"/></body>
<body pos="0 5 2"><joint axis="0 1 0" range="-180 40" limited="true" damping=".5"/>
 <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0" contype="0" conaffinity="0"/></body>
</worldbody></mujoco>"""

# F-4 with a sphere that slides up and down, and next to it a tree whose foot rests and slips
PUSHED = """<mujoco><option timestep="0.1"/><worldbody><geom type="plane" size="5 5 1" friction=".5" condim="3"/>
<body pos="0 0 .5"><joint type="slide" axis="0 0 1"/><geom size=".5" mass="1" condim="1" contype="0"/></body>
<body pos="3 0 .3"><freejoint/><geom type="box" size=".2 .1 .1" contype="0" conaffinity="0"/>
 <body pos="0 0 -.1"><joint axis="0 1 0" range="-30 30" limited="true"/>
  <geom type="capsule" size=".05" fromto="-.1 0 -.15 .1 0 -.15" contype="0" condim="3" friction=".5"/></body></body>
</worldbody></mujoco>"""


def test_a_cube_slides_straight_and_stops_where_coulomb_says():
    model = js.load(SLIDING)
    mechanism = jax.jit(maximal.from_model)(model)
    state = jax.jit(maximal.to_maximal)(mechanism, model.qpos0, jnp.asarray([4, 0.8, 0, 0, 0, 0, 0]))

    def advance(state, _):
        state, _, how = maximal.stepped(mechanism, state)
        return state, (state.qpos, how, jnp.min(maximal.clearance(mechanism, state)))

    end, (qpos, how, gap) = jax.jit(lambda s: jax.lax.scan(advance, s, None, 1500))(state)
    assert gap.min() > 0  # nothing ever enters a surface, or leaves its range
    assert how.converged.all()
    assert np.sort(how.iterations)[-5] <= 20  # but for the few steps in which the cube stops sliding
    along, across = np.array([4, 0.8]) / np.hypot(4, 0.8), np.array([-0.8, 4]) / np.hypot(4, 0.8)
    moved = np.asarray(qpos[:, :2]) - np.array([-1.5, -0.5])
    assert abs(moved[-1] @ along - 3.4550) < 0.005 * 3.4550
    assert np.abs(moved @ across).max() < 1e-4
    assert np.abs(qpos[:, 6]).max() < 5e-5  # half of the yaw
    assert np.abs(qpos[1000] - qpos[-1])[:3].max() < 1e-9  # at rest it does not creep
    assert abs(end.qpos[7] - np.deg2rad(40)) < 1e-3


@pytest.fixture(scope="module")
def pushed():
    model = js.load(PUSHED)
    return jax.jit(maximal.from_model)(model)


def _with(mechanism, **options):
    m = mechanism.model
    return mechanism._replace(model=m.replace(opt=m.opt.replace(**options)))


def _after(mechanism, x):
    m = mechanism.model
    friction = m.geom_friction * (1 + x["friction"])
    mechanism = mechanism._replace(model=m.replace(geom_friction=friction, geom_size=m.geom_size * (1 + x["size"])))
    qpos = js.integrate_pos(m, m.qpos0, x["qpos"], 1.0)
    state = maximal.to_maximal(mechanism, qpos, x["qvel"])
    end = maximal.step(mechanism, state, applied=x["force"])
    return js.differentiate_pos(m, 1.0, m.qpos0, end.qpos), end.qvel, end.vel, end.ang


@jax.jit
def _both(mechanism, x, dx):
    """What a step leads to, its derivative along dx, and its gradient."""
    y, slope = jax.linearize(lambda x: _after(mechanism, x), x)
    weights = jax.tree.map(lambda a: jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape), y)
    return y, slope(dx), jax.linear_transpose(slope, x)(weights)[0], weights


def test_a_push_has_the_closed_form_and_its_derivatives(pushed):
    """phi = (b + sqrt(b^2 + 4 kappa h / m)) / 2, b = h^2 (f - m g) / m; and both modes of derivatives at that kappa."""
    m = pushed.model
    rng = np.random.default_rng(0)
    x = {name: jnp.zeros(m.nv) for name in ("qpos", "qvel", "force")} | {
        "friction": jnp.zeros(()),
        "size": jnp.zeros(()),
    }
    x["force"] = x["force"].at[0].set(9.81)
    x["qvel"] = x["qvel"].at[1:].set(jnp.asarray([0.5, 0.2, -0.1, 0.1, 0, 0.2, 0.3]))
    dx = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)) * 0.1, x)
    ups = []
    for kappa in (2e-4 / 3, 2e-8 / 3):
        mechanism = _with(pushed, kappa=kappa, kappa_gradient=kappa)
        y, forward, back, weights = _both(mechanism, x, dx)
        ups.append(float(y[0][0]))
        assert abs(ups[-1] - np.sqrt(4 * kappa * 0.1) / 2) < 1e-8
        if kappa < 1e-5:
            continue
        eps = 1e-5
        high, low = (_both(mechanism, jax.tree.map(lambda a, d, e=e: a + e * d, x, dx), dx)[0] for e in (eps, -eps))
        for slope, up, down in zip(forward, high, low):
            assert np.abs(slope).max() > 1e-3
            assert np.abs(slope - (up - down) / (2 * eps)).max() < 1e-6 * max(1, np.abs(slope).max())
        total = sum(np.vdot(w, slope) for w, slope in zip(weights, forward))
        assert abs(total - sum(np.vdot(back[name], dx[name]) for name in dx)) < 1e-9 * abs(total)
        assert np.abs(back["friction"]) > 1e-6 and np.abs(back["size"]) > 1e-6
    assert abs(ups[0] - ups[1] - 2.5562e-3) < 1e-7
