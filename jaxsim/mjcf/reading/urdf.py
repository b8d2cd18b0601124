"""URDF: rewrite a <robot> document as the <mujoco> document that MuJoCo makes of it (xml_urdf.cc).

Links become bodies, nested as the joints say; a link without a parent is fixed to the world. Joints that mimic
others become equality constraints. What has no counterpart in MJCF (transmissions, simulator plugins) is left out,
as MuJoCo leaves it out. A <mujoco> child may hold compiler, option and size sections. By default visual geoms are
discarded and links that cannot move are fused with their parents.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.mjcf.algebra.conventions import IDENTITY, unit
from jaxsim.mjcf.algebra.frames import from_euler, from_z_axis
from jaxsim.mjcf.algebra.principal import principal_axes
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems, nearest

Array = np.ndarray
JOINTS = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "floating": "free",
    "spherical": "ball",  # not in the standard
    "planar": "",
    "fixed": "",
}

SCALAR = ("revolute", "continuous", "prismatic")  # types of one degree of freedom


def to_mjcf(robot: Element, problems: Problems) -> Element:
    """The <mujoco> tree of a <robot> tree; elements keep the places where they were written."""
    converter = _Converter(robot, problems)
    problems.attempt(robot.place, converter.tree)
    return converter.root


def _made(tag: str, source: Element, **attributes: str | Array | float) -> Element:
    """An MJCF element that stands for a URDF element."""
    text = {k: v if isinstance(v, str) else _text(v) for k, v in attributes.items()}
    return Element(tag, text, source.place)


def _text(values: Array | float) -> str:
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


def _child(element: Element, tag: str) -> Element | None:
    return next(iter(element.find(tag)), None)


def _required(element: Element, tag: str) -> Element:
    child = _child(element, tag)
    if child is None:
        raise Fault(f"<{element.tag}> has no <{tag}>")
    return child


def _attribute(element: Element, name: str) -> str:
    if name not in element.attributes:
        raise Fault(f"<{element.tag}>: attribute '{name}' is missing")
    return element.attributes[name]


def _numbers(element: Element, name: str, count: int, default: Array | None = None) -> Array:
    """The numbers of an attribute; a Fault if it is missing and has no default."""
    if default is not None and name not in element.attributes:
        return default
    text = _attribute(element, name)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        raise Fault(f"<{element.tag}>: {name}='{text}' is not made of numbers") from None
    if len(values) != count or not np.all(np.isfinite(values)):
        raise Fault(f"<{element.tag}>: {name}='{text}'; expected {count} finite numbers")
    return values


def _number(element: Element, name: str, default: float | None = None) -> float:
    return float(_numbers(element, name, 1, None if default is None else np.array([default]))[0])


def _origin(element: Element) -> tuple[Array, Array]:
    """Position and orientation of the <origin> of an element."""
    origin = _child(element, "origin")
    if origin is None:
        return np.zeros(3), IDENTITY
    angles = _numbers(origin, "rpy", 3, np.zeros(3))
    return _numbers(origin, "xyz", 3, np.zeros(3)), from_euler(angles, "XYZ")


def _turned(full: Array, quat: Array) -> Array:
    """An inertia (xx yy zz xy xz yz) given in a turned frame."""
    xx, yy, zz, xy, xz, yz = full
    mat = quaternion.to_mat(quat).reshape(3, 3)
    turned = mat @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ mat.T
    return turned[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


class _Converter:
    """Builds the MJCF tree of one robot."""

    def __init__(self, robot: Element, problems: Problems):
        self.robot, self.problems = robot, problems
        self.root = _made("mujoco", robot, model=robot.attributes.get("name", ""))
        if not self.root.attributes["model"]:
            del self.root.attributes["model"]
        self.compiler = _made("compiler", robot, fusestatic="true", discardvisual="true")
        self._sections()
        self.discard_visual = self.compiler.attributes["discardvisual"] == "true"
        self.asset, self.world, self.equality = (_made(tag, robot) for tag in ("asset", "worldbody", "equality"))
        self.root.children += [self.asset, self.world, self.equality]
        self.colours = {
            material.attributes["name"]: colour.attributes["rgba"]
            for material in reversed(list(_descendants(robot, "material")))
            if (colour := _child(material, "color")) is not None
            and "name" in material.attributes
            and "rgba" in colour.attributes
        }
        self.meshes: dict[str, list[tuple[str, tuple[float, ...]]]] = {}  # files, as written, and scales by name
        self.geom_names: set[str] = set()

    def _sections(self) -> None:
        """MJCF sections inside the robot; angles are in radian whatever they say."""
        mujoco = _child(self.robot, "mujoco")
        for section in mujoco.find("compiler", "option", "size") if mujoco else ():
            if section.tag == "compiler":
                self.compiler.attributes |= section.attributes
                self.compiler.place, self.compiler.children = section.place, section.children
            else:
                self.root.children.append(section)
        self.compiler.attributes["angle"] = "radian"
        self.root.children.insert(0, self.compiler)

    def tree(self) -> None:
        """Nest the links."""
        links = self._links()
        joints: dict[str, list[tuple[str, Element]]] = {name: [] for name in links}
        parents: dict[str, str] = {}
        for joint in self.robot.find("joint"):
            self.problems.attempt(joint.place, self._connect, joint, links, joints, parents)
        reached = sum(self._add(name, None, self.world, links, joints) for name in links if name not in parents)
        if reached < len(links) and not self.problems.found:
            raise Fault("the joints connect links in a circle")
        for joint in self.robot.find("joint"):
            self.problems.attempt(joint.place, self._mimic, joint)

    def _mimic(self, joint: Element) -> None:
        """The constraint that makes a joint follow another, if both have one degree of freedom."""
        mimics = list(joint.find("mimic"))
        if not mimics:
            return
        if len(mimics) > 1:
            raise Fault("<joint> has several <mimic>")
        name, other = _attribute(joint, "name"), _attribute(mimics[0], "joint")
        follows = np.array([_number(mimics[0], "offset", 0.0), _number(mimics[0], "multiplier", 1.0), 0, 0, 0])
        types = {x.attributes.get("name"): x.attributes.get("type") for x in self.robot.find("joint")}
        if types[name] not in SCALAR or types.get(other) not in SCALAR:
            ends = " and ".join(f"'{x}' ({types[x]})" if x in types else f"'{x}' (unknown)" for x in (name, other))
            self.problems.remark(mimics[0].place, f"<mimic> ignored: {ends} are not both one of {', '.join(SCALAR)}")
            return
        self.equality.children.append(_made("joint", mimics[0], joint1=name, joint2=other, polycoef=follows))

    def _connect(
        self,
        joint: Element,
        links: dict[str, Element],
        joints: dict[str, list[tuple[str, Element]]],
        parents: dict[str, str],
    ) -> None:
        """Note which link a joint hangs on which."""
        parent, child = self._link_of(joint, "parent", links), self._link_of(joint, "child", links)
        if child in parents:
            raise Fault(f"link '{child}' has several parents: '{parents[child]}' and '{parent}'")
        parents[child] = parent
        joints[parent].append((child, joint))

    def _links(self) -> dict[str, Element]:
        links: dict[str, Element] = {}
        for link in self.robot.find("link"):
            self.problems.attempt(link.place, self._link, link, links)
        return links

    def _link(self, link: Element, links: dict[str, Element]) -> None:
        name = _attribute(link, "name")
        if name in links:
            raise Fault(f"link '{name}' is already defined at line {links[name].place.line}")
        links[name] = link

    def _link_of(self, joint: Element, role: str, links: dict[str, Element]) -> str:
        name = _attribute(_required(joint, role), "link")
        if name not in links:
            raise Fault(f"{role} link '{name}' does not exist{nearest(name, links)}")
        return name

    def _add(
        self,
        name: str,
        joint: Element | None,
        above: Element,
        links: dict[str, Element],
        joints: dict[str, list[tuple[str, Element]]],
    ) -> int:
        """Add a link and all below it to the tree; how many they are."""
        link = links[name]
        body = above if name == "world" and joint is None else _made("body", link, name=name)
        if body is not above:
            above.children.append(body)
            self.problems.attempt(link.place, self._inertial, link, body)
        if joint is not None:
            self.problems.attempt(joint.place, self._joint, joint, body)
        self.problems.attempt(link.place, self._geoms, link, body)
        return 1 + sum(self._add(child, j, body, links, joints) for child, j in joints[name])

    def _inertial(self, link: Element, body: Element) -> None:
        inertial = _child(link, "inertial")
        if inertial is None:
            return
        pos, quat = _origin(inertial)
        mass = _number(_required(inertial, "mass"), "value")
        inertia = _required(inertial, "inertia")
        full = np.array([_number(inertia, f"i{axes}") for axes in ("xx", "yy", "zz", "xy", "xz", "yz")])
        moments = np.zeros(3)
        if full.any():
            quat, moments = principal_axes(_turned(full, quat))
        body.children.append(_made("inertial", inertial, pos=pos, quat=quat, mass=mass, diaginertia=moments))

    def _joint(self, joint: Element, body: Element) -> None:
        name, kind = _attribute(joint, "name"), _attribute(joint, "type")
        if kind not in JOINTS:
            raise Fault(f"type='{kind}'; expected one of {', '.join(JOINTS)}{nearest(kind, JOINTS)}")
        pos, quat = _origin(joint)
        body.attributes |= {"pos": _text(pos), "quat": _text(quat)}
        axis = np.array([1.0, 0, 0])
        if (element := _child(joint, "axis")) is not None:
            axis = _numbers(element, "xyz", 3)
        made: list[Element] = []
        if kind == "planar":
            mat = quaternion.to_mat(from_z_axis(unit(axis))).reshape(3, 3)
            made = [
                _made("joint", joint, name=f"{name}_TX", type="slide", axis=mat[:, 0]),
                _made("joint", joint, name=f"{name}_TY", type="slide", axis=mat[:, 1]),
                _made("joint", joint, name=f"{name}_RZ", type="hinge", axis=axis),
            ]
        elif kind != "fixed":
            made = [_made("joint", joint, name=name, type=JOINTS[kind])]
            if kind in SCALAR:
                made[0].attributes["axis"] = _text(axis)
        if made:
            self._dynamics(joint, made)
            self._limit(joint, made[0], endless=kind == "continuous")
        body.children += made

    def _dynamics(self, joint: Element, made: list[Element]) -> None:
        if (dynamics := _child(joint, "dynamics")) is None:
            return
        for source, target in (("damping", "damping"), ("friction", "frictionloss")):
            if source in dynamics.attributes:
                for element in made:
                    element.attributes[target] = _text(_number(dynamics, source))

    def _limit(self, joint: Element, made: Element, endless: bool) -> None:
        """Range and greatest force; a range with one end, or with its ends exchanged, is no limit."""
        if (limit := _child(joint, "limit")) is None:
            return
        ends = np.array([_number(limit, "lower", 0.0), _number(limit, "upper", 0.0)])
        given = 0 if endless else ("lower" in limit.attributes) + ("upper" in limit.attributes)
        if given:
            made.attributes["range"] = _text(ends)
        if given == 1 or (given and ends[0] > ends[1]):
            made.attributes["limited"] = "false"
        effort = abs(_number(limit, "effort", 0.0))
        if effort > 0:
            made.attributes["actuatorfrcrange"] = _text(np.array([-effort, effort]))

    def _geoms(self, link: Element, body: Element) -> None:
        """Visual and collision shapes in their order; a collision has the colour of the visual before it."""
        rgba: str | None = None
        for element in link.find("visual", "collision"):
            visual = element.tag == "visual"
            if visual:
                rgba = self._colour(element) or rgba
                if self.discard_visual:
                    continue
            geom = self._geom(element)
            if visual:
                geom.attributes |= {"contype": "0", "conaffinity": "0", "group": "1", "density": "0"}
            else:
                geom.attributes |= {"contype": "1", "conaffinity": "1"}
            if rgba is not None:
                geom.attributes["rgba"] = rgba
            name = element.attributes.get("name", "")
            if name and name not in self.geom_names:
                self.geom_names.add(name)
                geom.attributes["name"] = name
            body.children.append(geom)

    def _colour(self, visual: Element) -> str | None:
        material = _child(visual, "material")
        if material is None:
            return None
        if (colour := _child(material, "color")) is not None:
            return _text(_numbers(colour, "rgba", 4))
        return self.colours.get(_attribute(material, "name"))

    def _geom(self, element: Element) -> Element:
        geometry = _required(element, "geometry")
        pos, quat = _origin(element)
        shape = next((s for s in geometry.find("box", "cylinder", "sphere", "capsule", "mesh")), None)
        if shape is None:
            raise Fault("<geometry> has no shape; expected box, cylinder, sphere, capsule or mesh")
        geom = _made("geom", element, type=shape.tag, pos=pos, quat=quat)
        match shape.tag:
            case "box":
                geom.attributes["size"] = _text(_numbers(shape, "size", 3) / 2)
            case "sphere":
                geom.attributes["size"] = _text(_number(shape, "radius"))
            case "mesh":
                geom.attributes["mesh"] = self._mesh(shape)
            case _:
                size = _number(shape, "radius"), _number(shape, "length") / 2
                geom.attributes["size"] = _text(np.array(size))
        return geom

    def _mesh(self, shape: Element) -> str:
        """Name of the mesh asset of a file and scale, which is added if there is none yet."""
        file, scale = _attribute(shape, "filename"), _numbers(shape, "scale", 3, np.ones(3))
        stem = PurePosixPath(file.replace("\\", "/")).name.rpartition(".")[0] or PurePosixPath(file).name
        known = self.meshes.setdefault(stem, [])
        key = file, tuple(float(v) for v in scale)
        is_new = key not in known
        if is_new:
            known.append(key)
        number = known.index(key)
        name = f"{stem}{number}" if number else stem
        if is_new:
            self.asset.children.append(_made("mesh", shape, name=name, file=file, scale=scale))
        return name


def _descendants(element: Element, tag: str) -> Iterator[Element]:
    """All elements with a tag, in document order."""
    if element.tag == tag:
        yield element
    for child in element.children:
        yield from _descendants(child, tag)
