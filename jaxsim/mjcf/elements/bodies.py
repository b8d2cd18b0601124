"""Bodies, frames and what bodies contain, resolved in the order of the tree."""

from collections.abc import Callable
from typing import Any

from jaxsim.algebra import quaternion
from jaxsim.core.enums import GeomType, JointType
from jaxsim.mjcf.algebra.conventions import IDENTITY, ZERO
from jaxsim.mjcf.algebra.frames import compose, invert
from jaxsim.mjcf.elements.body_inertia import compile_inertia, counts
from jaxsim.mjcf.elements.cameras import compile_camera
from jaxsim.mjcf.elements.geoms import compile_geom
from jaxsim.mjcf.elements.joints import check_joints, compile_joint
from jaxsim.mjcf.elements.lights import compile_light
from jaxsim.mjcf.elements.orientation import orientation
from jaxsim.mjcf.elements.sites import compile_site
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault, Problems, Refused
from jaxsim.mjcf.language.spec import IN_BODY, Item, Spec

Assets = dict[str, dict[str, Any]]  # compiled meshes and height fields, by kind and name


def compile_bodies(spec: Spec, assets: Assets, problems: Problems) -> None:
    """Resolve every body and what it contains; parents come first."""
    for number, body in enumerate(spec.bodies()):
        body.id = number
        body.weld = body if body.parent is None or body.contents["joint"] or body.mocap else body.parent.weld
        _compile_body(body, spec, assets, problems)


def _compile_body(body: Item, spec: Spec, assets: Assets, problems: Problems) -> None:
    def each(kind: str, compiler: Callable[..., None], *args: Any) -> None:
        for item in body.contents[kind]:
            problems.attempt(item.place, _in_frame, item, problems, compiler, *args)

    each("frame", _compile_frame)  # outer frames come first
    problems.attempt(body.place, _orient, body)
    each("geom", _compile_geom, body, assets)
    problems.attempt((body.inertial or body).place, compile_inertia, body, problems)
    problems.attempt(body.place, _in_frame, body, problems, _to_parent)
    each("joint", compile_joint)
    each("site", _compile_site, assets)
    each("camera", compile_camera, spec.znear)
    each("light", compile_light)
    problems.attempt(body.place, _finish, body, problems)


def _in_frame(item: Item, problems: Problems, compiler: Callable[..., None], *args: Any) -> None:
    """Compile an item, whose frame element must be right."""
    problems.require(item.frame)
    compiler(item, *args)


def _compile_frame(frame: Item) -> None:
    """Resolve a frame in the frame of the body."""
    frame.quat = orientation(frame, frame.settings)
    if frame.frame is not None:
        frame.pos, frame.quat = compose(frame.frame.pos, frame.frame.quat, frame.pos, frame.quat)


def _orient(body: Item) -> None:
    body.quat = orientation(body, body.settings)


def _to_parent(body: Item) -> None:
    """From the frame element that a body is in to its parent."""
    if body.frame is not None:
        body.pos, body.quat = compose(body.frame.pos, body.frame.quat, body.pos, body.quat)


def _asset(assets: Assets, kind: str, name: str | None) -> Any:
    """A compiled asset by name; the problem of one that there is not is reported already."""
    if name and name not in assets[kind]:
        raise Refused
    return assets[kind][name] if name else None


def _compile_geom(geom: Item, body: Item, assets: Assets) -> None:
    mesh, hfield = _asset(assets, "mesh", geom.mesh), _asset(assets, "hfield", geom.hfield)
    compile_geom(geom, mesh, hfield, counts(body, geom))
    if geom.type == GeomType.PLANE and body.weld.parent is not None and not body.weld.mocap:
        raise Fault("a plane can only be in a static body")


def _compile_site(site: Item, assets: Assets) -> None:
    compile_site(site, _asset(assets, "mesh", site.mesh))


def _finish(body: Item, problems: Problems) -> None:
    """What needs all that is in a body: its joints together, and alignment with its inertia."""
    problems.require(*body.contents["joint"])
    check_joints(body)
    if body.sleep and not (body.contents["joint"] and body.parent.weld.parent is None):
        raise Fault("sleep belongs to a body that moves and whose parents do not")
    if _aligns(body):
        problems.require(body.inertial, *(item for kind in IN_BODY for item in body.contents[kind]))
        _align_to_inertia(body)


def _aligns(body: Item) -> bool:
    """Whether the frame of a free body moves to its inertial frame."""
    joints = body.contents["joint"]
    if len(joints) != 1 or joints[0].type != JointType.FREE or body.contents["body"]:
        return False
    return joints[0].align == Tristate.TRUE or (joints[0].align != Tristate.FALSE and body.settings.alignfree)


def _align_to_inertia(body: Item) -> None:
    body.pos, body.quat = compose(body.pos, body.quat, body.ipos, body.iquat)
    back = invert(body.ipos, body.iquat)
    body.ipos, body.iquat = ZERO, IDENTITY
    for kind in ("geom", "site", "camera", "light"):
        for item in body.contents[kind]:
            if kind == "light":
                item.pos, _ = compose(*back, item.pos, IDENTITY)
                item.dir = quaternion.rotate(back[1], item.dir)
            else:
                item.pos, item.quat = compose(*back, item.pos, item.quat)
