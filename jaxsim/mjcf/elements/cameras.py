"""Cameras."""

import math
from typing import Any

import numpy as np

from jaxsim.mjcf.algebra.conventions import unit
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.elements.orientation import orientation
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item


def compile_camera(camera: Item, znear: float) -> None:
    """Pose of a camera in its body, and its intrinsic parameters."""
    camera.quat = orientation(camera, camera.settings)
    if camera.frame is not None:
        camera.pos, camera.quat = compose(camera.frame.pos, camera.frame.quat, camera.pos, camera.quat)
    camera.quat = unit(camera.quat)
    if camera.fovy >= 180:
        raise Fault(f"fovy={camera.fovy:g}; expected less than 180 degrees")
    written = [camera.focal, camera.focalpixel, camera.principal, camera.principalpixel]
    has_sensor = bool(np.all(camera.sensorsize > 0))
    if any(np.any(v) for v in written) and not has_sensor:
        raise Fault("focal and principal need sensorsize")
    camera.intrinsic = np.array([znear, znear, 0, 0], np.float32)
    if has_sensor:
        if np.any(camera.resolution <= 0):
            raise Fault("sensorsize needs a positive resolution")
        _intrinsics(camera)


def _intrinsics(camera: Item) -> None:
    """Focal length and principal point in units of length, in single precision as MuJoCo does."""
    sensor = camera.sensorsize.astype(np.float32)
    density = camera.resolution.astype(np.float32) / sensor

    def length(pixels: Any, lengths: Any) -> np.ndarray:
        pixels = pixels.astype(np.float32)
        return np.where(pixels != 0, pixels / density, lengths.astype(np.float32))

    focal = length(camera.focalpixel, camera.focal)
    principal = length(camera.principalpixel, camera.principal)
    camera.intrinsic = np.concatenate([focal, principal]).astype(np.float32)
    angle = np.float32(math.atan2(float(sensor[1]) / 2, float(focal[1])))
    camera.fovy = float(angle) * 360 / math.pi
