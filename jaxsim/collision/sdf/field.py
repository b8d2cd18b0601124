"""What a geom is to a collision of signed distance fields: one of a few kinds of functions, and its numbers.

`geom_sdf` says which function gives a geom of type sdf its distance:

    0 1 2 ...       the plugin of that number in `signed_distance.NAMES`
    -1              the octree of its mesh
    -2 -3 ...       the user's first, second ... function

Programs serve the kinds of all geoms that they may meet, and choose at run time among these.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.algebra.signed_distance import NAMES, PLUGINS
from jaxsim.collision.compact import gather
from jaxsim.collision.sdf.octree import octree_distance
from jaxsim.collision.sdf.primitives import SLOPES
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array
OCTREE, USER = -1, -2


class Solid(NamedTuple):
    """One geom: which of the kinds that a program serves it is, its sizes [3] (m), and its numbers.

    constant [k] are those of a plugin, and aabb [6] (m) are centre and half sizes of its box.
    """

    kind: Array
    size: Array
    constant: Array
    aabb: Array


Distance = Callable[[Array, Solid], Array]  # of points [n, 3]: [n]


class Kind(NamedTuple):
    """Value of a distance [n] at points [n, 3], and both value and slope [n, 3]."""

    value: Distance
    slope: Callable[[Array, Solid], tuple[Array, Array]]


def _primitive(kind: int) -> Kind:
    both = SLOPES[kind]
    return Kind(lambda p, s: both(p, s.size)[0], lambda p, s: both(p, s.size))


def differentiated(value: Distance) -> Kind:
    """A distance with its gradient."""

    def slope(p: Array, s: Solid) -> tuple[Array, Array]:
        out, pull = jax.vjp(lambda p: value(p, s), p)
        return out, pull(jnp.ones_like(out))[0]

    return Kind(value, slope)


def _plugin(name: str) -> Kind:
    distance = PLUGINS[name].distance
    return differentiated(lambda p, s: distance(p, s.constant)[..., 0])


class Served(NamedTuple):
    """The kinds that a program serves, and which of them each geom [ngeom] is, -1 for none."""

    kinds: tuple[Kind, ...]
    of_geom: np.ndarray

    def value(self, p: Array, s: Solid) -> Array:
        """Distances [n] (m) at points [n, 3] in the geom's frame."""
        return self._chosen(s, [k.value(*self._own(i, p, s)) for i, k in enumerate(self.kinds)])

    def slope(self, p: Array, s: Solid) -> tuple[Array, Array]:
        """Distances [n] and slopes [n, 3]."""
        each = [k.slope(*self._own(i, p, s)) for i, k in enumerate(self.kinds)]
        return self._chosen(s, [v for v, _ in each]), self._chosen(s, [g for _, g in each])

    def _own(self, kind: int, p: Array, s: Solid) -> tuple[Array, Solid]:
        """Points and numbers of a solid of that kind; others have ones, at which derivatives are finite."""
        if len(self.kinds) == 1:
            return p, s
        own = s.kind == kind
        size, constant = (jnp.where(own, x, 1) for x in (s.size, s.constant))
        return jnp.where(own, p, 1), s._replace(size=size, constant=constant)

    def _chosen(self, s: Solid, options: list[Array]) -> Array:
        out = options[0]
        for i, option in enumerate(options[1:], 1):
            out = jnp.where(s.kind == i, option, out)
        return out


class Kinds(NamedTuple):
    """What a program for pairs serves: the kinds of the first geoms and of the second ones, or in place of the first
    the corners [meshes, n, 3, 3] (m) of the triangles of meshes."""

    first: Served
    second: Served
    triangles: np.ndarray


@per_topology
def served(t: Topology, geoms: tuple[int, ...]) -> Served:
    """The kinds of some geoms, each once; meshes among them have an octree."""
    keys = [_key(t, g) for g in geoms]
    each = sorted(set(keys))
    of_geom = np.full(t.ngeom, -1, np.int32)
    of_geom[list(geoms)] = [each.index(k) for k in keys]
    return Served(tuple(_kind(t, *key) for key in each), of_geom)


def _key(t: Topology, geom: int) -> tuple[int, int, int]:
    """What tells the kinds of geoms apart: type, function, and the mesh of an octree."""
    if t.geom_type[geom] == GeomType.MESH:
        return int(GeomType.SDF), OCTREE, int(t.geom_dataid[geom])
    if t.geom_type[geom] != GeomType.SDF:
        return int(t.geom_type[geom]), 0, 0
    which = int(t.geom_sdf[geom])
    return int(GeomType.SDF), which, int(t.geom_dataid[geom]) if which == OCTREE else 0


def _kind(t: Topology, geom_type: int, which: int, mesh: int) -> Kind:
    if geom_type != GeomType.SDF:
        return _primitive(geom_type)
    if which == OCTREE:
        return differentiated(octree_distance(t, mesh))
    if which <= USER:
        function = t.sdf_functions[USER - which]
        return differentiated(lambda p, s: jax.vmap(function)(p))
    return _plugin(NAMES[which])


def solids(m: Model, kinds: Served, geom: np.ndarray | Array) -> Solid:
    """Geoms [k] at static or traced indices."""
    dtype = m.geom_size.dtype
    fixed = np.concatenate([m.geom_sdfconst, m.geom_aabb], axis=1)
    table = jnp.concatenate([m.geom_size, jnp.asarray(fixed, dtype)], axis=1)
    if isinstance(geom, np.ndarray):
        reals, kind = take(table, geom), jnp.asarray(kinds.of_geom[geom])
    else:
        reals, kind = gather(table, geom), gather(jnp.asarray(kinds.of_geom), geom)
    return Solid(kind, reals[:, :3], reals[:, 3:-6], reals[:, -6:])
