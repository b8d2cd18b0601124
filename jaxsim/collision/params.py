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


def pair_params(m: Model, pairs: Pairs) -> PairParams:
    """Parameters of every pair [n], from its <pair> element or mixed from its two geoms."""
    params = _mixed(m, pairs)
    explicit = np.flatnonzero(pairs.pair >= 0)
    if len(explicit):
        k = pairs.pair[explicit]
        given = {f: getattr(m, f"pair_{f}") for f in PairParams._fields if f != "invweight"}
        params = params._replace(**{f: put(getattr(params, f), explicit, take(x, k)) for f, x in given.items()})
    if m.opt.enables(EnableBit.OVERRIDE):
        params = _overridden(m, params)
    return params._replace(friction=jnp.maximum(params.friction, MINMU))


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


def _mixed(m: Model, pairs: Pairs) -> PairParams:
    """Mix by priority, then by solmix; friction is the larger one, margins and gaps add up."""
    g1, g2 = pairs.geom1, pairs.geom2
    p1, p2 = m.geom_priority[g1], m.geom_priority[g2]
    s1, s2 = take(m.geom_solmix, g1), take(m.geom_solmix, g2)
    tiny1, tiny2 = s1 < MINVAL, s2 < MINVAL
    mix = s1 / jnp.where(tiny1 & tiny2, 1, s1 + s2)
    mix = jnp.where(tiny1, jnp.where(tiny2, 0.5, 0), jnp.where(tiny2, 1, mix))
    mix = jnp.where(p1 > p2, 1, jnp.where(p1 < p2, 0, mix)).astype(s1.dtype)[:, None]
    equal = (p1 == p2)[:, None]

    r1, r2 = take(m.geom_solref, g1), take(m.geom_solref, g2)
    both_standard = (r1[:, :1] > 0) & (r2[:, :1] > 0)
    blended = mix * r1 + (1 - mix) * r2
    solref = jnp.where(equal & ~both_standard, jnp.minimum(r1, r2), blended)
    solimp = mix * take(m.geom_solimp, g1) + (1 - mix) * take(m.geom_solimp, g2)
    f1, f2 = take(m.geom_friction, g1), take(m.geom_friction, g2)
    friction = jnp.where(equal, jnp.maximum(f1, f2), mix * f1 + (1 - mix) * f2)

    def invweight(geom: np.ndarray) -> Array:
        return take(m.body_invweight0, m.geom_bodyid[geom])[:, 0]

    return PairParams(
        take(friction.T, [0, 0, 1, 2, 2]).T,
        solref,
        jnp.zeros_like(solref),
        solimp,
        take(m.geom_margin, g1) + take(m.geom_margin, g2),
        take(m.geom_gap, g1) + take(m.geom_gap, g2),
        invweight(g1) + invweight(g2),
    )
