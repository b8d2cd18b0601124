"""How tests are compiled: in little time, since most programs run once, or as users compile them."""

import jax
from jax._src import compiler

# XLA's older emitters make a kernel in a third of the time; the last version of JAX that we test has none
OLDER_EMITTERS = {"xla_cpu_use_fusion_emitters": False}
# cut into pieces for threads, a program takes a sixth more; and two workers keep two cores busy
WHOLE = {"xla_cpu_parallel_codegen_split_count": 1}

_options = compiler.get_compile_options


def in_little_time() -> None:
    """Compile without LLVM's optimisations, each program whole, and by the older emitters where there are any."""
    jax.config.update("jax_disable_most_optimizations", True)
    compiler.get_compile_options = _with(WHOLE | OLDER_EMITTERS if _has_older_emitters() else WHOLE)
    jax.clear_caches()


def as_users_do() -> None:
    """Compile by JAX's defaults."""
    jax.config.update("jax_disable_most_optimizations", False)
    compiler.get_compile_options = _options
    jax.clear_caches()


def _with(overrides: dict):
    def options_and_overrides(*args, **kwargs):
        options = _options(*args, **kwargs)
        options.env_option_overrides = [*options.env_option_overrides, *overrides.items()]
        return options

    return options_and_overrides


def _has_older_emitters() -> bool:
    try:
        jax.jit(lambda: 1.0, compiler_options=OLDER_EMITTERS).lower().compile()
    except jax.errors.JaxRuntimeError as error:
        assert "xla_cpu_use_fusion_emitters" in str(error), error
        return False
    return True
