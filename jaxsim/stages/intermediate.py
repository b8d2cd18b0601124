"""What stages hand on to each other beside Data."""

from typing import Any, NamedTuple

import jax

from jaxsim.collision.slots import ContactSlots
from jaxsim.constraint.rows import Rows
from jaxsim.dynamics.com import Inertia

Array = jax.Array


class Intermediate(NamedTuple):
    """What later stages need of position and velocity and Data does not keep."""

    ten_J: Array  # [ntendon, nv]
    inertia: Inertia  # what qM is made of
    moment: Array  # [nout, nv]
    cdof_dot: Array  # [nv, 6]
    slots: ContactSlots | None  # None without candidate pairs
    rows: Rows
    sensed: Array | None = None  # [nsensordata] readings at this time, also of sensors that give them late
    found: Any = None  # what the solver found (see Solution)


class Accelerations(NamedTuple):
    """What one evaluation solves for; given to a later one at the same state, it is not solved for again."""

    smooth: Array  # qacc_smooth [nv]
    constrained: Any  # what the solver found: qacc [nv], where noslip or a solver for forces does not change it
