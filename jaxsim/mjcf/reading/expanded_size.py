"""How many things a body tree has once `replicate` and `attach` are carried out, counted without doing so."""

from jaxsim.mjcf.language.bounds import require_items
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.spec import Spec
from jaxsim.mjcf.reading.copies import count_items

_THINGS = ("body", "joint", "freejoint", "geom", "site", "camera", "light")


def check_expanded_size(sections: list[Element], spec: Spec, problems: Problems) -> None:
    """Refuse the first replicate or attach with which the tree would have too many elements.

    Raises:
        MjcfError: there is one. The tree must not be read.
    """
    count = _Count(spec, problems)
    for section in sections:
        count.of(section)


class _Count:
    """Counts elements, and remembers the size of what has a name and may be attached."""

    def __init__(self, spec: Spec, problems: Problems):
        self.spec, self.problems = spec, problems
        self.made = 0
        self.named: dict[tuple[str, str], int] = {}

    def of(self, element: Element, copied: bool = False) -> int:
        """Number of things that an element stands for; `copied`: it is inside a replicate, which counts it."""
        copies = element.tag == "replicate"
        size = 0
        for child in element.children:  # a loop: Python 3.12 bounds how deep calls go through `sum`
            size += self.of(child, copied or copies)
        if copies:
            size = max(0, element.values.get("count") or 0) * max(1, size)
        elif element.tag == "attach":
            size = 1 + self._attached(element)
        elif element.tag in ("body", "frame"):
            self.named[element.tag, element.values.get("name") or ""] = size
        if (copies or element.tag == "attach") and not copied:
            self._make(element, size)
        return size + (element.tag in _THINGS)

    def _make(self, element: Element, size: int) -> None:
        self.made += size
        try:
            require_items(self.made)
        except Fault as fault:
            self.problems.add(element.place, str(fault))
            self.problems.check()

    def _attached(self, element: Element) -> int:
        """Size of a part of this model; of another model, all of it."""
        model = self.spec.models.get(element.values.get("model", ""))
        if model is not None:
            return count_items(model.world)
        return max(self.named.get((kind, element.values.get(kind, "")), 0) for kind in ("body", "frame"))
