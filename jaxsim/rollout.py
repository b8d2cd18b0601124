"""Rollouts: many steps in one program, from given controls or from a policy.

The scan carries a whole Data, so that the last one is what repeated steps give, and a batch is stepped in place.
Of each step reverse mode keeps what it read and what it solved for (see `layout.worlds`). Derivatives of the derived
fields of the last Data are those of its step, taken once after the scan.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.core.data import INPUTS, INTEGRATION_STATE, Data
from jaxsim.core.model import Model
from jaxsim.core.shapes import check
from jaxsim.layout import batched, read_by
from jaxsim.step import repeated_step, solved_step

Array = jax.Array
Policy = Callable[[Data, Array | None], Array]
Remat = Literal["step", "sqrt"]

REMAT = ("step", "sqrt")


class _Settings(NamedTuple):
    policy: Policy | None
    outputs: Callable[[Data], Any]
    length: int
    substeps: int
    remat: Remat
    seen: tuple[str, ...] = ()  # fields of Data that the policy reads


def trajectory(data: Data) -> dict[str, Array]:
    """What a rollout records by default: time [], qpos [nq], qvel [nv], act [na], sensordata [nsensordata]."""
    return {name: getattr(data, name) for name in ("time", "qpos", "qvel", "act", "sensordata")}


def rollout(
    model: Model,
    data: Data,
    ctrl: Array | None = None,
    *,
    policy: Policy | None = None,
    length: int | None = None,
    key: Array | None = None,
    outputs: Callable[[Data], Any] = trajectory,
    substeps: int = 1,
    remat: Remat = "step",
) -> tuple[Data, Any]:
    """Step through a sequence of T controls, given or chosen by a policy, or T times with those of `data`.

    `jax.vmap(rollout, in_axes=(None, 0, 0))` runs many worlds. Without a policy it is compiled once for each
    `outputs`, so give a function that has a name rather than a new lambda each time; with one, whose weights
    may change, call it under `jax.jit`.

    Args:
        model: the model.
        data: initial state and inputs; all inputs but `ctrl` stay as they are.
        ctrl: controls [T, nu]; instead of a policy.
        policy: `policy(data, key)` returns the controls [nu]. It sees Data as the step before left it: derived
            fields and sensors are those of the state before that step. At first it sees `data` as given, so
            take `forward(model, data)` if it reads them. `key` is its own of each control step, or None.
        length: T, with a policy, or where the controls stay as they are in `data`.
        key: random key, split between the T calls of the policy.
        outputs: `outputs(data)` picks what is recorded after each control step, as any pytree of arrays.
        substeps: steps for each control; the time between controls is `substeps * model.opt.timestep`.
        remat: what reverse mode keeps. "step": what each step reads and solved for, and computes the rest again.
            "sqrt": that of about sqrt(T) control steps at a time, and runs the steps one more time. Values do not
            depend on it.

    Returns:
        The final Data, field by field that of repeated `step`; and what `outputs` returned, stacked: [T, ...].
        By default {"time" [T] (s), "qpos" [T, nq] (m, rad, 1), "qvel" [T, nv] (m/s, rad/s), "act" [T, na],
        "sensordata" [T, nsensordata]}.

    Raises:
        TypeError: an argument of another type, such as integer controls.
        ValueError: both of `ctrl` and `policy`, nothing that says how long, a wrong shape, or an unknown `remat`.
    """
    check("rollout", model, data, "(None, 0, 0)")
    if ctrl is None and policy is None and isinstance(length, int) and length >= 0:
        ctrl, length = jnp.broadcast_to(data.ctrl, (length, model.nu)), None
    given = _check_source(model, data, ctrl, policy, length, key)
    if not isinstance(substeps, int) or substeps < 1:
        raise ValueError(f"substeps is {substeps!r}, expected a whole number from 1 up")
    if remat not in REMAT:
        raise ValueError(f"remat is {remat!r}, expected one of {', '.join(map(repr, REMAT))}")
    if policy is None:
        count = given.shape[0]  # type: ignore[union-attr]  # there are controls if there is no policy
        return _compiled(_Settings(None, outputs, count, substeps, remat), model, data, given)
    keys = None if key is None else jax.random.split(key, length)
    settings = _Settings(policy, outputs, int(length), substeps, remat, _seen(policy, data, key))  # type: ignore[arg-type]
    return _run(settings, model, data, keys)


def _check_source(model: Model, data: Data, ctrl: Any, policy: Any, length: Any, key: Any) -> Array | None:
    """Raise unless there are either controls or a policy and a length; the controls in the precision of `data`."""
    if ctrl is not None and policy is not None:
        raise ValueError("rollout takes either ctrl or policy, got both")
    if ctrl is None and policy is None and length is None:
        raise ValueError("rollout takes ctrl, or policy and length, or length if controls stay as they are; got none")
    if ctrl is None:
        if not isinstance(length, int) or length < 0:
            raise ValueError(f"length is {length!r}: without ctrl, rollout takes length=T, the number of controls")
        return None
    if length is not None or key is not None:
        raise ValueError("length and key go with a policy; with ctrl [T, nu] its first axis is the length")
    shape, dtype = jnp.shape(ctrl), jnp.result_type(ctrl)
    if len(shape) != 2 or shape[1] != model.nu:
        batch = ": use jax.vmap(js.rollout, in_axes=(None, 0, 0))" if len(shape) > 2 else ""
        raise ValueError(f"ctrl has shape {shape}, expected (T, {model.nu}) [T, nu]{batch}")
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"ctrl is {dtype}, expected {data.ctrl.dtype}")
    return jnp.asarray(ctrl, data.ctrl.dtype)


def _seen(policy: Policy, data: Data, key: Array | None) -> tuple[str, ...]:
    """The fields of Data that a policy reads."""
    flags = read_by(policy, data, key)[0]
    return tuple(name for name in data.children if any(jax.tree.leaves(getattr(flags, name))))


class _Carry(NamedTuple):
    """What the scan hands on. The latest step is taken once more at the end, for derivatives of all its fields."""

    data: Data  # with derivatives of the state, and of what the policy reads
    before: dict[str, Array]  # what the latest step read
    solved: Any  # what it solved for


def _run(settings: _Settings, model: Model, data: Data, inputs: Array | None) -> tuple[Data, Any]:
    """Scan over the controls [T, nu], or over the policy's keys [T] or None."""
    advance = functools.partial(_control_step, settings, model)
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(solved_step, model, data)[1])
    start = _Carry(data, _read(data), nothing)
    if settings.remat == "sqrt":
        end, outs = _scan_of_scans(advance, start, inputs, settings.length)
    else:
        end, outs = lax.scan(advance, start, inputs, length=settings.length)
    return (_with_derivatives(model, end) if settings.length else data), outs


