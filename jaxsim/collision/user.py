"""Colliders of users: JAX functions in place of the table's, for two types of geoms or for two geoms by name."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsim.collision.hulls import HULLED, hulls
from jaxsim.collision.shape import Candidates, Shape
from jaxsim.collision.table import COLLIDERS, Collider, contacts_of
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

TYPES = {kind.name.lower(): int(kind) for kind in GeomType if kind != GeomType.HFIELD}


class UserCollider(NamedTuple):
    """A function of two shapes and a distance; the types or the geoms that it is for, in the table's order, which may
    be the other one than the function's; and how many candidates it gives."""

    function: Callable[..., Candidates]
    kinds: tuple[int, int] | None
    geoms: tuple[int, int] | None
    turned: bool
    most: int

    def __call__(self, a: Shape, b: Shape, margin: jax.Array) -> Candidates:
        """Candidates [most] of the table's first and second geom."""
        if not self.turned:
            return self.function(a, b, margin)
        found = self.function(b, a, margin)
        return found._replace(normal=-found.normal)


def with_colliders(m: Model, colliders: Mapping[tuple[str, str], Callable[..., Candidates]]) -> Model:
    """The model with colliders of the user's.

    Args:
        m: the model.
        colliders: functions by two types of geoms ("sphere", "box", ...) or two geoms by name.

    Raises:
        KeyError: there is neither a type nor a geom of a name.
        ValueError: a function does not give candidates, or a pair is given twice.
    """
    t, met = m.topology, set()
    for names in colliders:
        if frozenset(names) in met:
            raise ValueError(f"colliders: {names[0]} and {names[1]} are given twice")
        met.add(frozenset(names))
    made = tuple(_made(m, names, function) for names, function in colliders.items())
    return Model(m._values, Topology(t._values | {"colliders": made}, t.names))


def _made(m: Model, names: tuple[str, str], function: Callable[..., Candidates]) -> UserCollider:
    t = m.topology
    if all(name in TYPES for name in names):
        kinds = (TYPES[names[0]], TYPES[names[1]])
        turned = kinds[0] > kinds[1]
        here = [int(np.flatnonzero(t.geom_type == k)[0]) if np.any(t.geom_type == k) else None for k in kinds]
        if None in here:
            absent = names[here.index(None)]
            raise KeyError(f"colliders: the model has no geom of type {absent}")
        ordered, geoms = (min(kinds), max(kinds)), None
    else:
        here = [t.id_of("geom", name) for name in names]
        if here[0] == here[1]:
            raise ValueError(f"colliders: {names[0]!r} does not meet itself")
        for name, geom in zip(names, here):
            if t.geom_type[geom] == GeomType.HFIELD:
                raise ValueError(f"colliders: geom {name!r} is a height field, which is tested by its prisms")
        keys = [(int(t.geom_type[g]), g) for g in here]
        turned = keys[0] > keys[1]
        ordered, geoms = None, (min(keys)[1], max(keys)[1])
    given = jax.eval_shape(function, *(_like(m, g) for g in here), jax.ShapeDtypeStruct((), m.geom_size.dtype))
    return UserCollider(function, ordered, geoms, turned, _count(names, given))


def _like(m: Model, geom: int) -> Shape:
    """What the shape of a geom looks like."""
    dtype = m.geom_size.dtype
    data: Any = None
    if m.geom_type[geom] in HULLED:
        data = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), hulls(m, np.array([geom])))
    pos: Any = jax.ShapeDtypeStruct((3,), dtype)
    mat: Any = jax.ShapeDtypeStruct((3, 3), dtype)
    return Shape(pos, mat, pos, data)


def _count(names: tuple[str, str], given: object) -> int:
    """How many candidates there are in what a function gives."""
    pair = " and ".join(names)
    if not isinstance(given, Candidates):
        raise ValueError(
            f"colliders: that of {pair} gives a {type(given).__name__}; expected jaxsim.collision.shape.Candidates"
        )
    n = given.dist.shape[0] if given.dist.ndim else 0
    for name, x in zip(Candidates._fields, given):
        expected = (n,) if name == "dist" else (n, 3)
        if n == 0 or x.shape != expected:
            text = "[n]" if name == "dist" else "[n, 3]"
            raise ValueError(f"colliders: that of {pair} gives {name} of shape {list(x.shape)}; expected {text}")
    return n


Kinds = tuple[int, ...]  # types of two geoms, and for geoms by name the number of their collider, from 1 on


@per_topology
def numbered(t: Topology) -> np.ndarray:
    """[k, 3] the pairs of geoms that have a collider by their names, and its number from 1 on."""
    rows = [(*c.geoms, i) for i, c in enumerate(t.colliders, 1) if c.geoms is not None]
    return np.array(rows, int).reshape(-1, 3)


def collider_of(t: Topology, kinds: Kinds, sdf_initpoints: int) -> tuple[Collider, int]:
    """The collider of two geoms, and how many contacts it can give."""
    if len(kinds) > 2:
        own = t.colliders[kinds[2] - 1]
        return own, own.most
    for own in t.colliders:
        if own.kinds == kinds:
            return own, own.most
    return COLLIDERS[kinds[0], kinds[1]][0], contacts_of((kinds[0], kinds[1]), sdf_initpoints)


def collides(t: Topology, kinds: Kinds) -> bool:
    """Whether there is a collider of two geoms."""
    return len(kinds) > 2 or kinds in COLLIDERS or any(own.kinds == kinds for own in t.colliders)
