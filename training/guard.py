"""Stop where numbers are no longer finite, and say where they came from."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from training.checkpoint import Checkpoints
from training.sharing import SHARED

Array = jax.Array


class NotFinite(RuntimeError):
    """A training met numbers that are not finite; `str` of it is the report."""


@jax.jit
def _finite(tree: Any) -> Array:
    return jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves(tree)]).all()


def watched(state: Any) -> dict[str, Any]:
    """What must be finite by name: all of a state but the physics, which may hold infinite limits, and a replay."""
    worlds = state.worlds.state
    parts = {k: v for k, v in state._asdict().items() if k not in SHARED}
    named = parts | {"observations": worlds.obs, "rewards": worlds.reward, "positions": _positions(worlds.data)}
    flat = jax.tree_util.tree_flatten_with_path(named)[0]
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): leaf
        for path, leaf in flat
        if jnp.issubdtype(leaf.dtype, jnp.inexact)
    }


def check(env: Any, before: Any, after: Any, metrics: Mapping[str, float], iteration: int, folder: Path) -> None:
    """Raise NotFinite if an iteration gave numbers that are not finite.

    Args:
        env: the environment, whose model and Data are diagnosed.
        before: the state before the iteration: it is saved, and the iteration fails from there again.
        after: the state after it.
        metrics: of the iteration.
        iteration: its number.
        folder: of the run.
    """
    found = watched(after)
    if bool(_finite(found)) and all(map(np.isfinite, metrics.values())):
        return
    bad = [name for name, x in found.items() if not bool(jnp.isfinite(x).all())]
    bad += [name for name, x in metrics.items() if not np.isfinite(x)]
    place = folder / "not_finite"
    with contextlib.closing(Checkpoints(place)) as kept:
        kept.save(iteration - 1, _again(before, after))
    shown = ", ".join(bad[:6]) + (f", ... {len(bad) - 6} more" if len(bad) > 6 else "")
    raise NotFinite(
        f"iteration {iteration} gave numbers that are not finite: {shown}\n{_diagnosed(env, after)}\n"
        f"the state before that iteration, from which it fails again, is in {place}"
    )


def _again(before: Any, after: Any) -> Any:
    """The state before an iteration, whose replay the iteration took over: it will put the same steps into it again."""
    return before._replace(replay=after.replay) if "replay" in before._fields else before


def _positions(data: Any) -> Any:
    return data.qpos if isinstance(data, js.Data) else ()


def _diagnosed(env: Any, state: Any) -> str:
    data = state.worlds.state.data
    if not isinstance(data, js.Data):
        return "the environment has no physics of jaxsim to diagnose"
    if not data.qpos.is_fully_addressable:
        return "physics: on several hosts; continue on one from the state below to see it diagnosed"
    return f"physics: {js.diagnose(env.model, data)}"
