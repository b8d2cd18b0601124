"""Random scenes of contacts, limits, friction loss and an equality, in MuJoCo and here, for the tests of solvers."""

import copy
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle

import jaxsim as js
from jaxsim.collision.order import contact_order
from jaxsim.solvers.objective import Problem, Structure, problem_of, structure_of
from jaxsim.solvers.primal import Start
from jaxsim.stages.forward import position_velocity, smooth_acceleration

XML = """
<mujoco>
  <option cone="{cone}" timestep=".004" {option}/>
  <default><geom friction=".6 .02 .005"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="a" pos="0 0 .097"><freejoint/><geom type="box" size=".1 .15 .1"/></body>
    <body pos="0 .02 .293"><freejoint/><geom size=".1" condim="6"/></body>
    <body pos=".25 .1 .093"><freejoint/><geom type="capsule" fromto="-.1 0 0 .1 0 0" size=".1" condim="1"/></body>
    <body pos=".4 .4 .3"><joint name="s" type="slide" axis="0 0 1" frictionloss=".5"/>
      <joint name="h" axis="0 1 0" frictionloss=".1" range="-.1 .1"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".05"/>
      <body name="b" pos=".25 0 0"><joint axis="1 0 0" frictionloss="2"/><geom size=".04" pos=".05 .1 0"/></body></body>
  </worldbody>
  <tendon><fixed frictionloss=".3"><joint joint="s" coef=".5"/><joint joint="h" coef="1"/></fixed></tendon>
  <equality><connect body1="a" body2="b" anchor=".5 .4 .2"/></equality>
</mujoco>
"""


def scenes(cone: str, count: int, option: str = "") -> tuple[oracle.Pair, list[mujoco.MjData]]:
    """A model in both engines, and states of it in which most bodies touch; the solver's start is random too."""
    rng = np.random.default_rng(0)
    pair = oracle.pair_of_xml(XML.format(cone=cone, option=option))
    found = []
    for _ in range(count):
        d = mujoco.MjData(pair.mj)
        change = 0.02 * rng.standard_normal(pair.mj.nv)
        mujoco.mj_integratePos(pair.mj, d.qpos, change, 0.2)
        d.qvel[:] = 0.3 * rng.standard_normal(pair.mj.nv)
        d.qfrc_applied[:] = 4 * rng.standard_normal(pair.mj.nv)
        d.qacc_warmstart[:] = 5 * rng.standard_normal(pair.mj.nv)
        mujoco.mj_forward(pair.mj, d)
        found.append(d)
    return pair, found


def batch_of(model: js.Model, states: list[mujoco.MjData]) -> js.Data:
    """The states as one batch."""
    return jax.tree.map(lambda *x: jnp.stack(x), *[oracle.put(model, d) for d in states])


def solving(model: js.Model, solve: Callable) -> Callable:
    """`solve(s, p, start, *rest)` for each world of a batch: a compiled function of (batch, *rest)."""

    def one(data: js.Data, *rest):
        data, mid = position_velocity(model, data)
        data, mid = smooth_acceleration(model, data, mid)
        problem: Problem = problem_of(data.qM, mid.inertia, data.qfrc_smooth, mid.rows)
        structure: Structure = structure_of(model)
        order = jnp.asarray(contact_order(model, data, mid.slots).slot, jnp.int32)
        start = Start(data.qacc_smooth, data.qacc_warmstart, order)
        return solve(structure, problem, start, *rest)

    @jax.jit
    def every(batch: js.Data, *rest):
        return jax.vmap(lambda data: one(data, *rest))(batch)

    return every


def objective(mj: mujoco.MjModel, d: mujoco.MjData, qacc: np.ndarray) -> float:
    """The cost of an acceleration, as MuJoCo reckons it."""
    Ma, jar, cost = np.zeros(mj.nv), np.zeros(d.nefc), np.zeros(1)
    mujoco.mj_mulM(mj, d, Ma, qacc)
    mujoco.mj_mulJacVec(mj, d, jar, qacc)
    scratch = copy.copy(d)
    mujoco.mj_constraintUpdate(mj, scratch, jar - d.efc_aref, cost, 0)
    return float(cost[0] + 0.5 * (Ma - d.qfrc_smooth) @ (qacc - d.qacc_smooth))
