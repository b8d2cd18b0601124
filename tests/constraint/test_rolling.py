"""What rolls under the hard law: gaps at the end of a step of ellipsoids and cylinders on flat sides that rest."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js

# a wheel on the floor and a thin disc that tumbles on a fixed box, each with 5 mm to fall
SCENE = """<mujoco><option timestep="0.01"/><default><geom friction="1" mass="1"/></default><worldbody>
<geom type="plane" size="9 9 .1"/><geom type="box" pos="0 6 .5" size="3 3 .5" contype="2" conaffinity="2"/>
<body pos="0 0 .105" euler="90 0 0"><freejoint/><geom type="cylinder" size=".1 .03" conaffinity="0"/></body>
<body pos="0 6 1.205" euler="90 0 0"><freejoint/>
<geom type="ellipsoid" size=".2 .15 .02" contype="2" conaffinity="0"/></body></worldbody></mujoco>"""
SPINS = ((0, 0, 20), (3, -8, 12))  # rad/s, in the bodies' frames
BODIES = len(SPINS)


def _scene(**options):
    model = js.load(SCENE, contact="hard")
    model = model.replace(opt=model.opt.replace(**options))
    spins = np.concatenate([np.zeros((BODIES, 3)), SPINS], axis=1)
    return model, js.make_data(model).replace(qvel=jnp.asarray(spins.ravel()))


def test_what_rolls_does_not_enter_the_floor():
    """A wheel at 2 m/s turns by 11 degrees in a step, so that a point fixed to it would be 2 mm above the lowest one, and
    one of a disc of 20 cm up to 7 mm."""
    model, data = _scene()

    def step(d, _):
        d = js.step(model, d)
        return d, (d.contact.dist, d.solver_converged, d.qpos[2])

    data, (dist, converged, height) = jax.jit(lambda d: jax.lax.scan(step, d, length=150))(data)
    assert converged.all() and dist.min() > -5e-4
    np.testing.assert_allclose(height[-50:], 0.1, atol=1e-4)
    # it slips at first, so that a third of its spin is left
    np.testing.assert_allclose(data.qvel[0], -0.1 * data.qvel[5], atol=1e-3)
    assert 6 < data.qvel[5] < 7


def test_derivatives_of_what_rolls(rng):
    """With respect to poses, velocities and sizes, against central differences of the step."""
    model, data = _scene(kappa=1e-4, kappa_gradient=1e-4, tolerance=1e-11)
    heights = 7 * np.arange(BODIES) + 2
    data = data.replace(qpos=data.qpos.at[heights].add(-0.0045))

    def outcome(x):
        turn, qvel, size = jnp.split(x, (model.nv, 2 * model.nv))
        m = model.replace(geom_size=model.geom_size * jnp.concatenate([jnp.ones(2), size])[:, None])
        d = js.step(m, data.replace(qpos=js.integrate_pos(m, data.qpos, turn, 1.0), qvel=qvel))
        return d.qvel, d.solver_converged

    @jax.jit
    @jax.vmap
    def both(x, along):
        return jax.jvp(outcome, (x,), (along,), has_aux=True)

    along = rng.standard_normal((20, 2 * model.nv + BODIES)) * np.repeat([0.01, 1, 0.01], [model.nv, model.nv, BODIES])
    x = np.broadcast_to(np.concatenate([np.zeros(model.nv), data.qvel, np.ones(BODIES)]), along.shape)
    qvel, slope, converged = both(x, along)
    high, low = (both(x + eps * along, along)[0] for eps in (1e-6, -1e-6))
    assert converged.all() and np.abs(np.asarray(qvel) - np.asarray(data.qvel)).max() > 1
    np.testing.assert_allclose(slope, (high - low) / 2e-6, rtol=1e-5, atol=1e-5)
