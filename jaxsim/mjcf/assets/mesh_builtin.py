"""Meshes that are generated from parameters: MJCF's mesh/builtin."""

import math
from collections.abc import Callable

import numpy as np

from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
MOST_VERTICES = 2**22


def build(kind: str, params: Array) -> tuple[RawMesh, bool]:
    """Generate a mesh, and say whether it is a surface without volume.

    Args:
        kind: value of the attribute builtin.
        params: the numbers of the attribute params.

    Raises:
        Fault: unknown kind, or wrong number or range of parameters.
    """
    if kind not in _KINDS:
        raise Fault(f"builtin='{kind}'; expected one of {', '.join(_KINDS)}")
    make, numbers, optional = _KINDS[kind]
    if not numbers <= len(params) <= numbers + optional:
        raise Fault(f"params of the builtin mesh '{kind}': {len(params)} numbers; expected {numbers}")
    return make(*(float(p) for p in params))


def _require_few(*counts: int) -> None:
    _require(math.prod(counts) <= MOST_VERTICES, f"it would have more than {MOST_VERTICES} vertices")


def _require(ok: bool, what: str) -> None:
    if not ok:
        raise Fault(f"params of a builtin mesh: {what}")


def _mesh(vert: Array, face: Array | None = None, normal: Array | None = None) -> RawMesh:
    raw = RawMesh(np.asarray(vert).astype(np.float32).reshape(-1, 3))
    if face is not None:
        raw.face = np.asarray(face).astype(np.int32).reshape(-1, 3)
    if normal is not None:
        raw.normal = normal.astype(np.float32).reshape(-1, 3)
    return raw


def _sphere(subdivision: float) -> tuple[RawMesh, bool]:
    """An icosahedron whose triangles are divided into four, again and again."""
    _require(0 <= int(subdivision) <= 4, "the subdivision of a sphere must be from 0 to 4")
    g = np.float32((1 + math.sqrt(5)) / 2)
    corners = [
        *((-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0)),
        *((0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g)),
        *((g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)),
    ]
    vert = (np.array(corners, float) / math.sqrt(1 + float(g * g))).astype(np.float32)
    face = np.array([
        *((0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11)),
        *((1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8)),
        *((3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9)),
        *((4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)),
    ])  # fmt: skip
    for _ in range(int(subdivision)):
        vert, face = _subdivided(vert, face)
    return _mesh(vert, face), False


