"""Strict settings: a frozen dataclass read from YAML and from the command line, all mistakes in one error.

What a value means depends on the type that its field declares, not on YAML's guess (to which 1e-3 is a string), so the
same text means the same in a file and after `--`.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import yaml


class ConfigError(ValueError):
    """All that is wrong with an experiment's settings.

    Attributes:
        problems: one sentence each.
    """

    def __init__(self, problems: Sequence[str]):
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


@dataclass(frozen=True)
class Found:
    """A value as it was written, and where.

    Attributes:
        where: file and line, or the option of the command line.
        value: its text, a list, or a mapping.
        quoted: whether the text stood in quotes: it is no number then.
    """

    where: str
    value: "str | list[Found] | dict[str, Found]"
    quoted: bool = False


def setting(
    default: Any, doc: str, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> Any:
    """A field of settings.

    Args:
        default: its value where nothing is said.
        doc: what it is, with its unit, for `--help`.
        least: the smallest value that is allowed.
        above: a value that it must exceed.
        most: the largest value that is allowed.
    """
    return dataclasses.field(default=default, metadata=about(doc, least=least, above=above, most=most))


def about(
    doc: str, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> dict[str, Any]:
    """The metadata of such a field, for one that must be given and for one whose type is not a plain one."""
    return {"doc": doc, "least": least, "above": above, "most": most}


def read(kind: type, path: Path, options: Mapping[str, str]) -> Any:
    """Settings of a dataclass from a file, then from options of the command line.

    Args:
        kind: a frozen dataclass; a field may be a number, a truth value, a string, one of a `Literal`, a tuple of any
            length, or such a dataclass. A dataclass with a class method `fields_of(found)` takes the fields that it
            gives for its name, in its field `changes`, beside its own.
        path: the YAML file.
        options: texts by dotted name, such as {"env.ctrl_cost": "0.1"}; they win over the file.

    Raises:
        ConfigError: with all problems of both.
    """
    problems: list[str] = []
    found = _document(path, problems)
    for name, text in options.items():
        _override(found, name.split("."), text, f"--{name}", problems)
    value = _record(kind, found, problems)
    if not problems:
        problems += getattr(value, "problems", list)()
    if problems:
        raise ConfigError(problems)
    return value


def plain(value: Any) -> Any:
    """Settings as dicts, lists and scalars, as `read` takes them from YAML."""
    if dataclasses.is_dataclass(value):
        own = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return own | own.pop("changes", {})
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def described(kind: type, prefix: str = "") -> list[tuple[str, str, str]]:
    """Name, default and meaning of every setting, nested ones by their dotted name."""
    lines = []
    for name, field in _fields(kind).items():
        inner = _hints(kind)[name]
        if dataclasses.is_dataclass(inner):
            lines += described(typing.cast(type, inner), f"{prefix}{name}.")
        elif name != "changes":
            missing = field.default is MISSING
            given = field.default_factory() if missing and field.default_factory is not MISSING else field.default
            default = "(must be given)" if given is MISSING else str(plain(given))
            lines.append((prefix + name, default, field.metadata.get("doc", "")))
    return lines


def _document(path: Path, problems: list[str]) -> Found:
    """The mapping that a file holds."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        problems.append(f"{path} is not a text file in UTF-8")
    except yaml.YAMLError as error:
        problems.append(f"{path} is not YAML: {' '.join(str(error).split())}")
    else:
        if node is None:
            return Found(str(path), {})
        if isinstance(node, yaml.MappingNode):
            return _found(node, lambda node: f"{path}, line {node.start_mark.line + 1}", problems)
        problems.append(f"{path} holds no mapping of names to values")
    return Found(str(path), {})


def _found(node: Any, place: Callable[[Any], str], problems: list[str]) -> Found:
    """What YAML holds; `place` says where a node of it is."""
    if isinstance(node, yaml.ScalarNode):
        return Found(place(node), node.value, node.style is not None)
    if isinstance(node, yaml.SequenceNode):
        return Found(place(node), [_found(each, place, problems) for each in node.value])
    entries: dict[str, Found] = {}
    for key, value in node.value:
        name = str(key.value)
        if name in entries:
            problems.append(f"{place(key)}: '{name}' is given twice")
        entries[name] = dataclasses.replace(_found(value, place, problems), where=place(key))
    return Found(place(node), entries)


def _override(found: Found, names: list[str], text: str, where: str, problems: list[str]) -> None:
    """Write an option into what was found in the file."""
    entries = found.value
    for name in names[:-1]:
        inner = entries.setdefault(name, Found(where, {}))  # type: ignore[union-attr]
        if not isinstance(inner.value, dict):
            problems.append(f"{where}: '{name}' is one value and has no parts")
            return
        entries = inner.value
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        node = None
    plain_text = node is None or isinstance(node, yaml.ScalarNode)
    value = Found(where, text) if plain_text else _found(node, lambda _: where, problems)
    entries[names[-1]] = value  # type: ignore[index, call-overload]


