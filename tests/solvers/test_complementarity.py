"""The exact contact law: Coulomb's conditions themselves, and the hard law as its kappa goes to zero."""

import functools

import contact_scenes
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.solvers.complementarity import exact
from jaxsim.solvers.impacts import impact_problem, start_of
from jaxsim.solvers.interior_point.cones import product
from jaxsim.stages.forward import position_velocity, smooth_acceleration
from jaxsim.stages.hard import impact_of, settings_of

COUNT = 50


@pytest.fixture(scope="module")
def scenes():
    pair, found = contact_scenes.scenes("elliptic", COUNT)
    model = pair.model.replace(opt=pair.model.opt.replace(contact="exact", tolerance=1e-10))
    return model, contact_scenes.batch_of(model, found)


def test_conditions_hold(scenes):
    """Equations of motion, gaps and impulses that exclude each other, friction in its cone and against the slip."""
    model, batch = scenes

    @jax.jit
    @jax.vmap
    def solved(data):
        data, mid = position_velocity(model, data)
        data, mid = smooth_acceleration(model, data, mid)
        form, t = impact_of(model, data, mid)
        t = t._replace(sink=jnp.zeros_like(t.sink))  # the law itself: these scenes begin inside each other
        w, how = exact(form, t, start_of(form, t, data.qvel), settings_of(model, data.qvel))
        errors, (b, xi), (c, eta) = impact_problem(form).residual(t, w), form.cones.split(w.b), form.cones.split(w.c)
        inside = [jnp.min(b), jnp.min(c), *(jnp.min(x[:, 0] - jnp.linalg.norm(x[:, 1:], axis=1)) for x in xi + eta)]
        worst = jax.tree.map(lambda x: jnp.max(jnp.abs(x), initial=0), errors)
        return how, worst, jnp.stack(inside), jnp.max(jnp.abs(product(form.cones, w.b, w.c))), jnp.max(w.b)

    how, worst, inside, apart, largest = solved(batch)
    good = np.asarray(how.converged)
    assert good.sum() >= 45  # a few of these scenes have no solution that was ever found
    assert np.median(how.iterations[good]) < 30
    for error in jax.tree.leaves(worst):
        assert np.max(error[good]) < 1e-8
    assert inside[good].min() > -1e-12 and apart[good].max() < 1e-12 and largest[good].min() > 1e-2


def test_the_hard_law_ends_there(scenes):
    """Velocities of a whole step, gaps of its end included, go to those of the exact law as kappa does to zero.

    They are the limit's plus a multiple of kappa, to first order, so two values of kappa give the limit.
    """
    model, batch = scenes
    step = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))
    end = step(model, batch)
    near = [
        step(model.replace(opt=model.opt.replace(contact="hard", kappa=kappa, kappa_gradient=kappa)), batch)
        for kappa in (1e-11, 1e-12)
    ]
    assert all(np.all(one.solver_converged) for one in (end, *near))
    limit = (10 * near[1].qvel - near[0].qvel) / 9
    away, before = (np.abs(end.qvel - qvel).max(axis=1) for qvel in (limit, near[0].qvel))
    assert away.max() < 1e-6 < before.max()


POINTS = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 1" friction=".25"/>
<body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
<geom size=".1" mass="2" friction=".25"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_ball_slides_as_coulomb_says_and_with_the_hard_laws_derivatives(dtype):
    """It loses mu g h, or stops; it is on the ground to rounding, or takes off."""
    with jax.enable_x64(dtype == np.float64):
        model = js.load(POINTS, contact="exact")
        model = model.replace(opt=model.opt.replace(kappa_gradient=1e-3))
        data = js.make_data(model)

        @functools.partial(jax.jit, static_argnames="contact")
        @functools.partial(jax.vmap, in_axes=(0, None))
        def slopes(qvel, contact):
            def end(qvel):
                d = js.step(model.replace(opt=model.opt.replace(contact=contact)), data.replace(qvel=qvel))
                return d.qvel, (d.qvel, d.qpos, d.solver_converged)

            return jax.jacrev(end, has_aux=True)(qvel)

        start = jnp.asarray([[3, -4, 0], [0.01, 0.02, 0], [3, -4, -1], [1, 0, 0.2]], dtype)
        slope, (qvel, qpos, converged) = slopes(start, "exact")
        away = np.hypot(3, -4) - 0.25 * np.array([0.0981, 1.0981])  # what stops the fall also brakes
        wanted = [[0.6 * away[0], -0.8 * away[0], 0], [0, 0, 0], [0.6 * away[1], -0.8 * away[1], 0], [1, 0, 0.1019]]
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(qvel, wanted, atol=1e3 * eps)
        assert converged.all() and abs(qpos[:3, 2]).max() < 10 * eps
        assert np.isfinite(slope).all() and np.abs(slope).max() > 0.9
        if dtype == np.float64:
            hard = slopes(start, "hard")[0]  # both points of the path are as near to it as 1e-6 of its kappa
            np.testing.assert_allclose(slope, hard, atol=1e-7)
