"""The body tree of a document: bodies and what they contain, frames, replicates and attachments."""

from typing import Any

from jaxsim.core.enums import JointType
from jaxsim.mjcf.algebra.conventions import IDENTITY, ZERO
from jaxsim.mjcf.language.defaults import DefaultClass, overlay
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.schema import defaults
from jaxsim.mjcf.language.spec import Item, Spec, make, new_body
from jaxsim.mjcf.reading.attach import attach
from jaxsim.mjcf.reading.expanded_size import check_expanded_size
from jaxsim.mjcf.reading.replicate import replicate
from jaxsim.mjcf.reading.sections import Sections


def read_tree(root: Element, spec: Spec, sections: Sections, problems: Problems) -> None:
    """Read the world body, and all that is in it, into a Spec."""
    spec.world = new_body({**defaults("body"), "name": "world"}, root.place, spec.settings)
    tree = _Tree(spec, sections, problems)
    check_expanded_size(root.find("worldbody"), spec, problems)
    for section in root.find("worldbody"):
        tree.contents(section, spec.world, None, spec.defaults.main)


class _Tree:
    """Reads body elements into one Spec."""

    def __init__(self, spec: Spec, sections: Sections, problems: Problems):
        self.spec = spec
        self.sections = sections
        self.problems = problems

    def contents(self, element: Element, body: Item, frame: Item | None, inherited: DefaultClass) -> None:
        """Read the contents of a body, frame or replicate element into a body."""
        for child in element.children:
            cls = self.spec.defaults.find(child, "class", inherited, self.problems)
            cls = self.spec.defaults.find(child, "childclass", cls, self.problems)
            match child.tag:
                case "body":
                    self._body(child, body, frame, cls)
                case "frame":
                    self._frame(child, body, frame, cls)
                case "replicate":
                    if not self.problems.attempt(child.place, self._replicate, child, body, frame, cls):
                        self.problems.leave_out_unknown()
                case "attach":
                    if not self.problems.attempt(child.place, self._attach, child, body, frame):
                        self.problems.leave_out_unknown()
                case "inertial":
                    self._inertial(child, body, frame)
                case "joint" | "freejoint" | "geom" | "site" | "camera" | "light":
                    self._content(child, body, frame, cls)

    def _body(self, element: Element, parent: Item, frame: Item | None, cls: DefaultClass) -> None:
        values = overlay(defaults("body"), element.values)
        values["name"] = values["name"] or ""
        body = new_body(values, element.place, self.spec.settings)
        body.parent, body.frame = parent, frame
        parent.contents["body"].append(body)
        self.contents(element, body, None, cls)

    def _frame(self, element: Element, body: Item, frame: Item | None, cls: DefaultClass) -> None:
        if {"scale", "massscale", "scaling"} & set(element.values):
            self.problems.add(element.place, "refused: scaling the contents of a frame is not supported")
        inner = make("frame", "frame", element, defaults("frame"), self.spec.settings, frame=frame, body=body)
        body.contents["frame"].append(inner)
        self.contents(element, body, inner, cls)

    def _inertial(self, element: Element, body: Item, frame: Item | None) -> None:
        if body is self.spec.world:
            self.problems.add(element.place, "the world body cannot have inertia")
        body.inertial = make("inertial", "inertial", element, defaults("inertial"), self.spec.settings, frame=frame)

    def _content(self, element: Element, body: Item, frame: Item | None, cls: DefaultClass) -> None:
        kind = "joint" if element.tag == "freejoint" else element.tag
        if kind == "joint" and body is self.spec.world:
            self.problems.add(element.place, "the world body cannot have joints")
            self.problems.leave_out(element.names())
            return
        extra: dict[str, Any] = {"body": body, "frame": frame}
        base = cls.of(kind)
        if element.tag == "freejoint":
            base = {**defaults("joint"), "type": int(JointType.FREE)}
            extra["align"] = element.values.get("align", int(Tristate.AUTO))
        elif cls.spoils(kind):
            self.problems.refuse(element.place)
        if element.tag == "joint":
            extra["align"] = int(Tristate.AUTO)
        elif kind == "geom":
            extra["sdf"] = self.sections.sdf(element)
        body.contents[kind].append(make(kind, kind, element, base, self.spec.settings, **extra))

    def _attach(self, element: Element, body: Item, frame: Item | None) -> bool:
        attach(self.spec, element, body, frame, self.problems)
        return True

    def _replicate(self, element: Element, body: Item, frame: Item | None, cls: DefaultClass) -> bool:
        subtree = new_body({**defaults("body"), "name": ""}, element.place, self.spec.settings)
        subtree.parent = body
        holder = Item(
            kind="frame",
            key="frame",
            place=element.place,
            settings=self.spec.settings,
            name="",
            pos=ZERO,
            quat=IDENTITY,
            axisangle=None,
            xyaxes=None,
            zaxis=None,
            euler=None,
            frame=frame,
            body=subtree,
        )
        subtree.contents["frame"].append(holder)
        self.contents(element, subtree, holder, cls)
        if (element.values.get("count") or 0) <= 0:
            self.problems.remark(element.place, "count is not positive: the contents are left out, as MuJoCo does")
        replicate(self.spec, element, body, subtree, holder, self.problems)
        return True
