"""MuJoCo's physics on JAX: batched, differentiable through contact."""

# the first import, so that a clash is explained before anything of it fails
from jaxsim import _guard  # isort: skip  # noqa: F401
from jaxsim import models
from jaxsim.checks.diagnose import Diagnosis, diagnose
from jaxsim.checks.room import budgets
from jaxsim.core.choose import reset, where
from jaxsim.core.data import Contact, Data, make_data, report, warnings_of
from jaxsim.core.enums import State
from jaxsim.core.extension import extend
from jaxsim.core.model import Model, Option
from jaxsim.core.state import get_state, set_state, state_size
from jaxsim.dynamics.position import differentiate_pos, integrate_pos
from jaxsim.interop import get_data, put_data, put_model
from jaxsim.load import load
from jaxsim.mjcf import MjcfError
from jaxsim.queries.constraint_rows import ConstraintRows, constraint_rows, contact_force
from jaxsim.queries.derivatives import inverse_jacobians, transition_jacobians
from jaxsim.queries.distance import geom_distance
from jaxsim.queries.jacobians import (
    apply_ft,
    jac,
    jac_body,
    jac_body_com,
    jac_dot,
    jac_geom,
    jac_site,
    jac_subtree_com,
)
from jaxsim.queries.mass_matrix import full_m, mul_m, solve_m
from jaxsim.queries.motion import object_acceleration, object_velocity
from jaxsim.queries.ray import ray
from jaxsim.queries.sensor_noise import sensor_noise
from jaxsim.rollout import rollout
from jaxsim.stages.set_const import set_const
from jaxsim.step import forward, inverse, step

__all__ = [
    "ConstraintRows",
    "Contact",
    "Data",
    "Diagnosis",
    "MjcfError",
    "Model",
    "Option",
    "State",
    "apply_ft",
    "budgets",
    "constraint_rows",
    "contact_force",
    "diagnose",
    "differentiate_pos",
    "extend",
    "forward",
    "full_m",
    "geom_distance",
    "get_data",
    "get_state",
    "integrate_pos",
    "inverse",
    "inverse_jacobians",
    "jac",
    "jac_body",
    "jac_body_com",
    "jac_dot",
    "jac_geom",
    "jac_site",
    "jac_subtree_com",
    "load",
    "make_data",
    "models",
    "mul_m",
    "object_acceleration",
    "object_velocity",
    "put_data",
    "put_model",
    "ray",
    "report",
    "reset",
    "rollout",
    "sensor_noise",
    "set_const",
    "set_state",
    "solve_m",
    "state_size",
    "step",
    "transition_jacobians",
    "warnings_of",
    "where",
]