def _subdivided(vert: Array, face: Array) -> tuple[Array, Array]:
    edge = np.sort(np.stack([face, np.roll(face, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    _, first, label = np.unique(edge @ [len(vert), 1], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ends = edge[first[order]]
    middle = (vert[ends[:, 0]] + vert[ends[:, 1]]) / np.float32(2)
    middle = middle / np.sqrt(np.sum(middle * middle, axis=1, keepdims=True))
    ab, bc, ca = (rank[label].reshape(-1, 3) + len(vert)).T
    a, b, c = face.T
    quarters = [a, ab, ca, b, bc, ab, c, ca, bc, ab, bc, ca]
    return np.concatenate([vert, middle]), np.stack(quarters, axis=1).reshape(-1, 3)


def _hemisphere(resolution: float) -> tuple[RawMesh, bool]:
    """Rows of a pyramid with four sides, projected on the sphere, and a flat cap at the equator."""
    res = int(resolution)
    _require(0 <= res <= 10, "the resolution of a hemisphere must be from 0 to 10")
    pole, equator = np.array([0.0, 0, 1]), np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
    points = [pole]
    for row in range(res + 1):
        corner = pole + (row + 1) / (res + 1) * (equator - pole)
        for side in range(4):
            step = (corner[(side + 1) % 4] - corner[side]) / (row + 1)
            points.extend(corner[side] + i * step for i in range(row + 1))
    vert = np.array(points)
    vert = np.concatenate([vert / np.linalg.norm(vert, axis=1, keepdims=True), np.zeros((1, 3))])
    return _mesh(vert, _hemisphere_faces(res, len(vert) - 1)), False


def _hemisphere_faces(res: int, centre: int) -> Array:
    face = [(0, 1 + i, 1 + (i + 1) % 4) for i in range(4)]
    for row in range(res):
        here, around_here = 2 * row * (row + 1) + 1, 4 * (row + 1)
        below, around_below = here + around_here, 4 * (row + 2)
        for side in range(4):
            for i in range(row + 2):
                a = here + (i + (row + 1) * side) % around_here
                b = below + (i + (row + 2) * side) % around_below
                c = below + (i + (row + 2) * side + 1) % around_below
                face.append((a, b, c))
                if i < row + 1:
                    face.append((a, c, here + (i + (row + 1) * side + 1) % around_here))
    rim, around = 2 * res * (res + 1) + 1, 4 * (res + 1)
    cap = [(rim + i, centre, rim + (i + 1) % around) for i in range(around)]
    return np.array(face + cap)


def _power(function: Callable, angle: Array, exponent: float) -> Array:
    """|f(angle)|^exponent with the sign of f(angle), which superquadrics are made of."""
    value = function(angle)
    return np.copysign(np.abs(value) ** exponent, value)


def _supersphere(resolution: float, e: float, n: float) -> tuple[RawMesh, bool]:
    res = int(resolution)
    _require(res >= 3, "the resolution of a supersphere must be at least 3")
    _require_few(res, res)
    _require(e >= 0 and n >= 0, "the exponents of a supersphere must not be negative")
    v = -math.pi / 2 + np.arange(1, res) * math.pi / res
    u = -math.pi + np.arange(res) * 2 * math.pi / res
    v, u = (x.ravel() for x in np.meshgrid(v, u, indexing="ij"))
    across = _power(np.cos, v, n)
    ring = np.stack([across * _power(np.cos, u, e), across * _power(np.sin, u, e), _power(np.sin, v, n)], axis=1)
    vert = np.concatenate([[[0, 0, -1]], ring, [[0, 0, 1]]])
    j = np.arange(res)
    after = (j + 1) % res
    south = np.stack([0 * j, 1 + after, 1 + j], axis=1)
    row = 1 + res * np.arange(res - 2)[:, None]
    a, b, d, c = row + j, row + after, row + res + j, row + res + after
    between = np.stack([a, b, d, b, c, d], axis=2)
    last = 1 + (res - 2) * res
    north = np.stack([last + j, last + after, 0 * j + len(vert) - 1], axis=1)
    return _mesh(vert, np.concatenate([south.ravel(), between.ravel(), north.ravel()])), False


def _supertorus(resolution: float, radius: float, s: float, t: float) -> tuple[RawMesh, bool]:
    res = int(resolution)
    _require(res >= 3, "the resolution of a supertorus must be at least 3")
    _require_few(res, res)
    _require(0 < radius <= 1, "the radius of a supertorus must be in (0, 1]")
    _require(s > 0 and t > 0, "the exponents of a supertorus must be positive")
    angle = 2 * math.pi * np.arange(res) / res
    u, v = (x.ravel() for x in np.meshgrid(angle, angle, indexing="ij"))
    across = 1 + radius * _power(np.cos, v, s)
    vert = [across * _power(np.cos, u, t), across * _power(np.sin, u, t), radius * _power(np.sin, v, s)]
    i, j = np.arange(res)[:, None] * res, np.arange(res)
    i_next, j_next = np.roll(i, -1), np.roll(j, -1)
    a, b, c, d = i + j, i_next + j, i_next + j_next, i + j_next
    return _mesh(np.stack(vert, axis=1), np.stack([a, b, d, b, c, d], axis=2)), False


def _cone(nvert: float, radius: float) -> tuple[RawMesh, bool]:
    n = int(nvert)
    _require(n >= 3, "a cone needs at least 3 vertices")
    _require_few(2, n)
    _require(0 <= radius <= 1, "the radius of a cone must be in [0, 1]")
    angle = 2 * np.arange(2 * n) * math.pi / n
    ring = np.stack([np.cos(angle), np.sin(angle), np.full(2 * n, -1.0)], axis=1)
    if radius == 0:
        return _mesh(np.concatenate([ring[:n], [[0, 0, 1]]])), False
    ring[n:] *= [radius, radius, -1]
    return _mesh(ring), False


def _bin_centres(n: int, extent: float, gamma: float) -> Array:
    """Centres [n] of bins from -extent to extent, the middle ones narrower the larger gamma is."""
    edge = np.linspace(-1, 1, n + 1)
    if gamma:
        edge = gamma * edge**5 + (1 - gamma) * edge
    edge = edge * math.radians(extent)
    return 0.5 * (edge[1:] + edge[:-1])


def _wedge(res_phi: float, res_theta: float, fov_phi: float, fov_theta: float, gamma: float) -> tuple[RawMesh, bool]:
    """Part of a unit sphere seen from its centre; each vertex has three normals, outwards and tangent."""
    n, k = int(res_phi), int(res_theta)
    _require(n > 0 and k > 0, "the resolutions of a wedge must be positive")
    _require_few(n, k)
    _require(
        0 < fov_phi <= 180 and 0 < fov_theta <= 90,
        "the fields of view must be in (0, 180] and (0, 90] degrees",
    )
    _require(0 <= gamma <= 1, "gamma must be in [0, 1]")
    azimuth, elevation = np.meshgrid(_bin_centres(n, fov_phi, gamma), _bin_centres(k, fov_theta, gamma), indexing="ij")
    a, e = azimuth.ravel(), elevation.ravel()
    zero = np.zeros_like(a)
    vert = np.stack([np.cos(e) * np.sin(a), np.sin(e), -np.cos(e) * np.cos(a)], axis=1)
    along = np.stack([np.cos(e) * np.cos(a), zero, np.cos(e) * np.sin(a)], axis=1)
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    up = np.stack([-np.sin(e) * np.sin(a), np.cos(e), np.sin(e) * np.cos(a)], axis=1)
    return _mesh(vert, normal=np.stack([np.cross(up, along), along, up], axis=1)), False


def _plate(res_x: float, res_y: float) -> tuple[RawMesh, bool]:
    n, k = int(res_x), int(res_y)
    _require(n > 0 and k > 0, "the resolutions of a plate must be positive")
    _require_few(n, k)
    x, y = np.meshgrid(-1 + (np.arange(n) + 0.5) * 2 / n, -1 + (np.arange(k) + 0.5) * 2 / k, indexing="ij")
    vert = np.stack([x.ravel(), y.ravel(), np.full(n * k, -1.0)], axis=1)
    i, j = np.meshgrid(np.arange(1, n), np.arange(1, k), indexing="ij")
    here, left, below = i * k + j, (i - 1) * k + j, i * k + j - 1
    face = np.stack([left - 1, below, left, here, left, below], axis=2)
    return _mesh(vert, face, np.broadcast_to(np.eye(3), (n * k, 3, 3))), True


def _counts(values: tuple[float, ...], least: int) -> tuple[int, int, int]:
    x, y, z = (int(v) for v in values)
    _require(min(x, y, z) >= least, f"the counts must be at least {least}")
    _require_few(x, y, z)
    return x, y, z


def _grid(cx: float, cy: float, cz: float, sx: float, sy: float, sz: float, dim: float = 3):
    """Points of a regular grid: a solid (whose surface is the hull), or a surface in the xy plane."""
    count = _counts((cx, cy, cz), 1)
    axes = [s * (np.arange(n) - 0.5 * (n - 1)) for n, s in zip(count, (sx, sy, sz))]
    if int(dim) == 2:
        _require(count[2] == 1, "a grid of dimension 2 has count 1 along z")
        return _mesh(_grid_points(axes), _square_faces(count[0], count[1])), True
    _require(int(dim) == 3, "dim must be 2 or 3")
    return _mesh(_grid_points(axes)), False


def _grid_points(axes: list[Array]) -> Array:
    return np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)


def _square_faces(n: int, k: int, flip: Array | None = None) -> Array:
    """Two triangles for each cell of an n by k grid; flip [n*k]: which first corners to cut the other way."""
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n - 1), np.arange(k - 1), indexing="ij"))
    a = i * k + j
    b, c, d = a + k, a + k + 1, a + 1
    face = np.stack([a, b, c, a, c, d], axis=1)
    if flip is not None:
        face = np.where(flip[a][:, None], np.stack([a, b, d, b, c, d], axis=1), face)
    return face


def _square(cx: float, cy: float, cz: float, sx: float, sy: float, sz: float) -> tuple[RawMesh, bool]:
    return _grid(cx, cy, cz, sx, sy, sz, 2)


def _disc(cx: float, cy: float, cz: float, sx: float, sy: float, sz: float) -> tuple[RawMesh, bool]:
    """A square whose concentric squares become circles."""
    n, k, layers = _counts((cx, cy, cz), 1)
    _require(layers == 1, "a disc has count 1 along z")
    axes = [s * (np.arange(c) - 0.5 * (c - 1)) for c, s in ((n, sx), (k, sy), (1, sz))]
    points = _grid_points(axes)
    x, y = points[:, 0], points[:, 1]
    tiny = 1e-14
    flip = ((x < -tiny) & (y > -tiny)) | ((x > -tiny) & (y < -tiny))
    half = [0.5 * sx * (n - 1), 0.5 * sy * (k - 1)]
    points[:, :2] = _to_circle(points[:, :2]) * half
    return _mesh(points, _square_faces(n, k, flip)), True


def _to_circle(points: Array) -> Array:
    """Points [n, 2] moved along their ray, from a square around the origin to the circle inside it."""
    reach = np.abs(points).max(axis=1, keepdims=True)
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(length < 1e-14, 1.0, length) * reach


def _solid(shape: str) -> Callable:
    """Maker of a box whose surface is projected onto a shape; with dim 2 a surface open at the top."""

    def make(cx: float, cy: float, cz: float, sx: float, sy: float, sz: float, dim: float = 3):
        count = _counts((cx, cy, cz), 2)
        _require(int(dim) in (2, 3), "dim must be 2 or 3")
        is_open = int(dim) == 2
        cells = _surface_cells(count, is_open)
        unit = 2.0 * cells / (np.array(count) - 1) - 1
        if shape == "cylinder":
            unit[:, :2] = _to_circle(unit[:, :2])
        elif shape == "ellipsoid":
            unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
        points = unit * 0.5 * np.array([sx, sy, sz]) * (np.array(count) - 1)
        if not is_open:
            return _mesh(np.concatenate([np.zeros((1, 3)), points])), False
        number = np.full(count, -1)
        number[tuple(cells.T)] = np.arange(len(cells))
        return _mesh(points, _open_box_faces(number)), True

    return make


def _surface_cells(count: tuple[int, int, int], is_open: bool) -> Array:
    """Grid coordinates [n, 3] of the points on the surface of a box: bottom, top, then the sides."""
    nx, ny, nz = count
    top = nz if is_open else nz - 1

    def cells(x, y, z) -> Array:
        return np.stack([v.ravel() for v in np.meshgrid(x, y, z, indexing="ij")], axis=1)

    every = np.arange
    ends = [cells(every(nx), every(ny), [z]) for z in ([0] if is_open else [0, nz - 1])]
    y_sides = [cells(every(nx), [y], every(1, top)) for y in (0, ny - 1)]
    x_sides = [cells([x], every(1, ny - 1), every(1, top)) for x in (0, nx - 1)]
    return np.concatenate([*ends, *y_sides, *x_sides])


def _open_box_faces(number: Array) -> Array:
    """Triangles of the bottom and the four sides of a grid [nx, ny, nz] of vertex ids."""
    bottom = number[:, :, 0]
    a, b, c, d = bottom[:-1, :-1], bottom[1:, :-1], bottom[1:, 1:], bottom[:-1, 1:]
    faces = [np.stack([a, c, b, a, d, c], axis=2)]
    for side, flipped in (
        (number[:, 0], False),
        (number[:, -1], True),
        (number[0], True),
        (number[-1], False),
    ):
        here, after = (side[1:], side[:-1]) if flipped else (side[:-1], side[1:])
        a, b, c, d = here[:, :-1], after[:, :-1], after[:, 1:], here[:, 1:]
        faces.append(np.stack([a, b, c, a, c, d], axis=2))
    return np.concatenate([f.reshape(-1, 3) for f in faces])


_KINDS: dict[str, tuple[Callable, int, int]] = {  # maker, number of parameters, of optional ones
    "sphere": (_sphere, 1, 0),
    "hemisphere": (_hemisphere, 1, 0),
    "cone": (_cone, 2, 0),
    "supersphere": (_supersphere, 3, 0),
    "supertorus": (_supertorus, 4, 0),
    "wedge": (_wedge, 5, 0),
    "plate": (_plate, 2, 0),
    "grid": (_grid, 6, 1),
    "box": (_solid("box"), 6, 1),
    "cylinder": (_solid("cylinder"), 6, 1),
    "ellipsoid": (_solid("ellipsoid"), 6, 1),
    "square": (_square, 6, 0),
    "disc": (_disc, 6, 0),
}
