"""Touching points that wander over what rolls: ellipsoids, rims and sides of cylinders, on flat sides that rest.

Such a shape touches where it reaches furthest along the direction u out of it, against the flat side's normal:

    ellipsoid    centre + a^2 u / |a u|                        in its frame, semi-axes a
    cylinder     centre + z axis + r (u - axis.u axis) / |..|   z that of the point which touched

so that its gap at the end of a step is known whichever point touches then. As it is the furthest one, the gap's
derivatives are those of the point as if it were fixed to the body. A cylinder that stands nearly upright on a face
keeps its points: there u hardly says where on the rim they are, and several of them hold it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.collision.slots import ContactSlots, of_geoms, of_slots, pairs_of
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array

TILT = 0.1  # sine of the angle between u and a cylinder's axis from where on u says where on its rim it touches
BESIDE = 0.9  # of its radius, along that way: a point that is less far out does not roll (the third of a face's four)


class Rolling(NamedTuple):
    """Of n contacts of one side, those whose point wanders, and over what."""

    which: int  # 0 for the first geom, 1 for the second
    out: Array  # [n, 3] u, a unit vector in the world
    ellipsoid: Array  # [n] bool
    cylinder: Array  # [n] bool
    size: Array  # [n, 3] m
    along: Array  # [n] m, z of a cylinder


def rolling_of(m: Model, d: Data, slots: ContactSlots, which: int, moves: np.ndarray, core: Array) -> Rolling | None:
    """What rolls of one side that touches at points [n, 3] as the step begins, if any of its pairs [npair] that move
    against a flat side may."""
    pairs = pairs_of(m)
    kind = m.geom_type[(pairs.geom1, pairs.geom2)[which]]
    kinds = [moves & (kind == k) for k in (GeomType.ELLIPSOID, GeomType.CYLINDER)]
    if not any(x.any() for x in kinds):
        return None
    ellipsoid, cylinder = (of_slots(m, slots, jnp.asarray(x)) for x in kinds)
    out = (1, -1)[which] * slots.frame[:, 0]
    pos, mat = _frames(m, d, slots, which)
    local, point = vector.matvec_t(mat, out), vector.matvec_t(mat, core - pos)
    size = of_geoms(m, slots, which, m.geom_size)
    beside, tilt = _across(local)
    furthest = vector.dot(beside, point) > BESIDE * size[:, 0]
    return Rolling(which, out, ellipsoid, cylinder & (tilt > TILT) & furthest, size, point[:, 2])


def rolled(m: Model, d: Data, slots: ContactSlots, r: Rolling, core: Array) -> Array:
    """The points [n, 3] that touch in another pose, from those that are fixed to the bodies."""
    pos, mat = _frames(m, d, slots, r.which)
    local = vector.matvec_t(mat, r.out)
    scaled = r.size * local
    furthest = r.size * scaled / jnp.where(r.ellipsoid, vector.norm(scaled), 1)[:, None]
    beside, tilt = _across(local)
    axis = jnp.asarray([[0, 0, 1]], core.dtype)
    rim = r.size[:, :1] * beside + r.along[:, None] * axis
    point = pos + vector.matvec(mat, jnp.where(r.ellipsoid[:, None], furthest, rim))
    return jnp.where((r.ellipsoid | (r.cylinder & (tilt > TILT)))[:, None], point, core)


def _frames(m: Model, d: Data, slots: ContactSlots, which: int) -> tuple[Array, Array]:
    """Centres [n, 3] and orientations [n, 3, 3] of one side's geoms."""
    here = of_geoms(m, slots, which, vector.join(d.geom_xpos, d.geom_xmat))
    return here[:, :3], here[:, 3:].reshape(-1, 3, 3)


def _across(local: Array) -> tuple[Array, Array]:
    """Unit vectors [n, 3] along what of these [n, 3] is across the third axis, and how much that is [n]."""
    beside = local * jnp.asarray([[1, 1, 0]], local.dtype)
    length = vector.norm(beside)
    return beside / jnp.where(length > TILT, length, 1)[:, None], length
