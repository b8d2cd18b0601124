"""Height fields as prisms: each cell's two triangles, with what is below them down to the base (mjc_ConvexHField).

A geom meets the prisms under its bounding box, as shapes of the convex routine. Which they are is found in a window of
as many cells as the largest geom can have under it, in the field's frame:

    row r + 1   +---+---+      a cell's corners, seen from above, make the triangles
                | / | / |          (r + 1, c) (r, c) (r + 1, c + 1)    and
    row r       +---+---+          (r, c) (r + 1, c + 1) (r, c + 1)
                c  c+1

All pairs of a field and a type of geom share one number of prisms that are tested.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.compact import chosen, gather
from jaxsim.collision.convex.form import Form, Library
from jaxsim.collision.pairs import Pairs
from jaxsim.collision.shape import Shape
from jaxsim.collision.shapes import formed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array

PRISM = 6  # corners
# of a cell's two triangles, where their corners are: rows and columns beyond the cell's own
ROW = np.array([[1, 0, 1], [0, 1, 0]])
COLUMN = np.array([[0, 0, 1], [0, 1, 1]])


class Prisms(NamedTuple):
    """Prisms that are near geoms, in n slots: the pair [n] of each, the number of pairs where a slot is empty; and, of
    all that are near, how many there are, and how many cells along a side they span [] each."""

    shape: Shape
    pair: Array
    demand: Array
    span: Array


class _Under(NamedTuple):
    """What is under geoms [p] in a field's frame."""

    row: Array  # [p] int32, first row of cells
    column: Array
    rows: Array  # [p] int32, how many; 0 where the geom is beside the field
    columns: Array
    lowest: Array  # [p] m, of the geom
    height: Array  # [p, w + 1, w + 1] m, of the corners


def windows(m: Model, pairs: Pairs, ahead: float) -> np.ndarray:
    """How many cells along a side each of the geoms [p] can have under it, and `ahead` (m) around it."""
    field, size = m.geom_dataid[pairs.geom1], np.asarray(m.hfield_size)
    cell = 2 * size[field, :2] / (np.stack([m.hfield_ncol, m.hfield_nrow], axis=1)[field] - 1)
    margin = np.asarray(m.geom_margin) + np.asarray(m.geom_gap)
    radius = np.asarray(m.geom_rbound)[pairs.geom2] + margin[pairs.geom1] + margin[pairs.geom2] + ahead
    span = np.floor(2 * radius / cell.min(axis=1)).astype(int) + 2
    return np.minimum(span, np.maximum(m.hfield_nrow, m.hfield_ncol)[field] - 1)


