"""Bodies, frames and joints: resolve poses, inertias and limits in the order of the tree."""

import math
from typing import Any

import numpy as np

from jaxsim.mjcf import frames, inertia
from jaxsim.mjcf.errors import Fault, Problems
from jaxsim.mjcf.frames import EPS, IDENTITY, ZERO
from jaxsim.mjcf.geoms import compile_geom, compile_site
from jaxsim.mjcf.limits import FALSE, TRUE, check_limited, is_limited
from jaxsim.mjcf.principal import principal_axes
from jaxsim.mjcf.schema import ENUMS
from jaxsim.mjcf.spec import Item, Spec
from jaxsim.mjcf.viewing import compile_camera, compile_light

FREE, BALL, SLIDE, HINGE = ENUMS["joint"].values()
MINVAL = 1e-15  # mjMINVAL
NV = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
NQ = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}


def compile_bodies(spec: Spec, assets: dict[str, dict[str, Any]], problems: Problems) -> None:
    """Resolve every body and what it contains; parents come first."""
    for frame in spec.items("frame"):
        frame.done = False
    for number, body in enumerate(spec.bodies()):
        body.id = number
        with problems.of(body.place):
            _compile_body(body, spec, assets, problems)


def _compile_body(body: Item, spec: Spec, assets: dict[str, dict[str, Any]], problems: Problems) -> None:
    contents = body.contents
    for frame in contents["frame"]:
        with problems.of(frame.place):
            _compile_frame(frame)
    body.quat = frames.orientation(body, body.settings)
    body.weld = body if body.parent is None or contents["joint"] or body.mocap else body.parent.weld
    for geom in contents["geom"]:
        with problems.of(geom.place):
            mesh, hfield = assets["mesh"].get(geom.mesh), assets["hfield"].get(geom.hfield)
            if (geom.mesh and mesh is None) or (geom.hfield and hfield is None):
                continue  # the asset's problem is reported
            compile_geom(geom, mesh, hfield, _needs_mass(body, geom))
            if geom.type == inertia.PLANE and body.weld.parent is not None and not body.weld.mocap:
                raise Fault("a plane can only be in a static body")
    with problems.of(body.inertial.place if body.inertial else body.place):
        _inertia(body)
    if body.frame is not None:
        body.pos, body.quat = frames.compose(body.frame.pos, body.frame.quat, body.pos, body.quat)
    align = _aligns(body)
    back = _align_to_inertia(body) if align else None
    for joint in contents["joint"]:
        with problems.of(joint.place):
            compile_joint(joint)
    _check_joints(body)
    for kind in ("site", "camera", "light"):
        for item in contents[kind]:
            with problems.of(item.place):
                if kind == "site":
                    compile_site(item, assets["mesh"].get(item.mesh))
                elif kind == "camera":
                    compile_camera(item, spec.znear)
                else:
                    compile_light(item)
                if back is not None:
                    _move(item, back)


def _compile_frame(frame: Item) -> None:
    """Resolve a frame, and those around it, in the frame of the body."""
    if frame.done:
        return
    frame.done = True
    frame.quat = frames.orientation(frame, frame.settings)
    if frame.frame is not None:
        _compile_frame(frame.frame)
        frame.pos, frame.quat = frames.compose(frame.frame.pos, frame.frame.quat, frame.pos, frame.quat)


def _needs_mass(body: Item, geom: Item) -> bool:
    low, high = body.settings.inertiagrouprange
    infers = body.inertial is None or body.settings.inertiafromgeom == TRUE
    return body.parent is not None and infers and bool(low <= geom.group <= high)


def _inertia(body: Item) -> None:
    """Mass and inertial frame: written, or inferred from the geoms."""
    settings = body.settings
    body.mass, body.ipos, body.iquat, body.inertia, body.adjusted = 0.0, None, IDENTITY, np.zeros(3), False
    written = body.inertial
    if written is not None:
        body.mass, body.ipos = written.mass, written.pos
        body.iquat, body.inertia = _written_inertia(written)
    infer = settings.inertiafromgeom == TRUE or (written is None and settings.inertiafromgeom != FALSE)
    if infer and body.parent is not None:
        low, high = settings.inertiagrouprange
        parts = [
            inertia.Body(g.mass, g.pos, g.quat, g.inertia)
            for g in body.contents["geom"]
            if low <= g.group <= high and getattr(g, "rbound", None) is not None and g.mass > EPS
        ]
        if len(parts) == 1:
            body.mass, body.ipos, body.iquat, body.inertia = parts[0]
        elif parts:
            body.mass, body.ipos, full = inertia.combine(parts)
            body.iquat, body.inertia = _principal(full, settings)
    if body.ipos is None:
        body.ipos, body.iquat = body.pos, body.quat
    if body.parent is not None:
        _bound_inertia(body)


def _written_inertia(written: Item) -> tuple[np.ndarray, np.ndarray]:
    if written.fullinertia is not None:
        if written.diaginertia is not None and np.any(written.diaginertia):
            raise Fault("fullinertia and diaginertia are both given; one of them is enough")
        return _principal(written.fullinertia, written.settings)
    diagonal = written.diaginertia if written.diaginertia is not None else np.zeros(3)
    return frames.orientation(written, written.settings), diagonal


