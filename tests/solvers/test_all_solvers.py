"""Newton, CG and PGS reach the same solution, and are on the way no worse than MuJoCo's."""

import copy

import contact_scenes as scenes
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

from jaxsim.core.enums import Solver
from jaxsim.solvers.cg import cg
from jaxsim.solvers.diagonal import diagonal
from jaxsim.solvers.dual import as_dual, dual_rows
from jaxsim.solvers.linear.solve import solve
from jaxsim.solvers.newton import newton
from jaxsim.solvers.pgs import pgs
from jaxsim.solvers.primal import Settings

NEVER, SHARP = -1.0, 0.01  # tolerances at which no solve stops, and of line searches
COUNT, FEW = 40, 5  # scenes of each cone, and iterations in which objectives are compared


def _settings(iterations, tolerance: float) -> Settings:
    return Settings(iterations, 50, jnp.asarray(tolerance), jnp.asarray(SHARP))


def _dual_cost(s, p, start, forces):
    """1/2 f^T (A + R) f + f^T b."""
    rows, f = dual_rows(s, p, start.order), as_dual(s, p, forces, start.order)
    pull = rows.J.T @ f
    return 0.5 * pull @ solve(p.M, pull) + f @ (rows.J @ start.smooth - rows.aref) + 0.5 * rows.R @ (f * f)


def _theirs(mj: mujoco.MjModel, d: mujoco.MjData, solver: Solver) -> mujoco.MjData:
    """MuJoCo's state after FEW iterations."""
    mj, d = copy.copy(mj), copy.copy(d)
    mj.opt.solver, mj.opt.iterations, mj.opt.tolerance = int(solver), FEW, 0
    mujoco.mj_forward(mj, d)
    return d


def _their_dual_cost(mj: mujoco.MjModel, d: mujoco.MjData) -> float:
    moved = np.zeros((1, mj.nv))
    mujoco.mj_solveM(mj, d, moved, d.qfrc_constraint[None].copy())
    f = d.efc_force
    return float(0.5 * d.qfrc_constraint @ moved[0] + f @ d.efc_b + 0.5 * f @ (d.efc_R * f))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_the_same_solution_and_no_worse_on_the_way_than_mujoco(cone):
    """To what rounding leaves of a cost; on the way after FEW iterations of each."""
    pair, states = scenes.scenes(cone, COUNT)

    def solve(s, p, start):
        by_newton, _ = newton(s, p, start, _settings(100, 0))
        by_cg, outcome = cg(s, p, start, _settings(1500, 1e-16))
        by_pgs, (ended, _) = pgs(s, p, start, _settings(1000, 1e-17))
        early, _ = cg(s, p, start, _settings(FEW, NEVER))
        _, (_, forces) = pgs(s, p, start, _settings(FEW, NEVER))
        _, rough = diagonal(s, p, start.smooth)
        costs = _dual_cost(s, p, start, forces), _dual_cost(s, p, start, rough)
        return (by_newton, by_cg, by_pgs), (outcome, ended), early, costs

    found, ended, early, (cost, rough) = scenes.solving(pair.model, solve)(scenes.batch_of(pair.model, states))
    assert ended[0].converged.all() and ended[1].converged.all()
    for i, d in enumerate(states):
        for x, tolerance in zip(found, (1e-9, 1e-7, 1e-7)):
            assert oracle.error(x[i], d.qacc) < tolerance, i
        theirs = _theirs(pair.mj, d, Solver.CG)
        most = scenes.objective(pair.mj, d, theirs.qacc)
        # it is the same path; where its line searches end, rounding decides: two scenes in a hundred are 1e-9 off
        assert scenes.objective(pair.mj, d, np.asarray(early[i])) <= most + 1e-8 * abs(most)
        most = _their_dual_cost(pair.mj, _theirs(pair.mj, d, Solver.PGS))
        assert cost[i] <= most + 1e-9 * abs(most)
        assert cost[i] < rough[i] < 0  # rough, but better than no force
