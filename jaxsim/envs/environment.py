"""What an environment is, and the base of those whose physics is one model."""

import abc
import dataclasses
import functools
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.core.enums import WarningType
from jaxsim.envs.state import State

Array = jax.Array

# the counts in data.warning that say that js.step had to start the world anew
INVALID = slice(WarningType.BADQPOS, WarningType.BADQACC + 1)


# constants that are options of a loaded model
OPTIONS = ("timestep", "iterations", "ls_iterations", "kappa", "kappa_gradient")


@dataclasses.dataclass(frozen=True)
class Constants:
    """What can be chosen of every task; tasks add their own. What is None is as in the model.

    Attributes:
        n_substeps: simulation steps for each action.
        timestep: of the simulation (s).
        iterations: most iterations of the constraint solver, which stops earlier where it has converged.
        ls_iterations: most iterations of its line search.
        contact: law of the contacts, soft or hard.
        kappa: of the hard law (N s m).
        kappa_gradient: of its derivatives (N s m).
    """

    n_substeps: int = 1
    timestep: float | None = None
    iterations: int | None = None
    ls_iterations: int | None = None
    contact: Literal["soft", "hard"] | None = None
    kappa: float | None = None
    kappa_gradient: float | None = None


class Environment(abc.ABC):
    """One world in which actions are taken and rewarded; `jax.vmap` makes it many.

    A subclass names a `model`, declares its numbers as a dataclass `Constants`, and says how an episode starts, what
    is seen and what is rewarded. `reset` and `step` are then pure functions. Actions lie in [-1, 1] and are scaled to
    the ranges of the controls. Both methods take another model of the same topology in place of their own, with other
    masses for example: `jax.vmap(env.step, in_axes=(0, 0, axes))`.

        class Reach(envs.Environment):
            source = "arm.xml"  # beside this file

            def start(self, model, key): return js.make_data(model, "ready"), {}
            def observe(self, model, data, info): return jnp.concatenate([data.qpos, data.qvel])
            def reward(self, model, before, data, action, info): return -data.qpos[0] ** 2, {}
    """

    source: ClassVar[str]  # of the model: what js.load takes; a file beside that of the class comes first
    Constants: ClassVar[type[Constants]] = Constants
    episode_length: ClassVar[int] = 1000  # steps after which `wrap` ends an episode

    def __init__(self, **changes: Any):
        self.constants: Any = _changed(type(self).__name__, self.Constants, changes)
        self.model = self.configured(js.load(_found(type(self)), contact=self.constants.contact))

    def configured(self, model: js.Model) -> js.Model:
        """A model with the options that the task's constants say."""
        options = {name: getattr(self.constants, name) for name in OPTIONS}
        return model.replace(opt=model.opt.replace(**{k: v for k, v in options.items() if v is not None}))

    @abc.abstractmethod
    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        """A new episode: its Data and its `info`, drawn with a key [].

        If `observe` reads derived fields, return `js.forward(model, data)`.
        """

    @abc.abstractmethod
    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        """The observation [observation_size] of a state.

        Positions and velocities are those after the step; derived fields (xpos, sensordata ...) those before its last
        substep, as after MuJoCo's mj_step.
        """

    @abc.abstractmethod
    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        """The reward [] of the step from `before` to `data` by an action [action_size], and terms [] worth plotting."""

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        """Whether [] the episode has come to its end in this state, by default never."""
        return jnp.zeros((), bool)

    def control(self, model: js.Model, data: js.Data, action: Array) -> Array:
        """The controls [nu] for an action [action_size]: its part in [-1, 1] of each control's range."""
        return scaled(model, action)

    def advance(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> dict[str, Any]:
        """What of `info` changes with a step to `data`: commands that are drawn anew, for example."""
        return {}

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State in which an episode starts, drawn with a key []."""
        model = self.model if model is None else model
        data, info = self.start(model, key)
        zero = jnp.zeros((), data.qpos.dtype)
        action = jnp.zeros(self.action_size, zero.dtype)
        shapes = jax.eval_shape(self.reward, model, data, data, action, info)[1]
        metrics = dict.fromkeys((*shapes, "invalid"), zero)
        return State(data, self.observe(model, data, info), zero, zero, metrics, info)

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after an action [action_size] was held for `n_substeps` steps.

        A world whose state becomes invalid is reset by `js.step` and counted in `data.warning`: here it ends its
        episode, with reward 0 and `metrics["invalid"]` 1.
        """
        model = self.model if model is None else model
        before = state.data
        data = _steps(model, before.replace(ctrl=self.control(model, before, action)), self.n_substeps)
        info = {**state.info, **self.advance(model, data, state.info)}
        reward, metrics = self.reward(model, before, data, action, info)
        invalid = (data.warning - before.warning)[INVALID].any()
        done = self.terminated(model, data, info) | invalid
        as_real = functools.partial(jnp.asarray, dtype=data.qpos.dtype)
        metrics = {**state.metrics, **jax.tree.map(as_real, metrics), "invalid": as_real(invalid)}
        reward = jnp.where(invalid, 0, as_real(reward))
        return state.replace(
            data=data,
            obs=self.observe(model, data, info),
            reward=reward,
            done=as_real(done),
            metrics=metrics,
            info=info,
        )

    @property
    def n_substeps(self) -> int:
        """Simulation steps for each action."""
        return self.constants.n_substeps

    @property
    def dt(self) -> float:
        """Time between actions (s)."""
        return float(self.model.opt.timestep) * self.n_substeps

    @property
    def action_size(self) -> int:
        """Number of controls."""
        return self.model.nu

    @functools.cached_property
    def observation_size(self) -> int:
        """Length of an observation."""
        return jax.eval_shape(self.reset, jax.random.key(0)).obs.shape[-1]

    @property
    def unwrapped(self) -> "Environment":
        """The environment itself, as wrappers have it inside."""
        return self


def _steps(model: js.Model, data: js.Data, count: int) -> js.Data:
    if count == 1:
        return js.step(model, data)
    return jax.lax.scan(lambda data, _: (js.step(model, data), None), data, length=count)[0]


def scaled(model: js.Model, action: Array) -> Array:
    """Controls [nu] at that part of their ranges which an action [nu] in [-1, 1] says; as they are where unlimited."""
    low, high = model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]
    action = jnp.asarray(action, low.dtype)
    within = low + 0.5 * (jnp.clip(action, -1, 1) + 1) * (high - low)
    return jnp.where(np.asarray(model.actuator_ctrllimited, bool), within, action)


