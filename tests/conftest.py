"""Settings of every test: float64, strict promotion, a compilation cache; and the models to test on."""

import gc
import os
from pathlib import Path

import compilation
import jax
import numpy as np
import oracle
import pytest

from jaxsim import models as bundled

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)  # for what shares worlds between devices; all else uses the first
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".jax_cache"))
# the processes that tests start; for more of the same see `compilation.environment`
os.environ.update(JAX_DISABLE_MOST_OPTIMIZATIONS="1", JAX_COMPILATION_CACHE_DIR=str(ROOT / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
compilation.compile_in_little_time()  # but for what asks to be `optimized`
gc.set_threshold(50_000, 10, 2)  # tracing makes so many objects that Python's 700 cost a tenth of the time

GYMNASIUM = ("ant", "half_cheetah", "hopper", "walker2d_v5", "humanoid", "inverted_double_pendulum")
DM_CONTROL = ("cartpole", "cheetah", "walker", "hopper", "humanoid", "acrobot", "pendulum", "reacher")
CORPUS_MODELS = (
    "mujoco_humanoid/humanoid.xml",
    "mjx_humanoid_pairs/humanoid.xml",
    "gym_ant/ant.xml",
    "gym_half_cheetah/half_cheetah.xml",
    "gym_hopper/hopper.xml",
    "dmc_cheetah/cheetah.xml",
    "dmc_walker/walker.xml",
    "dmc_hopper/hopper.xml",
    "dmc_humanoid/humanoid.xml",
)


def _package_file(package: str, *parts: str) -> Path | None:
    """A file of an installed package, found without importing it."""
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]).joinpath(*parts)


def model_files() -> list:
    """A pytest parameter per model: (path or None, why there is none)."""
    params = [pytest.param(bundled.path(n), id=n) for n in bundled.names()]
    for name in GYMNASIUM:
        file = _package_file("gymnasium", "envs", "mujoco", "assets", f"{name}.xml")
        params.append(_param(file, f"gymnasium-{name}", "gymnasium is not installed"))
    for name in DM_CONTROL:
        file = _package_file("dm_control", "suite", f"{name}.xml")
        params.append(_param(file, f"dm_control-{name}", "dm_control is not installed"))
    known = {param.values[0].read_bytes() for param in params if not param.marks}
    for name in CORPUS_MODELS:
        file = CORPUS / name
        if not file.exists() or file.read_bytes() not in known:  # the same file is not tested twice
            params.append(_param(file, name.split("/")[0], f"no corpus in {CORPUS}"))
    return params


def _param(file: Path | None, name: str, why: str):
    missing = file is None or not file.exists()
    return pytest.param(file, id=name, marks=[pytest.mark.skip(reason=why)] if missing else [])


def pytest_generate_tests(metafunc):
    if "models" in metafunc.fixturenames:
        metafunc.parametrize("models", model_files(), indirect=True, scope="session")


@pytest.fixture(scope="session")
def models(request) -> oracle.Pair:
    """Each model of the bundled ones, of gymnasium, dm_control and the corpus, in MuJoCo and here."""
    return oracle.pair_of_file(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


MOST_MAPPINGS = 25_000  # of memory, of the 65,530 that Linux allows a process


@pytest.fixture(autouse=True)
def few_programs():
    """Forget compiled programs when there are many: XLA maps each of their kernels apart, and dies at the limit."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and len(mappings.read_bytes().splitlines()) > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def optimized():
    """Compile as users do, for what depends on how the optimiser rounds and for what runs many steps."""


def pytest_runtest_setup(item):
    """Compile each test as it asks; programs are forgotten only where the next test asks for another way."""
    if "optimized" in item.fixturenames:
        compilation.compile_as_users_do()
    else:
        compilation.compile_in_little_time()


@pytest.fixture
def float32():
    """Run a test in JAX's default precision."""
    with jax.enable_x64(False):
        yield
