"""Mesh files that MuJoCo does not read, by trimesh: COLLADA (DAE), glTF (GLB), OFF and PLY."""

import io
import warnings

import numpy as np

from jaxsim.mjcf.assets.raw_mesh import RawMesh, merged
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
SCENE_FILES = (".dae", ".glb", ".off", ".ply")


def read_scene(data: bytes, extension: str) -> RawMesh:
    """All triangles of a file, in metres, each object placed as its scene says; no axis is turned upwards.

    A file without triangles gives its points, which stand for their convex hull.

    Raises:
        Fault: trimesh cannot read it.
    """
    kind = extension[1:].lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            corners, points = _triangles(data, kind)
    except ImportError as error:
        raise Fault(f"reading {kind.upper()} files needs a package that is not installed: {error}") from None
    except Exception as error:  # whatever a damaged file makes trimesh raise
        raise Fault(f"the {kind.upper()} file cannot be read: {type(error).__name__}: {error}") from None
    if not len(corners):
        return RawMesh(vert=points.astype(np.float32))
    return merged(corners.astype(np.float32))


def _triangles(data: bytes, kind: str) -> tuple[Array, Array]:
    """Corners of all triangles [3 * ntriangle, 3], and all points [npoint, 3]."""
    import trimesh  # here, as it is slow to load and seldom needed

    scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
    if scene.units not in (None, "meters"):
        scene = scene.convert_units("meters")
    corners, points = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for part in scene.dump():
        if isinstance(part, trimesh.Trimesh | trimesh.PointCloud):
            points.append(np.array(part.vertices))
        if isinstance(part, trimesh.Trimesh):
            corners.append(points[-1][part.faces].reshape(-1, 3))
    return np.concatenate(corners), np.concatenate(points)
