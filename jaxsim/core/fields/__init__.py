"""Every field of Model, Option, Statistic, Data and Contact, declared once: type, dimensions, unit, meaning.

From these tables follow the allocation of `Data`, what `load` and `put_model` copy, the split of `Model` into traced
arrays and compiled-in topology, attribute access and its types, shape checks, parity checks and `jaxsim info`.
"""

from typing import Any

from jaxsim.core.fields.data import CONTACT, DATA_DERIVED, DATA_STATE
from jaxsim.core.fields.field import Field
from jaxsim.core.fields.model import MODEL_OWN, MODEL_REAL
from jaxsim.core.fields.option import OPTION_INT, OPTION_OWN, OPTION_REAL, STAT_REAL
from jaxsim.core.fields.static import DEDUCED, SIZES, STATIC

__all__ = [
    "CONTACT",
    "DATA_DERIVED",
    "DATA_STATE",
    "DEDUCED",
    "MODEL_OWN",
    "MODEL_REAL",
    "OPTION_INT",
    "OPTION_OWN",
    "OPTION_REAL",
    "SIZES",
    "STATIC",
    "STAT_REAL",
    "TABLES",
    "Field",
    "expected_shape",
    "field_of",
]

# by how the record that holds the field is reached from model and data
TABLES: dict[str, dict[str, Field]] = {
    "model": SIZES | STATIC | DEDUCED | MODEL_REAL,
    "model.opt": OPTION_REAL | OPTION_INT,
    "model.stat": STAT_REAL,
    "data": DATA_STATE | DATA_DERIVED,
    "data.contact": CONTACT,
}


def field_of(name: str) -> Field:
    """The declaration of a field by its name from the model or data on: "body_mass", "opt.gravity", "contact.dist"."""
    prefix, _, last = name.rpartition(".")
    for owner, table in TABLES.items():
        if owner.partition(".")[2] == prefix and last in table:
            return table[last]
    raise KeyError(f"no field is called {name!r}")


def expected_shape(model: Any, name: str) -> tuple[int, ...]:
    """Shape of a field of one world, without batch axes; `name` as for `field_of`."""
    return field_of(name).shape(model)
