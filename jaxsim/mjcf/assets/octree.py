"""Octrees of meshes, with the mesh's signed distance at the corners of their cells (mjCOctree).

Cells that a triangle meets are divided, down to DEPTH, and then others until neighbours differ by one level at most.
Corners that lie on a side or an edge of a larger neighbour take the mean of its corners there. Places are counted in
cells of the deepest level, of which a box has 2^DEPTH along each side.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

Array = np.ndarray
DEPTH = 6
SIDE = 1 << DEPTH
CORNER = (np.arange(8)[:, None] >> np.arange(3)) & 1  # bits 1, 2, 4 of a corner's or child's number: x, y, z
PAIRS = 1 << 20  # of points and triangles that are looked at in one go


class Octree(NamedTuple):
    """n cells: child [n, 8], -1 for leaves; centre and half sizes of each, aabb [n, 6] (m); distances at its corners,
    coeff [n, 8] (m)."""

    child: Array
    aabb: Array
    coeff: Array


def octree(vert: Array, face: Array) -> Octree:
    """The octree of a mesh with vertices [v, 3] (m) and triangles [f, 3]."""
    low, high = vert.min(axis=0), vert.max(axis=0)
    middle, half = (low + high) / 2, 1.1 * (high - low) / 2
    low, cell = middle - half, 2 * half / SIDE
    tree = _Tree()
    _refine(tree, (vert[face] - low) / cell)
    _balance(tree)
    place, width = tree.place, SIDE >> tree.level
    corner = _number(place[:, None] + CORNER[None] * width[:, None, None])
    wanted = np.unique(corner)
    hanging, of, level = _hanging(tree)
    plain = np.setdiff1d(wanted, hanging)
    value = np.zeros((SIDE + 1) ** 3)
    value[plain] = _signed_distance(low + _placed(plain) * cell, vert[face])
    for k in range(DEPTH + 1):
        now = level == k
        value[hanging[now]] = [value[x].mean() for x in (of[i] for i in np.flatnonzero(now))]
    half = 0.5 * width[:, None] * cell
    return Octree(tree.child, np.concatenate([low + place * cell + half, half], axis=1), value[corner])


class _Tree:
    """Cells: place [n, 3] of their low corner, level and children, and the leaf at each place."""

    def __init__(self) -> None:
        self.place, self.level = np.zeros((1, 3), int), np.zeros(1, int)
        self.child = np.full((1, 8), -1, np.int32)
        self.leaf = np.zeros((SIDE,) * 3, int)

    def divide(self, cells: Array) -> Array:
        """Divide leaves [k]; the numbers [k, 8] of the new ones."""
        new = len(self.level) + np.arange(8 * len(cells)).reshape(-1, 8)
        width = SIDE >> (self.level[cells] + 1)
        place = (self.place[cells][:, None] + CORNER[None] * width[:, None, None]).reshape(-1, 3)
        self.child[cells] = new
        self.child = np.concatenate([self.child, np.full((8 * len(cells), 8), -1, np.int32)])
        self.place = np.concatenate([self.place, place])
        self.level = np.concatenate([self.level, np.repeat(self.level[cells] + 1, 8)])
        for number, (x, y, z), w in zip(new.ravel(), place, np.repeat(width, 8)):
            self.leaf[x : x + w, y : y + w, z : z + w] = number
        return new

    def leaves(self) -> Array:
        return np.flatnonzero(self.child[:, 0] < 0)

    def neighbours(self, cells: Array) -> Array:
        """[k, 6] the leaf across the middle of each side: low and high along x, y and z; -1 outside of the box."""
        place, width = self.place[cells], SIDE >> self.level[cells]
        middle = place + np.maximum(width // 2 - 1, 0)[:, None]
        found = np.full((len(cells), 6), -1)
        for side in range(6):
            axis, at = side // 2, middle.copy()
            at[:, axis] = place[:, axis] + (width if side % 2 else -1)
            inside = (at[:, axis] >= 0) & (at[:, axis] < SIDE)
            found[inside, side] = self.leaf[tuple(at[inside].T)]
        return found


def _refine(tree: _Tree, triangle: Array) -> None:
    """Divide the cells that triangles [f, 3, 3] meet, level by level."""
    cell, face = np.zeros(len(triangle), int), np.arange(len(triangle))
    for _ in range(DEPTH):
        meets = _meets(triangle[face], tree.place[cell], SIDE >> tree.level[cell])
        cell, face = cell[meets], face[meets]
        parents, which = np.unique(cell, return_inverse=True)
        if not len(parents):
            return
        children = tree.divide(parents)
        cell, face = children[which].ravel(), np.repeat(face, 8)


def _meets(triangle: Array, low: Array, width: Array) -> Array:
    """[n] whether triangles [n, 3, 3] meet cubes, after Schwarz and Seidel (2010)."""
    high = low + width[:, None]
    meets = np.all((triangle.max(axis=1) >= low) & (triangle.min(axis=1) <= high), axis=1)
    edge = np.roll(triangle, -1, axis=1) - triangle
    normal = np.cross(edge[:, 0], edge[:, 1])
    far = np.where(normal > 0, width[:, None], 0)
    first, second = (np.vecdot(normal, low + x - triangle[:, 0]) for x in (far, width[:, None] - far))
    meets &= first * second <= 0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        sign = np.where(normal[:, a] >= 0, 1, -1)[:, None]
        out = np.stack([-edge[:, :, c] * sign, edge[:, :, b] * sign], axis=2)
        reach = np.sum(np.maximum(0, width[:, None, None] * out), axis=2)
        meets &= np.all(np.sum(out * (low[:, None, [b, c]] - triangle[:, :, [b, c]]), axis=2) + reach >= 0, axis=1)
    return meets


def _balance(tree: _Tree) -> None:
    """Divide leaves until those that lie side by side differ by one level at most."""
    while True:
        leaves = tree.leaves()
        other = tree.neighbours(leaves)
        level, theirs = tree.level[leaves][:, None], np.where(other < 0, tree.level[leaves][:, None], tree.level[other])
        coarse = np.where(theirs > level + 1, leaves[:, None], np.where(level > theirs + 1, other, -1)).ravel()
        coarse = coarse[coarse >= 0]
        if not len(coarse):
            return
        cells, first = np.unique(coarse, return_index=True)
        tree.divide(cells[np.argsort(first)])


def _hanging(tree: _Tree) -> tuple[Array, list[Array], Array]:
    """Corners on larger neighbours, the corners of these that they depend on, and the level [k] of the cell."""
    leaves = tree.leaves()
    other = tree.neighbours(leaves)
    row, side = np.nonzero((other >= 0) & (tree.level[other] < tree.level[leaves][:, None]))
    cell, larger = leaves[row], other[row, side]
    width, wide = SIDE >> tree.level[cell], SIDE >> tree.level[larger]
    here = _FACE[side]  # [k, 4, 3] bits of the corners of that side
    at = tree.place[cell][:, None] + here * width[:, None, None]
    offset = (at - tree.place[larger][:, None]) / wide[:, None, None]  # 0, 1/2 or 1, which hangs
    half = (offset != 0) & (offset != 1)
    number, depends = _number(at), half.any(axis=2)
    found: dict[int, tuple[Array, int]] = {}
    for i, j in zip(*np.nonzero(depends)):
        if number[i, j] not in found:
            bits = CORNER[np.all(half[i, j] | (offset[i, j] == CORNER), axis=1)]
            found[number[i, j]] = _number(tree.place[larger[i]] + bits * wide[i]), tree.level[cell[i]]
    corner = np.array(list(found), int)
    return corner, [x for x, _ in found.values()], np.array([k for _, k in found.values()], int)


_FACE = np.array([CORNER[CORNER[:, side // 2] == side % 2] for side in range(6)])


def _number(place: Array) -> Array:
    """One number for each place [..., 3] of a corner."""
    return (place[..., 0] * (SIDE + 1) + place[..., 1]) * (SIDE + 1) + place[..., 2]


def _placed(number: Array) -> Array:
    return np.stack([number // (SIDE + 1) ** 2, number // (SIDE + 1) % (SIDE + 1), number % (SIDE + 1)], axis=1)


def _signed_distance(point: Array, triangle: Array) -> Array:
    """Distances [n] (m) of points [n, 3] from triangles [f, 3, 3], negative behind the nearest."""
    centre = triangle.mean(axis=1)
    radius = np.linalg.norm(triangle - centre[:, None], axis=2).max()
    reach = cKDTree(triangle.reshape(-1, 3)).query(point)[0] + radius
    lists = cKDTree(centre).query_ball_point(point, reach * (1 + 1e-9) + 1e-12, return_sorted=True)
    count = np.array([len(x) for x in lists])
    out = np.zeros(len(point))
    ends = np.cumsum(count)
    start = 0
    while start < len(point):
        end = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + PAIRS)))
        number = count[start:end]
        face, owner = np.concatenate(lists[start:end]).astype(int), np.repeat(np.arange(start, end), number)
        square, ahead = _point_triangle(point[owner], triangle[face])
        first = np.cumsum(number) - number
        least = np.minimum.reduceat(square, first)
        # of equally near triangles, the one that the point is farthest before or behind
        same = square <= np.repeat(least, number) * (1 + 1e-12) + 1e-30
        lean = np.where(same, ahead, 0)
        top, bottom = np.maximum.reduceat(lean, first), np.minimum.reduceat(lean, first)
        out[start:end] = np.where(top > -bottom, 1, -1) * np.sqrt(least)
        start = end
    return out


def _point_triangle(p: Array, triangle: Array) -> tuple[Array, Array]:
    """Squares of the distances [n] of points from triangles [n, 3, 3], and how far they are before the planes [n]."""
    a, b, c = triangle.swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    ahead = np.vecdot(normal, p - a)
    square, inside = np.full(len(p), np.inf), np.ones(len(p), bool)
    for one, two in ((a, b), (b, c), (c, a)):
        edge, rest = two - one, p - one
        share = np.clip(np.vecdot(edge, rest) / np.maximum(np.vecdot(edge, edge), 1e-300), 0, 1)
        away = rest - share[:, None] * edge
        square = np.minimum(square, np.vecdot(away, away))
        inside &= np.vecdot(np.cross(edge, rest), normal) >= 0
    return np.where(inside, ahead * ahead, square), ahead
