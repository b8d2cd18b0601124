"""Contact parameters of candidate pairs: friction, reference, impedance (mj_contactParam)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import put, take
from jaxsim.collision.compact import gather
from jaxsim.collision.pairs import Pairs
from jaxsim.core.enums import MINMU, MINVAL, EnableBit
from jaxsim.core.model import Model

Array = jax.Array


class PairParams(NamedTuple):
    """What the contacts of n pairs share, whoever asks: the detection, the buffer or the constraint."""

    friction: Array  # [n, 5] two slides, spin (m), two rolls (m)
    solref: Array  # [n, 2]
    solreffriction: Array  # [n, 2]
    solimp: Array  # [n, 5]
    margin: Array  # [n] m
    gap: Array  # [n] m
    invweight: Array  # [n] 1/kg, sum of the two bodies' translational body_invweight0

    def rows(self, index: np.ndarray | Array) -> "PairParams":
        """Those of the pairs at static or traced indices [k]: one gather for all."""
        columns = [x if x.ndim == 2 else x[:, None] for x in self]
        table = jnp.concatenate(columns, axis=1)
        chosen = take(table, index) if isinstance(index, np.ndarray) else gather(table, index)
        end = np.cumsum([c.shape[1] for c in columns])
        return PairParams(
            *(chosen[:, e - x.shape[1] : e] if x.ndim == 2 else chosen[:, e - 1] for x, e in zip(self, end))
        )


def pair_params(m: Model, pairs: Pairs, row: Array | None = None) -> PairParams:
    """Parameters of every pair [n], from its <pair> element or mixed from its two geoms.

    With rows [k] of the table, which may be traced, those of these pairs alone.
    """
    params = _mixed(*(_of_geoms(m, _chosen(geom, row)) for geom in (pairs.geom1, pairs.geom2)))
    explicit = np.flatnonzero(pairs.pair >= 0)
    if len(explicit):
        given = {f: getattr(m, f"pair_{f}") for f in PairParams._fields if f != "invweight"}
        if row is None:
            k = pairs.pair[explicit]
            changed = {f: put(getattr(params, f), explicit, take(x, k)) for f, x in given.items()}
        else:
            which = gather(jnp.asarray(pairs.pair, jnp.int32), row)
            changed = {
                f: _where(which >= 0, gather(x, jnp.maximum(which, 0)), getattr(params, f)) for f, x in given.items()
            }
        params = params._replace(**changed)
    if m.opt.enables(EnableBit.OVERRIDE):
        params = _overridden(m, params)
    return params._replace(friction=jnp.maximum(params.friction, MINMU))


def _chosen(geom: np.ndarray, row: Array | None) -> np.ndarray | Array:
    return geom if row is None else gather(jnp.asarray(geom, jnp.int32), row)


def _where(flag: Array, x: Array, y: Array) -> Array:
    return jnp.where(flag.reshape(flag.shape + (1,) * (x.ndim - 1)), x, y)


def _overridden(m: Model, p: PairParams) -> PairParams:
    def same(value, like):
        return jnp.broadcast_to(value, like.shape)

    return p._replace(
        friction=same(m.opt.o_friction[None], p.friction),
        solref=same(m.opt.o_solref[None], p.solref),
        solreffriction=same(m.opt.o_solref[None], p.solreffriction),
        solimp=same(m.opt.o_solimp[None], p.solimp),
        margin=same(m.opt.o_margin, p.margin),
    )


class _Geoms(NamedTuple):
    """What n geoms bring into their contacts."""

    priority: np.ndarray | Array  # [n]
    solmix: Array  # [n]
    solref: Array  # [n, 2]
    solimp: Array  # [n, 5]
    friction: Array  # [n, 3]
    margin: Array  # [n] m
    gap: Array  # [n] m
    invweight: Array  # [n] 1/kg


def _of_geoms(m: Model, geom: np.ndarray | Array) -> _Geoms:
    """Those of geoms [n] at static or traced indices."""
    names = ("solmix", "solref", "solimp", "friction", "margin", "gap")
    if isinstance(geom, np.ndarray):
        weight = take(m.body_invweight0, m.geom_bodyid[geom])[:, 0]
        return _Geoms._make([m.geom_priority[geom], *(take(getattr(m, f"geom_{f}"), geom) for f in names), weight])
    fields = [getattr(m, f"geom_{f}") for f in names] + [take(m.body_invweight0, m.geom_bodyid)[:, 0]]
    columns = [x if x.ndim == 2 else x[:, None] for x in fields]
    rows = gather(jnp.concatenate(columns, axis=1), geom)  # one gather for all
    end = np.cumsum([c.shape[1] for c in columns])
    parts = [rows[:, e - c.shape[1] : e] if x.ndim == 2 else rows[:, e - 1] for x, c, e in zip(fields, columns, end)]
    return _Geoms._make([gather(jnp.asarray(m.geom_priority, jnp.int32), geom), *parts])


def _mixed(a: _Geoms, b: _Geoms) -> PairParams:
    """Mix by priority, then by solmix; friction is the larger one, margins and gaps add up."""
    tiny1, tiny2 = a.solmix < MINVAL, b.solmix < MINVAL
    mix = a.solmix / jnp.where(tiny1 & tiny2, 1, a.solmix + b.solmix)
    mix = jnp.where(tiny1, jnp.where(tiny2, 0.5, 0), jnp.where(tiny2, 1, mix))
    above, below = a.priority > b.priority, a.priority < b.priority
    mix = jnp.where(above, 1, jnp.where(below, 0, mix)).astype(a.solmix.dtype)[:, None]
    equal = ~(above | below)[:, None]

    both_standard = (a.solref[:, :1] > 0) & (b.solref[:, :1] > 0)
    blended = mix * a.solref + (1 - mix) * b.solref
    solref = jnp.where(equal & ~both_standard, jnp.minimum(a.solref, b.solref), blended)
    solimp = mix * a.solimp + (1 - mix) * b.solimp
    friction = jnp.where(equal, jnp.maximum(a.friction, b.friction), mix * a.friction + (1 - mix) * b.friction)
    return PairParams(
        take(friction.T, [0, 0, 1, 2, 2]).T,
        solref,
        jnp.zeros_like(solref),
        solimp,
        a.margin + b.margin,
        a.gap + b.gap,
        a.invweight + b.invweight,
    )
