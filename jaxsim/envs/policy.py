"""Policies in files: the network as a program that every machine can run, and the task whose observations it reads."""

import dataclasses
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from jaxsim.envs.environment import Environment
from jaxsim.envs.tasks.own import is_own
from jaxsim.envs.tasks.table import make

Array = jax.Array

FORMAT = 1
TASK, PROGRAM = "policy.json", "policy.bin"
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


@dataclasses.dataclass(frozen=True)
class Policy:
    """What acts in a task.

    Attributes:
        env: the task, one world.
        act: actions [B, action_size] in [-1, 1] for observations [B, observation_size].
    """

    env: Environment
    act: Callable[[Array], Array]


def save_policy(
    path: Path | str, act: Callable[[Array], Array], observation_size: int, task: str, constants: Mapping[str, Any]
) -> None:
    """Write a policy into a file.

    Args:
        path: of the file; it is complete or absent.
        act: actions [B, action_size] for observations [B, observation_size]; a JAX function in single precision, its
            weights are written with it.
        observation_size: of the task.
        task: its name, as `envs.make` takes it.
        constants: of the task, where they are not its defaults.
    """
    obs = jax.ShapeDtypeStruct(export.symbolic_shape(f"worlds, {observation_size}"), jnp.float32)
    program = export.export(jax.jit(act), platforms=PLATFORMS)(obs).serialize()
    part = Path(path).with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(TASK, json.dumps({"format": FORMAT, "task": task, "constants": dict(constants)}, indent=1))
        file.writestr(PROGRAM, bytes(program))
    part.replace(path)


def load_policy(path: Path | str, task: str | None = None) -> Policy:
    """Read a policy.

    Args:
        path: of the file.
        task: the name of its task, as `envs.make` takes it; by default the one that the file says. Where that is a
            class of your own it must be given, since a policy's file alone is no reason to run code.

    Raises:
        OSError: the file cannot be read.
        KeyError, TypeError: there is no task of the name that is given, or it lacks the constants that the file says.
        ValueError: it holds no policy, or one of another version, or of a task that must be given, or that sees or does
            another number of things.
    """
    try:
        with zipfile.ZipFile(path) as file:
            said, program = json.loads(file.read(TASK)), file.read(PROGRAM)
        if said["format"] != FORMAT:
            raise ValueError(f"{path} has format {said['format']}, expected {FORMAT}: written by another version")
        exported = export.deserialize(bytearray(program))
        written, constants = said["task"], said["constants"]
        if task is None and is_own(written):
            raise ValueError(
                f"{path} acts in {written}, a task of your own, whose code runs only where you name it: "
                f"load_policy(path, task={written!r}), or --task {written}"
            )
        env = make(written, **constants) if task is None else None
    except (zipfile.BadZipFile, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no policy that can be read here: {error}") from error
    env = env or make(task or written, **constants)
    fits = exported.in_avals[0].shape[-1], exported.out_avals[0].shape[-1]
    if fits != (env.observation_size, env.action_size):
        raise ValueError(
            f"{path} has {fits[0]} observed numbers and {fits[1]} actions; "
            f"{task or written} has {env.observation_size} and {env.action_size}"
        )
    act = jax.jit(lambda obs: exported.call(obs.astype(jnp.float32)).astype(obs.dtype))
    return Policy(env, act)
