"""The point of a core furthest along a direction, of cores with many points: only those are compared that can be it.

Directions fall into cells: the squares of a grid on each face of a cube around the origin. A table made at load has
for each cell the points that are furthest for some direction in it, a handful as a rule, where a search over all of a
mesh takes its hundreds. They lie in a row, one cell's after the other's, and are read in blocks until the longest list
is done. That is for CPUs; elsewhere all points are compared, without a loop.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.control import any_by_product
from jaxsim.layout.evaluate import fallback, rule
from jaxsim.layout.unstable import Primitive, rules
from jaxsim.layout.world import World, settled, spread

Array = jax.Array

BLOCK = 16  # points that are read at a time
SIDE = 8  # squares along a side of a cube's face; a core of few points has one
SLACK = 1e-6  # of a core's size, by which a point has to be beaten all over a cell to be left out of its list
GRID = np.stack(np.meshgrid([0, 2, 1], [0, 2, 1], indexing="ij"), axis=-1).reshape(9, 2)[[0, 1, 3, 4, 2, 5, 6, 7, 8]]

furthest_p = Primitive("furthest")
furthest_p.multiple_results = True


@jax.tree_util.register_static
class Cells:
    """The points of several cores, and the lists of all their cells; host arrays, compared by identity.

    unit [rows, n, 3] are the points of each core, of which the first fills up; side [rows] how many squares its cells
    have along a side, first [rows] the number of its first cell; start and many [cells] where each list begins and how
    long it is; number [k] and point [k, 3] what the lists hold.
    """

    def __init__(self, unit: np.ndarray, few: int):
        self.unit = unit
        parts = [_lists(x, 1 if len(np.unique(x, axis=0)) <= few else SIDE) for x in unit]
        counts = [len(lists) for lists, _ in parts]
        lists = [x for part, _ in parts for x in part]
        row = np.repeat(np.arange(len(unit)), counts)
        self.side = np.array([side for _, side in parts], np.int32)
        self.first = (np.cumsum(counts) - counts).astype(np.int32)
        self.many = np.array([len(x) for x in lists], np.int32)
        self.start = (np.cumsum(self.many) - self.many).astype(np.int32)
        end = np.zeros(BLOCK, np.int32)  # a block may be read beyond the last list
        self.number = np.concatenate([*lists, end]).astype(np.int32)
        self.point = np.concatenate([unit[np.repeat(row, self.many), self.number[:-BLOCK]], np.zeros((BLOCK, 3))])

    def furthest(self, row: Array, direction: Array) -> tuple[Array, Array]:
        """Of cores [...] the number [...] and place [..., 3] of the point furthest along a direction [..., 3]."""
        number, point = furthest_p.bind(row, direction, cells=self)
        return number, point

    def points(self, row: Array, number: Array, dtype) -> Array:
        """Places [..., 3] of points of cores, by their numbers [...]."""
        flat = jnp.asarray(self.unit.reshape(-1, 3), dtype)
        return flat.at[row * self.unit.shape[1] + number].get(mode="promise_in_bounds")


def _lists(points: np.ndarray, side: int) -> tuple[list[np.ndarray], int]:
    """For each cell the numbers of the points that may be furthest there, and the cells along a side."""
    size, some = np.ptp(points, axis=0).max(), np.unique(points, axis=0, return_index=True)[1]
    heights = np.einsum("cgi,ni->cgn", _directions(side), points[np.sort(some)])
    found = []
    for height in heights:
        best = np.unique(np.argmax(height, axis=1))
        # at all four corners of the cell below another one: so for all directions between
        beaten = np.all(height[:4, best, None] > height[:4, None] + SLACK * size, axis=0).any(axis=0)
        found.append(np.sort(some)[~beaten])
    return found, side


@functools.cache
def _directions(side: int) -> np.ndarray:
    """Directions [6 side^2, 9, 3] of the corners, then of others, of each cell, in the order of `_cell`."""
    edge = np.linspace(-1, 1, 2 * side + 1)
    u, v = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    across = [edge[2 * x.reshape(-1, 1) + GRID[:, i]] for i, x in enumerate((u, v))]
    ahead = np.ones_like(across[0])
    turned = [np.roll([s * ahead, *across], axis, axis=0) for axis in range(3) for s in (1, -1)]
    faces = [np.moveaxis(each, 0, -1) for each in turned]
    return np.concatenate(faces)


def _cell(cells: Cells, row: Array, x: Array, y: Array, z: Array) -> Array:
    """The number of the cell of each direction [...] of cores [...]."""
    far = [jnp.abs(c) for c in (x, y, z)]
    axis = jnp.where((far[0] >= far[1]) & (far[0] >= far[2]), 0, jnp.where(far[1] >= far[2], 1, 2)).astype(jnp.int32)
    ahead, u, v = (jnp.where(axis == 0, a, jnp.where(axis == 1, b, c)) for a, b, c in ((x, y, z), (y, z, x), (z, x, y)))
    side = _row_of(cells.side, row)
    most = jnp.where(ahead == 0, 1, jnp.abs(ahead))
    place = [jnp.where(jnp.isfinite(c), c, 0) / jnp.where(jnp.isfinite(most), most, 1) for c in (u, v)]
    iu, iv = (jnp.clip((0.5 * (p + 1) * side.astype(x.dtype)).astype(jnp.int32), 0, side - 1) for p in place)
    face = 2 * axis + (ahead < 0).astype(jnp.int32)
    return _row_of(cells.first, row) + (face * side + iu) * side + iv


def _row_of(table: np.ndarray, index: Array) -> Array:
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")


def _by_cells(cells: Cells, row: Array, *direction: Array) -> tuple[Array, Array, Array, Array]:
    """The number [...] and coordinates of the furthest points, from directions of three arrays [...]."""
    dtype = direction[0].dtype
    columns = [np.asarray(c, dtype) for c in cells.point.T]
    cell = _cell(cells, row, *direction)
    start = _row_of(cells.start, cell)
    end = start + _row_of(cells.many, cell)
    order = np.arange(BLOCK, dtype=np.int32).reshape(BLOCK, *(1,) * row.ndim)

    def unfinished(state):
        return any_by_product(state[0] < end)

    def step(state):
        at, best, most = state
        entry = jnp.minimum(at[None] + order, len(cells.number) - 1)
        height = sum(_row_of(c, entry) * d[None] for c, d in zip(columns, direction))
        height = jnp.where(entry < end[None], height, -jnp.inf)
        here = jnp.max(height, axis=0)
        which = jnp.min(jnp.where(height == here[None], entry, len(cells.number)), axis=0)
        better = here > most
        return at + BLOCK, jnp.where(better, which, best), jnp.where(better, here, most)

    none = jnp.full(row.shape, -jnp.inf, dtype)
    _, best, _ = lax.while_loop(unfinished, step, (start, start, none))
    x, y, z = (_row_of(c, best) for c in columns)
    return _row_of(cells.number, best), x, y, z


def _on_cpu(row: Array, direction: Array, cells: Cells) -> list[Array]:
    number, *point = _by_cells(cells, row, *(direction[..., i] for i in range(3)))
    return [number, jnp.stack(point, axis=-1)]


def _elsewhere(row: Array, direction: Array, cells: Cells) -> list[Array]:
    """By the heights of all points."""
    point = jnp.asarray(cells.unit, direction.dtype).at[row].get(mode="promise_in_bounds")
    best = jnp.argmax(jnp.sum(point * direction[..., None, :], axis=-1), axis=-1).astype(jnp.int32)
    return [best, jnp.take_along_axis(point, best[..., None, None], axis=-2)[..., 0, :]]


def _batch(args, dims, *, cells: Cells):
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)
    row, direction = (
        jnp.broadcast_to(x[None], (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims)
    )
    return furthest_p.bind(row, direction, cells=cells), (0, 0)


rules(
    furthest_p,
    abstract=lambda row, direction, cells: [
        jax.core.ShapedArray(row.shape, row.dtype),
        jax.core.ShapedArray(direction.shape, direction.dtype),
    ],
    impl=jax.jit(lambda row, direction, cells: furthest_p.bind(row, direction, cells=cells), static_argnames="cells"),
    batch=_batch,
    cpu=_on_cpu,
    default=_elsewhere,
)


@rule("furthest", apart=True)
def _worlds(eqn, values, n):
    """The same worlds-last."""
    cells = eqn.params["cells"]
    if not all(isinstance(v, World) for v in values):
        return fallback(eqn, values, n)

    def run(row, direction):
        number, *point = _by_cells(cells, row, *(direction[..., i, :] for i in range(3)))
        return number, jnp.stack(point, axis=-2)

    return [World(x) for x in settled(run)(*(spread(v, n) for v in values))]
