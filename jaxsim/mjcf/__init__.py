"""MJCF compiler (host only, numpy): files to a CompiledModel with MuJoCo's fields. Runs nothing of JAX."""

from jaxsim.mjcf.assembly.compile import compile_mjcf
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.errors import MjcfError, Problem

__all__ = ["CompiledModel", "MjcfError", "Problem", "compile_mjcf"]
