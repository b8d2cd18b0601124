"""Throughput, compile time and memory of jaxsim, MJX and MuJoCo C on one model, measured in one process.

All start from the same states and apply the same controls with the same solver settings (Newton), the JAX
engines in the precision that JAX has, MuJoCo C in float64 on all cores. Times are medians over repeats of
one compiled rollout of all worlds.
"""

import contextlib
import io
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim import devices
from jaxsim.core.data import make_data
from jaxsim.core.enums import Solver
from jaxsim.load import load
from jaxsim.step import step

Array = jax.Array
ENGINES = ("jaxsim", "mjx", "mujoco")


@dataclass
class Settings:
    """What to measure.

    Attributes:
        worlds: worlds per rollout.
        steps: steps per rollout.
        repeats: timed repeats, of which the median is reported.
        warmup: steps before measuring, so that the robots are in contact.
        control: standard deviation of the random controls, as a share of half their range.
        iterations: Newton iterations at most.
        ls_iterations: line search iterations at most.
        tolerance: at which the solver stops.
        seed: of states and controls.
        devices: how many share the worlds of the JAX engines.
    """

    worlds: int = 1024
    steps: int = 20
    repeats: int = 5
    warmup: int = 100
    control: float = 0.1
    iterations: int = 10
    ls_iterations: int = 20
    tolerance: float = 1e-6
    seed: int = 0
    devices: int = 1


@dataclass
class Start:
    """Where every engine starts: qpos, qvel and act of each world, and ctrl [steps, worlds, nu]."""

    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray


def load_for(path: Path, settings: Settings) -> Any:
    """Our Model with the solver settings of the benchmark."""
    model = load(path)
    opt = model.opt.replace(
        solver=Solver.NEWTON,
        iterations=settings.iterations,
        ls_iterations=settings.ls_iterations,
        tolerance=settings.tolerance,
    )
    return model.replace(opt=opt)


def prepare(model: Any, settings: Settings) -> Start:
    """States in contact, a little different in every world, and random controls."""
    rng = np.random.default_rng(settings.seed)
    ctrl = random_controls(model, settings, rng)
    data = make_data(model, 0 if model.nkey else None)
    warmup = jnp.asarray(ctrl[0, np.arange(settings.warmup) % settings.worlds], data.ctrl.dtype)
    data = lax.scan(lambda d, u: (step(model, d.replace(ctrl=u)), None), data, warmup)[0]
    qpos, qvel, act = (np.tile(np.asarray(x), (settings.worlds, 1)) for x in (data.qpos, data.qvel, data.act))
    return Start(qpos, qvel + 0.01 * rng.standard_normal(qvel.shape), act, ctrl)


def random_controls(model: Any, settings: Settings, rng: np.random.Generator) -> np.ndarray:
    """Normal controls about the middle of their range, [steps, worlds, nu]."""
    low, high = np.asarray(model.actuator_ctrlrange).reshape(-1, 2).T
    limited = np.asarray(model.actuator_ctrllimited, bool)
    middle, half = np.where(limited, (low + high) / 2, 0), np.where(limited, (high - low) / 2, 1)
    noise = rng.standard_normal((settings.steps, settings.worlds, model.nu))
    return middle + half * np.clip(settings.control * noise, -1, 1)


def give_mjx_threads(engines: list[str]) -> None:
    """Let XLA have at least four threads where MJX is measured; call before JAX's first computation.

    With JAX 0.10 on two threads MJX stops for ever in two batched Cholesky factorisations that wait for each
    other (each holds a thread while its pieces are queued). All engines of the run get the same setting.
    """
    if "mjx" in engines and (os.cpu_count() or 1) < 4:
        os.environ.setdefault("NPROC", "4")


def measure(path: Path, engine: str, start: Start, settings: Settings) -> dict[str, Any]:
    """Numbers of one engine; `error` instead where it cannot run the model.

    Returns:
        steps_per_s always; for the JAX engines trace_s, compile_s, equations (of one step's jaxpr),
        data_bytes and temp_bytes per world, and finite (share of worlds with a finite final state).
    """
    runners = {"jaxsim": _measure_jaxsim, "mjx": _measure_mjx, "mujoco": _measure_c}
    try:
        return runners[engine](path, start, settings)
    except ImportError as error:
        return {"error": f"not installed: {error.name}"}
    except (ValueError, NotImplementedError, RuntimeError) as error:
        return {"error": " ".join(str(error).split())[:200]}


