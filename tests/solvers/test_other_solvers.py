"""Solvers other than Newton in whole evaluations: their derivatives and forces, and the diagonal one."""

import jax
import jax.numpy as jnp
import mujoco
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import Solver

BALL = """<mujoco><option cone="{cone}" iterations="400" tolerance="0"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .099"><freejoint/><geom size=".1" condim="4" friction=".7 .1 .01"/><site name="s" size=".2"/></body>
  </worldbody><sensor><touch site="s"/></sensor></mujoco>"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_derivatives_of_what_pgs_finds_are_newtons(cone):
    exact = js.load(BALL.format(cone=cone))
    other = exact.replace(opt=exact.opt.replace(solver=Solver.PGS))
    data = js.make_data(exact)
    data = data.replace(qvel=jnp.asarray([0.2, -0.1, -0.1, 0.3, 0.5, 0.4]))

    def results(model, qvel):
        end = js.forward(model, data.replace(qvel=qvel))
        return {"qacc": end.qacc, "qfrc_constraint": end.qfrc_constraint, "sensordata": end.sensordata}

    expected, ours = (
        jax.jvp(lambda v, m=m: results(m, v), (data.qvel,), (jnp.linspace(-1, 1, 6),)) for m in (exact, other)
    )
    assert expected[0]["sensordata"] > 1
    for a, b in zip(expected, ours):
        for name in a:
            assert oracle.error(b[name], a[name]) < 1e-6, name


def test_the_diagonal_solver_is_exact_for_one_force():
    """A ball on a floor without friction: MuJoCo's solution, and its derivative by the height."""
    xml = (
        BALL.format(cone="elliptic")
        .replace('condim="4"', 'condim="1"')
        .replace('size="5 5 .1"', 'size="5 5 .1" condim="1"')
    )
    model = js.load(xml)
    model = model.replace(opt=model.opt.replace(solver=Solver.DIAGONAL))
    mj = mujoco.MjModel.from_xml_string(xml)
    theirs = []
    for height in (0.0993, 0.0993 + 1e-6, 0.0993 - 1e-6):
        d = mujoco.MjData(mj)
        d.qpos[2] = height
        mujoco.mj_forward(mj, d)
        theirs.append(d.qacc.copy())
    data = js.make_data(model)

    def qacc(height):
        return js.forward(model, data.replace(qpos=data.qpos.at[2].set(height))).qacc

    ours, derivative = jax.jvp(qacc, (0.0993,), (1.0,))
    assert oracle.error(ours, theirs[0]) < 1e-9 and theirs[0][2] > -5
    assert oracle.error(derivative, (theirs[1] - theirs[2]) / 2e-6) < 1e-6
