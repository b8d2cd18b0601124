"""Explicit contact pairs and excluded body pairs."""

from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.spec import Item


def compile_pair(pair: Item, index: Index) -> None:
    """Resolve the two geoms of a pair, in the order of their bodies."""
    if pair.condim not in (1, 3, 4, 6):
        raise Fault(f"condim={pair.condim}; expected 1, 3, 4 or 6")
    first, second = index.find("geom", pair.geom1), index.find("geom", pair.geom2)
    if first.body.id > second.body.id:
        first, second = second, first
    pair.first, pair.second = first, second
    pair.signature = (first.body.id << 16) + second.body.id


def compile_exclude(exclude: Item, index: Index) -> None:
    """Signature of a pair of bodies that do not collide."""
    one, two = sorted((index.find("body", exclude.body1).id, index.find("body", exclude.body2).id))
    exclude.signature = (one << 16) + two
