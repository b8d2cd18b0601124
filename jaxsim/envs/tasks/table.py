"""The tasks by name, one line for each."""

from difflib import get_close_matches
from typing import Any

from jaxsim.envs.environment import Environment
from jaxsim.envs.tasks import ant, arm, cart_pole, half_cheetah, hand, hopper, humanoid, peg, quadruped
from jaxsim.envs.tasks.own import is_own, own_class

TASKS: dict[str, type[Environment]] = {
    "ant_run": ant.Run,
    "arm_push": arm.Push,
    "arm_reach": arm.Reach,
    "cart_pole_balance": cart_pole.Balance,
    "cart_pole_swing_up": cart_pole.SwingUp,
    "half_cheetah_run": half_cheetah.Run,
    "hand_turn": hand.Turn,
    "hopper_hop": hopper.Hop,
    "humanoid_run": humanoid.Run,
    "humanoid_stand": humanoid.Stand,
    "humanoid_walk": humanoid.Walk,
    "peg_insert": peg.Insert,
    "quadruped_joystick": quadruped.Joystick,
    "quadruped_terrain": quadruped.Terrain,
}


def names() -> tuple[str, ...]:
    """Names of the tasks, sorted."""
    return tuple(sorted(TASKS))


def make(name: str, **changes: Any) -> Environment:
    """An environment of one world for a task.

    Args:
        name: one of `names()`, or a task of your own: `FILE.py:CLASS` or `MODULE:CLASS`.
        changes: other values for the task's `Constants`, such as weights of its reward, `n_substeps` or `iterations`.

    Raises:
        KeyError: there is no such task; the message names the closest ones.
        TypeError: the task has no such constant; the message names the closest ones.
    """
    return task_class(name)(**changes)


def task_class(name: str) -> type[Environment]:
    """The class of a task, by its name as `make` takes it.

    Raises:
        KeyError: there is no such task; the message names the closest ones.
    """
    if name in TASKS:
        return TASKS[name]
    if is_own(name):
        return own_class(name)
    close = get_close_matches(name, TASKS, 3, 0.5) or names()
    raise KeyError(f"no task is called {name!r}; closest: {', '.join(close)}")
