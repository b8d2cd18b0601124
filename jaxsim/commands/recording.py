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
from jaxsim.core.choose import where
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.envs.policy import Policy
from jaxsim.queries.constraint_rows import contact_force
from jaxsim.step import forward, step

Array = jax.Array

# random controls: an Ornstein-Uhlenbeck process with this time constant [s] and share of the half range
CORRELATION_TIME, AMPLITUDE = 0.15, 0.5

SHOWN_CONTACTS = 200  # most contacts of a world that are recorded

FIELDS = ("time", "xpos", "xquat", "qpos", "qvel", "ctrl", "ncon", "solver_niter", "energy", "sensordata")


class State(NamedTuple):
    """What a chunk hands to the next."""

    data: Data  # of all worlds
    noise: Array  # of the controls [worlds, nu]
    key: Array
    info: dict[str, Any]  # of the policy's task, of all worlds
    taken: Array  # steps so far []


@dataclass
class Plan:
    """How to run.

    Attributes:
        worlds: number of worlds.
        steps: steps of each.
        stride: steps from one recorded frame to the next.
        shown: worlds to record, the first ones.
        random: random controls instead of those of the initial state.
        contacts: record where geoms touch.
        forces: record the contacts' forces too, which are solved for once more.
        policy: chooses the controls, in worlds that start as its task says.
        devices: how many to spread the worlds over, a divisor of their number.
        frames: recorded frames per chunk.
    """

    worlds: int
    steps: int
    stride: int
    shown: int
    random: bool
    devices: int = 1
    contacts: bool = False
    forces: bool = False
    policy: Policy | None = None
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
        shared = devices.shared(plan.devices)
        self._places = State(shared, self._whole, self._whole, shared, self._whole)  # type: ignore[arg-type]
        key = jax.random.key(seed)
        if plan.policy is None:
            batch, info = jax.tree.map(lambda x: jnp.broadcast_to(x, (plan.worlds, *x.shape)), data), {}
        else:
            batch, info = jax.jit(jax.vmap(plan.policy.env.start, (None, 0)))(model, jax.random.split(key, plan.worlds))
        parts = (batch, jnp.zeros((plan.worlds, model.nu), data.ctrl.dtype), key, info, jnp.int32(0))
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
        """What was recorded: each of FIELDS as [frames, shown worlds, ...], and `contact_` pos, normal, force."""
        return {name: np.concatenate([part[name] for part in self.recorded]) for name in self.recorded[0]}

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
        data, noise, info = state.data, state.noise, state.info
        if self.plan.random and model.nu:
            fade = jnp.exp(-model.opt.timestep / CORRELATION_TIME)
            fresh = jax.random.normal(use, noise.shape, noise.dtype)
            noise = fade * noise + jnp.sqrt(1 - fade**2) * fresh
            ctrl = jax.vmap(within_range, (None, 0))(model, AMPLITUDE * noise)
            data = data.replace(ctrl=lax.with_sharding_constraint(ctrl, self._whole))
        if self.plan.policy:
            ctrl, info = self._act(self.plan.policy, model, state)
            data = data.replace(ctrl=ctrl)
        data = devices.vmap(step, (None, 0), self.plan.devices)(model, data)
        return State(data, noise, key, info, state.taken + 1)

    def _act(self, policy: Policy, model: Model, state: State) -> tuple[Array, dict[str, Any]]:
        """Controls [worlds, nu] and info; both stay as they are until the task's next action is due."""
        env = policy.env

        def see(model, data, info, first):
            info = where(first, info, {**info, **env.advance(model, data, info)})
            return env.observe(model, data, info), info

        def choose():
            obs, info = share(see, (None, 0, 0, None))(model, state.data, state.info, state.taken == 0)
            return share(env.control, (None, 0, 0))(model, state.data, policy.act(obs)), info

        def share(fun, axes):
            return devices.vmap(fun, axes, self.plan.devices)

        return lax.cond(state.taken % env.n_substeps == 0, choose, lambda: (state.data.ctrl, state.info))

    def _observe(self, model: Model, data: Data) -> dict[str, Any]:
        """The recorded fields of the shown worlds; poses belong to the time before the step."""
        shown = {name: getattr(data, name)[: self.plan.shown] for name in FIELDS}
        shown["time"] -= model.opt.timestep
        if self.plan.contacts:
            first = jax.tree.map(lambda x: x[: self.plan.shown], data)
            shown |= jax.vmap(self._contacts, (None, 0))(model, first)
        return shown

    def _contacts(self, model: Model, data: Data) -> dict[str, Array]:
        """Where a world's first contacts are and, if asked for, the forces [N] on the second geoms, in its frame.

        A step leaves contacts where it began; where forces are asked for, both are those of where it ended.
        """
        data = forward(model, data) if self.plan.forces else data
        pos = data.contact.pos[:SHOWN_CONTACTS]
        frame = data.contact.frame[:SHOWN_CONTACTS].reshape(-1, 3, 3)
        seen = {"contact_pos": pos, "contact_normal": frame[:, 0], "ncon": data.ncon}
        if self.plan.forces:
            force = contact_force(model, data, jnp.arange(len(pos)))[:, :3]
            seen["contact_force"] = jnp.einsum("ki,kij->kj", force, frame)
        return seen


def within_range(model: Model, share: Array) -> Array:
    """Controls [nu] from shares -1 ... 1 of their range; unlimited controls take the share itself."""
    low, high = model.actuator_ctrlrange.T
    limited = np.asarray(model.actuator_ctrllimited, bool)
    middle, half = jnp.where(limited, (low + high) / 2, 0), jnp.where(limited, (high - low) / 2, 1)
    return middle + half * jnp.clip(share, -1, 1)
