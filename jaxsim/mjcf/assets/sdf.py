"""Meshes of MuJoCo's signed distance plugins (mujoco.sdf.*): the zero surface of a distance on a grid.

The shapes, their attributes and bounding boxes are those of MuJoCo's plugin/sdf; the grid is that of
user_mesh.cc, mjCMesh::LoadSDF. Lengths are in m, angles in rad.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsim.mjcf.assets.marching_cubes import marching_cubes
from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
SDF_PREFIX = "mujoco.sdf."
CELLS = 300  # of the three axes together
MOST_POINTS = 30_000_000  # of a grid: a shape with a degenerate bounding box asks for more
PITCH = 12  # turns of a screw's thread per m
SLOPE = np.sqrt(2.0) / 2


class Sdf(NamedTuple):
    """A kind of shape: its attributes with their defaults, half sizes of its box, and its distance."""

    defaults: dict[str, float]
    half: Callable[..., tuple[float, float, float]]
    distance: Callable[..., Array]


def build(kind: str, config: dict[str, str]) -> RawMesh:
    """The mesh of a plugin's shape, its vertices and normals in single precision.

    Args:
        kind: the plugin's name without "mujoco.sdf.".
        config: attributes as written and checked; empty ones keep their default.

    Raises:
        Fault: the shape has no extent.
    """
    shape = SHAPES[kind]
    values = list((shape.defaults | {key: float(text) for key, text in config.items() if text}).values())
    half = np.array(shape.half(*values), float)
    with np.errstate(all="ignore"):
        count = np.floor(CELLS / half.sum() * half) + 1
        if not np.all(count >= 2) or count.prod() > MOST_POINTS:
            raise Fault(f"the attributes of the plugin mujoco.sdf.{kind} give a shape without extent")
        n = count.astype(int)
        x, y, z = np.meshgrid(*(-h + 2 * h * np.arange(k) / (k - 1) for h, k in zip(half, n)), indexing="ij")
        vert, normal, face = marching_cubes(shape.distance(x, y, z, *values))
        vert = 2 * half * vert / (n - 1) - half
    return RawMesh(vert.astype(np.float32), normal, face=face)


def check_config(kind: str, key: str, text: str) -> None:
    """Raise a Fault unless `text` can be the value of an attribute of this kind of shape."""
    if key not in SHAPES[kind].defaults:
        raise Fault(f"unknown key {key!r}; expected one of {', '.join(SHAPES[kind].defaults)}")
    try:
        float(text or 0)
    except ValueError:
        raise Fault(f"{key}={text[:30]!r} is not a number") from None


def _torus(x: Array, y: Array, z: Array, radius1: float, radius2: float) -> Array:
    return np.hypot(np.hypot(x, y) - radius1, z) - radius2


def _bowl(x: Array, y: Array, z: Array, height: float, radius: float, thickness: float) -> Array:
    width = np.sqrt(radius * radius - height * height)
    across = np.hypot(x, y)
    rim = np.hypot(across - width, z - height)
    shell = np.abs(np.hypot(across, z) - radius)
    return np.where(height * across < width * z, rim, shell) - thickness


def _thread(x: Array, y: Array, z: Array, outside: Array) -> Array:
    """Distance from a helical ridge around the z axis; `outside` is the distance from its core."""
    turn = z * PITCH - np.arctan2(y, x) / np.pi / 2
    ridge = np.abs(turn - np.floor(turn) - 0.5)
    return (outside - ridge / PITCH) * SLOPE


def _hexagon(x: Array, y: Array, z: Array, outside: Array) -> Array:
    """Distance from a hexagonal head below the origin, with a chamfer."""
    sector = 6 / np.pi / 2
    angle = -np.floor(np.arctan2(y, x) * sector + 0.5) / sector
    head = np.sin(angle + np.pi * 0.5) * x - np.sin(angle) * y - 0.5
    head = np.maximum(head, np.abs(z + 0.25) - 0.25)
    return np.maximum(head, (z + outside - 0.22) * SLOPE)


def _bolt(x: Array, y: Array, z: Array, radius: float) -> Array:
    outside = np.sqrt(x * x + y * y) - radius
    bolt = np.maximum(_thread(x, y, z, outside), np.abs(z + 0.5) - 0.5)
    bolt = np.maximum(bolt, -((z - outside) * SLOPE + SLOPE))
    return np.minimum(bolt, _hexagon(x, y, z, outside))


def _nut(x: Array, y: Array, z: Array, radius: float) -> Array:
    outside = np.sqrt(x * x + y * y) - radius
    cone = (z - outside) * SLOPE
    hole = np.maximum(_thread(x, y, z, outside), -(cone + 0.5 * SLOPE))
    hole = np.minimum(hole, -cone - 0.05 * SLOPE)
    return np.maximum(_hexagon(x, y, z, outside), -hole)


def _smooth_union(a: Array, b: Array, width: float) -> Array:
    share = np.clip(0.5 + 0.5 * (b - a) / width, 0, 1)
    return b * (1 - share) + a * share - width * share * (1 - share)


def _smooth_intersection(a: Array, b: Array, width: float) -> Array:
    return np.maximum(np.maximum(a, b), -_smooth_union(np.maximum(a, -b), np.maximum(b, -a), width))


def _gear(
    x: Array, y: Array, z: Array, alpha: float, diameter: float, teeth: float, thickness: float, innerdiameter: float
) -> Array:
    flat = _gear_section(x, y, alpha, diameter, teeth, innerdiameter)
    tall = np.abs(z) - thickness / 2
    return np.minimum(np.maximum(flat, tall), 0) + np.hypot(np.maximum(flat, 0), np.maximum(tall, 0))


def _gear_section(x: Array, y: Array, alpha: float, diameter: float, teeth: float, innerdiameter: float) -> Array:
    """Involute teeth around a ring; diameter is that of the pitch circle."""
    pressure = 3.096e-5 * teeth * teeth - 6.557e-3 * teeth + 0.551  # angle, a fit over the number of teeth
    module = diameter / teeth
    pitch = diameter / 2
    outer = (diameter + 2 * module) / 2
    depth = 2.2 * module
    inner = innerdiameter / 2 if innerdiameter >= 0 else outer - depth - 0.14 * diameter
    base = diameter * np.cos(pressure) / 2
    stride = np.pi * module / pitch
    involute = np.arccos(base / pitch)
    shift = stride / 2 - 2 * (np.tan(involute) - involute)

    rho = np.sqrt(x * x + y * y)
    angle = np.arctan2(y, x) + alpha

    def within(value: Array) -> Array:
        value = value + shift / 2
        return value - stride * np.floor(value / stride) - shift / 2

    left, right = within(angle), within(-angle - shift)
    beyond = rho > base
    bend = np.arccos(np.where(beyond, base / np.where(beyond, rho, 1), 1))
    tangent = np.sqrt(np.where(beyond, rho * rho - base * base, 0))
    flanks = np.maximum(tangent - base * (left + bend), tangent - base * (right + bend))
    cogs = np.where(beyond, flanks, -1e6)
    cogs = np.maximum(np.maximum(left, right) - (stride - shift), cogs)
    cogs = _smooth_intersection(rho - outer, cogs, 0.0035 * diameter)
    cogs = _smooth_union(rho - (outer - depth), cogs, base - outer + depth)
    cogs = np.maximum(cogs, -(rho - inner))
    return np.where(inner > rho, inner - rho, np.where(outer - rho < -0.2, rho - outer, cogs))


SHAPES = {
    "torus": Sdf({"radius1": 0.35, "radius2": 0.15}, lambda a, b: (a + b, a + b, b), _torus),
    "bowl": Sdf({"height": 0.4, "radius": 1.0, "thickness": 0.02}, lambda h, r, t: (r + t,) * 3, _bowl),
    "bolt": Sdf({"radius": 0.26}, lambda r: (0.6, 0.6, 1.0), _bolt),
    "nut": Sdf({"radius": 0.26}, lambda r: (0.6, 0.6, 1.0), _nut),
    "gear": Sdf(
        {"alpha": 0.0, "diameter": 2.8, "teeth": 25.0, "thickness": 0.2, "innerdiameter": -1.0},
        lambda a, d, n, t, i: (d / 2 * 1.25, d / 2 * 1.25, t / 2 * 1.1),
        _gear,
    ),
}
