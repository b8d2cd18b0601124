"""Readers of mesh files: STL (binary and ASCII), MuJoCo's MSH, and by other modules OBJ, DAE, GLB, OFF and PLY.

Every reader takes the bytes of a file and returns float32 vertices, as the file formats and MuJoCo have them.
"""

import re

import numpy as np

from jaxsim.mjcf.assets.obj import read_obj
from jaxsim.mjcf.assets.raw_mesh import RawMesh, merged
from jaxsim.mjcf.assets.scene_file import SCENE_FILES, read_scene
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
MAX_STL_FACES = 200_000
MAX_COORDINATE = 2.0**30  # of an STL file


def read_mesh(data: bytes, extension: str) -> RawMesh:
    """Parse a file.

    Args:
        data: its content.
        extension: ".stl", ".obj", ".msh", ".dae", ".glb", ".off" or ".ply", in any case.

    Raises:
        Fault: the content is not what the extension says.
    """
    readers = {".stl": read_stl, ".obj": read_obj, ".msh": read_msh}
    kind = extension.lower()
    if kind not in readers and kind not in SCENE_FILES:
        raise Fault(f"unknown mesh file type '{extension}'; expected {', '.join([*readers, *SCENE_FILES])}")
    if not data:
        raise Fault("the mesh file is empty")
    return read_scene(data, kind) if kind in SCENE_FILES else readers[kind](data)


def read_stl(data: bytes) -> RawMesh:
    """STL, with repeated vertices merged in order of first appearance."""
    if len(data) < 84:
        raise Fault("the STL file ends before its header does")
    count = int(np.frombuffer(data, "<u4", 1, 80)[0])
    if len(data) != 84 + 50 * count:
        if data.lstrip().startswith(b"solid"):
            return _bounded(_ascii_corners(data))
        raise Fault(f"the STL file has {len(data)} bytes; its {count} faces need {84 + 50 * count}")
    if not 1 <= count <= MAX_STL_FACES:
        raise Fault(f"the STL file has {count} faces; expected 1 to {MAX_STL_FACES}")
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return _bounded(np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3))


def _ascii_corners(data: bytes) -> Array:
    corners = re.findall(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    if not corners or len(corners) % 3:
        raise Fault(f"the ASCII STL file has {len(corners)} vertices; expected three for each face")
    try:
        return np.array(corners).astype(np.float32)
    except ValueError as error:
        raise Fault(f"the ASCII STL file has a vertex that is not a number: {error}") from None


def _bounded(corners: Array) -> RawMesh:
    """Triangles, from corners [3*nface, 3] that are in bounds."""
    if not np.all(np.abs(corners) <= MAX_COORDINATE):
        raise Fault(f"a vertex of the STL file is not finite or beyond {MAX_COORDINATE:g}")
    return merged(corners)


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
