"""How a step under hard contacts is searched for: along the central path, or from its end.

Predictor and corrector need a dozen iterations, or never arrive: friction is not the derivative of anything, and a box
pressed into the ground, that slides on some corners, has no path from afar that leads to it. The solution at kappa = 0
is found in another way (complementarity.py), and from there the point at kappa is three to six iterations away. Of 40
random scenes with 17 contacts and a friction of 0.6, 7 were solved by the first way alone and 37 by both. That end
need not be exact: in float32 it often is as exact as digits allow, which is less than is asked of it. Those that
neither solves try the path from afar, slowly.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.complementarity import exact
from jaxsim.solvers.impacts import Form, Impact, impact_problem
from jaxsim.solvers.interior_point.predictor_corrector import HASTE, Outcome, Settings, lifted, solve
from jaxsim.solvers.interior_point.problem import Point

Array = jax.Array

TINY = {"float64": 1e-11, "float32": 1e-7}  # kappa near the end of the path
ROUGH = 0.05  # m/s, m: residual of an end of the path from which its points near by are looked for
# iterations of the search at kappa = 0, most of which end within 25 or never; then of haste, and at most, from there on
EXACT, RETURN, FINAL = 30, 10, 80
LIFT = 100  # times kappa: where a search begins that knows the impulses and gaps of a solution nearby


def search(form: Form, t: Impact, start: Point, settings: Settings) -> tuple[Point, Outcome]:
    """The solution of a step at kappa; not differentiated."""
    Round = tuple[Point, Point, Outcome]

    def attempt(last: Round, final: Array) -> tuple[Round, None]:
        begin, w, outcome = last
        done = outcome.converged
        most = jnp.where(final, min(FINAL, settings.iterations), min(HASTE, settings.iterations))
        bounds = settings._replace(iterations=jnp.where(done, 0, most), haste=jnp.where(final, RETURN, HASTE))
        found, how = solve(impact_problem(form), t, begin, bounds)
        w, outcome = jax.tree.map(
            lambda new, old: jnp.where(done, old, new), (found, _after(outcome, how)), (w, outcome)
        )
        few = settings._replace(iterations=min(EXACT, settings.iterations))
        end, how = exact(form, t, begin, few, ~outcome.converged & ~final)  # infinite residual where not needed
        near = lifted(form.cones, end, settings.kappa)
        begin = jax.tree.map(lambda new, old: jnp.where(how.residual <= ROUGH, new, old), near, begin)
        return (begin, w, _after(how, outcome)), None

    zero = jnp.zeros((), t.qvel.dtype)
    nothing = Outcome(jnp.zeros((), jnp.int32), jnp.zeros((), bool), zero, zero)
    (_, w, outcome), _ = lax.scan(attempt, (start, start, nothing), jnp.asarray([False, True]))
    return w, outcome


def search_exact(form: Form, t: Impact, start: Point, settings: Settings) -> tuple[Point, Outcome]:
    """The solution of a step at kappa = 0, from one near the path's end; not differentiated.

    Where that leads nowhere, it is the one near the end that is returned, as not converged.
    """
    w, found = search(form, t, start, settings._replace(kappa=jnp.asarray(TINY[str(t.qvel.dtype)], t.qvel.dtype)))
    end, outcome = exact(form, t, w, settings, near=True)
    w = jax.tree.map(lambda a, b: jnp.where(outcome.converged, a, b), end, w)
    residual = jnp.where(outcome.converged, outcome.residual, found.residual)
    return w, _after(found, outcome._replace(residual=residual))


def _after(first: Outcome, then: Outcome) -> Outcome:
    """How it ended, with the iterations of what came before."""
    return then._replace(iterations=first.iterations + then.iterations)
