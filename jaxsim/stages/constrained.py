"""Accelerations and forces under the constraints, by the solver that the option names (mj_fwdConstraint).

Newton and CG find the acceleration, from which the forces follow. PGS finds the forces, from which the acceleration
follows. Noslip then chooses the friction forces anew.
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
from jaxsim.solvers.diagonal import diagonal
from jaxsim.solvers.dual import Forces, forces_at
from jaxsim.solvers.implicit import implicit_minimum
from jaxsim.solvers.newton import newton
from jaxsim.solvers.noslip import noslip
from jaxsim.solvers.objective import Problem, Structure, forces, mul_jt, problem_of, residual, structure_of
from jaxsim.solvers.pgs import pgs
from jaxsim.solvers.primal import Outcome, Settings, Start
from jaxsim.solvers.sweeps import Stop
from jaxsim.stages.hard import hard_acceleration, is_hard
from jaxsim.stages.intermediate import Intermediate
from jaxsim.stages.metric import with_metric

Array = jax.Array
BY_FORCES = (Solver.PGS, Solver.DIAGONAL)  # what they find are forces


def constrained_acceleration(m: Model, d: Data, mid: Intermediate, known: Any = None) -> tuple[Data, Solution]:
    """qacc [nv], qfrc_constraint [nv] and the constraint forces: the objective's minimum, and how it was found.

    `known` is the `found` of the Solution of an earlier evaluation at the same state.
    """
    if not is_constrained(m, mid):
        return constraint_forces(m, _ended(d.replace(qacc=d.qacc_smooth), _unsearched(d)), mid)
    if is_hard(m):
        return hard_acceleration(m, d, mid, known)
    if m.opt.solver == Solver.DIAGONAL:
        d, solution = _by_diagonal(m, d, mid)
    elif m.opt.solver == Solver.PGS:
        d, solution = _by_forces(m, d, mid, known)
    else:
        d, solution = _by_acceleration(m, d, mid, known)
    return _without_slip(m, d, solution, mid) if m.opt.noslip_iterations > 0 else (d, solution)


def is_constrained(m: Model, mid: Intermediate) -> bool:
    """Whether anything may push against the accelerations qacc_smooth [nv]."""
    return bool(row_table(m).blocks) or mid.slots is not None


def _by_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> tuple[Data, Solution]:
    """By Newton's method or CG, which search for qacc [nv]."""
    search = cg if m.opt.solver == Solver.CG else newton
    structure, problem = _problem(m, d, mid)
    iterations = (m.opt.iterations, m.opt.ls_iterations)
    qacc, outcome = implicit_minimum(
        structure,
        lambda p, start, tolerances: search(structure, p, start, Settings(*iterations, *tolerances)),
        problem,
        lax.stop_gradient(Start(d.qacc_smooth, _warm(m, d))),
        (m.opt.tolerance, m.opt.ls_tolerance),
        None if known is None else (known, _unsearched(d)),
    )
    return constraint_forces(m, _ended(d.replace(qacc=qacc), outcome), mid)


def _by_forces(m: Model, d: Data, mid: Intermediate, known: tuple[Array, Forces] | None) -> tuple[Data, Solution]:
    """By PGS, which searches for the forces; they have the derivatives of those that go with qacc."""
    structure, problem = _problem(m, d, mid)
    order = None if mid.slots is None else jnp.asarray(contact_order(m, d, mid.slots).slot, jnp.int32)
    qacc, (outcome, found) = implicit_minimum(
        structure,
        lambda p, start, tolerances: pgs(
            structure, p, start, Settings(m.opt.iterations, m.opt.ls_iterations, *tolerances)
        ),
        problem,
        lax.stop_gradient(Start(d.qacc_smooth, _warm(m, d), order)),
        (m.opt.tolerance * _inertia(m), m.opt.ls_tolerance),
        None if known is None else (known[0], (_unsearched(d), known[1])),
    )
    d = _ended(d.replace(qacc=qacc), outcome)
    near = forces_at(structure, problem, residual(structure, problem, qacc))
    force = jax.tree.map(lambda value, at: value + (at - lax.stop_gradient(at)), found, near)
    return _with_forces(m, d, mid, structure, problem, force, (qacc, found))


