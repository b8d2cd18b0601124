"""Noslip against MuJoCo C: forward, in a batch, the rows' forces, and its derivative against central differences."""

import contact_scenes as scenes
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

DOG = 'noslip_iterations="4"'  # what dm_control's dog asks for


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_mujocos_sweeps_and_their_derivative(cone):
    (mj, model), states = scenes.scenes(cone, 4, DOG)
    forward = jax.jit(jax.vmap(js.forward, (None, 0)))
    batch = scenes.batch_of(model, states)
    ours = forward(model, batch)
    for i, d in enumerate(states):
        mujoco.mj_forward(mj, d)
        oracle.assert_equal(jax.tree.map(lambda x, i=i: x[i], ours), d, ["qacc", "qfrc_constraint"])
    _derivative(model, forward, batch)
    if cone == "pyramidal":  # whose edges' forces do not follow from the acceleration
        rows = js.constraint_rows(model, jax.tree.map(lambda x: x[0], ours)).compact()
        assert oracle.error(rows.J.T @ rows.force, states[0].qfrc_constraint) < 1e-9
        assert oracle.error(np.sort(rows.force), np.sort(states[0].efc_force)) < 1e-9


def _derivative(model: js.Model, forward, batch: js.Data) -> None:
    """Of the acceleration by velocity and force."""
    change = jnp.asarray(np.random.default_rng(1).standard_normal(batch.qvel.shape))

    def moved(step: float) -> js.Data:
        return batch.replace(qvel=batch.qvel + step * change, qfrc_applied=batch.qfrc_applied - step * change)

    def qacc(step):
        return jax.vmap(js.forward, (None, 0))(model, moved(step)).qacc

    _, ours = jax.jit(lambda step: jax.jvp(qacc, (step,), (1.0,)))(0.0)
    ahead, behind = (forward(model, moved(step)).qacc for step in (1e-6, -1e-6))
    assert oracle.error(ours, (ahead - behind) / 2e-6) < 1e-6


def test_friction_loss_alone_is_held_and_pulls_back_in_reverse():
    """Without contacts: a hinge held by its friction stands still, and lets go where the force is larger."""
    model = js.load("""<mujoco><option noslip_iterations="3" gravity="0 0 0"/><worldbody><body>
      <joint axis="0 1 0" frictionloss=".5"/><joint axis="1 0 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody></mujoco>""")
    data = js.make_data(model)

    def qacc(force):
        return js.forward(model, data.replace(qfrc_applied=data.qfrc_applied.at[0].set(force))).qacc[0]

    slope = jax.jit(jax.value_and_grad(qacc))
    soft = js.forward(
        model.replace(opt=model.opt.replace(noslip_iterations=0)), data.replace(qfrc_applied=jnp.asarray([0.3, 0.0]))
    )
    held, free = slope(0.3), slope(0.7)
    assert abs(soft.qacc[0]) > 1e-3 and abs(held[0]) < 1e-12 and abs(held[1]) < 1e-12
    assert abs(free[0] - 0.2 * free[1]) < 1e-9 and free[1] > 1
