"""Problems of a file: found one by one, reported all together."""

import contextlib
import difflib
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Place(NamedTuple):
    """Where something was written; the column only tells elements of one line apart."""

    file: str
    line: int
    element: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: <{self.element}>"


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


class Fault(Exception):
    """What is wrong with the element being compiled; `Problems.of` adds the place."""


# what stages run into when they meet an element that was only half read because of a problem
CONSEQUENCES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Problems:
    """The problems found so far.

    An element already known to be wrong is not reported again by later stages: what they would say follows
    from the first problem.
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.remarks: list[Problem] = []
        self._places: set[Place] = set()

    def add(self, place: Place, message: str) -> None:
        """Record a problem."""
        self.found.append(Problem(place, message))
        self._places.add(place)

    def remark(self, place: Place, message: str) -> None:
        """Record what MuJoCo passes over in silence: the file compiles, with a warning."""
        self.remarks.append(Problem(place, message))

    @contextlib.contextmanager
    def of(self, place: Place) -> Iterator[None]:
        """Record a Fault raised inside as a problem of this place, unless the place already has one.

        Once there is a problem, other errors are taken to be its consequences, so that later stages go on.
        """
        try:
            yield
        except Fault as fault:
            if place not in self._places:
                self.add(place, str(fault))
        except CONSEQUENCES:
            if not self.found:
                raise

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
