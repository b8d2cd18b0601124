"""What stages hand on to each other beside Data."""

from typing import Any, NamedTuple

import jax

from jaxsim.algebra.blocks import Matrix, dense
from jaxsim.collision.slots import ContactSlots
from jaxsim.constraint.rows import Rows
from jaxsim.core.data import Data
from jaxsim.dynamics.com import Inertia
from jaxsim.dynamics.kinematics import Poses, poses_of

Array = jax.Array


class Intermediate(NamedTuple):
    """What later stages need of position and velocity and Data does not keep."""

    ten_J: Array  # [ntendon, nv]
    mass: Matrix  # qM [nv, nv], tree by tree where trees are many
    inertia: Inertia  # what qM is made of
    moment: Array  # [nout, nv]
    cdof_dot: Array  # [nv, 6]
    slots: ContactSlots | None  # None without candidate pairs
    rows: Rows
    sensed: Array | None = None  # [nsensordata] readings at this time, also of sensors that give them late
    found: Any = None  # what the solver found (see Solution)
    mean: Array | None = None  # [nv] velocity by which positions move, where not by that of the step's end
    metric: Any = None  # of the integrator discrete (see Metric)


class Found(NamedTuple):
    """What one evaluation found; given to a later one at the same state, it is not sought again."""

    poses: Poses
    smooth: Array  # qacc_smooth [nv]
    constrained: Any  # what the solver found: qacc [nv], where noslip or a solver for forces does not change it


def found_in(d: Data, mid: Intermediate) -> Found:
    """What the evaluation found that left these."""
    return Found(poses_of(d), d.qacc_smooth, mid.found)


def whole(d: Data) -> Data:
    """With all of qM [nv, nv], of which stages have blocks where trees are many."""
    return d.replace(qM=dense(d.qM))
