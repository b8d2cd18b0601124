"""Bounces of hard contacts: closed forms and their derivatives, a tossed cube against differences, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import maximal

# a ball above the floor, and two on a rail
BALLS = """<mujoco><option timestep="{h}"/><default><geom size=".1" mass="1" condim="1"/></default><worldbody>
<geom type="plane" size="5 5 1"/><body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><geom/></body>
<body pos="0 2 1"><joint type="slide" axis="1 0 0"/><geom/></body>
<body pos="0 2 1"><joint type="slide" axis="1 0 0"/><geom/></body></worldbody></mujoco>"""
STEPS = 240


def _bouncing(z, speed, restitution, g):
    """Height after a second of a ball that starts so high above the floor, by the formulas of its flights."""
    left = 1.0
    while True:
        fall = (speed + np.sqrt(speed**2 + 2 * g * z)) / g if g else -z / speed if speed < 0 else np.inf
        if fall >= left:
            return z + speed * left - 0.5 * g * left**2
        z, speed, left = 0.0, restitution * (g * fall - speed), left - fall


def test_a_bounce_has_its_derivatives():
    """Without gravity all is exact: who starts lower ends higher, and the ball that is hit goes on for the one that
    hits. With gravity, one or two bounces are those of a speed half a step earlier to the step's square."""
    model = js.load(BALLS.format(h=1 / STEPS), contact="hard")
    model = model.replace(opt=model.opt.replace(kappa=1e-10, kappa_gradient=1e-9, tolerance=1e-12, restitution=1.0))

    def outcome(x, gravity):
        opt = model.opt.replace(restitution=x[6], gravity=jnp.zeros(3).at[2].set(-gravity))
        m, d = model.replace(opt=opt), js.make_data(model).replace(qpos=x[:3], qvel=x[3:6])
        d, found = js.rollout(m, d, length=STEPS, outputs=lambda d: d.solver_converged)
        return d.qpos, found.all()

    @jax.jit
    @jax.vmap
    def run(x, gravity):
        end, slope, found = jax.linearize(lambda x: outcome(x, gravity), x, has_aux=True)
        return end, jax.vmap(slope)(jnp.eye(7)).T, found

    # the first touches where a step ends, to rounding; on the rail 0.32 m are between
    starts = ((0.9, -2, 1), (0.877, -1.9, 0.8), (0.4, -1, 0.8))
    x, gravity = np.array([[z, 0, 0.52, v, 1, 0, e] for z, v, e in starts] * 2), np.repeat([0, 9.81], 3)
    end, slope, found = map(np.asarray, run(x, gravity))
    assert found.all()
    for row, g, height, slopes in zip(x[:, [0, 3, 6]], gravity, end[:, 0], slope[:, 0]):
        row = row - [0, 0.5 * g / STEPS, 0]
        right = [(_bouncing(*row + d, g) - _bouncing(*row - d, g)) / 2e-6 for d in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(height, _bouncing(*row, g), atol=1e-7 if g == 0 else 1e-4)
        np.testing.assert_allclose(slopes[[0, 3, 6]], right, atol=2e-4 if g == 0 else 1e-2)
    for restitution, ends, slopes in zip(x[:, 6], end[:, 1:], slope[:, 1:]):
        a = (1 + restitution) / 2  # the other gets so much of the speed
        np.testing.assert_allclose(ends, [0.32 + (1 - a) * 0.68, 0.52 + a * 0.68], atol=1e-5)
        right = [[1 - a, a, 1 - a, a, -0.34], [a, 1 - a, a, 1 - a, 0.34]]
        np.testing.assert_allclose(slopes[:, [1, 2, 4, 5, 6]], right, atol=1e-3)


def test_a_tossed_cube_bounces_and_comes_to_rest():
    """It strikes with edges and turns, with friction: derivatives against differences, energy, and rest."""
    model = js.load(
        '<mujoco><option timestep="0.01"><flag energy="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 .3" euler="20 35 10"><freejoint/><geom type="box" size=".1 .12 .1" mass="1"/></body>'
        "</worldbody></mujoco>",
        contact="hard",
    )
    model = model.replace(opt=model.opt.replace(restitution=0.5, kappa=1e-6, kappa_gradient=1e-6, tolerance=1e-11))

    def outcome(v):
        d = js.make_data(model).replace(qvel=v)
        d, (*rest, qpos) = js.rollout(
            model,
            d,
            length=300,
            outputs=lambda d: (d.energy.sum(), d.solver_converged, d.contact.dist.min(), d.qvel, d.qpos),
        )
        return qpos[40], rest

    @jax.jit
    def both(v, along):
        return jax.jvp(outcome, (v,), (along,), has_aux=True)

    v, along = jnp.array([0.4, -0.1, -1, 1, 0, 2.0]), jnp.array([0.3, -0.5, 0.8, 0.4, -0.2, 0.5])
    _, slope, (energy, found, dist, speed) = both(v, along)
    low, high = (both(v + eps * along, along)[0] for eps in (-1e-6, 1e-6))
    np.testing.assert_allclose(slope, (high - low) / 2e-6, rtol=1e-4, atol=1e-5)
    assert found.all() and np.diff(energy).max() < 1e-3 and (energy[1:] < energy[:-1] - 0.05).sum() >= 2
    assert dist.min() > -2e-3 and np.abs(speed[-1]).max() < 1e-3 and speed[:, 2].max() > 0.5


def test_options_and_what_is_refused():
    model = js.load(BALLS.format(h=0.01), contact="hard")
    assert not model.opt.bounces
    for wrong in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"opt\.restitution is .*: it has to be from 0 to 1"):
            model.opt.replace(restitution=wrong)
    bouncing = model.replace(opt=model.opt.replace(restitution=0.5))
    assert bouncing.opt.bounces and not bouncing.opt.replace(restitution=0.0).bounces
    with pytest.raises(ValueError, match=r"contacts of bodies that bounce \(opt\.restitution\)"):
        maximal.from_model(bouncing)
