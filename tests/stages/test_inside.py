"""Steps of the hard law from states in which something is inside something else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js

# a ball 14 mm too large for its place between two walls
PINCHED = """<mujoco><option timestep="0.01"/><worldbody>
<geom name="left" type="box" pos="-.18 0 0" size=".1 1 1"/><geom name="right" type="box" pos=".18 0 0" size=".1 1 1"/>
<body name="ball"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
<geom type="sphere" size=".087" mass="2" friction=".5"/></body></worldbody></mujoco>"""
# a box 4 cm inside the floor
SUNK = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 .06"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("law", ["hard", "exact"])
def test_pushed_from_both_sides_it_comes_to_the_middle(law):
    """No velocity opens both gaps: if nothing gave way, the world would be held in every step."""
    model = js.load(PINCHED, contact=law)
    start = js.make_data(model).replace(qpos=jnp.array([0.003, 0.0]), qvel=jnp.array([0.4, 0.0]))
    end, (converged, qpos) = jax.jit(
        lambda d: js.rollout(model, d, length=50, outputs=lambda d: (d.solver_converged, d.qpos))
    )(start)
    assert np.all(converged)
    assert np.all(np.abs(qpos[:, 0]) < 0.01) and abs(qpos[-1, 0]) < 1e-3
    assert np.all(np.isfinite(end.qpos))


def test_what_is_inside_comes_out_at_its_speed():
    """At 1 m/s, less what an impulse makes a contact yield, and then it rests."""
    model = js.load(SUNK, contact="hard")
    run = jax.jit(lambda d: js.rollout(model, d, length=30, outputs=lambda d: (d.solver_converged, d.qpos[2]))[1])
    converged, height = run(js.make_data(model))
    assert np.all(converged)
    assert np.all(np.diff(height[:4]) > 0.9 * 0.01) and height[0] > 0.06 + 0.8 * 0.01
    np.testing.assert_allclose(height[-1], 0.1, atol=1e-3)


def test_its_derivatives_are_those_of_the_step():
    """Also by how deep it is, which makes contacts yield more or less."""
    model = js.load(SUNK, contact="hard")
    model = model.replace(opt=model.opt.replace(kappa=1e-4, kappa_gradient=1e-4, tolerance=1e-12))
    start = js.make_data(model)

    def after(x: jax.Array) -> jax.Array:
        d = js.step(
            model, start.replace(qpos=start.qpos.at[2].set(x[0]), qvel=start.qvel.at[jnp.array([0, 2])].set(x[1:]))
        )
        return jnp.concatenate([d.qpos, d.qvel])

    for depth in (0.0008, 0.025):
        x = jnp.array([0.1 - depth, 0.3, -0.2])
        exact, run = jax.jit(jax.jacfwd(after))(x), jax.jit(after)
        for k, e in enumerate(1e-7 * np.eye(3)):
            by_differences = (run(x + e) - run(x - e)) / 2e-7
            np.testing.assert_allclose(exact[:, k], by_differences, rtol=1e-6, atol=1e-6)
