"""Meshes of MuJoCo's signed distance plugins (mujoco.sdf.*): the zero surface of a distance on a grid.

The grid is that of user_mesh.cc, mjCMesh::LoadSDF. Lengths are in m.
"""

import numpy as np

from jaxsim.algebra.signed_distance import PLUGINS, values_of
from jaxsim.mjcf.assets.marching_cubes import marching_cubes
from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.language.errors import Fault

SDF_PREFIX = "mujoco.sdf."
CELLS = 300  # of the three axes together
MOST_POINTS = 30_000_000  # of a grid: a shape with a degenerate bounding box asks for more


def build(kind: str, config: dict[str, str]) -> RawMesh:
    """The mesh of a plugin's shape, its vertices and normals in single precision.

    Args:
        kind: the plugin's name without "mujoco.sdf.".
        config: attributes as written and checked; empty ones keep their default.

    Raises:
        Fault: the shape has no extent.
    """
    shape, values = PLUGINS[kind], values_of(kind, config)
    half = np.array(shape.half(*values), float)
    with np.errstate(all="ignore"):
        count = np.floor(CELLS / half.sum() * half) + 1
        if not np.all(count >= 2) or count.prod() > MOST_POINTS:
            raise Fault(f"the attributes of the plugin mujoco.sdf.{kind} give a shape without extent")
        n = count.astype(int)
        point = np.stack(
            np.meshgrid(*(-h + 2 * h * np.arange(k) / (k - 1) for h, k in zip(half, n)), indexing="ij"), axis=-1
        )
        vert, normal, face = marching_cubes(shape.distance(point, shape.constants(*values))[..., 0])
        vert = 2 * half * vert / (n - 1) - half
    return RawMesh(vert.astype(np.float32), normal, face=face)
