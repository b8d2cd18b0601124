"""Where rays first cross height fields: their surface of triangles, and the walls and base below (mj_rayHfield).

The cells below a ray are walked through from the first to the one where it meets the surface. Which triangle that is
is a choice; the distance to it is an exact function of the ray and of the heights.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.ray_shape import NORMALS, distance
from jaxsim.collision.ray_triangles import Facet, crossing, facet
from jaxsim.core.enums import MINVAL, GeomType
from jaxsim.core.model import Model

Array = jax.Array


class Step(NamedTuple):
    """Where a ray is on its way through the cells of a grid."""

    cell: Array  # [2] column and row
    x: Array  # [] where it meets a triangle of the cell, infinite if it does not
    second: Array  # [] bool, whether that is the second triangle of the cell
    over: Array  # [] bool, whether there are no more cells


def field_facet(m: Model, geom: int, start: Array, along: Array) -> Facet:
    """The first triangle of a height field that a ray [3], in its frame, meets; its place in a list is 0.

    With columns a, b and a ray that rises to the right, the cells are visited in the order 1 2 3:

        . 2 3
        . 1 .
    """
    grid = _grid(m, geom)
    last = np.array([grid[0].shape[0] - 2, grid[1].shape[0] - 2], np.int32)
    origin, ray = lax.stop_gradient((start, along))
    heights = lax.stop_gradient(grid)
    # position and motion in units of cells
    spacing = jnp.stack([heights[0][1] - heights[0][0], heights[1][1] - heights[1][0]])
    at, speed = (origin[:2] - jnp.stack([heights[0][0], heights[1][0]])) / spacing, ray[:2] / spacing
    moves = jnp.abs(speed) > MINVAL
    slowed = jnp.where(moves, speed, 1)
    width = jnp.asarray(last + 1, at.dtype)
    ends = jnp.stack([-at, width - at]) / slowed[None]
    enter = jnp.max(jnp.where(moves, jnp.min(ends, axis=0), 0), initial=0)
    leave = jnp.min(jnp.where(moves, jnp.max(ends, axis=0), jnp.inf))
    beside = jnp.any(~moves & ((at < 0) | (at > width)))
    first = jnp.clip(jnp.floor(at + enter * speed).astype(jnp.int32), 0, last)

    def look(cell: Array, over: Array) -> Step:
        x = crossing(_cell(heights, cell), jnp.stack([origin, origin]), jnp.stack([ray, ray]))
        return Step(cell, jnp.minimum(x[0], x[1]), x[1] < x[0], over)

    def further(step: Step) -> Step:
        border = (step.cell + (speed > 0).astype(jnp.int32)).astype(at.dtype)
        reached = jnp.where(moves, (border - at) / slowed, jnp.inf)
        ahead = jnp.sign(speed).astype(jnp.int32)
        right = reached[0] <= reached[1]
        cell = step.cell + jnp.where(jnp.stack([right, ~right]), ahead, 0)
        over = jnp.any((cell < 0) | (cell > last)) | ~jnp.any(moves)
        return look(jnp.clip(cell, 0, last), over)

    walking = lambda step: ~step.over & ~jnp.isfinite(step.x)  # noqa: E731
    found = lax.while_loop(walking, further, look(first, beside | (enter > leave)))
    corners = _cell(grid, found.cell)
    chosen = jnp.where(found.second, corners[1], corners[0])
    met = facet(chosen, jnp.zeros((), jnp.int32), start, along)
    return met._replace(x=jnp.where(found.over, jnp.inf, met.x))


def _grid(m: Model, geom: int) -> tuple[Array, Array, Array]:
    """Coordinates x [ncol], y [nrow] and heights [nrow, ncol] of a height field (m)."""
    field = m.geom_dataid[geom]
    rows, columns, first = (int(a[field]) for a in (m.hfield_nrow, m.hfield_ncol, m.hfield_adr))
    size = m.hfield_size[field]
    x, y = (
        half * jnp.asarray(np.linspace(-1, 1, count), size.dtype)
        for half, count in ((size[0], columns), (size[1], rows))
    )
    return x, y, size[2] * m.hfield_data[first : first + rows * columns].reshape(rows, columns)


def _cell(grid: tuple[Array, Array, Array], cell: Array) -> Array:
    """The two triangles [2, 3, 3] of a cell [2], cut along the diagonal from its first to its last corner."""
    x, y, height = grid
    columns, rows = cell[:1] + np.array([0, 1, 1, 0], np.int32), cell[1:] + np.array([0, 0, 1, 1], np.int32)
    near, right, far, left = jnp.stack([x[columns], y[rows], height[rows, columns]], axis=1)
    return jnp.stack([jnp.stack([near, right, far]), jnp.stack([near, far, left])])


def field_walls(m: Model, geom: int, start: Array, along: Array) -> tuple[Array, Array]:
    """Where a ray [3], in the frame of a height field, first meets its base or the walls below its border: [].

    With it the normal [3] there.
    """
    size = m.hfield_size[m.geom_dataid[geom]]
    x, y, height = _grid(m, geom)
    base = jnp.stack([size[0], size[1], size[3] / 2])
    above = start.at[2].add(size[3] / 2)
    below = distance(GeomType.BOX, above, along, base)
    spot = above + jnp.where(jnp.isfinite(below), below, 0) * along
    walls, normals = [below], [NORMALS[GeomType.BOX](spot, base)]
    for axis, line, border in ((0, y, height.T), (1, x, height)):
        crossing = jnp.abs(along[axis]) > MINVAL
        for side, top in zip((-1, 1), (border[0], border[-1])):
            t = (side * size[axis] - start[axis]) / jnp.where(crossing, along[axis], 1)
            spot = start + t * along
            over = jnp.interp(spot[1 - axis], line, top)
            hit = crossing & (t >= 0) & (jnp.abs(spot[1 - axis]) <= size[1 - axis]) & (spot[2] >= 0) & (spot[2] < over)
            walls.append(jnp.where(hit, t, jnp.inf))
            normals.append(jnp.asarray(side * np.eye(3)[axis], spot.dtype))
    x, hot = vector.least(jnp.stack(walls))
    return x[0], jnp.sum(jnp.where(hot[:, None], jnp.stack(normals), 0), axis=0)
