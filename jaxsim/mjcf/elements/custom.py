"""Custom fields: numeric, text, tuple."""

import numpy as np

from jaxsim.mjcf.language.bounds import require_numbers
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.schema import OBJECT_TYPES
from jaxsim.mjcf.language.spec import Item


def compile_numeric(numeric: Item) -> None:
    """Values of a numeric field, padded with zeros to its size."""
    data = numeric.data if numeric.data is not None else np.zeros(0)
    numeric.length = data.size if numeric.size is None else numeric.size
    if numeric.length < 1:
        raise Fault(f"it has {numeric.length} values; expected at least 1")
    require_numbers(numeric.length, "it")
    if data.size > numeric.length:
        raise Fault(f"size={numeric.length} is less than the {data.size} values of data")
    numeric.values = np.concatenate([data, np.zeros(numeric.length - data.size)])


def compile_text(text: Item) -> None:
    """A text field must not be empty."""
    if not text.data:
        raise Fault("data is empty")


def compile_tuple(item: Item, index: Index) -> None:
    """Objects of a tuple as (mjtObj, item, parameter)."""
    if not item.parts:
        raise Fault("it has no elements")
    index.require(*item.parts)
    item.resolved = []
    for part in item.parts:
        if part.objtype not in OBJECT_TYPES:
            raise Fault(f"objtype={part.objtype!r}; expected one of: {', '.join(OBJECT_TYPES)}")
        item.resolved.append((OBJECT_TYPES[part.objtype], index.find(part.objtype, part.objname), part.prm))
