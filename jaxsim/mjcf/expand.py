"""Copies of subtrees: `replicate` within a model, `attach` from another or the same model."""

from typing import Any

from jaxsim.mjcf.reader import Element
from jaxsim.mjcf.spec import Item, Spec


def replicate(spec: Spec, element: Element, body: Item, subtree: Item, holder: Item) -> None:
    """Put `count` copies of a subtree into a body."""
    raise NotImplementedError


def attach(spec: Spec, element: Element, body: Item, frame: Any) -> None:
    """Put a copy of part of a model into a body."""
    raise NotImplementedError
