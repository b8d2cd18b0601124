"""Topology: what is compiled in."""

import difflib
import hashlib
from typing import Any

import numpy as np


class Topology:
    """What is compiled in: sizes, integer arrays, names, and visual data. Hashable, compared by content.

    Holds numpy arrays and ints under MuJoCo's names (`nbody`, `body_parentid`, `geom_type` ...), and
    `names[kind]`, the list of names of each kind ('' where unnamed).
    """

    def __init__(self, values: dict[str, Any], names: dict[str, list[str]]):
        self.__dict__.update(values)
        self.names = names
        digest = hashlib.sha1(repr(sorted(names.items())).encode())
        for key in sorted(values):
            value = values[key]
            digest.update(key.encode())
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        self._digest = digest.digest()
        self._hash = hash(self._digest)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return isinstance(other, Topology) and self._digest == other._digest

    def __getattr__(self, name: str) -> Any:  # only for what __init__ did not set
        raise AttributeError(name)

    def replace(self, **changes: Any) -> "Topology":
        """A copy with some values changed."""
        values = {k: v for k, v in self.__dict__.items() if not k.startswith("_") and k != "names"}
        return Topology(values | changes, self.names)

    def id_of(self, kind: str, name: str) -> int:
        """Index of a named element; KeyError names the closest ones."""
        names = self.names.get(kind, [])
        if name in names:
            return names.index(name)
        close = difflib.get_close_matches(name, [n for n in names if n], 3)
        hint = f"; closest: {', '.join(close)}" if close else ""
        raise KeyError(f"no {kind} is called {name!r}{hint}")
