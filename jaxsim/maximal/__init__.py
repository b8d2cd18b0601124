"""Maximal coordinates: links on SE(3), held together by joints, by the variational integrator of Dojo.

For the same Models as `js.step`: `from_model`, then `to_maximal` and `step`.
"""

from jaxsim.maximal.conversion import to_maximal, to_minimal
from jaxsim.maximal.equations import Unknowns, residual
from jaxsim.maximal.forces import Forces
from jaxsim.maximal.invariants import clearance, energy, momentum, violation
from jaxsim.maximal.mechanism import Mechanism, State, from_model
from jaxsim.maximal.step import rollout, step, stepped
from jaxsim.maximal.structure import prototype

__all__ = [
    "Forces",
    "Mechanism",
    "State",
    "Unknowns",
    "clearance",
    "energy",
    "from_model",
    "momentum",
    "prototype",
    "residual",
    "rollout",
    "step",
    "stepped",
    "to_maximal",
    "to_minimal",
    "violation",
]
