"""How a field is declared: one line in a class body gives its type, dimensions, unit and meaning.

`body_mass: Array = real("nbody", "kg", "mass of the body alone")` in a class of declarations makes `body_mass` an
attribute of every record that inherits from the class: mypy knows its type, `Model.body_mass` is the Field itself,
`model.body_mass` its value, and `fields_of` lists all of them for allocation, checks and documentation. The compiler
reads the same tables, so that nothing here imports JAX.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np


class Child:
    """A named part of a record, read through the record's `_read`; without dimensions, such as `model.opt`."""

    def __init__(self, doc: str):
        self.name = ""
        self.doc = self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: Any, owner: type | None = None) -> Any:
        return self if record is None else record._read(self.name)


@dataclass(eq=False)
class Field(Child):
    """One field.

    Attributes:
        dims: its dimensions: sizes by name ("nv", "3*nmocap") or integers; none for a scalar.
        unit: SI unit of a real, several where the elements differ; "bool", "int" or the enumeration's name.
        doc: one sentence that says what it is.
        dtype: of the array; None for traced reals (JAX's float type) and for static reals (their source's).
        enum: enumeration of the values, if they are of one.
        name: the attribute that it is declared as.
    """

    dims: tuple[str | int, ...]
    unit: str
    doc: str
    dtype: Any = None
    enum: type[IntEnum] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        shape = f"[{', '.join(map(str, self.dims))}]" if self.dims else "scalar"
        self.__doc__ = f"{self.doc} ({shape}, {self.unit})."

    def shape(self, sizes: Any) -> tuple[int, ...]:
        """Concrete shape, given an object whose attributes are the sizes (nq, nv, nbody ...)."""
        return tuple(d if isinstance(d, int) else _size(d, sizes) for d in self.dims)


def _size(dim: str, sizes: Any) -> int:
    factor, _, name = dim.rpartition("*")
    return int(factor or 1) * int(getattr(sizes, name))


def _dims(text: str) -> tuple[str | int, ...]:
    return tuple(int(d) if d.isdigit() else d for d in text.split(",")) if text else ()


# the return types are Any so that a declaration can say what users get: `nq: int = size(...)`


def real(dims: str, unit: str, doc: str) -> Any:
    """Declare a real field; `dims` is comma-separated, '' for a scalar."""
    return Field(_dims(dims), unit, doc)


def integer(dims: str, doc: str, enum: type[IntEnum] | None = None) -> Any:
    """Declare an integer field, of an enumeration where there is one."""
    return Field(_dims(dims), enum.__name__ if enum else "int", doc, np.int32, enum)


def flag(dims: str, doc: str) -> Any:
    """Declare a field of truth values."""
    return Field(_dims(dims), "bool", doc, np.bool_)


def text(dims: str, doc: str) -> Any:
    """Declare a string of bytes."""
    return Field(_dims(dims), "bytes", doc, bytes)


def size(doc: str) -> Any:
    """Declare a size: an int that other fields' dimensions name."""
    return Field((), "int", doc, int)


def fields_of(*owners: type) -> dict[str, Field]:
    """The fields that classes declare in their own bodies, by name, in order."""
    return {name: value for owner in owners for name, value in vars(owner).items() if isinstance(value, Field)}
