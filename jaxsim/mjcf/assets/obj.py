"""Wavefront OBJ, as MuJoCo reads it: all vertices of the file, and the faces of its first object."""

import warnings
from dataclasses import dataclass, field

import numpy as np

from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.assets.triangulate import triangulate
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
_VERTICES = (b"v", b"vt", b"vn")
_ELEMENTS = (b"f", b"l", b"p")
_LARGEST = np.iinfo(np.int32).max


@dataclass
class _Lines:
    """The lines of a file by keyword, without it.

    sizes: of v, vt and vn before each f, which negative indices count from. ends: of each object, the keyword
    that ends it (nothing at the end of the file) and the numbers of f, l and p before that.
    """

    of: dict[bytes, list[bytes]] = field(default_factory=lambda: {key: [] for key in _VERTICES + _ELEMENTS})
    sizes: list[tuple[int, ...]] = field(default_factory=list)
    ends: list[tuple[bytes, tuple[int, ...]]] = field(default_factory=list)


def read_obj(data: bytes) -> RawMesh:
    """Vertices, normals, texture coordinates; polygons of the first object, cut into triangles.

    Raises:
        Fault: an index or a coordinate is not what it should be.
    """
    lines = _split(data)
    vert, normal = _numbers(lines.of[b"v"], 3), _numbers(lines.of[b"vn"], 3)
    texcoord = _numbers(lines.of[b"vt"], 2)
    texcoord[:, 1] = 1 - texcoord[:, 1]
    face, facetexcoord, facenormal = _first_object(lines, vert)
    if len(normal) and np.any((facenormal < 0) | (facenormal >= len(normal))):
        raise Fault("the OBJ file has normals that some of its faces do not refer to, or beyond the last one")
    if np.any((facetexcoord < 0) | (facetexcoord >= len(texcoord))):
        texcoord, facetexcoord = texcoord[:0], facetexcoord[:0]  # as MuJoCo, which warns
    if not len(normal):
        facenormal = facenormal[:0]
    return RawMesh(vert, normal, texcoord, face, facenormal, facetexcoord)


def _split(data: bytes) -> _Lines:
    lines = _Lines()
    of = lines.of
    for line in data.splitlines():
        words = line.split(None, 1)
        keyword = words[0] if words else b""
        if keyword in of:
            of[keyword].append(words[1] if len(words) > 1 else b"")
            if keyword == b"f":
                lines.sizes.append(tuple(len(of[key]) for key in _VERTICES))
        elif keyword in (b"o", b"g") and line.lstrip()[1:]:  # alone it is no keyword
            lines.ends.append((keyword, tuple(len(of[key]) for key in _ELEMENTS)))
    lines.ends.append((b"", tuple(len(of[key]) for key in _ELEMENTS)))
    return lines


def _first_object(lines: _Lines, vert: Array) -> tuple[Array, Array, Array]:
    """Vertex, texture and normal indices [nface, 3] of the triangles of the first object; -1 where a corner has none.

    What a group ends is an object if it has triangles; what an object ends, also if it has lines or points.
    """
    faces = lines.of[b"f"]
    length = np.array([len(line.split()) for line in faces], int)
    index = _corner_indices(b" ".join(faces), np.repeat(np.array(lines.sizes).reshape(-1, 3), length, axis=0))
    address = np.concatenate([[0], np.cumsum(length)])
    begin: tuple[int, ...] = (0, 0, 0)
    triangles, drawn = np.zeros((0, 3, 3), int), False
    for keyword, end in lines.ends:
        part = index[address[begin[0]] : address[end[0]]]
        triangles = part[triangulate(vert, part[:, 0], length[begin[0] : end[0]])]
        drawn, dotted = (any(lines.of[key][begin[i] : end[i]]) for i, key in ((1, b"l"), (2, b"p")))
        if len(triangles) or (keyword == b"o" and (drawn or dotted)):
            break
        begin = end
    if drawn and not len(triangles):
        raise Fault("the first object of the OBJ file has lines and no faces")
    picked = np.minimum(triangles, _LARGEST).astype(np.int32)
    return picked[..., 0], picked[..., 1], picked[..., 2]


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


def _corner_indices(text: bytes, sizes: Array) -> Array:
    """Zero-based (v, vt, vn) [n, 3] of words like b"1", b"1/2", b"1//3", b"1/2/3"; -1: absent."""
    n, slashes, doubled = len(sizes), text.count(b"/"), text.count(b"//")
    layouts = {(0, 0): [0], (n, 0): [0, 1], (2 * n, n): [0, 2], (2 * n, 0): [0, 1, 2]}
    columns = layouts.get((slashes, doubled), [])
    values = _parsed(text.replace(b"/", b" "), np.int64, n * len(columns))
    index = np.zeros((n, 3), np.int64)
    if columns and values is not None:
        index[:, columns] = values.reshape(n, len(columns))
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
