"""MuJoCo's physics on JAX: batched, differentiable through contact."""

from jaxsim.data import Contact, Data, get_state, make_data, report, reset, set_state, warnings_of
from jaxsim.derivatives import inverse_jacobians, transition_jacobians
from jaxsim.interop import get_data, put_data, put_model
from jaxsim.load import load
from jaxsim.mjcf import MjcfError
from jaxsim.model import Model, Option
from jaxsim.simulate import forward, inverse, rollout, step

__all__ = [
    "Contact",
    "Data",
    "MjcfError",
    "Model",
    "Option",
    "forward",
    "get_data",
    "get_state",
    "inverse",
    "inverse_jacobians",
    "load",
    "make_data",
    "put_data",
    "put_model",
    "report",
    "reset",
    "rollout",
    "set_state",
    "step",
    "transition_jacobians",
    "warnings_of",
]
