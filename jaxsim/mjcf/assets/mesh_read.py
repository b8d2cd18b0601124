"""Readers of mesh files: STL (binary and ASCII), OBJ and MuJoCo's MSH.

Every reader takes the bytes of a file and returns float32 vertices, as the file formats and MuJoCo have them.
"""

import re
import warnings
from dataclasses import dataclass, field

import numpy as np

from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
MAX_STL_FACES = 200_000
MAX_COORDINATE = 2.0**30  # of an STL file


def _no_vectors() -> Array:
    return np.zeros((0, 3), np.float32)


def _no_pairs() -> Array:
    return np.zeros((0, 2), np.float32)


def _no_faces() -> Array:
    return np.zeros((0, 3), np.int32)


@dataclass
class RawMesh:
    """A mesh as written: anything but the vertices may be absent, with no rows.

    vert [nvert, 3], normal [nnormal, 3], texcoord [ntexcoord, 2]; face, facenormal, facetexcoord [nface, 3]
    index them.
    """

    vert: Array = field(default_factory=_no_vectors)
    normal: Array = field(default_factory=_no_vectors)
    texcoord: Array = field(default_factory=_no_pairs)
    face: Array = field(default_factory=_no_faces)
    facenormal: Array = field(default_factory=_no_faces)
    facetexcoord: Array = field(default_factory=_no_faces)


def read_mesh(data: bytes, extension: str) -> RawMesh:
    """Parse a file.

    Args:
        data: its content.
        extension: ".stl", ".obj" or ".msh", in any case.

    Raises:
        Fault: the content is not what the extension says.
    """
    readers = {".stl": read_stl, ".obj": read_obj, ".msh": read_msh}
    reader = readers.get(extension.lower())
    if reader is None:
        raise Fault(f"unknown mesh file type '{extension}'; expected .stl, .obj or .msh")
    if not data:
        raise Fault("the mesh file is empty")
    return reader(data)


def read_stl(data: bytes) -> RawMesh:
    """STL, with repeated vertices merged in order of first appearance."""
    if len(data) < 84:
        raise Fault("the STL file ends before its header does")
    count = int(np.frombuffer(data, "<u4", 1, 80)[0])
    if len(data) != 84 + 50 * count:
        if data.lstrip().startswith(b"solid"):
            return _merged(_ascii_corners(data))
        raise Fault(f"the STL file has {len(data)} bytes; its {count} faces need {84 + 50 * count}")
    if not 1 <= count <= MAX_STL_FACES:
        raise Fault(f"the STL file has {count} faces; expected 1 to {MAX_STL_FACES}")
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return _merged(np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3))


