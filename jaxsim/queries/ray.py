"""Rays against geoms: distance along a ray to the nearest surface (mj_ray, mju_rayGeom).

A ray is point + x direction for x >= 0, both in world coordinates; x is in units of the direction's length.
Each shape offers a fixed number of crossings, of which the nearest valid one counts. Which surface is hit is
a decision; the distance to it is what is differentiated.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, GeomType
from jaxsim.core.model import Model

Array = jax.Array


def ray(
    model: Model,
    data: Data,
    point: Array,
    direction: Array,
    *,
    geomgroup: tuple[bool, ...] | None = None,
    static: bool = True,
    bodyexclude: str | int = -1,
) -> tuple[Array, Array]:
    """The nearest geom that a ray meets (mj_ray).

    Invisible geoms (of zero alpha) are passed through, and planes from behind. A ray that starts inside a
    geom meets it from within.

    Args:
        model: the model.
        data: after `forward`.
        point: [3] start, m.
        direction: [3], of any length.
        geomgroup: which of the six geom groups count; by default all.
        static: whether geoms count that cannot move.
        bodyexclude: name or index of a body whose geoms do not count.

    Returns:
        The distance in units of the direction's length, -1 if nothing is met; and the index of the geom, or -1.

    Raises:
        ValueError: a geom that counts is of a type without an analytical surface (mesh, height field, SDF).
    """
    geoms = _that_count(model, geomgroup, static, bodyexclude)
    distances, ids = [jnp.full(1, jnp.inf, data.geom_xpos.dtype)], [np.array([-1])]
    for kind in np.unique(model.geom_type[geoms]):
        chosen = geoms[model.geom_type[geoms] == kind]
        mat = take(data.geom_xmat, chosen).reshape(-1, 3, 3)
        start = vector.matvec_t(mat, point[None] - take(data.geom_xpos, chosen))
        along = vector.matvec_t(mat, jnp.broadcast_to(direction[None], start.shape))
        distances.append(_SURFACES[GeomType(int(kind))](start, along, take(model.geom_size, chosen)))
        ids.append(chosen)
    distance, index = jnp.concatenate(distances), np.concatenate(ids).astype(np.int32)
    nearest = jnp.argmin(distance)
    found = distance[nearest]
    return jnp.where(jnp.isfinite(found), found, -1), jnp.asarray(index)[nearest]


def _that_count(m: Model, geomgroup: tuple[bool, ...] | None, static: bool, bodyexclude: str | int) -> np.ndarray:
    """Geoms that a ray can meet."""
    body = m.topology.id_of("body", bodyexclude) if isinstance(bodyexclude, str) else int(bodyexclude)
    material = np.asarray(m.geom_matid)
    alpha = np.asarray(m.geom_rgba).reshape(-1, 4)[:, 3]
    if m.nmat:
        painted = np.asarray(m.mat_rgba).reshape(-1, 4)[np.maximum(material, 0), 3]
        alpha = np.where(material >= 0, painted, alpha)
    counts = (np.asarray(m.geom_bodyid) != body) & (alpha != 0)
    if not static:
        counts &= m.body_weldid[m.geom_bodyid] != 0
    if geomgroup is not None:
        counts &= np.asarray(geomgroup, bool)[np.clip(m.geom_group, 0, len(geomgroup) - 1)]
    missing = np.flatnonzero(counts & ~np.isin(m.geom_type, list(_SURFACES)))
    if len(missing):
        kind = GeomType(int(m.geom_type[missing[0]])).name.lower()
        raise ValueError(f"ray: geom {missing[0]} is a {kind}, which rays cannot meet; leave its group out")
    return np.flatnonzero(counts)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Solutions of a x^2 + 2 b x + c = 0 in ascending order, and whether they are real."""
    square = b * b - a * c
    real = (square >= 0) & (a >= MINVAL)
    positive = real & (square > 0)
    root = jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)
    a = jnp.where(real, a, 1)
    return (-b - root) / a, (-b + root) / a, real


def _nearest(*crossings: tuple[Array, Array]) -> Array:
    """Smallest non-negative x [n] among (x [n], valid [n]); infinity if there is none."""
    ahead = [jnp.where(valid & (x >= 0), x, jnp.inf) for x, valid in crossings]
    return vector.least(jnp.stack(ahead, axis=-1))[0][..., 0]


def _quadric(start: Array, along: Array, c: Array, accept: Callable[[Array], Array]) -> list[tuple[Array, Array]]:
    """Crossings of |start + x along|^2 = c, where `accept(x)`."""
    low, high, real = _roots(vector.dot(along, along), vector.dot(along, start), vector.dot(start, start) - c)
    return [(x, real & accept(x)) for x in (low, high)]


def _plane(start: Array, along: Array, size: Array) -> Array:
    facing = along[:, 2] <= -MINVAL
    x = -start[:, 2] / jnp.where(facing, along[:, 2], 1)
    spot = start[:, :2] + x[:, None] * along[:, :2]
    within = jnp.all((size[:, :2] <= 0) | (jnp.abs(spot) <= size[:, :2]), axis=1)
    return _nearest((x, facing & within))


def _sphere(start: Array, along: Array, size: Array) -> Array:
    return _nearest(*_quadric(start, along, size[:, 0] ** 2, lambda x: jnp.isfinite(x)))


def _ellipsoid(start: Array, along: Array, size: Array) -> Array:
    return _nearest(*_quadric(start / size, along / size, jnp.ones_like(size[:, 0]), lambda x: jnp.isfinite(x)))


def _height(start: Array, along: Array, x: Array) -> Array:
    return start[:, 2] + x * along[:, 2]


def _round_side(start: Array, along: Array, size: Array) -> list[tuple[Array, Array]]:
    """Crossings of a cylinder's round side."""
    accept = lambda x: jnp.abs(_height(start, along, x)) <= size[:, 1]  # noqa: E731
    return _quadric(start[:, :2], along[:, :2], size[:, 0] ** 2, accept)


def _capsule(start: Array, along: Array, size: Array) -> Array:
    crossings = _round_side(start, along, size)
    for end in (1, -1):
        offset = end * size[:, 1:2]
        shifted = vector.join(start[:, :2], start[:, 2:] - offset)
        beyond = lambda x, end=end: end * _height(start, along, x) >= size[:, 1]  # noqa: E731
        crossings += _quadric(shifted, along, size[:, 0] ** 2, beyond)
    return _nearest(*crossings)


def _cylinder(start: Array, along: Array, size: Array) -> Array:
    crossings = _round_side(start, along, size)
    slanted = jnp.abs(along[:, 2]) > MINVAL
    for end in (1, -1):
        x = (end * size[:, 1] - start[:, 2]) / jnp.where(slanted, along[:, 2], 1)
        spot = start[:, :2] + x[:, None] * along[:, :2]
        crossings.append((x, slanted & (vector.dot(spot, spot) <= size[:, 0] ** 2)))
    return _nearest(*crossings)


def _box(start: Array, along: Array, size: Array) -> Array:
    crossings = []
    for axis in range(3):
        others = np.array([i for i in range(3) if i != axis])
        crossing = jnp.abs(along[:, axis]) > MINVAL
        for side in (1, -1):
            x = (side * size[:, axis] - start[:, axis]) / jnp.where(crossing, along[:, axis], 1)
            spot = start[:, others] + x[:, None] * along[:, others]
            crossings.append((x, crossing & jnp.all(jnp.abs(spot) <= size[:, others], axis=1)))
    return _nearest(*crossings)


_SURFACES = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
