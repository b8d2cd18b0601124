"""How a step under hard contacts is searched for: along the central path, or from its end.

Predictor and corrector need a dozen iterations from afar, and half as many from the solution of a similar problem, from
which they may not arrive at all: then they begin afar. There too friction, which is not the derivative of anything, may
lead them in circles: of 4,096 steps of a quadruped with random controls 0.1 % are not found so within 20 iterations.
For these the solution at kappa = 0 is found in another way (complementarity.py), from where the point at kappa is three
to six iterations away. That end need not be exact: in float32 it often is as exact as digits allow, which is less than
is asked of it. Those that have no such end either try the path from afar, slowly.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.complementarity import exact
from jaxsim.solvers.impacts import Form, Impact, impact_problem
from jaxsim.solvers.interior_point.predictor_corrector import Outcome, Settings, lifted, solve, violation
from jaxsim.solvers.interior_point.problem import Point

Array = jax.Array

TINY = {"float64": 1e-11, "float32": 1e-7}  # kappa near the end of the path
ROUGH = 0.05  # m/s, m: residual of an end of the path from which its points near by are looked for
# iterations from a start near by; from afar; at kappa = 0, where most end within 25 or never; then of
# haste, and at most
SOON, HASTE, EXACT, RETURN, FINAL = 10, 20, 30, 10, 80
LIFT = 100  # times kappa: where a search begins that knows the impulses and gaps of a solution nearby


def search(
    form: Form,
    t: Impact,
    start: Point,
    afar: Point,
    settings: Settings,
    fresh: Array | bool = False,
    idle: Array | bool = False,
) -> tuple[Point, Outcome]:
    """The solution of a step at kappa, from a start near it and else from afar; not differentiated.

    Where the start is `fresh` [] it is not near, and is left out; where `idle` [], nothing is searched for.
    """
    Round = tuple[Point, Point, Outcome]
    problem, most = impact_problem(form), settings.iterations

    def attempt(last: Round, bound: tuple[Array, Array, Array]) -> tuple[Round, None]:
        begin, w, outcome = last
        number, iterations, haste = bound
        begin = jax.tree.map(lambda far, other: jnp.where(number == 1, far, other), afar, begin)
        skip = outcome.converged | (fresh & (number == 0))
        found, how = solve(problem, t, begin, settings._replace(iterations=jnp.where(skip, 0, iterations), haste=haste))
        skip = skip | (~how.converged & (violation(how) > violation(outcome)))
        old = (w, _after(how, outcome))
        w, outcome = jax.tree.map(lambda a, b: jnp.where(skip, a, b), old, (found, _after(outcome, how)))
        few = settings._replace(iterations=min(EXACT, most))
        end, how = exact(form, t, begin, few, ~outcome.converged & (number == 1))  # infinite residual if not needed
        near = lifted(problem, t, end, settings.kappa)
        begin = jax.tree.map(lambda new, old: jnp.where(how.residual <= ROUGH, new, old), near, begin)
        return (begin, w, _after(how, outcome)), None

    zero = jnp.zeros((), t.qvel.dtype)
    unknown = jnp.where(idle, zero, jnp.inf)
    nothing = Outcome(jnp.zeros((), jnp.int32), jnp.asarray(idle), unknown, unknown)
    bounds = [[0, 1, 2], [min(SOON, most), min(HASTE, most), min(FINAL, most)], [HASTE, HASTE, RETURN]]
    (_, w, outcome), _ = lax.scan(attempt, (start, start, nothing), tuple(jnp.asarray(bounds, jnp.int32)))
    return w, outcome


def search_exact(
    form: Form,
    t: Impact,
    start: Point,
    afar: Point,
    settings: Settings,
    fresh: Array | bool = False,
    idle: Array | bool = False,
) -> tuple[Point, Outcome]:
    """The solution of a step at kappa = 0, from one near the path's end; not differentiated.

    Where that leads nowhere, it is the one near the end that is returned, as not converged.

    Args:
        form: of the problem.
        t: the impact.
        start: where the search begins.
        afar: where it begins again if that does not lead to the path's end.
        settings: of the solver.
        fresh: [] bool, whether the start is not near, and is left out.
        idle: [] bool, whether nothing is searched for.
    """
    tiny = settings._replace(kappa=jnp.asarray(TINY[str(t.qvel.dtype)], t.qvel.dtype))
    w, found = search(form, t, start, afar, tiny, fresh, idle)
    end, outcome = exact(form, t, w, settings, ~jnp.asarray(idle), near=True)
    w = jax.tree.map(lambda a, b: jnp.where(outcome.converged, a, b), end, w)
    residual = jnp.where(outcome.converged, outcome.residual, found.residual)
    return w, _after(found, outcome._replace(residual=residual))


def _after(first: Outcome, then: Outcome) -> Outcome:
    """How it ended, with the iterations of what came before."""
    return then._replace(iterations=first.iterations + then.iterations)
