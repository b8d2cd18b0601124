"""Read a validated document into a Spec: sections, default classes and the body tree."""

from typing import Any

from jaxsim.mjcf import actuator_defaults
from jaxsim.mjcf.defaults import DefaultClass, overlay
from jaxsim.mjcf.errors import Problems, nearest
from jaxsim.mjcf.expand import attach, replicate
from jaxsim.mjcf.frames import IDENTITY, ZERO
from jaxsim.mjcf.mesh_sdf import SDF_PREFIX, SHAPES, check_config
from jaxsim.mjcf.options import read_options
from jaxsim.mjcf.reader import Element, Files
from jaxsim.mjcf.schema import ACTUATORS, ENUMS, defaults
from jaxsim.mjcf.spec import Item, Spec, make, new_body


def read_spec(root: Element, files: Files, problems: Problems) -> Spec:
    """The Spec of a validated <mujoco> document."""
    spec = Spec(files)
    spec.model_name = root.values.get("model", "MuJoCo Model")
    read_options(root, spec, problems)
    for section in root.find("default"):
        spec.defaults.read(section, problems)
    actuator_defaults.check_defaults(spec.defaults.classes.values(), problems)
    reader = _Reader(spec, problems)
    for tag in (
        "extension",
        "custom",
        "asset",
        "contact",
        "equality",
        "tendon",
        "actuator",
        "sensor",
        "keyframe",
    ):
        for section in root.find(tag):
            getattr(reader, tag)(section)
    for _ in range(spec.size.nkey - len(spec.lists["key"])):
        spec.lists["key"].append(make("key", "key", Element("key", {}, root.place), defaults("key"), spec.settings))
    world = {**defaults("body"), "name": "world"}
    spec.world = new_body(world, root.place, spec.settings)
    for section in root.find("worldbody"):
        reader.body(section, spec.world, None, spec.defaults.main)
    return spec


