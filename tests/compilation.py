"""How tests are compiled: in little time, since most programs run once, or as users compile them."""

import functools
import os

import jax
from jax._src import compiler

# XLA's older emitters make a kernel in a third of the time; the last version of JAX that we test has none
OLDER_EMITTERS = {"xla_cpu_use_fusion_emitters": False}
# cut into pieces for threads, a program takes a sixth more; and two workers keep two cores busy
WHOLE = {"xla_cpu_parallel_codegen_split_count": 1}

_options = compiler.get_compile_options


def compile_in_little_time() -> None:
    """Compile without LLVM's optimisations, each program whole, and by the older emitters where there are any."""
    _overrides()  # which compiles, and may not ask for itself
    _compile_with(_little_time, optimized=False)


def environment(optimized: bool = False) -> dict[str, str]:
    """Of a process that a test starts: compiles in little time, as here, or as users do."""
    if optimized:
        return os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    flags = [f"--{name}={str(value).lower()}" for name, value in _overrides().items()]
    return os.environ | {"XLA_FLAGS": " ".join([os.environ.get("XLA_FLAGS", ""), *flags])}


def compile_as_users_do() -> None:
    """Compile by JAX's defaults."""
    _compile_with(_options, optimized=True)


def _compile_with(options, optimized: bool) -> None:
    """Programs compiled the other way are forgotten."""
    if compiler.get_compile_options is not options:
        jax.config.update("jax_disable_most_optimizations", not optimized)
        compiler.get_compile_options = options
        jax.clear_caches()


def _little_time(*args, **kwargs):
    options = _options(*args, **kwargs)
    options.env_option_overrides = [*options.env_option_overrides, *_overrides().items()]
    return options


@functools.cache
def _overrides() -> dict:
    try:
        jax.jit(lambda: 1.0, compiler_options=OLDER_EMITTERS).lower().compile()
    except jax.errors.JaxRuntimeError as error:
        assert "xla_cpu_use_fusion_emitters" in str(error), error
        return WHOLE
    return WHOLE | OLDER_EMITTERS
