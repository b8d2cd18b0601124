"""Inverse dynamics against MuJoCo, and as the inverse of the forward dynamics."""

import jax.numpy as jnp
import mujoco
import numpy as np
import oracle

import jaxsim as js


def test_inverse(models, rng):
    mj, model = models
    for d in oracle.states(mj, rng, (0, 60)):
        data = oracle.put(model, d).replace(qacc=d.qacc.copy())
        mujoco.mj_inverse(mj, d)
        inverse = js.inverse(model, data)
        oracle.assert_equal(inverse, d, ["qfrc_inverse", "qfrc_constraint"])


def test_inverse_of_any_acceleration(models, rng):
    mj, model = models
    for d in oracle.states(mj, rng, (20,)):
        d.qacc[:] = d.qacc + rng.standard_normal(mj.nv)
        data = oracle.put(model, d).replace(qacc=d.qacc.copy())
        mujoco.mj_inverse(mj, d)
        oracle.assert_equal(js.inverse(model, data), d, ["qfrc_inverse"])


def test_inverse_returns_what_forward_was_given(models, rng):
    mj, model = models
    d = next(oracle.states(mj, rng, (30,)))
    given = rng.standard_normal(mj.nv)
    data = oracle.put(model, d).replace(qfrc_applied=jnp.asarray(given))
    moved = js.forward(model, data)
    inverse = js.inverse(model, moved)
    total = np.asarray(moved.qfrc_smooth + moved.qfrc_bias - moved.qfrc_passive)
    assert oracle.error(inverse.qfrc_inverse, total) < 1e-9
