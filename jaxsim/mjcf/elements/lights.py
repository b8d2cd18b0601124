"""Lights."""

from jaxsim.algebra import quaternion
from jaxsim.mjcf.algebra.conventions import EPS, IDENTITY, normalize
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item


def compile_light(light: Item) -> None:
    """Position and direction of a light in its body."""
    if light.frame is not None:
        light.pos, _ = compose(light.frame.pos, light.frame.quat, light.pos, IDENTITY)
        light.dir = quaternion.rotate(light.frame.quat, light.dir)
    light.dir, length = normalize(light.dir)
    if length < EPS:
        raise Fault("dir is too short to give a direction")
    if not 0 <= light.softness <= 1:
        raise Fault(f"softness={light.softness:g}; expected 0 to 1")
