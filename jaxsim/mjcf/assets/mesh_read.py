"""Readers of mesh files: STL (binary and ASCII), OBJ and MuJoCo's MSH.

Every reader takes the bytes of a file and returns float32 vertices, as the file formats and MuJoCo have them.
"""

import re

import numpy as np

from jaxsim.mjcf.assets.obj import read_obj
from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
MAX_STL_FACES = 200_000
MAX_COORDINATE = 2.0**30  # of an STL file


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
