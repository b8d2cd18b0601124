"""Joints: axis, limits and references in the frame of their body."""

import math

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.core.enums import JointType
from jaxsim.mjcf.algebra.conventions import EPS, IDENTITY, ZERO, normalize
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.elements.limits import check_automatic, check_limited, is_limited
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.spec import Item, Spec


def compile_joint(joint: Item) -> None:
    """Resolve a joint in the frame of its body; angles become radians."""
    time_constant, ratio = joint.springdamper
    if (time_constant or ratio) and (time_constant <= 0 or ratio <= 0):
        raise Fault("the two values of springdamper must be positive")
    if joint.springyield < 0:
        raise Fault("springyield is negative")
    scale = math.pi / 180 if joint.settings.degree else 1.0
    if joint.type == JointType.FREE:
        joint.limited = Tristate.FALSE
        if joint.springyield:
            raise Fault("springyield is not available for free joints")
    if joint.type == JointType.BALL:
        check_automatic(joint, "limited", "range")
        joint.is_limited = is_limited(joint.limited, joint.range)
        if joint.is_limited and joint.range[0]:
            raise Fault("range of a ball joint must start at 0")
    else:
        joint.is_limited = check_limited(joint, "limited", "range")
    if joint.is_limited and joint.type in (JointType.HINGE, JointType.BALL):
        joint.range = joint.range * scale
    if joint.type in (JointType.FREE, JointType.BALL):
        joint.actuatorfrclimited, joint.axis = Tristate.FALSE, np.array([0.0, 0.0, 1.0])
    joint.is_actuatorfrclimited = check_limited(joint, "actuatorfrclimited", "actuatorfrcrange")
    if joint.type in (JointType.SLIDE, JointType.HINGE) and joint.frame is not None:
        joint.axis = quaternion.rotate(joint.frame.quat, joint.axis)
    joint.axis, length = normalize(joint.axis)
    if length < EPS:
        raise Fault("axis is too short to give a direction")
    if joint.type == JointType.FREE:
        joint.pos = ZERO
    elif joint.frame is not None:
        joint.pos, _ = compose(joint.frame.pos, joint.frame.quat, joint.pos, IDENTITY)
    if joint.type == JointType.HINGE:
        joint.ref, joint.springref = joint.ref * scale, joint.springref * scale
    if joint.type in (JointType.HINGE, JointType.BALL):
        joint.springyield *= scale


def check_free_joints(spec: Spec, problems: Problems) -> None:
    """Report free joints that are not in a child of the world body; static bodies between may have been fused."""
    for body in spec.bodies()[1:]:
        if body.parent.parent is not None and any(joint.type == JointType.FREE for joint in body.contents["joint"]):
            problems.add(body.place, "a free joint can only be in a child of the world body")


def check_joints(body: Item) -> None:
    """Raise a Fault unless the joints of a body go together."""
    types = [joint.type for joint in body.contents["joint"]]
    if sum(JointType(t).nv for t in types) > 6:
        raise Fault("the joints of a body have more than 6 degrees of freedom")
    if JointType.FREE in types and len(types) > 1:
        raise Fault("a free joint must be the only joint of its body")
    if JointType.BALL in types and any(
        t in (JointType.BALL, JointType.HINGE) for t in types[types.index(JointType.BALL) + 1 :]
    ):
        raise Fault("a ball joint cannot be followed by a hinge or another ball joint")
    if body.mocap and (types or body.parent is None or body.parent.parent is not None):
        raise Fault("a mocap body must be a child of the world body without joints")
