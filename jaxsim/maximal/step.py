"""One step, and many, of a mechanism."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.maximal.conversion import coordinates_after
from jaxsim.maximal.equations import Unknowns, ahead
from jaxsim.maximal.forces import forces_at
from jaxsim.maximal.impacts import cones_of
from jaxsim.maximal.mechanism import Mechanism, State
from jaxsim.maximal.solve import Solved, pressed, solved

Array = jax.Array


def step(mechanism: Mechanism, state: State, ctrl: Array | None = None, applied: Array | None = None) -> State:
    """The state one time step later. Pure; for jit, vmap and both modes of derivatives.

    Args:
        mechanism: from `from_model`; its model's timestep is the step.
        state: from `to_maximal`, or from a step.
        ctrl: controls of the model's actuators [nu], zero by default.
        applied: forces along the joint coordinates [nv] (N, N m), zero by default.

    Returns:
        Poses and velocities at the end of the step. Momentum is kept to rounding where nothing acts from outside, and
        joints hold to rounding at every step. Contacts and limits are hard: complementary at the step's end, up to
        `opt.kappa`. (Dojo, sections III and IV.)
    """
    return stepped(mechanism, state, ctrl, applied)[0]


def stepped(
    mechanism: Mechanism, state: State, ctrl: Array | None = None, applied: Array | None = None
) -> tuple[State, Unknowns, Solved]:
    """`step`, with what was solved for (links [n, 12 + width]; loops [rows]) and how that went."""
    m, dtype = mechanism.model, state.pos.dtype
    ctrl = jnp.zeros(m.nu, dtype) if ctrl is None else ctrl
    applied = jnp.zeros(m.nv, dtype) if applied is None else applied
    forces = forces_at(m, state, ctrl, applied)
    if cones_of(m).size:
        point, outcome = pressed(mechanism, state, forces)
        unknowns, how = point.a, Solved(outcome.iterations, outcome.residual, outcome.converged)
    else:
        unknowns, how = solved(mechanism, state, forces)
    end, n = ahead(mechanism, state, unknowns), mechanism.structure.n
    pos, quat = end.pos[:n], end.quat[:n]
    qpos, qvel = coordinates_after(mechanism, state, (pos, quat), unknowns.speed)
    return State(pos, quat, unknowns.vel, unknowns.ang, qpos, qvel, forces.act), unknowns, how


def rollout(
    mechanism: Mechanism,
    state: State,
    ctrl: Array | None = None,
    *,
    length: int | None = None,
    outputs: Callable[[Mechanism, State], Any] = lambda mechanism, state: state,
) -> tuple[State, Any]:
    """Steps with a sequence of controls.

    Args:
        mechanism: from `from_model`.
        state: initial state.
        ctrl: controls [T, nu]; none for `length` steps without.
        length: T, where there are no controls.
        outputs: what to record after each step.

    Returns:
        The last state, and what `outputs` gave, stacked: [T, ...].
    """

    def advance(state: State, ctrl: Array | None) -> tuple[State, Any]:
        state = step(mechanism, state, ctrl)
        return state, outputs(mechanism, state)

    return lax.scan(advance, state, ctrl, length)