def _measure_jaxsim(path: Path, start: Start, settings: Settings) -> dict[str, Any]:
    model = load_for(path, settings)
    return _measure_jax(make_data(model), lambda d: step(model, d), start, settings)


def _measure_mjx(path: Path, start: Start, settings: Settings) -> dict[str, Any]:
    return _measure_jax(*mjx_engine(path, settings), start, settings)


def mjx_engine(path: Path, settings: Settings, impl: str = "jax", **sizes: int) -> tuple[Any, Callable]:
    """MJX's Data of one world and its step, with the solver settings of the benchmark.

    Args:
        path: of the model.
        settings: of the solver.
        impl: "jax" or "warp".
        sizes: of Data, which impl "warp" takes: naconmax of all worlds together, njmax of each.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # it remarks on what else is not installed
        from mujoco import mjx

    model = reference(path, settings)
    theirs = mjx.put_model(model, impl=impl)
    return mjx.make_data(model, impl=impl, **sizes), lambda d: mjx.step(theirs, d)


def batch_of(data: Any, start: Start) -> Any:
    """`data`, of ours or of MJX, with the start of each world."""
    states = [jnp.asarray(x, data.qpos.dtype) for x in (start.qpos, start.qvel, start.act)]
    return jax.vmap(lambda q, v, a: data.replace(qpos=q, qvel=v, act=a))(*states)


def rollout_of(step_one: Callable, count: int = 1) -> Callable:
    """The rollout of a batch, (batch, ctrl [steps, worlds, nu]) -> batch, on so many devices."""

    def roll(batch, ctrl):
        advance = devices.vmap(lambda d, u: step_one(d.replace(ctrl=u)), (0, 0), count)
        return lax.scan(lambda d, u: (advance(d, u), None), batch, ctrl)[0]

    return roll


def _measure_jax(data: Any, step_one: Callable, start: Start, settings: Settings) -> dict[str, Any]:
    batch = jax.device_put(batch_of(data, start), devices.shared(settings.devices))
    ctrl = jax.device_put(jnp.asarray(start.ctrl, data.qpos.dtype), devices.whole(settings.devices))
    begin = time.perf_counter()
    lowered = jax.jit(rollout_of(step_one, settings.devices)).lower(batch, ctrl)
    traced = time.perf_counter()
    compiled = lowered.compile()
    done = time.perf_counter()
    final = compiled(batch, ctrl)
    seconds = median_seconds(lambda: jax.block_until_ready(compiled(batch, ctrl)), settings.repeats)
    memory = compiled.memory_analysis()
    return {
        "steps_per_s": settings.worlds * settings.steps / seconds,
        "trace_s": traced - begin,
        "compile_s": done - traced,
        "equations": count_equations(jax.make_jaxpr(step_one)(data).jaxpr),
        "data_bytes": sum(x.nbytes for x in jax.tree.leaves(batch)) / settings.worlds,
        "temp_bytes": memory.temp_size_in_bytes * settings.devices / settings.worlds if memory else None,
        "finite": float(jnp.isfinite(final.qpos).all(-1).mean()),
    }


def _measure_c(path: Path, start: Start, settings: Settings) -> dict[str, Any]:
    import mujoco
    from mujoco import rollout

    model = reference(path, settings)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    datas = [mujoco.MjData(model) for _ in range(threads)]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.zeros((settings.worlds, mujoco.mj_stateSize(model, full)))
    for i, state in enumerate(states):
        datas[0].qpos[:], datas[0].qvel[:], datas[0].act[:] = start.qpos[i], start.qvel[i], start.act[i]
        mujoco.mj_getState(model, datas[0], state, full)
    controls = np.ascontiguousarray(start.ctrl.transpose(1, 0, 2))
    with rollout.Rollout(nthread=threads) as pool:
        seconds = median_seconds(lambda: pool.rollout(model, datas, states, controls), settings.repeats)
    return {"steps_per_s": settings.worlds * settings.steps / seconds, "threads": threads}


def reference(path: Path, settings: Settings) -> Any:
    """MuJoCo's model with the solver settings of the benchmark."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.ls_iterations = settings.iterations, settings.ls_iterations
    model.opt.tolerance = settings.tolerance
    return model


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median over repeats of the seconds that a call takes, after one call that does not count."""
    call()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def count_equations(jaxpr: Any) -> int:
    """Equations of a jaxpr and of all jaxprs inside it: a measure of trace size."""
    total = 0
    for equation in jaxpr.eqns:
        total += 1
        for value in equation.params.values():
            for inner in value if isinstance(value, (list, tuple)) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                total += count_equations(inner) if hasattr(inner, "eqns") else 0
    return total