def _fields(kind: type) -> dict[str, Any]:
    return {f.name: f for f in dataclasses.fields(kind)}


def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _record(kind: type, found: Found, problems: list[str]) -> Any:
    """A dataclass from a mapping; what is wrong is added to the problems, and None returned if it cannot be made."""
    if not isinstance(found.value, dict):
        problems.append(f"{found.where}: {_shown(found)} stands where {_article(kind.__name__)} with settings should")
        return None
    fields, hints = _fields(kind), _hints(kind)
    before = len(problems)
    extra = kind.fields_of(found, problems) if hasattr(kind, "fields_of") else {}  # None: nobody knows which
    values: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    known = [name for name in (*fields, *(extra or ())) if name != "changes"]
    for name, entry in found.value.items():
        if name in fields and name != "changes":
            values[name] = _value(hints[name], fields[name].metadata, name, entry, problems)
        elif extra and name in extra:
            changes[name] = _value(extra[name], {}, name, entry, problems)
        elif extra is not None:
            problems.append(f"{entry.where}: there is no setting '{name}'{nearest(name, known)}")
    for name, field in fields.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and name not in found.value:
            problems.append(f"{found.where.split(', line')[0]}: '{name}' is not given: {field.metadata['doc']}")
    if len(problems) > before:
        return None
    return kind(**values, **({"changes": changes} if "changes" in fields else {}))


def _value(hint: Any, limits: Mapping[str, Any], name: str, found: Found, problems: list[str]) -> Any:
    """A value of the declared type."""
    if dataclasses.is_dataclass(hint):
        return _record(typing.cast(type, hint), found, problems)
    if typing.get_origin(hint) is Mapping:
        if not isinstance(found.value, dict):
            problems.append(f"{found.where}: {name} is {_shown(found)}; expected a mapping of names")
            return None
        inner = typing.get_args(hint)[1]
        return {key: _value(inner, limits, key, each, problems) for key, each in found.value.items()}
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)[0]
        if not isinstance(found.value, list):
            problems.append(f"{found.where}: {name} is {_shown(found)}; expected a list such as [1, 2]")
            return None
        if Ellipsis not in typing.get_args(hint) and len(found.value) != len(typing.get_args(hint)):
            problems.append(
                f"{found.where}: {name} has {len(found.value)} numbers; expected {len(typing.get_args(hint))}"
            )
            return None
        return tuple(_value(inner, limits, name, each, problems) for each in found.value)
    try:
        value = _scalar(hint, found)
    except ValueError:
        problems.append(f"{found.where}: {name} is {_shown(found)}; expected {_expected(hint, found)}")
        return None
    least, above, most = (limits.get(name) for name in ("least", "above", "most"))
    if value is None:  # where that is allowed there is no number to have a bound
        return value
    if least is not None and not value >= least:
        problems.append(f"{found.where}: {name} is {value}; it must be at least {least}")
    if above is not None and not value > above:
        problems.append(f"{found.where}: {name} is {value}; it must be greater than {above}")
    if most is not None and not value <= most:
        problems.append(f"{found.where}: {name} is {value}; it must be at most {most}")
    return value


def _scalar(hint: Any, found: Found) -> Any:
    text = found.value
    if not isinstance(text, str):
        raise ValueError
    if _optional(hint):
        inner = next(each for each in typing.get_args(hint) if each is not type(None))
        return None if text in ("null", "~", "") else _scalar(inner, found)
    if typing.get_origin(hint) is typing.Literal:
        if text not in typing.get_args(hint):
            raise ValueError
        return text
    if hint is str:
        return text
    if found.quoted:
        raise ValueError
    if hint is bool:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse()
    number = float(text)
    if not math.isfinite(number):
        _refuse()
    if hint is int:
        return int(number) if number.is_integer() else _refuse()
    return number


def _optional(hint: Any) -> bool:
    """Whether it is T | None, which for a Literal has another class than for a type."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _refuse() -> typing.Never:
    raise ValueError


def _expected(hint: Any, found: Found) -> str:
    if typing.get_origin(hint) is typing.Literal:
        options = typing.get_args(hint)
        return f"one of {', '.join(options)}{nearest(str(found.value), options)}"
    if _optional(hint):
        return " or ".join("null" if each is type(None) else _expected(each, found) for each in typing.get_args(hint))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}.get(hint, str(hint))


def _shown(found: Found) -> str:
    if isinstance(found.value, str):
        return f"'{found.value}'"
    return "a list" if isinstance(found.value, list) else "a mapping"


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: the known one that is most like it, or all."""
    close = difflib.get_close_matches(name, known, 1, 0.5)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; there are {', '.join(known)}"
