"""The least value of a quadratic in a box, by projected Newton steps.

min 1/2 x'Hx + g'x with low <= x <= high. Components that lie on a bound and are pushed against it are held, the others
take Newton's step and are clipped to the box; the largest of several step lengths that decreases enough is taken.
Source: Tassa, Mansard, Todorov, "Control-limited differential dynamic programming", ICRA 2014, section III.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.optimize.elimination import inverse

Array = jax.Array

STEPS = 0.5 ** np.arange(8)  # tried at once
DECREASE = 0.1  # of what the slope promises, at least
ITERATIONS = 30


class BoxSolution(NamedTuple):
    """The minimiser x [n], which components are `free` of the bounds [n], and the inverse of their Hessian [n, n].

    Rows and columns of held components are those of the identity.
    """

    x: Array
    free: Array
    inverse: Array

    def gain(self, slopes: Array) -> Array:
        """How x follows when g changes by `slopes` [n, m]: -H^-1 slopes where it is free, zero elsewhere."""
        return -self.inverse @ jnp.where(self.free[:, None], slopes, 0)


class _Iterate(NamedTuple):
    x: Array
    done: Array
    steps: Array


def box_qp(H: Array, g: Array, low: Array, high: Array) -> BoxSolution:
    """Minimise 1/2 x'Hx + g'x over low <= x <= high.

    Args:
        H: [n, n], positive definite; where it is not, the inverse in the solution is not finite.
        g: [n].
        low: [n], may be infinite.
        high: [n], likewise.
    """

    def value(x: Array) -> Array:
        return 0.5 * jnp.vdot(x, H @ x) + jnp.vdot(g, x)

    def advance(at: _Iterate) -> _Iterate:
        slope = g + H @ at.x
        free, inverted = _free(H, slope, at.x, low, high)
        newton = -inverted @ jnp.where(free, slope, 0)
        tried = jax.vmap(lambda size: jnp.clip(at.x + size * newton, low, high))(jnp.asarray(STEPS, g.dtype))
        gains = value(at.x) - jax.vmap(value)(tried)
        enough = gains >= DECREASE * ((at.x[None] - tried) @ slope)
        best = jnp.argmax(enough)
        x = jnp.where(enough[best], tried[best], at.x)
        scale = 1 + jnp.max(jnp.abs(x))
        small = jnp.max(jnp.abs(x - at.x)) < 1e-3 * jnp.sqrt(jnp.finfo(g.dtype).eps) * scale
        return _Iterate(x, small | ~jnp.any(enough) | ~jnp.all(jnp.isfinite(newton)), at.steps + 1)

    none = jnp.clip(jnp.zeros_like(g), low, high)
    start = _Iterate(none, jnp.array(False), jnp.array(0))
    x = lax.while_loop(lambda at: ~at.done & (at.steps < ITERATIONS), advance, start).x
    return BoxSolution(x, *_free(H, g + H @ x, x, low, high))


def _free(H: Array, slope: Array, x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Which components are not held at a bound, and the inverse of H over them."""
    free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
    masked = jnp.where(free[:, None] & free[None], H, jnp.eye(len(x), dtype=H.dtype))
    return free, inverse(masked)
