"""What every experiment has: a task, its worlds, how many steps, and how often results are kept."""

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from jaxsim import envs
from jaxsim.envs.tasks.own import is_own
from jaxsim.envs.tasks.table import task_class
from training import variants
from training.config import Found, about, nearest, setting


@dataclass(frozen=True)
class Task:
    """An environment by name, with some of its constants changed.

    Attributes:
        name: of the environment.
        changes: its constants by name; they stand beside the name in the file.
    """

    name: str = field(metadata=about("one of the tasks of jaxsim.envs, or FILE.py:CLASS or MODULE:CLASS"))
    changes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def fields_of(cls, found: Found, problems: list[str]) -> dict[str, Any] | None:
        """Constants and their types of the task that a file names; None if it names none that there is."""
        name = found.value.get("name") if isinstance(found.value, dict) else None
        if name is None or not isinstance(name.value, str):
            return None
        if not is_own(name.value) and name.value not in envs.names():
            problems.append(f"{name.where}: there is no task '{name.value}'{nearest(name.value, envs.names())}")
            return None
        try:
            return typing.get_type_hints(task_class(name.value).Constants)
        except KeyError as error:
            problems.append(f"{name.where}: {error.args[0]}")
            return None

    def make(self) -> Any:
        """The environment of one world."""
        return envs.make(self.name, **self.changes)


@dataclass(frozen=True)
class Experiment:
    """Settings of every algorithm."""

    by: ClassVar[str]  # name of the algorithm

    algorithm: str = field(metadata=about("ppo, shac, mage, ars, ags or cem"))
    env: Task = field(metadata=about("the task and its constants"))
    worlds: int = setting(1024, "worlds in parallel", least=1)
    steps: int = setting(1_000_000, "steps of the environment in all", least=1)
    episode_length: int = setting(0, "steps after which an episode is cut off; 0 takes the task's own", least=0)
    randomise: Mapping[str, variants.Change] = field(
        default_factory=dict, metadata=about("numbers of the model that differ from world to world, by name")
    )
    seed: int = setting(0, "of all random numbers", least=0, most=2**31 - 1)
    devices: int = setting(0, "that share the worlds: cores of a CPU, or GPUs; 0 takes all that can", least=0)
    checkpoint_seconds: float = setting(30.0, "between checkpoints (s)", least=0)
    report_seconds: float = setting(2.0, "between reports of progress (s)", least=0)
    tensorboard: bool = setting(True, "whether to write TensorBoard's events")

    @property
    def shares(self) -> int:
        """Parts into which the worlds can be divided."""
        return self.worlds

    def problems(self) -> list[str]:
        """What does not fit together."""
        try:
            found = variants.problems(self.env.make(), self.randomise)
        except (OSError, ValueError) as error:  # constants out of range, or a model that cannot be loaded
            found = [f"env: {error}"]
        if self.devices and self.shares % self.devices:
            found.append(f"worlds is {self.worlds}: {self.devices} devices cannot share {self.shares} parts equally")
        return found
