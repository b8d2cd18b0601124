"""The state of a world, by name or as one vector (mj_getState, mj_setState)."""

import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from jaxsim.core.data import INPUTS, INTEGRATION_STATE, Data
from jaxsim.core.enums import State

Array = jax.Array


def _fields(sig: int) -> list[str]:
    """The fields of a signature, in the order of its bits. Plugins that simulate have no state."""
    if not 0 <= sig <= State.INTEGRATION:
        raise ValueError(f"sig is {sig}, expected bits of State, from 0 to {State.INTEGRATION.value}")
    names = {State.WARMSTART: "qacc_warmstart"}
    bits = [bit for bit in State if sig & bit and bit.bit_count() == 1 and bit != State.PLUGIN]
    return [names.get(bit, str(bit.name).lower()) for bit in sorted(bits)]


def state_size(data: Data, sig: int = State.INTEGRATION) -> int:
    """How many numbers `get_state(data, sig)` gives for each world, of Data [...] of any batch (mj_stateSize)."""
    lead = data.time.ndim
    return sum(math.prod(getattr(data, name).shape[lead:]) for name in _fields(sig))


def get_state(data: Data, sig: int | None = None) -> dict[str, Array] | Array:
    """What a step reads, or some of it (mj_getState).

    Args:
        data: of one world, or of a batch [...].
        sig: which parts to join, bits of `State`; by default all, each by its name.

    Returns:
        {"qpos": [..., nq], ...}, the integration state and the inputs; with `sig`, a vector [..., state_size].
        Stepping goes on from it bit for bit; but vectors, as MuJoCo's, do not hold which trees sleep.
    """
    if sig is None:
        return {name: getattr(data, name) for name in (*INTEGRATION_STATE, *INPUTS)}
    lead = data.time.shape
    parts = [getattr(data, name).reshape(*lead, -1).astype(data.qpos.dtype) for name in _fields(sig)]
    return jnp.concatenate(parts, axis=-1) if parts else jnp.zeros((*lead, 0), data.qpos.dtype)


def set_state(data: Data, state: Mapping[str, Array] | Array, sig: int | None = None) -> Data:
    """`data` with a state from `get_state`, whose other fields are stale until `forward` (mj_setState).

    Args:
        data: of one world, or of a batch [...].
        state: fields by name, qpos [..., nq] ...; with `sig`, a vector [..., state_size].
        sig: the parts that were joined, as given to `get_state`.

    Raises:
        ValueError: a vector of another shape.
        TypeError: a vector without `sig`, or names with one.
    """
    if (sig is None) != isinstance(state, Mapping):
        raise TypeError("set_state takes either fields by name, or a vector and its sig")
    if isinstance(state, Mapping):
        return data.replace(**state)
    assert sig is not None
    expected = (*data.time.shape, state_size(data, sig))
    if jnp.shape(state) != expected:
        raise ValueError(f"state has shape {jnp.shape(state)}, expected {expected} for sig={int(sig)}")
    values, start = {}, 0
    for name in _fields(sig):
        like = getattr(data, name)
        size = math.prod(like.shape[data.time.ndim :])
        values[name] = state[..., start : start + size].reshape(like.shape).astype(like.dtype)
        start += size
    return data.replace(**values)