_compiled = jax.jit(_run, static_argnums=0)


def _control_step(settings: _Settings, model: Model, carry: _Carry, given: Any) -> tuple[_Carry, Any]:
    """Choose the control, step, record."""

    def substep(carry: _Carry, _: None) -> tuple[_Carry, None]:
        stepped, solved = solved_step(model, carry.data)
        return _Carry(stepped, _read(carry.data), solved), None

    data = carry.data
    ctrl = given if settings.policy is None else _ask(_recompute(settings.policy), model, data, given)
    carry = carry._replace(data=data.replace(ctrl=ctrl))
    if settings.substeps == 1:
        carry, _ = substep(carry, None)
    else:
        carry, _ = lax.scan(lambda c, x: _stopped(substep(c, x), settings), carry, None, length=settings.substeps)
    recorded = _recompute(settings.outputs)(_with_derivatives(model, carry) if settings.substeps > 1 else carry.data)
    return _stopped((carry, recorded), settings)


def _read(data: Data) -> dict[str, Array]:
    """All that a step reads: the integration state and the inputs, which a world that is reset loses."""
    return {name: getattr(data, name) for name in (*INTEGRATION_STATE, *INPUTS, "warning", "peak")}


def _stopped(result: tuple[_Carry, Any], settings: _Settings) -> tuple[_Carry, Any]:
    """Without derivatives of what neither the next step nor the policy reads.

    A scan pulls a cotangent of everything that it carries back through every step, zero or not.
    """
    carry, outs = result
    live = {name: getattr(carry.data, name) for name in settings.seen} | _read(carry.data)
    data = lax.stop_gradient(carry.data).replace(**live)
    return carry._replace(data=data), outs


