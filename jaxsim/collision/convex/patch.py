"""The surface of a shape about the point where it touches: what stays with that point as shapes move and turn.

A corner stays in its place, an edge and a face let the point slide, and on a curved surface the point follows the
normal. A patch says so, as an exact function of the shape's sizes and of the normal; which feature it is, was
found by a search and is frozen.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.form import Form
from jaxsim.collision.hulls import LEAN
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

# how far from the border of a feature, relative to the size, a point counts as on it rather than beside it
BESIDE = 1e-4
ROUNDING = 16  # times the precision of the coordinates of corners: less is no distance between two
SAG = 5e-3  # the same for points found on chords of a circle
LEVEL = 0.05  # how far across the axis a normal that a search found may point, where that of a cap is meant
FLAT = np.arange(3) < 2  # the axes across a cylinder's


def flatness(dtype) -> float:
    """How far (rad) a face may seem to lean: as the corners of meshes are rounded to single precision, or as GJK ends
    when rounding lets its point come no nearer, which leaves the root of that in the normal."""
    return max(LEAN, 8 * float(jnp.finfo(dtype).eps) ** 0.5)


class Patch(NamedTuple):
    """A point [3] (m) with its normal, how it moves as that turns [3, 3] (m), and where it slides [3, 3].

    `slide` has tangents (m) as rows, zero rows where there are less than three.
    """

    point: Array
    spread: Array
    slide: Array


class Found(NamedTuple):
    """What a search found of one shape, in its frame.

    corner [3, 3] (m) are points of the core, weight [3] how much each of them counts, rest [3] (m) is what the
    ellipsoid adds to their mean, and slid [3] (m) how far from there along its feature the point is.
    """

    corner: Array
    weight: Array
    rest: Array
    slid: Array


def patch(form: Form, found: Found, normal: Array, drums: bool) -> Patch:
    """The patch about a found point with outward unit normal [3], all in the frame of the shape, without its radius.

    `drums` says whether the shape may be a cylinder, whose caps are flat.
    """
    counts = jnp.abs(found.weight) > BESIDE
    weight = jnp.where(counts, found.weight, 0)
    mean = jnp.sum(weight[:, None] * found.corner, axis=0) / jnp.sum(weight)
    slide = found.corner - mean[None]
    # the mean of one corner alone is that corner but for rounding, which is no direction to slide in
    noise = ROUNDING * jnp.finfo(slide.dtype).eps * jnp.max(jnp.abs(lax.stop_gradient(found.corner)))
    still = lax.stop_gradient(slide)
    apart = jnp.max(jnp.abs(still), axis=1) > noise
    # a point between two corners of a face touches with the face, if the third one is as far out
    far = safe_norm(still)[:, 0]
    level = jnp.abs(vector.dot(still, lax.stop_gradient(normal)[None])) <= noise + flatness(far.dtype) * far
    slide = jnp.where(((counts | level) & apart)[:, None], slide, 0)
    mean = mean + found.slid
    across = form.round * normal
    length = safe_norm(across)
    rest = form.round * across / length
    squares = jnp.where(np.eye(3, dtype=bool), (form.round * form.round)[None], 0)
    spread = (squares - rest[:, None] * rest[None]) / length[0]
    if not drums:
        return Patch(mean + rest, spread, slide)
    cap = _on_cap(form, found.rest, normal)
    end = jnp.where(FLAT, 0, jnp.where(normal[2] >= 0, 1, -1)) * form.scale
    point = jnp.where(cap, end + found.rest + found.slid, mean + rest)
    around = jnp.asarray(np.diag(FLAT), normal.dtype)
    return Patch(point, jnp.where(cap, 0, spread), jnp.where(cap, around, slide))


def _on_cap(form: Form, rest: Array, normal: Array) -> Array:
    """Whether a point is on a cylinder's cap, and not on its side or on the rim between."""
    length = safe_norm(jnp.where(FLAT, normal, 0))[0]
    below = safe_norm(jnp.where(FLAT, rest, 0))[0] < form.scale[0] * (1 - SAG)
    cap = below & (length < LEVEL) | (length < BESIDE * BESIDE)
    return lax.stop_gradient(cap & (form.kind == GeomType.CYLINDER))


def unpatched(found: Found) -> Patch:
    """The found point as one that moves with its shape and does nothing else."""
    none = jnp.zeros((3, 3), found.rest.dtype)
    return Patch(vector.matvec_t(found.corner, found.weight) + found.rest + found.slid, none, none)
