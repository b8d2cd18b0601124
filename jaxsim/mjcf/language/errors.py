"""Problems of a file: found one by one, reported all together."""

import difflib
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Place(NamedTuple):
    """Where something was written; the column only tells elements of one line apart."""

    file: str
    line: int
    element: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: <{self.element}>"


class Placed(Protocol):
    """Whatever knows where it was written: an element, an item."""

    place: Place


class Problem(NamedTuple):
    """One thing that is wrong, as a sentence."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class MjcfError(ValueError):
    """A model file that cannot be compiled; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(p) for p in self.problems))


class Fault(ValueError):
    """What is wrong with the element being compiled; `Problems.attempt` adds the place."""


class Refused(Exception):
    """Something that an element needs is itself known to be wrong, so nothing can be said of the element."""


class Problems:
    """The problems found so far, and what cannot be judged because of them.

    An element with a problem is *refused*: later stages leave it out (`attempt`), and what needs it is refused in
    its turn, without a word (`require`), for all that could be said of it follows from the first problem. A name
    that is not found is no problem if what it names may have been left out (`missing`). Nothing else is taken for
    a consequence: any exception but Fault and Refused is a bug of the compiler, and surfaces as it is.
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.remarks: list[Problem] = []
        self._refused: set[Place] = set()
        self._lost: set[str] = set()
        self._incomplete = False

    def add(self, place: Place, message: str) -> None:
        """Record a problem; what is written at this place is refused."""
        self.found.append(Problem(place, message))
        self._refused.add(place)

    def remark(self, place: Place, message: str) -> None:
        """Record what MuJoCo passes over in silence: the file compiles, with a warning."""
        if (remark := Problem(place, message)) not in self.remarks:
            self.remarks.append(remark)

    def refuse(self, place: Place) -> None:
        """Leave out what is written at this place, because of a problem elsewhere."""
        self._refused.add(place)

    def refused(self, place: Place) -> bool:
        """Whether what is written at this place is known to be wrong, or needs what is."""
        return place in self._refused

    def require(self, *things: Placed | None) -> None:
        """Raise Refused if one of these elements or items is refused."""
        if any(thing is not None and thing.place in self._refused for thing in things):
            raise Refused

    def attempt(self, place: Place, stage: Callable[..., T], *args: Any) -> T | None:
        """What a stage makes of the element at a place, or None if it is refused, before or now."""
        if place in self._refused:
            return None
        try:
            return stage(*args)
        except Fault as fault:
            self.add(place, str(fault))
        except Refused:
            self.refuse(place)
        return None

    def leave_out(self, names: Iterable[str]) -> None:
        """Remember the names of what was left out of the model because of a problem."""
        self._lost.update(names)

    def leave_out_unknown(self) -> None:
        """Remember that the model lacks things that nobody knows the names of."""
        self._incomplete = True

    def lost(self, name: str) -> bool:
        """Whether what a name stands for may have been left out."""
        return self._incomplete or name in self._lost

    def missing(self, name: str, message: str) -> Fault | Refused:
        """What to raise when a name is not found: a Fault, unless what it names may have been left out."""
        return Refused() if self.lost(name) else Fault(message)

    def check(self) -> None:
        """Raise MjcfError if there is any problem."""
        if self.found:
            raise MjcfError(self.found)

    def warn(self) -> None:
        """Give each remark as a Python warning."""
        for remark in self.remarks:
            warnings.warn(str(remark), stacklevel=6)


def nearest(word: str, known: Iterable[str]) -> str:
    """`; nearest: a, b` for a misspelt word, or nothing when no known word is close."""
    close = difflib.get_close_matches(word, [k for k in known if k], 3)
    return f"; nearest: {', '.join(repr(c) for c in close)}" if close else ""
