"""Rollouts: many steps in one program, from given controls or from a policy.

The scan carries a whole Data, so that the last one is what repeated steps give, and a batch is stepped in place.
Of it reverse mode keeps what is read: no step reads a derived field, so that `jax.checkpoint` drops them (0.3 of
4 KB are kept per step of a hopper, 1.2 of 12 KB of a humanoid; 30 and 119 KB without checkpoints).
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.checks.shapes import check
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.step import step

Array = jax.Array
Policy = Callable[[Data, Array | None], Array]
Remat = Literal["step", "sqrt", "none"]

REMAT = ("step", "sqrt", "none")


class _Settings(NamedTuple):
    policy: Policy | None
    outputs: Callable[[Data], Any]
    length: int
    substeps: int
    remat: Remat


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
    """Step through a sequence of T controls, given or chosen by a policy.

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
        length: T, with a policy.
        key: random key, split between the T calls of the policy.
        outputs: `outputs(data)` picks what is recorded after each control step, as any pytree of arrays.
        substeps: steps for each control; the time between controls is `substeps * model.opt.timestep`.
        remat: what reverse mode keeps. "step": what each step reads, and computes the rest again. "sqrt": that
            of about sqrt(T) control steps at a time, and runs the steps one more time. "none": everything,
            which takes about a hundred times the memory of "step". Values do not depend on it.

    Returns:
        The final Data, field by field that of repeated `step`; and what `outputs` returned, stacked: [T, ...].
        By default {"time" [T] (s), "qpos" [T, nq] (m, rad, 1), "qvel" [T, nv] (m/s, rad/s), "act" [T, na],
        "sensordata" [T, nsensordata]}.

    Raises:
        TypeError: an argument of another type, such as integer controls.
        ValueError: both or neither of `ctrl` and `policy`, a wrong shape, or an unknown `remat`.
    """
    check("rollout", model, data, "(None, 0, 0)")
    given = _check_source(model, data, ctrl, policy, length, key)
    if not isinstance(substeps, int) or substeps < 1:
        raise ValueError(f"substeps is {substeps!r}, expected a whole number from 1 up")
    if remat not in REMAT:
        raise ValueError(f"remat is {remat!r}, expected one of {', '.join(map(repr, REMAT))}")
    if policy is None:
        count = given.shape[0]  # type: ignore[union-attr]  # there are controls if there is no policy
        return _compiled(_Settings(None, outputs, count, substeps, remat), model, data, given)
    keys = None if key is None else jax.random.split(key, length)
    return _run(_Settings(policy, outputs, int(length), substeps, remat), model, data, keys)  # type: ignore[arg-type]


def _check_source(model: Model, data: Data, ctrl: Any, policy: Any, length: Any, key: Any) -> Array | None:
    """Raise unless there are either controls or a policy and a length; the controls in the precision of `data`."""
    if (ctrl is None) == (policy is None):
        both = "neither" if ctrl is None else "both"
        raise ValueError(f"rollout takes either ctrl or policy, got {both}")
    if ctrl is None:
        if not isinstance(length, int) or length < 0:
            raise ValueError(f"length is {length!r}: with a policy, rollout takes length=T, the number of controls")
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


def _run(settings: _Settings, model: Model, data: Data, inputs: Array | None) -> tuple[Data, Any]:
    """Scan over the controls [T, nu], or over the policy's keys [T] or None."""
    advance = functools.partial(_control_step, settings, model)
    if settings.remat != "sqrt":
        return lax.scan(advance, data, inputs, length=settings.length)
    return _scan_of_scans(advance, data, inputs, settings.length)


_compiled = jax.jit(_run, static_argnums=0)


def _control_step(settings: _Settings, model: Model, data: Data, given: Any) -> tuple[Data, Any]:
    """Choose the control, step, record."""
    lean = _keep_all if settings.remat == "none" else _recompute

    def substep(data: Data, _: None) -> tuple[Data, None]:
        return lean(functools.partial(step, model))(data), None

    ctrl = given if settings.policy is None else _ask(lean(settings.policy), model, data, given)
    data = data.replace(ctrl=ctrl)
    if settings.substeps == 1:
        data, _ = substep(data, None)
    else:
        data, _ = lax.scan(substep, data, None, length=settings.substeps)
    return data, lean(settings.outputs)(data)


def _ask(policy: Policy, model: Model, data: Data, key: Array | None) -> Array:
    ctrl = policy(data, key)
    if jnp.shape(ctrl) != (model.nu,):
        raise ValueError(f"policy returns shape {jnp.shape(ctrl)}, expected ({model.nu},) [nu]")
    if not jnp.issubdtype(jnp.result_type(ctrl), jnp.floating):
        raise TypeError(f"policy returns {jnp.result_type(ctrl)}, expected {data.ctrl.dtype}")
    return ctrl


def _keep_all(fun: Callable) -> Callable:
    return fun


def _recompute(fun: Callable) -> Callable:
    """`fun`, of which reverse mode keeps the arguments only. In a loop XLA cannot merge the two runs."""
    return jax.checkpoint(fun, prevent_cse=False)


def _scan_of_scans(advance: Callable, data: Data, inputs: Array | None, length: int) -> tuple[Data, Any]:
    """A scan in segments, at whose starts alone the Data is kept; one segment at a time is unrolled again.

    The last segment may be longer than what is left; the steps beyond `length` are skipped, since a scan of
    another length would be compiled again.
    """
    count, size = segments(length)
    fill = count * size - length

    def split(x: Array) -> Array:
        return jnp.concatenate([x, jnp.broadcast_to(x[:1], (fill, *x.shape[1:]))]).reshape(count, size, *x.shape[1:])

    def one(data: Data, given: tuple[Array, Any]) -> tuple[Data, Any]:
        live, x = given
        if not fill:
            return advance(data, x)
        skipped = jax.eval_shape(advance, data, x)[1]
        return lax.cond(
            live,
            advance,
            lambda data, _: (data, jax.tree.map(lambda y: jnp.zeros(y.shape, y.dtype), skipped)),
            data,
            x,
        )

    def segment(data: Data, given: tuple[Array, Any]) -> tuple[Data, Any]:
        return lax.scan(one, data, given)

    live = (jnp.arange(count * size) < length).reshape(count, size)
    final, outs = lax.scan(_recompute(segment), data, (live, jax.tree.map(split, inputs)))
    return final, jax.tree.map(lambda y: y.reshape(count * size, *y.shape[2:])[:length], outs)


def segments(length: int) -> tuple[int, int]:
    """How many segments of which length: near sqrt(length), few steps beyond the end. 32 is 4 of 8, 7 is 2 of 4."""
    root = math.sqrt(length)
    counts = range(max(1, math.ceil(root / 2)), max(1, math.floor(2 * root)) + 1)
    sizes = {count: -(-length // count) for count in counts}
    return min(sizes.items(), key=lambda item: (item[0] * item[1] - length, abs(item[0] - root)))
