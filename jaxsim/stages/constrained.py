"""Accelerations and forces under the constraints (mj_fwdConstraint): one objective, and a solver that the option names.

Newton and CG find the acceleration, from which the forces follow. Noslip then chooses the friction forces anew, and
the acceleration follows from the forces.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.collision.order import contact_order
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.rows import count_rows
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, Solver
from jaxsim.core.model import Model
from jaxsim.solvers.cg import cg
from jaxsim.solvers.implicit import implicit_minimum
from jaxsim.solvers.newton import newton
from jaxsim.solvers.noslip import noslip
from jaxsim.solvers.objective import Problem, Structure, forces, mul_jt, problem_of, residual, structure_of
from jaxsim.solvers.primal import Outcome, Settings, Start
from jaxsim.solvers.sweeps import Stop
from jaxsim.stages.intermediate import Intermediate

Array = jax.Array


def constrained_acceleration(m: Model, d: Data, mid: Intermediate, known: Any = None) -> tuple[Data, Solution]:
    """qacc [nv], qfrc_constraint [nv] and the constraint forces: the objective's minimum, and how it was found.

    `known` is the `found` of the Solution of an earlier evaluation at the same state.
    """
    if not row_table(m).blocks and mid.slots is None:
        return constraint_forces(m, _ended(d.replace(qacc=d.qacc_smooth), _unsearched(d)), mid)
    structure = structure_of(m)
    problem = problem_of(d.qM, mid.inertia, d.qfrc_smooth, mid.rows)
    search = {Solver.NEWTON: newton, Solver.CG: cg}[m.opt.solver]
    iterations = (m.opt.iterations, m.opt.ls_iterations)
    warm = None if m.opt.disables(DisableBit.WARMSTART) else d.qacc_warmstart
    qacc, outcome = implicit_minimum(
        structure,
        lambda p, start, tolerances: search(structure, p, start, Settings(*iterations, *tolerances)),
        problem,
        lax.stop_gradient(Start(d.qacc_smooth, warm)),
        (m.opt.tolerance, m.opt.ls_tolerance),
        None if known is None else (known, _unsearched(d)),
    )
    d = _ended(d.replace(qacc=qacc), outcome)
    if m.opt.noslip_iterations > 0:
        return _without_slip(m, d, mid, structure, problem)
    return constraint_forces(m, d, mid)


def _without_slip(m: Model, d: Data, mid: Intermediate, s: Structure, p: Problem) -> tuple[Data, Solution]:
    """The friction forces chosen anew, and the acceleration [nv] that follows."""
    order = None if mid.slots is None else contact_order(m, mid.slots)
    tolerance = m.opt.noslip_tolerance * m.stat.meaninertia * max(1, m.nv)
    slid = noslip(s, p, d.qacc, order, Stop(m.opt.noslip_iterations, tolerance))
    found, count = d.qacc, d.solver_niter + slid.iterations
    d = d.replace(qacc=slid.qacc, solver_niter=count, qfrc_constraint=mul_jt(s, p, slid.force))
    d = d.replace(nefc=count_rows(m, mid.rows))
    return d, Solution(mid.slots, mid.rows, slid.force, found, slid.edges)


def solution_at(m: Model, d: Data, mid: Intermediate) -> Solution:
    """The constraint forces of a state after `forward`; those that do not follow from qacc are solved for again."""
    again = m.opt.noslip_iterations > 0
    return constrained_acceleration(m, d, mid)[1] if again else constraint_forces(m, d, mid)[1]


def _unsearched(d: Data) -> Outcome:
    """In place of how a solution was found that was known before; its numbers are those of the first search."""
    return Outcome(jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.zeros((), d.qacc.dtype))


def _ended(d: Data, outcome: Outcome) -> Data:
    return d.replace(
        solver_niter=outcome.iterations, solver_converged=outcome.converged, solver_residual=outcome.residual
    )


def constraint_forces(m: Model, d: Data, mid: Intermediate) -> tuple[Data, Solution]:
    """qfrc_constraint [nv], nefc [] and the constraint forces at qacc: minus the gradient of the rows' penalties."""
    structure, problem = structure_of(m), problem_of(d.qM, mid.inertia, d.qfrc_smooth, mid.rows)
    force = forces(structure, problem, residual(structure, problem, d.qacc))
    pull = mul_jt(structure, problem, force)
    d = d.replace(qfrc_constraint=pull, nefc=count_rows(m, mid.rows))
    return d, Solution(mid.slots, mid.rows, force, d.qacc)