def _found(task: type[Environment]) -> str | Path:
    """The source of a task's model: the file of that name beside the one that names it, if there is one."""
    owner = next((cls for cls in task.__mro__ if "source" in vars(cls)), None)
    if owner is None:
        raise TypeError(f"{task.__name__} names no model: it needs a `source`, which is what js.load takes")
    home = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if home and "<" not in str(task.source) and Path(task.source).suffix:  # neither text nor a bundled model
        beside = Path(home).resolve().parent / task.source
        if beside.is_file():
            return beside
    return task.source


def _changed(task: str, constants: type[Constants], changes: dict[str, Any]) -> Constants:
    """The constants of a task with some changed.

    Raises:
        TypeError: one is unknown; the message names the nearest. Or the class is no dataclass, whose defaults would
            not be those that it shows.
        ValueError: a number of steps or iterations is less than 1, or the time step not positive.
    """
    if "__dataclass_fields__" not in vars(constants) or not issubclass(constants, Constants):
        raise TypeError(
            f"Constants of {task} must derive from jaxsim.envs.Constants and have @dataclasses.dataclass(frozen=True)"
        )
    known = [field.name for field in dataclasses.fields(constants)]
    for name in changes:
        if name not in known:
            close = get_close_matches(name, known, 3, 0.5) or known
            raise TypeError(f"{task} has no constant {name!r}; closest: {', '.join(close)}")
    made = constants(**changes)
    for name in ("n_substeps", "iterations", "ls_iterations"):
        value = getattr(made, name)
        if value is not None and value < 1:
            raise ValueError(f"{task}: {name} is {value}; it must be at least 1")
    if made.timestep is not None and not made.timestep > 0:
        raise ValueError(f"{task}: timestep is {made.timestep}; it must be greater than 0")
    return made