def _with_derivatives(model: Model, carry: _Carry) -> Data:
    """The Data of a carry, whose derived fields have the derivatives of the latest step."""
    before = carry.data.replace(**carry.before)
    values = {name: getattr(carry.data, name) for name in carry.data.children if name not in carry.before}
    derived = _derived(lax.stop_gradient(values), carry.solved, model, before)
    return carry.data.replace(**derived)


def _derived_of(solved: Any, values: dict[str, Any], _: Any, model: Model, before: Data) -> dict[str, Any]:
    """The derived fields after a step that was taken before."""
    stepped = repeated_step(solved, model, before)
    return {name: getattr(stepped, name) for name in values}


# values that are known, with the derivatives of the step that gave them
_derived = batched(lambda values, solved, model, before: (values, solved), _derived_of)


def _ask(policy: Policy, model: Model, data: Data, key: Array | None) -> Array:
    ctrl = policy(data, key)
    if jnp.shape(ctrl) != (model.nu,):
        raise ValueError(f"policy returns shape {jnp.shape(ctrl)}, expected ({model.nu},) [nu]")
    if not jnp.issubdtype(jnp.result_type(ctrl), jnp.floating):
        raise TypeError(f"policy returns {jnp.result_type(ctrl)}, expected {data.ctrl.dtype}")
    return ctrl


def _recompute(fun: Callable) -> Callable:
    """`fun`, of which reverse mode keeps the arguments only. In a loop XLA cannot merge the two runs."""
    return jax.checkpoint(fun, prevent_cse=False)


def _scan_of_scans(advance: Callable, start: _Carry, inputs: Array | None, length: int) -> tuple[_Carry, Any]:
    """A scan in segments, at whose starts alone the carry is kept; one segment at a time is run again.

    The last segment may be longer than what is left; the steps beyond `length` are skipped, since a scan of
    another length would be compiled again.
    """
    count, size = segments(length)
    fill = count * size - length

    def split(x: Array) -> Array:
        return jnp.concatenate([x, jnp.broadcast_to(x[:1], (fill, *x.shape[1:]))]).reshape(count, size, *x.shape[1:])

    def one(carry: _Carry, given: tuple[Array, Any]) -> tuple[_Carry, Any]:
        live, x = given
        if not fill:
            return advance(carry, x)
        nothing = jax.tree.map(lambda y: jnp.zeros(y.shape, y.dtype), jax.eval_shape(advance, carry, x)[1])
        return lax.cond(live, advance, lambda carry, _: (carry, nothing), carry, x)

    def segment(carry: _Carry, given: tuple[Array, Any]) -> tuple[_Carry, Any]:
        return lax.scan(one, carry, given)

    live = (jnp.arange(count * size) < length).reshape(count, size)
    final, outs = lax.scan(_recompute(segment), start, (live, jax.tree.map(split, inputs)))
    return final, jax.tree.map(lambda y: y.reshape(count * size, *y.shape[2:])[:length], outs)


def segments(length: int) -> tuple[int, int]:
    """How many segments of which length: near sqrt(length), few steps beyond the end. 32 is 4 of 8, 7 is 2 of 4."""
    root = math.sqrt(length)
    counts = range(max(1, math.ceil(root / 2)), max(1, math.floor(2 * root)) + 1)
    sizes = {count: -(-length // count) for count in counts}
    return min(sizes.items(), key=lambda item: (item[0] * item[1] - length, abs(item[0] - root)))
