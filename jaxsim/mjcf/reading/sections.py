"""The sections of a document whose elements live outside the body tree."""

from typing import Any

import numpy as np

from jaxsim.mjcf.actuators import defaults as actuator_defaults
from jaxsim.mjcf.assets.sdf import SDF_PREFIX
from jaxsim.mjcf.language.defaults import DefaultClass
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems, nearest
from jaxsim.mjcf.language.schema import ACTUATORS, defaults
from jaxsim.mjcf.language.spec import Item, Spec, make
from jaxsim.mjcf.reading.plugins import (
    GRID_PLUGIN,
    KEYS,
    PID_PLUGIN,
    check_config,
    grid_parameters,
    pid_parameters,
)

_SECTIONS = ("extension", "custom", "asset", "contact", "equality", "tendon", "actuator", "sensor", "keyframe")
Sdf = tuple[str, dict[str, str]]  # kind of a signed distance, and its attributes as written


class Sections:
    """Reads sections into one Spec."""

    def __init__(self, spec: Spec, problems: Problems):
        self.spec = spec
        self.problems = problems

    def read(self, root: Element) -> None:
        """Read all of these sections of a document; model assets are for the caller."""
        for tag in _SECTIONS:
            for section in root.find(tag):
                getattr(self, f"_{tag}")(section)
        for _ in range(self.spec.size.nkey - len(self.spec.lists["key"])):
            self._add("key", "key", Element("key", {}, root.place), defaults("key"))

    def _add(self, kind: str, key: str, element: Element, base: dict[str, Any], **extra: Any) -> Item:
        item = make(kind, key, element, base, self.spec.settings, **extra)
        self.spec.lists[kind].append(item)
        return item

    def _class(self, element: Element) -> DefaultClass:
        return self.spec.defaults.find(element, "class", self.spec.defaults.main, self.problems)

    def _base(self, element: Element, kind: str) -> dict[str, Any]:
        """What an element starts from; one that starts from what is known to be wrong is refused."""
        cls = self._class(element)
        if cls.spoils(kind):
            self.problems.refuse(element.place)
        return cls.of(kind)

    def _extension(self, section: Element) -> None:
        """Declared plugins and their instances."""
        for plugin in section.find("plugin"):
            name = plugin.values.get("plugin", "")
            if name not in KEYS:
                self.problems.add(plugin.place, f"refused: engine plugin {name!r} is not supported")
                self.problems.leave_out([name, *plugin.names()])
                continue
            self.spec.plugins.add(name)
            for instance in plugin.find("instance"):
                self._instance(instance, name)

    def _instance(self, instance: Element, plugin: str) -> None:
        label = instance.values.get("name", "")
        if label in self.spec.instances:
            self.problems.add(instance.place, f"the name {label!r} is taken by another instance")
        config = self.problems.attempt(instance.place, self._config, instance, plugin)
        if config is None:
            self.problems.leave_out([label])
        else:
            self.spec.instances[label] = plugin, config

    def _config(self, element: Element, plugin: str) -> dict[str, str]:
        """Attributes of a plugin, as written."""
        config: dict[str, str] = {}
        for entry in element.find("config"):
            key = entry.values.get("key", "")
            if key in config:
                self.problems.add(entry.place, f"the key {key!r} is repeated")
            config[key] = entry.values.get("value", "")
            self.problems.attempt(entry.place, check_config, plugin, key, config[key])
        self.problems.require(*element.find("config"))
        return config

    def sdf(self, element: Element) -> Sdf | None:
        """Kind and attributes of the signed distance that a mesh or geom is made of."""
        for plugin in element.find("plugin"):
            found = self.problems.attempt(plugin.place, self._sdf, plugin)
            if found is not None:
                return found
            self.problems.refuse(element.place)
        return None

    def _sdf(self, plugin: Element) -> Sdf:
        name, written = self._plugin(plugin)
        if not name.startswith(SDF_PREFIX):
            raise Fault(f"plugin {name!r} gives no signed distance; expected one of {SDF_PREFIX}*")
        return name.removeprefix(SDF_PREFIX), written

    def _plugin(self, plugin: Element) -> tuple[str, dict[str, str]]:
        """Name and attributes of the plugin that an element is one of."""
        name, instance = plugin.values.get("plugin", ""), plugin.values.get("instance", "")
        known, config = self.spec.instances.get(instance, ("", {}))
        if not (name or instance):
            raise Fault("one of these must be given: plugin, instance")
        if instance and not known:
            message = f"no plugin instance is called {instance!r}{nearest(instance, self.spec.instances)}"
            raise self.problems.missing(instance, message)
        if name and name not in self.spec.plugins:
            message = f"plugin {name!r} is not declared in <extension>{nearest(name, self.spec.plugins)}"
            raise self.problems.missing(name, message)
        if name and known and name != known:
            raise Fault(f"instance {instance!r} is one of plugin {known!r}")
        written = config if known else self._config(plugin, name)
        return known or name, written

    def _custom(self, section: Element) -> None:
        for element in section.children:
            if element.tag == "tuple":
                parts = [make("", "tuple/element", e, defaults("tuple/element"), None) for e in element.find("element")]
                self._add("tuple", "tuple", element, defaults("tuple"), parts=parts)
            elif element.tag in ("numeric", "text"):
                self._add(element.tag, element.tag, element, defaults(element.tag))

    def _asset(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ("mesh", "texture", "material"):
                extra: dict[str, Any] = {}
                if element.tag == "mesh":
                    extra["sdf"] = self.sdf(element)
                elif element.tag == "material":
                    extra["layers"] = [e.values for e in element.find("layer")]
                item = self._add(element.tag, element.tag, element, self._base(element, element.tag), **extra)
                item.name = item.name or _stem(item.file if element.tag != "material" else None)
            elif element.tag == "hfield":
                item = self._add("hfield", "hfield", element, defaults("hfield"))
                item.name = item.name or _stem(item.file)

    def _contact(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ("pair", "exclude"):
                base = self._base(element, "pair") if element.tag == "pair" else defaults("exclude")
                self._add(element.tag, element.tag, element, base)

    def _equality(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ("connect", "weld", "joint", "tendon"):
                key = f"equality/{element.tag}"
                base = {**defaults(key), **self._base(element, "equality")}
                item = self._add("equality", key, element, base, given=frozenset(element.values))
                item.name = element.values.get("name", "")

    def _tendon(self, section: Element) -> None:
        for element in section.children:
            if element.tag in ("spatial", "fixed"):
                path = [make("", f"{element.tag}/{e.tag}", e, {}, None) for e in element.children]
                self._add("tendon", element.tag, element, self._base(element, "tendon"), path=path)

    def _actuator(self, section: Element) -> None:
        for element in section.children:
            if element.tag in (*ACTUATORS, "plugin"):
                values = self.problems.attempt(element.place, self._actuator_values, element, self._class(element))
                if values is None:  # what it refers to can still be looked for
                    values = {**actuator_defaults.builtin(), **element.values}
                tag = "general" if element.tag == "plugin" else element.tag
                values = {"pidprm": None, **values}
                self._add("actuator", tag, Element(tag, {}, element.place), values)

    def _actuator_values(self, element: Element, cls: DefaultClass) -> dict[str, Any]:
        self.problems.require(*(written for ancestor in cls.lineage() for written in ancestor.actuators))
        if "cranklength" in element.values and not element.values.get("cranksite"):
            raise Fault("cranklength belongs to a slider-crank, which needs cranksite")
        if element.tag != "plugin":
            return actuator_defaults.resolve(element, cls)
        name, config = self._plugin(element)
        if name != PID_PLUGIN:
            raise Fault(f"plugin {name!r} drives no actuators; expected {PID_PLUGIN}")
        general = Element("general", {}, element.place)
        general.values = {key: value for key, value in element.values.items() if key not in ("plugin", "instance")}
        return actuator_defaults.resolve(general, cls) | {"pidprm": pid_parameters(config)}

    def _sensor(self, section: Element) -> None:
        for element in section.children:
            key = f"sensor/{element.tag}"
            item = self._add("sensor", key, element, defaults(key), given=frozenset(element.values), gridprm=None)
            if element.tag == "plugin":
                item.gridprm = self.problems.attempt(element.place, self._grid, element)

    def _grid(self, element: Element) -> np.ndarray:
        name, config = self._plugin(element)
        instance = element.values.get("instance")
        if instance and sum(getattr(s, "instance", None) == instance for s in self.spec.lists["sensor"]) > 1:
            raise Fault(f"instance {instance!r} is that of another sensor, the only one that MuJoCo would fill")
        if name != GRID_PLUGIN:
            raise Fault(f"plugin {name!r} is no sensor; expected {GRID_PLUGIN}")
        return grid_parameters(config)

    def _keyframe(self, section: Element) -> None:
        for element in section.find("key"):
            self._add("key", "key", element, defaults("key"))


def _stem(file: str | None) -> str:
    """An asset without a name is called after its file."""
    name = (file or "").replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name