def _by_diagonal(m: Model, d: Data, mid: Intermediate) -> tuple[Data, Solution]:
    """By formulas, which are differentiated as they are."""
    structure, problem = _problem(m, d, mid)
    qacc, force = diagonal(structure, problem, d.qacc_smooth)
    d = _ended(d.replace(qacc=qacc), _unsearched(d))
    return _with_forces(m, d, mid, structure, problem, force, ())


def _without_slip(m: Model, d: Data, solution: Solution, mid: Intermediate) -> tuple[Data, Solution]:
    """The friction forces chosen anew, and the acceleration [nv] that follows."""
    s, p = _problem(m, d, mid)
    order = None if mid.slots is None else contact_order(m, d, mid.slots)
    start = Forces(solution.force, solution.edges)
    if m.opt.solver not in BY_FORCES:  # forces of pyramids' edges follow from qacc
        start = forces_at(s, p, residual(s, p, d.qacc))
    slid = noslip(s, p, start, order, Stop(m.opt.noslip_iterations, m.opt.noslip_tolerance * _inertia(m)))
    if slid is None:
        return d, solution
    d = d.replace(qacc=slid.qacc, solver_niter=d.solver_niter + slid.iterations)
    return _with_forces(m, d, mid, s, p, slid.force, solution.found)


def constraint_forces(m: Model, d: Data, mid: Intermediate) -> tuple[Data, Solution]:
    """qfrc_constraint [nv], nefc [] and the constraint forces at qacc: minus the gradient of the rows' penalties."""
    s, p = _problem(m, d, mid)
    return _with_forces(m, d, mid, s, p, Forces(forces(s, p, residual(s, p, d.qacc)), None), d.qacc)


def solution_at(m: Model, d: Data, mid: Intermediate) -> Solution:
    """The constraint forces of a state after `forward`; those that do not follow from qacc are solved for again."""
    mid = with_metric(m, d, mid)
    again = m.opt.noslip_iterations > 0 or m.opt.solver in BY_FORCES or is_hard(m)
    return constrained_acceleration(m, d, mid)[1] if again else constraint_forces(m, d, mid)[1]


def _problem(m: Model, d: Data, mid: Intermediate) -> tuple[Structure, Problem]:
    if mid.metric is not None:
        force = d.qfrc_smooth + mid.metric.shift
        return structure_of(m), problem_of(mid.metric.M, mid.metric.inertia, force, mid.rows)
    return structure_of(m), problem_of(mid.mass, mid.inertia, d.qfrc_smooth, mid.rows)


def _with_forces(
    m: Model, d: Data, mid: Intermediate, s: Structure, p: Problem, force: Forces, found: Any
) -> tuple[Data, Solution]:
    """Data and the Solution with the forces of all rows."""
    d = d.replace(qfrc_constraint=mul_jt(s, p, force.rows), nefc=count_rows(m, mid.rows))
    return d, Solution(mid.slots, mid.rows, force.rows, found, force.edges)


def _inertia(m: Model) -> Array:
    """What solvers that search for forces scale their tolerances by []."""
    return m.stat.meaninertia * max(1, m.nv)


def _warm(m: Model, d: Data) -> Array | None:
    return None if m.opt.disables(DisableBit.WARMSTART) else d.qacc_warmstart


def _unsearched(d: Data) -> Outcome:
    """In place of how a solution was found that was known before; its numbers are those of the first search."""
    return Outcome(jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.zeros((), d.qacc.dtype))


def _ended(d: Data, outcome: Outcome) -> Data:
    return d.replace(
        solver_niter=outcome.iterations, solver_converged=outcome.converged, solver_residual=outcome.residual
    )
