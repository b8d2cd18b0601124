"""XML with line numbers: files, text and includes become one tree of Elements.

No DTD, no entities, no network. `include` follows MuJoCo: a path is looked up relative to the main file, then
relative to the including file, and no file may be included twice.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from xml.parsers import expat

from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, MjcfError, Place, Problem, Problems
from jaxsim.mjcf.language.files import Files
from jaxsim.mjcf.reading.forgiving import forgiven

MAX_DEPTH = 1000


def read_source(
    source: str | os.PathLike,
    assets: dict[str, bytes] | None,
    packages: Mapping[str, str | os.PathLike] | None,
    problems: Problems,
) -> tuple[Element, Files]:
    """The element tree of a path or of XML text, includes resolved.

    Raises:
        MjcfError: malformed XML, missing or repeated include.
    """
    if isinstance(source, str) and "<" in source:
        return read_text(source.encode("utf-8", "replace"), "<string>", Files(None, assets, packages), problems)
    path = Path(source)
    files = Files(path.parent, assets, packages)
    place = Place(str(path), 1, "mujoco")
    try:
        name, text = files.read(path.name)
    except Fault as fault:
        raise MjcfError([Problem(place, str(fault))]) from None
    return read_text(text, str(path) if os.sep in name else name, files, problems)


def read_text(text: bytes, file: str, files: Files, problems: Problems) -> tuple[Element, Files]:
    """The element tree of XML text that stands for `file`."""
    root = parse(text, file)
    own = {os.path.abspath(file)} if files.directory is not None else set()
    _include(root, files, own, problems)
    problems.check()
    return root, files


def parse(text: bytes, file: str) -> Element:
    """Parse one XML document, forgiving what MuJoCo's parser forgives.

    Raises:
        MjcfError: it is malformed, or has a DTD.
    """
    stack: list[Element] = []
    try:
        return _parse(forgiven(text.decode("utf-8", "replace")), file, stack)
    except expat.ExpatError as error:
        message = f"malformed XML: {expat.ErrorString(error.code)} at column {error.offset + 1}"
        raise MjcfError([Problem(Place(file, error.lineno, stack[-1].tag), message)]) from None


def _parse(source: str, file: str, stack: list[Element]) -> Element:
    """The root element; `stack` holds the elements that are open."""
    document = Element("document", {}, Place(file, 1, "document"))
    stack.append(document)
    parser = expat.ParserCreate("utf-8")

    def refuse(what: str) -> None:
        raise MjcfError([Problem(Place(file, parser.CurrentLineNumber, stack[-1].tag), what)])

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            refuse(f"elements are nested deeper than {MAX_DEPTH}")
        if len(stack) == 1:  # namespaces
            attributes = {name: value for name, value in attributes.items() if ":" not in name and name != "xmlns"}
        place = Place(file, parser.CurrentLineNumber, tag, parser.CurrentColumnNumber)
        element = Element(tag, attributes, place)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a DTD was found, none is allowed; remove <!DOCTYPE ...>")
    try:
        parser.Parse(source.encode(), True)
    except expat.ExpatError:
        root_is_closed = len(stack) == 1 and document.children
        if not root_is_closed:  # what follows the root element does not matter
            raise
    return document.children[0]


def _include(element: Element, files: Files, included: set[str], problems: Problems) -> None:
    """Replace every <include> below element by the children of the file it names."""
    children: list[Element] = []
    for child in element.children:
        if child.tag.lower() != "include":
            _include(child, files, included, problems)
            children.append(child)
            continue
        children += problems.attempt(child.place, _included, child, files, included, problems) or []
    element.children = children


def _included(include: Element, files: Files, included: set[str], problems: Problems) -> list[Element]:
    name = include.attributes.get("file")
    if name is None:
        raise Fault("attribute 'file' is missing")
    if extra := [a for a in include.attributes if a != "file"]:
        problems.remark(include.place, f"unknown attribute {extra[0]!r}; ignored, as MuJoCo does")
    if include.children:
        raise Fault("it has children, but none are allowed")
    path, text = files.read(name, *files.beside(include.place.file, name))
    identity = os.path.abspath(path)
    if identity in included:
        raise Fault(f"file {name!r} is already included, and a file may be included once")
    included.add(identity)
    files.included.add(path)
    root = parse(text, path)
    if not root.children:
        raise Fault(f"file {name!r} has no elements to include")
    _include(root, files, included, problems)
    return root.children
