"""The MJCF compiler: XML to arrays, on the host, without JAX."""

from jaxsim.mjcf.compile import compile_mjcf
from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.errors import MjcfError, Problem

__all__ = ["CompiledModel", "MjcfError", "Problem", "compile_mjcf"]
