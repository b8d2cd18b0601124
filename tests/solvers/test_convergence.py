"""data.solver_converged and data.solver_residual: how each world's solve ended."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.core.enums import Integrator

# a box on the floor, tilted in some worlds, and a joint with friction
XML = """
<mujoco>
  <option cone="{cone}" tolerance="1e-8"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .2 .1" {flags}/></body>
    <body pos="1 0 1"><joint axis="0 1 0" {friction}/><geom size=".1" pos=".2 0 0"/></body>
  </worldbody>
</mujoco>
"""
FREE = {"flags": 'contype="0" conaffinity="0"', "friction": ""}
HELD = {"flags": "", "friction": 'frictionloss=".1"'}


def _worlds(model: js.Model) -> js.Data:
    """A world at rest, one that turns and slides, one in the air, and one whose force is not a number."""
    data = js.make_data(model)
    batch = jax.tree.map(lambda x: jnp.stack([x] * 4), data)
    qvel = batch.qvel.at[1].set(jnp.asarray([2, 0.5, -0.5, 0.3, 0.2, 1, 0.5]))
    qpos = batch.qpos.at[2, 2].set(3.0)
    return batch.replace(qvel=qvel, qpos=qpos, qfrc_applied=batch.qfrc_applied.at[3, 0].set(jnp.nan))


def _gradient(model: js.Model, data: js.Data, world: int) -> float:
    """|M qacc - qfrc_smooth - qfrc_constraint| / trace(M)."""
    M = np.asarray(data.qM[world])
    left = M @ np.asarray(data.qacc[world]) - np.asarray(data.qfrc_smooth[world] + data.qfrc_constraint[world])
    return float(np.linalg.norm(left) / np.trace(M))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_world_that_ran_out_of_iterations_has_not_converged(cone):
    model = js.load(XML.format(cone=cone, **HELD))
    forward = jax.vmap(js.forward, (None, 0))
    done = forward(model, _worlds(model))
    assert done.solver_converged.tolist() == [True, True, True, False]
    assert done.solver_niter[1] > 1
    short = forward(model.replace(opt=model.opt.replace(iterations=1)), _worlds(model))
    assert not short.solver_converged[1] and short.solver_niter[1] == 1
    assert short.solver_residual[1] > 1e3 * done.solver_residual[1]
    for data in (done, short):
        for world in range(3):
            expected = _gradient(model, data, world)
            assert abs(data.solver_residual[world] - expected) < 1e-9 * expected + 1e-11  # rounding
    assert np.isnan(done.solver_residual[3])


def test_without_constraints_there_is_nothing_to_converge():
    model = js.load(XML.format(cone="pyramidal", **FREE))
    data = js.forward(model, js.make_data(model).replace(solver_residual=3.0))
    assert data.solver_converged and data.solver_residual == 0 and data.solver_niter == 0
    assert data.solver_converged.dtype == bool


def test_all_stages_of_a_step_have_to_converge():
    """A box jumps off the floor, so that the later stages of RK4 have nothing to solve for."""
    model = js.load(XML.format(cone="pyramidal", flags="", friction=""))
    model = model.replace(opt=model.opt.replace(integrator=Integrator.RK4, iterations=1, timestep=0.02))
    data = js.make_data(model)
    data = data.replace(qvel=data.qvel.at[:6].set(jnp.asarray([2, 0.5, 2.0, 0.3, 0.2, 1])))
    first, done = js.forward(model, data), js.step(model, data)
    assert js.forward(model, done).nefc == 0 and not first.solver_converged
    assert not done.solver_converged and done.solver_residual == first.solver_residual


def test_the_outcome_is_constant_under_a_derivative():
    model = js.load(XML.format(cone="pyramidal", **HELD))
    data = js.make_data(model)

    def outcome(force):
        end = js.forward(model, data.replace(qfrc_applied=force))
        return end.solver_residual, end.qacc

    force = jnp.full(model.nv, 0.1)
    (residual, _), (residual_dot, qacc_dot) = jax.jvp(outcome, (force,), (jnp.ones_like(force),))
    assert residual_dot == 0 and residual >= 0
    assert jnp.isfinite(qacc_dot).all() and jnp.any(qacc_dot != 0)


# a light finger that may hit the floor and a heavy box hard and fast
FINGER = """
<mujoco>
  <option cone="elliptic" impratio="10"/>
  <default><geom solimp=".95 .99 .001" condim="4"/><joint armature="1e-4" damping=".01"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .25">
      <joint axis="0 1 0"/><joint axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.1" size=".01" mass=".01" contype="0"/>
      <body pos="0 0 -.1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.1" size=".01" mass=".01"/></body>
    </body>
    <body pos=".1 0 .05"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def test_single_precision_ends_where_rounding_begins():
    """Accelerations of 4e5 rad/s^2, of whose gradient rounding leaves more than its own size tells: a search may not go
    on to and fro until its iterations are used up, and ends as near to that in double precision as rounding lets it."""
    rng, worlds = np.random.default_rng(0), 4096

    def found(precision: str) -> js.Data:
        with jax.enable_x64(precision == "float64"):
            model = js.load(FINGER)
            data = js.make_data(model)
            forward = jax.jit(jax.vmap(lambda q, v: js.forward(model, data.replace(qpos=q, qvel=v))))
            return forward(jnp.asarray(qpos, precision), jnp.asarray(qvel, precision))

    qpos = np.tile([0.0] * 3 + [0.1, 0, 0.05, 1, 0, 0, 0], (worlds, 1))
    qpos[:, :3] += rng.normal(0, 0.6, (worlds, 3))
    qpos[:, 3:6] += rng.normal(0, 0.02, (worlds, 3))
    qvel = rng.normal(size=(worlds, 9)) * rng.choice([1, 30, 300], (worlds, 1)) * ([1] * 3 + [0.01] * 6)
    qpos, qvel = qpos.astype(np.float32), qvel.astype(np.float32)
    single, double = (jax.tree.map(np.asarray, found(x)) for x in ("float32", "float64"))
    assert np.max(double.qacc) > 1e5
    assert np.max(single.solver_niter) < 1.5 * np.max(double.solver_niter) and np.all(single.solver_converged)
    largest = 1 + np.max(np.abs(double.qacc), axis=1)
    same = single.ncon == double.ncon
    error = (np.max(np.abs(single.qacc - double.qacc), axis=1) / largest)[same]
    assert np.mean(same) > 0.99 and np.max(error) < 1e-4
