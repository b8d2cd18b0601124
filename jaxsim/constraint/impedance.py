"""Impedance and reference acceleration from solref and solimp (mj_makeImpedance, getimpedance)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.vector import columns
from jaxsim.core.enums import MAXIMP, MINIMP, MINVAL, DisableBit, Integrator
from jaxsim.core.model import Model

Array = jax.Array

WEAK = 0.1  # impedance of surfaces that are about to touch, under the distant law


class Impedance(NamedTuple):
    """Per constraint: stiffness K, damping B and impedance I of aref = -B vel - K I (pos - margin)."""

    stiffness: Array
    damping: Array
    imp: Array


def impedance(m: Model, solref: Array, solimp: Array, pos: Array, collides: np.ndarray | bool = True) -> Impedance:
    """Spring, damper and impedance of constraints at violation `pos` (position minus margin).

    Args:
        solref: [n, 2] (timeconst, dampratio), or both negative: (-stiffness, -damping).
        solimp: [n, 5] (dmin, dmax, width, midpoint, power).
        pos: [n].
        collides: [n] which rows are limits or contacts (see `reference`).

    Source: MuJoCo's Computation chapter, "Parameters"; engine_core_constraint.c.
    """
    dmin, dmax, width, mid, power = (c[..., 0] for c in columns(solimp))
    dmin, dmax, mid = (jnp.clip(x, MINIMP, MAXIMP) for x in (dmin, dmax, mid))
    width, power = jnp.maximum(width, 0), jnp.maximum(power, 1)
    imp = _sigmoid(dmin, dmax, width, mid, power, pos)
    stiffness, damping = reference(m, solref, dmax, imp, collides)
    return Impedance(stiffness, damping, imp)


def reference(
    m: Model, solref: Array, dmax: Array, imp: Array, collides: np.ndarray | bool = True
) -> tuple[Array, Array]:
    """Stiffness and damping [n] for solref [n, 2] at impedance imp [n], which grows to dmax [n].

    The flag refsafe keeps time constants above two steps. The integrator discrete is stable for any, and keeps only
    what collides (limits, contacts) from rebounding within a step: h^2 K imp is at most 1.
    """
    first, second = solref[..., 0], solref[..., 1]
    mixed = (first > 0) != (second > 0)  # MuJoCo replaces a mixed format by the default
    first, second = jnp.where(mixed, 0.02, first), jnp.where(mixed, 1, second)
    if not m.opt.disables(DisableBit.REFSAFE):
        least = 2 * m.opt.timestep
        if m.opt.integrator == Integrator.DISCRETE:
            resolved = m.opt.timestep * jnp.sqrt(imp) / (jnp.where(first > 0, second, 1) * dmax)
            least = jnp.where(collides, resolved, 0)
        first = jnp.where(first > 0, jnp.maximum(first, least), first)
    standard = first > 0
    timeconst, dampratio = jnp.where(standard, first, 1), jnp.where(standard, second, 1)
    scale = dmax * timeconst
    spring = 1 / jnp.maximum(MINVAL, scale * scale * dampratio * dampratio)
    stiffness = jnp.where(standard, spring, -first / jnp.maximum(MINVAL, dmax * dmax))
    damping = jnp.where(standard, 2 / jnp.maximum(MINVAL, scale), -second / jnp.maximum(MINVAL, dmax))
    return stiffness, damping


def distant(m: Model, near: Array, pos: Array, imp: Impedance) -> tuple[Array, Impedance]:
    """Violation and impedance of contacts of which some are only near, pos [n] apart and less than the reach.

    Those push as springs without dampers do that are compressed from the reach on, ever less weakly as they come
    closer: the force grows with the third power of that, from zero.
    """
    reach = m.opt.contact_reach
    inside = jnp.where(near, jnp.clip(1 - pos / reach, 0, 1), 0)
    weak = jnp.maximum(WEAK * inside, MINIMP)
    return jnp.where(near, -reach * inside, pos), Impedance(
        imp.stiffness, jnp.where(near, 0, imp.damping), jnp.where(near, weak, imp.imp)
    )


def _sigmoid(dmin: Array, dmax: Array, width: Array, mid: Array, power: Array, pos: Array) -> Array:
    """Impedance as a function of violation: dmin at zero, dmax beyond width, two power laws between."""
    flat = (dmin == dmax) | (width <= MINVAL)
    x = jnp.abs(pos) / jnp.where(flat, 1, width)
    inside = (x > 0) & (x < 1)
    x_safe = jnp.where(inside, x, 0.5)
    lower = x_safe <= mid
    # both halves are one law in the distance to their own end
    near = jnp.where(lower, x_safe, 1 - x_safe)
    reach = jnp.where(lower, mid, 1 - mid)
    curve = near * (near / reach) ** (power - 1)
    y = jnp.where(lower, curve, 1 - curve)
    imp = dmin + y * (dmax - dmin)
    imp = jnp.where(inside, imp, jnp.where(x >= 1, dmax, dmin))
    return jnp.where(flat, 0.5 * (dmin + dmax), imp)


def regularization(imp: Array, diag: Array, softer: Array | None = None) -> Array:
    """R [n] = (1 - imp) / imp * diagApprox, bounded below; over `softer` where there is any (see `end_of_step`)."""
    bare = jnp.maximum(MINVAL, (1 - imp) / imp * diag)
    return bare if softer is None else jnp.maximum(bare / softer, (1 - MAXIMP) / MAXIMP * diag)


def end_of_step(m: Model, imp: Impedance) -> tuple[Impedance, Array | None]:
    """Springs and dampers of rows as at the end of a step, where the integrator is discrete, else as they are.

    With velocity v + h a and position r + h v + h^2 a the force (-B v - K I r - a) / R of a row becomes

        (-(B + h K I) v - K I r - s a) / R,    s = 1 + h B + h^2 K I,

    which is a row of its own: R / s, and what is before a over s. The second result is s [n], or None.
    """
    if m.opt.integrator != Integrator.DISCRETE:
        return imp, None
    h, spring = m.opt.timestep, imp.stiffness * imp.imp
    softer = 1 + h * imp.damping + h * h * spring
    return Impedance(imp.stiffness / softer, (imp.damping + h * spring) / softer, imp.imp), softer
