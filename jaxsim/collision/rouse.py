"""Contacts of trees that sleep: what is awake wakes what it touches, and the others have none (mj_wakeCollision)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.compact import gather
from jaxsim.collision.shape import NO_CONTACT, Candidates
from jaxsim.collision.slots import fixed_pairs, pairs_of
from jaxsim.core.data import Data
from jaxsim.core.enums import AWAKE
from jaxsim.core.model import Model
from jaxsim.core.sleep import body_trees, woken

Array = jax.Array


def roused(m: Model, d: Data, found: Candidates, pair: Array | None) -> tuple[Candidates, Array]:
    """The contacts among candidates [k] that something awake takes part in, and tree_asleep [ntree] after they woke.

    A tree that is woken has contacts with what it lies on, and wakes what else it touches. `pair` [k] is that of each
    candidate, None where it is fixed.
    """
    sides, met = _sides(m, pair), found.dist < NO_CONTACT

    def states(asleep: Array) -> list[Array]:
        """What tree_asleep says of both sides [k]: of what has no tree 0, or AWAKE where people move it."""
        of_all = jnp.concatenate([asleep, jnp.asarray([AWAKE, 0], jnp.int32)])
        return [gather(of_all, side) for side in sides]

    def calls(own: list[Array]) -> list[Array]:
        """What calls the trees of both sides [k] that sleep: the state of the other one that is awake; else 0."""
        sleeps = [met & (side < m.ntree) & (x >= 0) for side, x in zip(sides, own)]
        return [jnp.where(s, jnp.minimum(x, 0), 0) for s, x in zip(sleeps, reversed(own))]

    def called(own: list[Array]) -> Array:
        return jnp.any(jnp.minimum(*calls(own)) < 0)

    def wake(state: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        of_tree = jnp.concatenate(sides)[:, None] == np.arange(m.ntree, dtype=np.int32)[None]
        value = jnp.min(jnp.where(of_tree, jnp.concatenate(calls(state[1]))[:, None], 0), axis=0)
        asleep = woken(state[0], value)
        return asleep, states(asleep)

    start = d.tree_asleep, states(d.tree_asleep)
    asleep, (first, second) = lax.while_loop(lambda state: called(state[1]), wake, start)
    return found._replace(dist=jnp.where((first < 0) | (second < 0), found.dist, NO_CONTACT)), asleep


def _sides(m: Model, pair: Array | None) -> list[Array]:
    """The trees [k] of both geoms of each candidate; ntree: people move it, ntree + 1: it never moves."""
    pairs, codes = pairs_of(m), []
    of_body = np.where(body_trees(m.topology) < 0, m.ntree + 1, body_trees(m.topology)).astype(np.int32)
    for geom in (pairs.geom1, pairs.geom2):
        code = of_body[m.geom_bodyid[geom]]
        codes.append(jnp.asarray(code[fixed_pairs(m)]) if pair is None else gather(jnp.asarray(code), pair))
    return codes