class _Reader:
    """Reads sections into one Spec."""

    def __init__(self, spec: Spec, problems: Problems):
        self.spec = spec
        self.problems = problems

    def _add(self, kind: str, key: str, element: Element, base: dict[str, Any], **extra: Any) -> Item:
        item = make(kind, key, element, base, self.spec.settings, **extra)
        self.spec.lists[kind].append(item)
        return item

    def _class(self, element: Element) -> DefaultClass:
        return self.spec.defaults.find(element, "class", self.spec.defaults.main, self.problems)

    def extension(self, section: Element) -> None:
        """Declared plugins and their instances; only signed distances are known."""
        for plugin in section.find("plugin"):
            name = plugin.values.get("plugin", "")
            if name.removeprefix(SDF_PREFIX) not in SHAPES or not name.startswith(SDF_PREFIX):
                self.problems.add(plugin.place, f"refused: engine plugin {name!r} is not supported")
                continue
            self.spec.plugins.add(name)
            for instance in plugin.find("instance"):
                label = instance.values.get("name", "")
                if label in self.spec.instances:
                    self.problems.add(instance.place, f"the name {label!r} is taken by another instance")
                self.spec.instances[label] = name, self._config(instance, name)

    def _config(self, element: Element, plugin: str) -> dict[str, str]:
        """Attributes of a plugin, as written."""
        config: dict[str, str] = {}
        for entry in element.find("config"):
            key = entry.values.get("key", "")
            if key in config:
                self.problems.add(entry.place, f"the key {key!r} is repeated")
            config[key] = entry.values.get("value", "")
            with self.problems.of(entry.place):
                check_config(plugin.removeprefix(SDF_PREFIX), key, config[key])
        return config

    def _sdf(self, element: Element) -> tuple[str, dict[str, str]] | None:
        """Kind and attributes of the signed distance that a mesh or geom is made of."""
        for plugin in element.find("plugin"):
            name, instance = plugin.values.get("plugin", ""), plugin.values.get("instance", "")
            known, config = self.spec.instances.get(instance, ("", {}))
            if not (name or instance):
                self.problems.add(plugin.place, "one of these must be given: plugin, instance")
            elif instance and not known:
                close = nearest(instance, self.spec.instances)
                self.problems.add(plugin.place, f"no plugin instance is called {instance!r}{close}")
            elif name and name not in self.spec.plugins:
                close = nearest(name, self.spec.plugins)
                self.problems.add(plugin.place, f"plugin {name!r} is not declared in <extension>{close}")
            elif name and known and name != known:
                self.problems.add(plugin.place, f"instance {instance!r} is one of plugin {known!r}")
            else:
                written = config if known else self._config(plugin, name)
                return (known or name).removeprefix(SDF_PREFIX), written
        return None

    def custom(self, section: Element) -> None:
        for element in section.children:
            if element.tag == "tuple":
                parts = [make("", "tuple/element", e, defaults("tuple/element"), None) for e in element.find("element")]
                self._add("tuple", "tuple", element, defaults("tuple"), parts=parts)
            elif element.tag in ("numeric", "text"):
                self._add(element.tag, element.tag, element, defaults(element.tag))

    def asset(self, section: Element) -> None:
        for element in section.children:
            base = self._class(element).of(element.tag)
            if element.tag in ("mesh", "texture", "material"):
                extra: dict[str, Any] = {}
                if element.tag == "mesh":
                    extra["sdf"] = self._sdf(element)
                elif element.tag == "material":
                    extra["layers"] = [e.values for e in element.find("layer")]
                item = self._add(element.tag, element.tag, element, base, **extra)
                item.name = item.name or _stem(item.file if element.tag != "material" else None)
            elif element.tag == "hfield":
                item = self._add("hfield", "hfield", element, defaults("hfield"))
                item.name = item.name or _stem(item.file)
            elif element.tag == "skin":
                self.spec.note(element.place, "skins are visual and are ignored")
            elif element.tag == "model":
                self._model(element)

    def _model(self, element: Element) -> None:
        from jaxsim.mjcf.attachment import read_model  # it reads another document, and so comes back here

        with self.problems.of(element.place):
            child = read_model(element.values.get("file", ""), self.spec.files, self.problems.remarks)
            self.spec.models[element.values.get("name") or child.model_name] = child

    def contact(self, section: Element) -> None:
        for element in section.children:
            base = self._class(element).of("pair") if element.tag == "pair" else defaults("exclude")
            if element.tag in ("pair", "exclude"):
                self._add(element.tag, element.tag, element, base)

    def equality(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ("connect", "weld", "joint", "tendon"):
                key = f"equality/{element.tag}"
                base = {**defaults(key), **self._class(element).of("equality")}
                item = self._add("equality", key, element, base, given=frozenset(element.values))
                item.name = element.values.get("name", "")

    def tendon(self, section: Element) -> None:
        for element in section.children:
            if element.tag not in ("spatial", "fixed"):
                continue
            base = self._class(element).of("tendon")
            path = [make("", f"{element.tag}/{e.tag}", e, {}, None) for e in element.children]
            self._add("tendon", element.tag, element, base, path=path)

    def actuator(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ACTUATORS:
                with self.problems.of(element.place):
                    values = actuator_defaults.resolve(element, self._class(element))
                    self._add("actuator", element.tag, Element(element.tag, {}, element.place), values)

    def sensor(self, section: Element) -> None:
        for element in section.children:
            key = f"sensor/{element.tag}"
            self._add("sensor", key, element, defaults(key), given=frozenset(element.values))

    def keyframe(self, section: Element) -> None:
        for element in section.find("key"):
            self._add("key", "key", element, defaults("key"))

    def body(self, element: Element, body: Item, frame: Item | None, inherited: DefaultClass) -> None:
        """Read the contents of a body, frame or replicate element into a body."""
        for child in element.children:
            cls = self.spec.defaults.find(child, "class", inherited, self.problems)
            cls = self.spec.defaults.find(child, "childclass", cls, self.problems)
            match child.tag:
                case "body":
                    self._child_body(child, body, frame, cls)
                case "frame":
                    if {"scale", "massscale", "scaling"} & set(child.values):
                        self.problems.add(child.place, "refused: scaling the contents of a frame is not supported")
                    inner = make("frame", "frame", child, defaults("frame"), self.spec.settings, frame=frame, body=body)
                    body.contents["frame"].append(inner)
                    self.body(child, body, inner, cls)
                case "replicate":
                    with self.problems.of(child.place):
                        self._replicate(child, body, frame, cls)
                case "attach":
                    with self.problems.of(child.place):
                        attach(self.spec, child, body, frame)
                case "inertial":
                    self._inertial(child, body)
                case "joint" | "freejoint" | "geom" | "site" | "camera" | "light":
                    self._content(child, body, frame, cls)

    def _child_body(self, element: Element, parent: Item, frame: Item | None, cls: DefaultClass) -> None:
        values = overlay(defaults("body"), element.values)
        values["name"] = values["name"] or ""
        body = new_body(values, element.place, self.spec.settings)
        body.parent, body.frame = parent, frame
        parent.contents["body"].append(body)
        self.body(element, body, None, cls)

    def _inertial(self, element: Element, body: Item) -> None:
        if body is self.spec.world:
            self.problems.add(element.place, "the world body cannot have inertia")
        body.inertial = make("inertial", "inertial", element, defaults("inertial"), self.spec.settings)

    def _content(self, element: Element, body: Item, frame: Item | None, cls: DefaultClass) -> None:
        kind = "joint" if element.tag == "freejoint" else element.tag
        if kind == "joint" and body is self.spec.world:
            self.problems.add(element.place, "the world body cannot have joints")
            return
        extra: dict[str, Any] = {"body": body, "frame": frame}
        base = cls.of(kind)
        if element.tag == "freejoint":
            base = {**defaults("joint"), "type": ENUMS["joint"]["free"], "align": ENUMS["tristate"]["auto"]}
        elif kind == "joint":
            extra["align"] = ENUMS["tristate"]["auto"]
        elif kind == "geom":
            self._sdf(element)  # of its mesh
        if element.tag == "freejoint":
            extra["align"] = element.values.get("align", base["align"])
        body.contents[kind].append(make(kind, kind, element, base, self.spec.settings, **extra))

    def _replicate(self, element: Element, body: Item, frame: Item | None, cls: DefaultClass) -> None:
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
        self.body(element, subtree, holder, cls)
        if (element.values.get("count") or 0) <= 0:
            self.problems.remark(element.place, "count is not positive: the contents are left out, as MuJoCo does")
        replicate(self.spec, element, body, subtree, holder)


def _stem(file: str | None) -> str:
    """An asset without a name is called after its file."""
    name = (file or "").replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name