def prisms(m: Model, d: Data, pairs: Pairs, reach: Array, served: Library, width: int, size: int) -> Prisms:
    """The prisms near geoms of one type, in `size` slots, ordered by pairs and within them as MuJoCo's.

    Args:
        m: the model.
        d: with geom_xpos and geom_xmat.
        pairs: of a height field and a geom each, p of them.
        reach: [p] (m) up to which contacts are detected.
        served: the cores that the geoms may have.
        width: cells along a side of the window.
        size: of the result.
    """
    under = _under(m, d, pairs, reach, served, width)
    cell = np.arange(width, dtype=np.int32)
    inside = (cell[None, :, None] < under.rows[:, None, None]) & (cell[None, None] < under.columns[:, None, None])
    # [p, w, w, 2, 3] the corners of all triangles
    top = under.height[:, cell[:, None, None, None] + ROW, cell[None, :, None, None] + COLUMN]
    near = jnp.asarray(inside)[..., None] & (jnp.max(top, axis=-1) >= (under.lowest - reach)[:, None, None, None])
    slot = chosen(near.reshape(-1), size)
    last = near.size - 1
    place = jnp.minimum(slot, last)
    pair, place = place // (2 * width * width), place % (2 * width * width)
    triangle, place = place & 1, place // 2
    heights = gather(top.reshape(-1, 3), jnp.minimum(slot, last))
    here = gather(jnp.stack([under.row, under.column], axis=1), pair) + jnp.stack(
        [place // width, place % width], axis=1
    )
    shape = _shape(m, d, pairs, pair, here, triangle, heights)
    empty = slot > last
    span = jnp.max(jnp.maximum(under.rows, under.columns))
    return Prisms(shape, jnp.where(empty, len(pairs), pair), jnp.sum(near, dtype=jnp.int32), span)


def _under(m: Model, d: Data, pairs: Pairs, reach: Array, served: Library, width: int) -> _Under:
    field = m.geom_dataid[pairs.geom1]
    size, shape = take(m.hfield_size, field), formed(m, d, pairs.geom2, served)
    low, high = _bounds(d, pairs, shape)
    ncol, nrow = m.hfield_ncol[field], m.hfield_nrow[field]
    count = np.stack([ncol, nrow], axis=1) - 1
    cell = 2 * size[:, :2] / count.astype(size.dtype)
    near = reach[:, None]
    first = jnp.clip(jnp.floor((low[:, :2] - near + size[:, :2]) / cell).astype(jnp.int32), 0, count.astype(np.int32))
    end = jnp.clip(jnp.ceil((high[:, :2] + near + size[:, :2]) / cell).astype(jnp.int32), 0, count.astype(np.int32))
    bottom, lid = jnp.concatenate([-size[:, :2], -size[:, 3:]], axis=1), size[:, :3]
    meets = jnp.all((low - reach[:, None] <= lid) & (high + reach[:, None] >= bottom), axis=1)
    span = jnp.where(meets[:, None], end - first, 0)
    corner = np.arange(width + 1, dtype=np.int32)
    row = jnp.minimum(first[:, 1:] + corner[None], (nrow - 1).astype(np.int32)[:, None])
    column = jnp.minimum(first[:, :1] + corner[None], (ncol - 1).astype(np.int32)[:, None])
    index = m.hfield_adr[field].astype(np.int32)[:, None, None] + row[:, :, None] * ncol.astype(np.int32)[:, None, None]
    height = gather(m.hfield_data, index + column[:, None]) * size[:, 2, None, None]
    return _Under(first[:, 1], first[:, 0], span[:, 1], span[:, 0], low[:, 2], height)


def _bounds(d: Data, pairs: Pairs, shape: Shape) -> tuple[Array, Array]:
    """The bounding boxes of geoms [p, 3] (m) in the frames of their fields: lower and upper corners."""
    mat, pos = take(d.geom_xmat, pairs.geom1).reshape(-1, 3, 3), take(d.geom_xpos, pairs.geom1)
    centre = vector.matvec_t(mat, shape.pos - pos)
    axis = jnp.sum(mat[:, :, :, None] * shape.mat[:, :, None], axis=1)  # rows: the field's axes in the geom's frame
    along = vector.dot(shape.data.point[:, :, None], axis[:, None])
    beyond = vector.norm(shape.data.round[:, None] * axis) + shape.data.radius[:, None]
    return centre + jnp.min(along, axis=1) - beyond, centre + jnp.max(along, axis=1) + beyond


def _shape(m: Model, d: Data, pairs: Pairs, pair: Array, cell: Array, triangle: Array, top: Array) -> Shape:
    """Prisms [n] as shapes about the middle of their tops.

    Args:
        m, d, pairs: as of `prisms`.
        pair: [n].
        cell: [n, 2] row and column.
        triangle: [n] which of the cell's two.
        top: [n, 3] heights (m).
    """
    field = m.geom_dataid[pairs.geom1]
    size = take(m.hfield_size, field)
    count = np.stack([m.hfield_ncol, m.hfield_nrow], axis=1)[field] - 1
    step = 2 * size[:, :2] / count.astype(size.dtype)
    pose = jnp.concatenate([take(d.geom_xpos, pairs.geom1), take(d.geom_xmat, pairs.geom1), size, step], axis=1)
    pose = gather(pose, pair)
    pos, mat, size, step = pose[:, :3], pose[:, 3:12].reshape(-1, 3, 3), pose[:, 12:16], pose[:, 16:]
    beyond = jnp.stack([gather(jnp.asarray(x), triangle) for x in (COLUMN, ROW)], axis=2)  # [n, 3, 2] along x and y
    flat = (beyond.astype(step.dtype) - 0.5) * step[:, None]
    middle = jnp.mean(top, axis=1)
    centre = jnp.concatenate([(cell[:, ::-1].astype(step.dtype) + 0.5) * step - size[:, :2], middle[:, None]], axis=1)
    base = jnp.broadcast_to((-size[:, 3] - middle)[:, None], top.shape)
    height = jnp.concatenate([base, top - middle[:, None]], axis=1)
    point = jnp.concatenate([jnp.concatenate([flat, flat], axis=1), height[..., None]], axis=2)
    n = len(pair)
    whole = jnp.full((n,), int(GeomType.HFIELD), jnp.int32)
    zero = jnp.zeros((n, 3), point.dtype)
    form = Form(point, zero, zero + 1, zero[:, 0], whole, jnp.zeros_like(whole))
    return Shape(pos + vector.matvec(mat, centre), mat, jnp.max(jnp.abs(point), axis=1), form)