def _principal(full: np.ndarray, settings: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        return inertia.principal(full)
    except Fault:
        if settings.boundinertia <= 0:
            raise
        return principal_axes(full)


def _bound_inertia(body: Item) -> None:
    settings = body.settings
    before = (body.mass, *body.inertia)
    body.mass = max(body.mass, settings.boundmass)
    body.inertia = np.maximum(body.inertia, settings.boundinertia)
    if body.mass < 0 or np.any(body.inertia < 0):
        raise Fault("mass and inertia must not be negative")
    a, b, c = body.inertia
    if a + b < c or a + c < b or b + c < a:
        if not settings.balanceinertia:
            raise Fault(
                f"inertia '{a:g} {b:g} {c:g}' is not physical: none may exceed the sum of the others; "
                "balanceinertia='true' in <compiler> fixes this"
            )
        body.inertia = np.full(3, (a + b + c) / 3)
    body.adjusted = before != (body.mass, *body.inertia)


def _aligns(body: Item) -> bool:
    """Whether the frame of a free body moves to its inertial frame."""
    joints = body.contents["joint"]
    if len(joints) != 1 or joints[0].type != FREE or body.contents["body"]:
        return False
    return joints[0].align == TRUE or (joints[0].align != FALSE and body.settings.alignfree)


def _align_to_inertia(body: Item) -> tuple[np.ndarray, np.ndarray]:
    body.pos, body.quat = frames.compose(body.pos, body.quat, body.ipos, body.iquat)
    back = frames.invert(body.ipos, body.iquat)
    body.ipos, body.iquat = ZERO, IDENTITY
    for geom in body.contents["geom"]:
        _move(geom, back)
    return back


def _move(item: Item, by: tuple[np.ndarray, np.ndarray]) -> None:
    if item.kind == "light":
        item.pos, _ = frames.compose(*by, item.pos, IDENTITY)
        item.dir = frames.rotate(item.dir, by[1])
    else:
        item.pos, item.quat = frames.compose(*by, item.pos, item.quat)


def _check_joints(body: Item) -> None:
    types = [joint.type for joint in body.contents["joint"]]
    if sum(NV[t] for t in types) > 6:
        raise Fault("the joints of a body have more than 6 degrees of freedom")
    if FREE in types and len(types) > 1:
        raise Fault("a free joint must be the only joint of its body")
    if FREE in types and body.parent.parent is not None:
        raise Fault("a free joint can only be in a child of the world body")
    if BALL in types and any(t in (BALL, HINGE) for t in types[types.index(BALL) + 1 :]):
        raise Fault("a ball joint cannot be followed by a hinge or another ball joint")
    if body.mocap and (types or body.parent is None or body.parent.parent is not None):
        raise Fault("a mocap body must be a child of the world body without joints")


def compile_joint(joint: Item) -> None:
    """Resolve a joint in the frame of its body; angles become radians."""
    time_constant, ratio = joint.springdamper
    if (time_constant or ratio) and (time_constant <= 0 or ratio <= 0):
        raise Fault("the two values of springdamper must be positive")
    scale = math.pi / 180 if joint.settings.degree else 1.0
    if joint.type == FREE:
        joint.limited = FALSE
        if joint.springyield:
            raise Fault("springyield is not available for free joints")
    if joint.type == BALL:
        joint.is_limited = is_limited(joint.limited, joint.range)
        if joint.is_limited and joint.range[0]:
            raise Fault("range of a ball joint must start at 0")
    else:
        joint.is_limited = check_limited(joint, "limited", "range")
    if joint.is_limited and joint.type in (HINGE, BALL):
        joint.range = joint.range * scale
    if joint.type in (FREE, BALL):
        joint.actuatorfrclimited, joint.axis = FALSE, np.array([0.0, 0.0, 1.0])
    joint.is_actuatorfrclimited = check_limited(joint, "actuatorfrclimited", "actuatorfrcrange")
    if joint.type in (SLIDE, HINGE) and joint.frame is not None:
        joint.axis = frames.rotate(joint.axis, joint.frame.quat)
    joint.axis, length = frames.normalize(joint.axis)
    if length < EPS:
        raise Fault("axis is too short to give a direction")
    if joint.type == FREE:
        joint.pos = ZERO
    elif joint.frame is not None:
        joint.pos, _ = frames.compose(joint.frame.pos, joint.frame.quat, joint.pos, IDENTITY)
    if joint.type == HINGE:
        joint.ref, joint.springref = joint.ref * scale, joint.springref * scale
    if joint.type in (HINGE, BALL):
        joint.springyield *= scale


def check_moving_masses(spec: Spec, problems: Problems) -> None:
    """Bodies that move need mass and inertia, their own or that of a child welded to them."""
    for body in spec.bodies()[1:]:
        if body.contents["joint"] and not _has_inertia(body):
            message = "a moving body needs mass and inertia: give it a geom with mass, or <inertial>"
            problems.add(body.place, message)


def _has_inertia(body: Item) -> bool:
    # bodies welded to this one may carry the mass
    if body.mass >= MINVAL and np.all(body.inertia >= MINVAL):
        return True
    return any(not child.contents["joint"] and _has_inertia(child) for child in body.contents["body"])
