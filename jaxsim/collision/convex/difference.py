"""The Minkowski difference of two convex shapes: all x - y with x in the one and y in the other.

Its distance from the origin is that of the shapes, and its depth around the origin theirs. Everything is in the
frame of shape a. A point of it is one row [8]: the point x - y itself, then x, then the points of the cores that x
and y belong to.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.collision.convex.form import Form
from jaxsim.collision.convex.support import support
from jaxsim.collision.shape import Shape

Array = jax.Array


class Difference(NamedTuple):
    """What the searches need to know of two shapes."""

    forms: Form  # of both, [2, ...]
    rot: Array  # [3, 3] axes of b, as columns
    offset: Array  # [3] m, centre of b
    scale: Array  # [] m, of the coordinates: rounding errors are relative to it
    smooth: Array  # [] bool, whether it has infinitely many support points

    def point(self, direction: Array) -> Array:
        """The row [8] that is furthest along a direction [3]."""
        x, number = support(self.forms, self.directions(direction))
        y = self.offset + vector.matvec(self.rot, x[1])
        return jnp.concatenate([x[0] - y, x[0], number.astype(y.dtype)])

    def directions(self, outward: Array) -> Array:
        """[2, 3] the same way out of a, and against it out of b, in the frame of each."""
        return jnp.stack([outward, -vector.matvec_t(self.rot, outward)])


def difference(a: Shape, b: Shape) -> Difference:
    """The Minkowski difference of two shapes whose data are forms."""
    rot = jnp.sum(a.mat[:, :, None] * b.mat[:, None, :], axis=0)
    offset = vector.matvec_t(a.mat, b.pos - a.pos)
    scale = jnp.sum(a.size + b.size) + vector.norm(offset)
    forms = jax.tree.map(lambda *x: jnp.stack(x), a.data, b.data)
    return Difference(forms, rot, offset, scale, jnp.any(forms.round > 0))