def _ascii_corners(data: bytes) -> Array:
    corners = re.findall(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    if not corners or len(corners) % 3:
        raise Fault(f"the ASCII STL file has {len(corners)} vertices; expected three for each face")
    try:
        return np.array(corners).astype(np.float32)
    except ValueError as error:
        raise Fault(f"the ASCII STL file has a vertex that is not a number: {error}") from None


def _merged(corners: Array) -> RawMesh:
    """Triangles, from corners [3*nface, 3]."""
    if not np.all(np.abs(corners) <= MAX_COORDINATE):
        raise Fault(f"a vertex of the STL file is not finite or beyond {MAX_COORDINATE:g}")
    first, label = _unique_rows(corners)
    return RawMesh(vert=corners[first], face=label.reshape(-1, 3).astype(np.int32))


def _unique_rows(rows: Array) -> tuple[Array, Array]:
    """Index of the first occurrence of each distinct row [n, 3], in order; for each row, its number there."""
    bits = (np.ascontiguousarray(rows, np.float32) + 0.0).view(np.uint32).astype(np.uint64)  # + 0: no -0
    odd = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
    key = (bits * odd).sum(axis=1, dtype=np.uint64)
    key ^= key >> np.uint64(29)
    _, first, label = np.unique(key, return_index=True, return_inverse=True)
    if not np.array_equal(bits[first[label]], bits):  # two rows share a key
        _, first, label = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[label]


def read_msh(data: bytes) -> RawMesh:
    """MuJoCo's MSH: four counts, then vertices, normals, texture coordinates and faces."""
    if len(data) < 16:
        raise Fault("the MSH file ends before its header does")
    nvert, nnormal, ntexcoord, nface = (int(n) for n in np.frombuffer(data, "<i4", 4))
    if nvert < 4 or nface < 0 or nnormal not in (0, nvert) or ntexcoord not in (0, nvert):
        raise Fault(
            f"the MSH file has {nvert} vertices, {nnormal} normals, {ntexcoord} texture coordinates and "
            f"{nface} faces; expected at least 4 vertices, and as many of the others as of vertices, or none"
        )
    expected = 16 + 12 * (nvert + nnormal + nface) + 8 * ntexcoord
    if len(data) != expected:
        raise Fault(f"the MSH file has {len(data)} bytes; its header announces {expected}")
    counts = 3 * nvert, 3 * nnormal, 2 * ntexcoord
    values = np.frombuffer(data, "<f4", sum(counts), 16)
    vert, normal, texcoord = np.split(values, np.cumsum(counts)[:-1])
    face = np.frombuffer(data, "<i4", 3 * nface, 16 + 4 * sum(counts)).reshape(-1, 3)
    return RawMesh(
        vert.reshape(-1, 3),
        normal.reshape(-1, 3),
        texcoord.reshape(-1, 2),
        face,
        face if nnormal else face[:0],
        face if ntexcoord else face[:0],
    )


def read_obj(data: bytes) -> RawMesh:
    """Wavefront OBJ: vertices, normals, texture coordinates, and polygons, which are cut into triangles."""
    lines: dict[bytes, list[bytes]] = {b"v": [], b"vn": [], b"vt": [], b"f": []}
    sizes = []  # of v, vt and vn before each face, which negative indices count from
    for line in data.splitlines():
        keyword, _, rest = line.strip().partition(b" ")
        if keyword in lines:
            lines[keyword].append(rest)
            if keyword == b"f":
                sizes.append((len(lines[b"v"]), len(lines[b"vt"]), len(lines[b"vn"])))
    vert, normal = _numbers(lines[b"v"], 3), _numbers(lines[b"vn"], 3)
    texcoord = _numbers(lines[b"vt"], 2)
    texcoord[:, 1] = 1 - texcoord[:, 1]
    face, facetexcoord, facenormal = _obj_faces(lines[b"f"], np.array(sizes).reshape(-1, 3), vert)
    if len(normal) and np.any((facenormal < 0) | (facenormal >= len(normal))):
        raise Fault("the OBJ file has normals that some of its faces do not refer to, or beyond the last one")
    if np.any((facetexcoord < 0) | (facetexcoord >= len(texcoord))):
        texcoord, facetexcoord = texcoord[:0], facetexcoord[:0]  # as MuJoCo, which warns
    if not len(normal):
        facenormal = facenormal[:0]
    return RawMesh(vert, normal, texcoord, face, facenormal, facetexcoord)


def _parsed(text: bytes, dtype: type, count: int) -> Array | None:
    """The numbers of a text, if there are `count` of them and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # of an older numpy that stops at another word
        try:
            values: Array = np.fromstring(text, dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return values if len(values) == count else None


def _numbers(lines: list[bytes], width: int) -> Array:
    """The first numbers [n, width] of each line; lines may have more, and missing ones are zero."""
    if not lines:
        return np.zeros((0, width), np.float32)
    per_line = {len(line.split()) for line in lines}
    if len(per_line) == 1 and (columns := per_line.pop()) >= width:
        values = _parsed(b" ".join(lines), np.float64, columns * len(lines))
        if values is not None:
            return values.reshape(-1, columns)[:, :width].astype(np.float32)
    words = [word for line in lines for word in (line.split() + [b"0"] * width)[:width]]
    try:
        return np.array(words).astype(np.float64).astype(np.float32).reshape(-1, width)
    except ValueError as error:
        raise Fault(f"the OBJ file has a coordinate that is not a number: {error}") from None


def _obj_faces(lines: list[bytes], sizes: Array, vert: Array) -> tuple[Array, Array, Array]:
    """Vertex, texture and normal indices [nface, 3] of triangles; -1 where a corner has none."""
    length = np.array([len(line.split()) for line in lines], int)
    none = (np.zeros((0, 3), np.int32),) * 3
    if not length.any():
        return none
    index = _corner_indices(b" ".join(lines), np.repeat(sizes, length, axis=0))
    index, length = index[np.repeat(length >= 3, length)], length[length >= 3]  # points and lines are no faces
    if not len(length):
        return none
    start = np.cumsum(length) - length
    if np.all(length == 3):
        triangles = start[:, None] + np.arange(3)
    else:
        triangles = _triangulate(index[:, 0], start, length, vert)
    picked = index[triangles].astype(np.int32)
    return picked[..., 0], picked[..., 1], picked[..., 2]


def _corner_indices(text: bytes, sizes: Array) -> Array:
    """Zero-based (v, vt, vn) [n, 3] of words like b"1", b"1/2", b"1//3", b"1/2/3"; -1: absent."""
    n, slashes, doubled = len(sizes), text.count(b"/"), text.count(b"//")
    layouts = {(0, 0): [0], (n, 0): [0, 1], (2 * n, n): [0, 2], (2 * n, 0): [0, 1, 2]}
    columns = layouts.get((slashes, doubled), [])
    values = _parsed(text.replace(b"/", b" "), np.int64, n * len(columns))
    index = np.zeros((n, 3), np.int64)
    if columns and values is not None:
        index[:, columns] = values.reshape(n, -1)
    else:  # corners of different kinds
        parts = [[*word.split(b"/"), b"", b""][:3] for word in text.split()]
        try:
            index[:] = [[int(p or b"0") for p in part] for part in parts]
        except ValueError as error:
            raise Fault(f"the OBJ file has a face that is not made of indices: {error}") from None
    if np.any(index[:, 0] == 0):
        raise Fault("the OBJ file has a face with vertex index 0; indices start at 1")
    zero_based = np.where(index > 0, index - 1, np.where(index < 0, sizes + index, -1))
    if np.any(zero_based[:, 0] < 0):
        raise Fault("the OBJ file has a face with a relative index that reaches before the first vertex")
    return zero_based


def _triangulate(index: Array, start: Array, length: Array, vert: Array) -> Array:
    """Positions [nface, 3] in the list of corners: quads are cut along the shorter diagonal."""
    if np.any(index >= len(vert)):
        raise Fault(f"the OBJ file has a face with vertex {int(index.max()) + 1}; there are {len(vert)}")
    pieces: list[Array] = []
    for begin, n in zip(start, length):
        if n == 3:
            local = [(0, 1, 2)]
        elif n == 4:
            a, b, c, d = vert[index[begin : begin + 4]].astype(np.float64)
            shorter = np.sum((c - a) ** 2) < np.sum((d - b) ** 2)
            local = [(0, 1, 2), (0, 2, 3)] if shorter else [(0, 1, 3), (1, 2, 3)]
        else:
            local = _ears(vert[index[begin : begin + n]].astype(np.float64))
        pieces.append(begin + np.array(local))
    return np.concatenate(pieces)


def _ears(points: Array) -> list[tuple[int, int, int]]:
    """Triangles of a simple polygon [n, 3]: convex corners that contain no other are cut off, one by one."""
    following = np.roll(points, -1, axis=0)
    normal = np.cross(points, following).sum(axis=0)
    keep = np.delete(np.arange(3), np.argmax(np.abs(normal)))  # project along the dominant axis
    flat = points[:, keep]
    area = np.sum(flat[:, 0] * np.roll(flat[:, 1], -1) - np.roll(flat[:, 0], -1) * flat[:, 1])
    if area < 0:
        flat = flat * [1.0, -1.0]
    left = list(range(len(points)))
    triangles = []
    while len(left) > 3:
        k = next((k for k in range(len(left)) if _is_ear(flat, left, k)), 0)
        triangles.append((left[k], left[(k + 1) % len(left)], left[(k + 2) % len(left)]))
        del left[(k + 1) % len(left)]
    return [*triangles, (left[0], left[1], left[2])]


def _is_ear(flat: Array, left: list[int], k: int) -> bool:
    ids = [left[k], left[(k + 1) % len(left)], left[(k + 2) % len(left)]]
    a, b, c = flat[ids]
    if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0:
        return False
    others = flat[[i for i in left if i not in ids]]
    turns = []
    for p, q in ((a, b), (b, c), (c, a)):
        turns.append((q[0] - p[0]) * (others[:, 1] - p[1]) - (q[1] - p[1]) * (others[:, 0] - p[0]) >= 0)
    return not np.any(np.logical_and.reduce(turns))
