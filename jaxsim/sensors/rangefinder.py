"""Rangefinders: what a ray along the z axis of a site meets, or a ray through each pixel of a camera (mj_sensorPos).

The geoms of the body that carries the sensor do not count. All rays of all sensors are followed together.
"""

from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.rays import meet, normals_of, visible
from jaxsim.core.data import Data
from jaxsim.core.enums import ObjType
from jaxsim.core.model import Model
from jaxsim.dynamics.camera import ORTHOGRAPHIC, focal_lengths, principal_point
from jaxsim.sensors.frame import object_frames

Array = jax.Array


class Field(IntEnum):
    """What a sensor says of a ray (mjtRayDataField)."""

    DIST = 0
    DIR = 1
    ORIGIN = 2
    POINT = 3
    NORMAL = 4
    DEPTH = 5


WIDTH = np.array([1, 3, 3, 3, 3, 1])
START = np.cumsum(WIDTH) - WIDTH


class Rays(NamedTuple):
    """Rays [r] in the frames of what carries them."""

    sensor: np.ndarray  # [r] place in a list of sensors
    start: np.ndarray  # [r, 3] m
    along: np.ndarray  # [r, 3] unit vectors


def ranges(m: Model, d: Data, s: np.ndarray) -> Array:
    """RANGEFINDER [sum of sensor_dim]: the fields of each ray, one sensor after the other and row by row of an image.

    Distance and depth are -1 where nothing is met, and direction, point and normal zero.
    """
    rays, bodies = _rays(m, s), _bodies(m, s)
    frames = object_frames(m, d, m.sensor_objtype[s], m.sensor_objid[s])
    mat, dtype = take(frames.mat, rays.sensor), frames.pos.dtype
    along = vector.matvec(mat, jnp.asarray(rays.along, dtype))
    start = take(frames.pos, rays.sensor) + vector.matvec(mat, jnp.asarray(rays.start, dtype))
    met = meet(m, d, start, along, _counts(m, bodies)[rays.sensor])
    hit = (met.geom >= 0)[:, None]
    dist = jnp.where(hit, met.dist[:, None], 0)
    used = int(np.bitwise_or.reduce(m.sensor_intprm[s, 0]))
    normal = normals_of(m, d, start, along, met) if used >> Field.NORMAL & 1 else jnp.zeros_like(start)
    # the image plane of a camera is across its z axis; a site has none
    camera = (m.sensor_objtype[s] == ObjType.CAMERA)[rays.sensor]
    slant = jnp.asarray(np.where(camera, -rays.along[:, 2], 1)[:, None], dtype)
    fields = [
        jnp.where(hit, dist, -1),
        jnp.where(hit, along, 0),
        start,
        jnp.where(hit, start + dist * along, 0),
        normal,
        jnp.where(hit, slant * dist, -1),
    ]
    return take(jnp.concatenate(fields, axis=1).reshape(-1), _places(m, s, rays))


def _places(m: Model, s: np.ndarray, rays: Rays) -> np.ndarray:
    """Where each value is among the fields of all rays."""
    columns = [
        np.concatenate([START[f] + np.arange(WIDTH[f]) for f in Field if bits >> f & 1])
        for bits in m.sensor_intprm[s, 0]
    ]
    return np.concatenate([int(WIDTH.sum()) * r + columns[i] for r, i in enumerate(rays.sensor)])


def _rays(m: Model, s: np.ndarray) -> Rays:
    """The rays of sensors: along the z axis of a site, or through the pixels of a camera."""
    parts = []
    for kind, i in zip(m.sensor_objtype[s], m.sensor_objid[s]):
        parts.append(_pixels(m, i) if kind == ObjType.CAMERA else (np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]])))
    sensor = np.repeat(np.arange(len(s)), [len(start) for start, _ in parts])
    return Rays(sensor, *(np.concatenate(x) for x in zip(*parts)))


def _pixels(m: Model, camera: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and directions [pixels, 3] of the rays through an image, from its upper left corner (mju_camPixelRay)."""
    width, height = m.cam_resolution[camera]
    right, down = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    at = np.stack([right.ravel(), down.ravel()], axis=1)
    ahead, straight = np.full((len(at), 1), -1.0), np.zeros((len(at), 2))
    if m.cam_projection[camera] == ORTHOGRAPHIC:
        half = m.cam_resolution[camera] / 2
        spread = (at - half) / half * [1, -1] * float(m.cam_fovy[camera]) / 2
        return np.hstack([spread, np.zeros_like(ahead)]), np.hstack([straight, ahead])
    slope = (at - principal_point(m, camera)) / focal_lengths(m, camera) * [1, -1]
    along = np.hstack([slope, ahead])
    return np.zeros_like(along), along / np.linalg.norm(along, axis=1, keepdims=True)


def _bodies(m: Model, s: np.ndarray) -> np.ndarray:
    """[n] the bodies that carry sensors."""
    camera, index = m.sensor_objtype[s] == ObjType.CAMERA, m.sensor_objid[s]
    return np.array([(m.cam_bodyid if c else m.site_bodyid)[i] for c, i in zip(camera, index)])


def _counts(m: Model, bodies: np.ndarray) -> np.ndarray:
    """[n, ngeom] which geoms sensors that are carried by bodies [n] see."""
    return visible(m)[None] & (np.asarray(m.geom_bodyid)[None] != bodies[:, None])
