"""The point of a convex shape that is furthest in a direction, in the frame of the shape."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.collision.convex.cells import Cells
from jaxsim.collision.convex.form import MANY, Form
from jaxsim.collision.shape import safe_norm

Array = jax.Array


def support(forms: Form, direction: Array) -> tuple[Array, Array]:
    """Of two shapes the points [2, 3] (m) furthest along directions [2, 3], and the core's points [2] they belong to.

    Shapes count without their radius.
    """
    if isinstance(forms.point, Cells):
        best, unit = forms.point.furthest(forms.row, forms.scale * direction)
        return forms.scale * unit + ellipsoid_point(forms.round, direction), best
    height = vector.dot(forms.point, direction[:, None])
    best = jnp.argmax(height, axis=1).astype(jnp.int32)
    return core_points(forms, best) + ellipsoid_point(forms.round, direction), best


def core_points(forms: Form, index: Array) -> Array:
    """Of the cores of two shapes one point each [2, 3] (m), by their numbers [2]."""
    points = forms.point
    if isinstance(points, Cells):
        return forms.scale * points.points(forms.row, index, forms.scale.dtype)
    n = points.shape[1]
    if n > MANY:
        flat = points.reshape(2 * n, 3)
        return flat.at[index + np.array([0, n], np.int32)].get(mode="promise_in_bounds")
    here = np.arange(n, dtype=np.int32)[None] == index[:, None]
    return jnp.sum(jnp.where(here[..., None], points, 0), axis=1)


def ellipsoid_point(semi_axes: Array, direction: Array) -> Array:
    """Where the outward normal of an ellipsoid [..., 3] is along a direction [..., 3]."""
    across = semi_axes * direction
    return semi_axes * across / safe_norm(across)
