"""Actuators that hold a body to what it touches (mj_transmission for mjTRN_BODY)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import put
from jaxsim.collision.slots import ContactSlots, detected, of_slots, pairs_of
from jaxsim.constraint.contact import ContactRows, normal_forces, still_pairs
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, TrnType
from jaxsim.core.model import Model

Array = jax.Array


def with_adhesion(
    m: Model, d: Data, moment: Array, slots: ContactSlots | None, contact: ContactRows | None
) -> tuple[Data, Array]:
    """The moment arms [nout, nv] and actuator_velocity [nout] with those of actuators on bodies.

    A positive force pulls along the mean of the normals of all contacts of the body, those within the gap included:
    the arm is minus the mean of their Jacobians. Without contacts it is zero, and so is the length always.
    """
    chosen = np.flatnonzero(m.actuator_trntype == TrnType.BODY)
    if not len(chosen) or slots is None or contact is None:
        return d, moment
    holds = of_slots(m, slots, jnp.asarray(_holds(m, m.actuator_trnid[chosen, 0]), slots.dist.dtype))
    holds = jnp.where(detected(m, slots)[:, None], holds, 0)
    count = jnp.maximum(jnp.sum(holds, axis=0), 1)
    arms = jax.vmap(functools.partial(normal_forces, m.topology, contact), 1)(-holds / count[None])
    outputs = m.actuator_outadr[chosen]
    moment = put(moment, outputs, arms)
    if m.opt.disables(DisableBit.ACTUATION):
        return d, moment
    speed = lax.dot(arms, d.qvel, precision=lax.Precision.HIGHEST)
    return d.replace(actuator_velocity=put(d.actuator_velocity, outputs, speed)), moment


def _holds(m: Model, body: np.ndarray) -> np.ndarray:
    """[npair, n] which candidate pairs are of which bodies [n], and move at all."""
    pairs = pairs_of(m)
    first, second = m.geom_bodyid[pairs.geom1], m.geom_bodyid[pairs.geom2]
    of_body = (first[:, None] == body) | (second[:, None] == body)
    return of_body & ~still_pairs(m)[:, None]
