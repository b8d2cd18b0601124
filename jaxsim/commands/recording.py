"""The loop of `jaxsim simulate`: many worlds in chunks of steps, a few of them recorded.

One compiled program advances any number of steps up to a chunk (the counts are traced), so that progress
can be shown between calls and nothing compiles twice. Within a chunk, each `stride`-th step is recorded.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim import devices
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.step import step

Array = jax.Array

# random controls: an Ornstein-Uhlenbeck process with this time constant [s] and share of the half range
CORRELATION_TIME, AMPLITUDE = 0.15, 0.5

FIELDS = ("time", "xpos", "xquat", "qpos", "qvel", "ctrl", "ncon", "solver_niter", "energy", "sensordata")


class State(NamedTuple):
    """What a chunk hands to the next: all worlds, the control noise [worlds, nu], the random key."""

    data: Data
    noise: Array
    key: Array


@dataclass
class Plan:
    """How to run.

    Attributes:
        worlds: number of worlds.
        steps: steps of each.
        stride: steps from one recorded frame to the next.
        shown: worlds to record, the first ones.
        random: random controls instead of those of the initial state.
        devices: how many to spread the worlds over, a divisor of their number.
        frames: recorded frames per chunk.
    """

    worlds: int
    steps: int
    stride: int
    shown: int
    random: bool
    devices: int = 1
    frames: int = field(init=False)

    def __post_init__(self):
        total = -(-self.steps // self.stride)
        # about forty reports of progress, and a buffer of at most 200 frames
        self.frames = max(1, min(200, -(-total // 40)))


class Runner:
    """A compiled simulation: `run` advances it, yielding the steps done after each chunk."""

    def __init__(self, model: Model, data: Data, plan: Plan, seed: int):
        # every device makes all the noise: the last bits of random numbers depend on the size of their array
        self._whole = devices.whole(plan.devices)
        self._places = State(devices.shared(plan.devices), self._whole, self._whole)  # type: ignore[arg-type]
        batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (plan.worlds, *x.shape)), data)
        parts = (batch, jnp.zeros((plan.worlds, model.nu), data.ctrl.dtype), jax.random.key(seed))
        self.model, self.plan = jax.device_put(model, self._whole), plan
        self.state = State(*map(jax.device_put, parts, self._places))
        self.recorded: list[dict[str, np.ndarray]] = []

    def trace(self) -> tuple[float, int]:
        """Trace the chunk: the seconds that it took, and how many operations there are to compile."""
        advance = jax.jit(self._advance, donate_argnums=1, out_shardings=(self._places, self._whole))
        start = time.perf_counter()
        self._lowered = advance.lower(self.model, self.state, jnp.int32(0))
        return time.perf_counter() - start, self._lowered.as_text().count(" = ")

    def compile(self) -> float:
        """Compile the chunk; the seconds that it took."""
        start = time.perf_counter()
        self._compiled = self._lowered.compile()
        return time.perf_counter() - start

    def run(self) -> Iterator[int]:
        """Advance to the end, a chunk at a time."""
        chunk = self.plan.frames * self.plan.stride
        for done in range(0, self.plan.steps, chunk):
            steps = min(chunk, self.plan.steps - done)
            self.state, frames = self._compiled(self.model, self.state, jnp.int32(steps))
            kept = -(-steps // self.plan.stride)
            self.recorded.append({name: np.asarray(values)[:kept] for name, values in frames.items()})
            yield done + steps

    def frames(self) -> dict[str, np.ndarray]:
        """What was recorded: each of FIELDS as [frames, shown worlds, ...]."""
        return {name: np.concatenate([part[name] for part in self.recorded]) for name in FIELDS}

    def _advance(self, model: Model, state: State, steps: Array) -> tuple[State, dict[str, Array]]:
        seen = jax.eval_shape(lambda s: self._observe(model, s.data), state)
        empty = jax.tree.map(lambda x: jnp.zeros((self.plan.frames, *x.shape), x.dtype), seen)

        def body(i, carry):
            state, frames = carry
            state = self._step(model, state)

            def keep(frames):
                frame = i // self.plan.stride
                return jax.tree.map(lambda b, x: b.at[frame].set(x), frames, self._observe(model, state.data))

            return state, lax.cond(i % self.plan.stride == 0, keep, lambda frames: frames, frames)

        return lax.fori_loop(0, steps, body, (state, empty))

    def _step(self, model: Model, state: State) -> State:
        key, use = jax.random.split(state.key)
        data, noise = state.data, state.noise
        if self.plan.random and model.nu:
            fade = jnp.exp(-model.opt.timestep / CORRELATION_TIME)
            fresh = jax.random.normal(use, noise.shape, noise.dtype)
            noise = fade * noise + jnp.sqrt(1 - fade**2) * fresh
            ctrl = jax.vmap(within_range, (None, 0))(model, AMPLITUDE * noise)
            data = data.replace(ctrl=lax.with_sharding_constraint(ctrl, self._whole))
        return State(devices.vmap(step, (None, 0), self.plan.devices)(model, data), noise, key)

    def _observe(self, model: Model, data: Data) -> dict[str, Any]:
        """The recorded fields of the shown worlds; poses belong to the time before the step."""
        shown = {name: getattr(data, name)[: self.plan.shown] for name in FIELDS}
        return shown | {"time": shown["time"] - model.opt.timestep}


def within_range(model: Model, share: Array) -> Array:
    """Controls [nu] from shares -1 ... 1 of their range; unlimited controls take the share itself."""
    low, high = model.actuator_ctrlrange.T
    limited = np.asarray(model.actuator_ctrllimited, bool)
    middle, half = jnp.where(limited, (low + high) / 2, 0), jnp.where(limited, (high - low) / 2, 1)
    return middle + half * jnp.clip(share, -1, 1)
