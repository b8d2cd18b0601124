"""Every interface of JAX that this project uses and that JAX does not document as stable.

Nothing else imports these. What each must do is held by
tests/layout/test_unstable.py, which fails loudly where a release of JAX changes a meaning; where the change would
only make programs slower, the test looks at the compiled program.

- `jax.extend.core`: making and running jaxprs, `Primitive`.
- `jax.interpreters`: rules of our own primitives, and removal of dead equations from a jaxpr.
- XLA metadata: `inlineable` and `xla_cpu_small_call`, which XLA's CPU compiler reads (see `world.py`).
- Pallas on Triton, deprecated since JAX 0.11: `triton` says whether it is there, and what uses it does without as well.
- Parameters of JAX's own primitives by name: `evaluate.INLINE`, and the rules in `control`, `elementwise`, `products`.
"""

import importlib
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType

import jax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Literal, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

__all__ = ["ClosedJaxpr", "Literal", "Primitive", "Zero", "jaxpr_as_fun", "set_xla_metadata"]

Zero = ad.Zero


def without_dead(closed: ClosedJaxpr, wanted: Sequence[bool], keep: bool | Sequence[bool] = False):
    """The part of a jaxpr that the wanted results need, and which of its inputs that part has.

    Args:
        closed: the jaxpr.
        wanted: for each result whether it stays.
        keep: inputs that stay even if nothing reads them.
    """
    part, used = pe.dce_jaxpr(closed.jaxpr, list(wanted), instantiate=keep)
    return ClosedJaxpr(part, closed.consts), tuple(used)


def rules(
    primitive: Primitive,
    *,
    abstract: Callable,
    impl: Callable,
    batch: Callable,
    cpu: Callable,
    default: Callable,
    cuda: Callable | None = None,
    jvp: Callable | None = None,
    transpose: Callable | None = None,
    dead: Callable | None = None,
) -> None:
    """Register the rules of a primitive.

    `cpu` is its program for a CPU, `cuda` that for NVIDIA's GPUs, if they have one of their own, and `default` that for
    other platforms.
    """
    primitive.def_impl(impl)
    primitive.def_abstract_eval(abstract)
    batching.primitive_batchers[primitive] = batch
    results = primitive.multiple_results
    mlir.register_lowering(primitive, mlir.lower_fun(default, multiple_results=results))
    mlir.register_lowering(primitive, mlir.lower_fun(cpu, multiple_results=results), platform="cpu")
    if cuda:
        mlir.register_lowering(primitive, _quiet(mlir.lower_fun(cuda, multiple_results=results)), platform="cuda")
    if jvp:
        ad.primitive_jvps[primitive] = jvp
    if transpose:
        ad.primitive_transposes[primitive] = transpose
    if dead:
        # JAX 0.12 gives the rule one argument more, before the equation
        pe.dce_rules[primitive] = lambda used, *rest: dead(tuple(used), rest[-1])


def _quiet(lowering: Callable) -> Callable:
    """Without the warning that Triton is deprecated: users can do nothing about it."""

    def lower(*args, **params):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The Pallas Triton backend", DeprecationWarning)
            return lowering(*args, **params)

    return lower


def triton(interpret: bool = False) -> tuple[ModuleType, ModuleType] | None:
    """Pallas and its module for Triton; None where JAX has it no longer, or has to know the GPU and does not.

    Programs to `interpret` need no GPU.
    """
    try:
        pallas, backend = (importlib.import_module(f"jax.experimental.pallas{x}") for x in ("", ".triton"))
    except ImportError:
        return None
    ask = getattr(backend, "get_gpu_info", None)
    try:
        return (pallas, backend) if interpret or ask is None or ask() else None
    except (ValueError, RuntimeError):
        return None


def zero_of(aval: jax.core.ShapedArray) -> ad.Zero:
    """The tangent that is zero by construction, of a value of this type."""
    return ad.Zero(aval.to_tangent_aval())


def is_linear_input(x) -> bool:
    """Whether an operand is what a transposition is with respect to."""
    return ad.is_undefined_primal(x)
