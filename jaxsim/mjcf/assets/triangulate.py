"""Polygons of an OBJ file cut into the triangles that MuJoCo's reader (tinyobjloader) cuts them into.

Which triangles come out decides the mesh's volume and inertia, so its choices are followed even where others
would be better: a quad is cut along its shorter diagonal, and a larger polygon loses its ears in a plane of two
coordinates, with a test of convexity that depends on where the origin is. A polygon on which that test fails
all round keeps only the triangles found so far; the rest of it is dropped. All this is in single precision,
as rounding decides between the two diagonals of every rectangle.

All polygons of one size are cut at the same time: a step tries one corner of each.
"""

import numpy as np

from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
_EPS = np.finfo(np.float32).eps
_HALF = np.float32(0.5)


def triangulate(vert: Array, index: Array, length: Array) -> Array:
    """Cut polygons into triangles.

    Args:
        vert: float32 vertices [nvert, 3].
        index: vertices of all corners [ncorner], polygon by polygon.
        length: number of corners of each polygon, [npolygon]; those with fewer than three have no triangles.

    Returns:
        Positions in `index` [ntriangle, 3], in the order of the polygons.
    """
    start = np.cumsum(length) - length
    owners, triangles = [np.zeros(0, int)], [np.zeros((0, 3), int)]
    for size in np.unique(length[length >= 3]):
        polygon = np.flatnonzero(length == size)
        corners = index[start[polygon, None] + np.arange(size)]
        owner, local = _cut(vert, corners)
        owners.append(polygon[owner])
        triangles.append(start[polygon[owner], None] + local)
    order = np.argsort(np.concatenate(owners), kind="stable")
    return np.concatenate(triangles)[order]


def _cut(vert: Array, corners: Array) -> tuple[Array, Array]:
    """Triangles of polygons [npolygon, size] of one size: of which polygon each is, and its three corners."""
    count, size = corners.shape
    if size == 3:
        return np.arange(count), np.tile(np.arange(3), (count, 1))
    missing = np.any(corners >= len(vert), axis=1)
    if size == 4:
        return _cut_quads(np.flatnonzero(~missing), vert[corners[~missing]])
    if missing.any():
        raise Fault(f"the OBJ file has a face with vertex {int(corners.max()) + 1}; there are {len(vert)}")
    return _cut_ears(_flat(vert[corners]))


def _cut_quads(owner: Array, points: Array) -> tuple[Array, Array]:
    """Two triangles for each quad [n, 4, 3]; quads with a missing vertex are not among them."""
    x, y, z = np.moveaxis(points[:, 2:] - points[:, :2], 2, 0) ** 2  # of both diagonals
    squared = x + y + z
    first = (squared[:, 0] < squared[:, 1])[:, None, None]
    local = np.where(first, [[0, 1, 2], [0, 2, 3]], [[0, 1, 3], [1, 2, 3]])
    return np.repeat(owner, 2), local.reshape(-1, 3)


def _flat(points: Array) -> Array:
    """Two of the three coordinates of polygons [n, size, 3]: those that the first corner with an area spans best."""
    edge = np.roll(points, -1, axis=1) - points
    following = np.roll(edge, -1, axis=1)
    (x, y, z), (u, v, w) = np.moveaxis(edge, 2, 0), np.moveaxis(following, 2, 0)
    area = np.abs(np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=2))
    bent = np.any(area > _EPS, axis=2)
    a, b, c = area[np.arange(len(points)), np.argmax(bent, axis=1)].T
    axes = np.full((len(points), 2), (0, 2))
    axes[(c > a) & (c > b)] = 0, 1
    axes[((a > b) & (a > c)) | ~bent.any(axis=1)] = 1, 2
    return np.take_along_axis(points, axes[:, None, :], axis=2)


def _cut_ears(points: Array) -> tuple[Array, Array]:
    """Ears of polygons [n, size, 2], in the order in which they are cut off, and the triangles that remain."""
    count, size = points.shape[:2]
    ring = np.tile(np.arange(size), (count, 1))  # corners left, from column 0
    left, guess = np.full(count, size), np.zeros(count, int)
    tries, before = left.copy(), left.copy()  # as many tries as corners, counted anew after each ear
    owners, triangles = [], []
    active = np.arange(count)
    while len(active):
        n = left[active]
        guess[active] -= np.where(guess[active] >= n, n, 0)
        tries[active] = np.where(before[active] == n, tries[active] - 1, n)
        before[active] = n
        turned = (guess[active, None] + np.arange(size)) % n[:, None]
        corners = np.take_along_axis(ring[active], turned, axis=1)
        ear = _are_ears(points[active[:, None], corners], n)
        owners.append(active[ear])
        triangles.append(corners[ear, :3])
        cut = active[ear]
        ring[cut] = _without(ring[cut], turned[ear, 1])
        left[cut] -= 1
        guess[active[~ear]] += 1
        active = active[(left[active] > 3) & (tries[active] > 0)]
    whole = np.flatnonzero(left == 3)
    return np.concatenate([*owners, whole]), np.concatenate([*triangles, ring[whole, :3]])


def _without(rows: Array, position: Array) -> Array:
    """Each row without the entry at its position; what follows moves up."""
    columns = np.arange(rows.shape[1])
    source = np.minimum(columns + (columns >= position[:, None]), len(columns) - 1)
    return np.take_along_axis(rows, source, axis=1)


def _are_ears(points: Array, n: Array) -> Array:
    """Whether the first three of n corners [m, size, 2] make an ear, as tinyobjloader judges it."""
    (x0, x1, x2), (y0, y1, y2) = points[:, :3, 0].T, points[:, :3, 1].T
    cross = (x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1)
    area = (x0 * y1 - y0 * x1) * _HALF
    x, y = points[:, 3:, 0], points[:, 3:, 1]
    inside = np.zeros(x.shape, bool)  # by the parity of the edges to the right
    for px, py, qx, qy in ((x0, y0, x2, y2), (x1, y1, x0, y0), (x2, y2, x1, y1)):
        px, py, qx, qy = (a[:, None] for a in (px, py, qx, qy))
        with np.errstate(all="ignore"):
            crossing = x < (qx - px) * (y - py) / (qy - py) + px
        inside ^= ((py > y) != (qy > y)) & crossing
    inside &= np.arange(3, points.shape[1]) < n[:, None]
    return ~(cross * area < 0) & ~inside.any(axis=1)
