"""Contacts that bounce: at which time within the step they touch, and how fast they part.

A step that ends with the old speed turned round as if it had bounced at the end has the wrong derivatives: who starts
nearer by x touches earlier, and is higher by restitution * x afterwards, not lower by x. So an impact has its time

    late = gap / (gap - gap at the end of the step if nothing pushed)      of the step

and its impulses move bodies for the rest of the step only (jaxsim/stages/hard.py). Velocities of Euler steps are those
of half a step before, to second order: that of the touch, and what is asked of the end, are with the pull ah = a h

    touch = (before + free) / 2 + late ah,    end >= -restitution touch + (1/2 - late) ah

which keeps the energy of an elastic ball to O(h^2) for each bounce. A hop of less than two steps is none, and so things
come to rest. What will bounce, but not within this step, is not slowed down before: it has a step's way of room.
Newton's law of restitution, for each contact on its own.

Source: ours; the time of impact after Hu et al. 2020 (DiffTaichi), section 4.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array


class Bounce(NamedTuple):
    """How n contacts bounce within a step."""

    hit: Array  # [n] bool: those that do
    late: Array  # [n] share of the step before the touch; 0 for others
    speed: Array  # [n] m/s at which they part at least, at the end
    room: Array  # [n] m by which contacts may close further than to zero; 0 for those that do not bounce, or do now


def bounce_of(restitution: Array, gap: Array, end: Array, before: Array, free: Array) -> Bounce:
    """From gaps [n] (m) as the step begins and, where nothing pushes, ends, and the normal speeds [n] (m/s) of both."""
    nearer, pull = end < gap, free - before
    late = jnp.clip(gap / jnp.where(nearer, gap - end, 1), 0, 1)
    up = -restitution * (0.5 * (before + free) + late * pull)
    bounces = nearer & (up + jnp.minimum(pull, 0) > 0)
    hit = bounces & (end < 0)
    return Bounce(
        hit,
        jnp.where(hit, late, 0),
        jnp.where(hit, up + (0.5 - late) * pull, 0),
        jnp.where(bounces & ~hit, gap - end, 0),
    )
