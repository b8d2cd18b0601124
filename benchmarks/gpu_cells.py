"""One row of `gpu.py`'s table: an engine, a model, what is measured, and several numbers of worlds.

Runs in a process of its own (`python gpu_cells.py TASK.json`), which `gpu.py` ends when its time is up. It compiles,
says so, measures when a line on its input tells it to, and prints one JSON line per number of worlds as soon as that
is measured.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from kernel_times import traced
from origins import kernel_name, origins

import jaxsim as js
from jaxsim.commands import throughput
from jaxsim.commands.info import rows as constraint_rows
from jaxsim.commands.throughput import Settings, Start
from jaxsim.solvers.linear import tiles

KERNELS = 60  # the longest are told of


def _model(name: str, path: Path, settings: Settings) -> Any:
    return js.load(path, contact="hard") if name == "jaxsim-hard" else throughput.load_for(path, settings)


def _engine(name: str, path: Path, settings: Settings) -> tuple[Any, Callable]:
    """Data of one world, and the step."""
    model = _model(name, path, settings)
    if name == "jaxsim-library":
        tiles.LARGEST = 0
    if name.startswith("jaxsim"):
        return js.make_data(model), lambda d: js.step(model, d)
    if name == "mjx":
        return throughput.mjx_engine(path, settings)
    contacts, rows = _sizes(model)
    return throughput.mjx_engine(path, settings, "warp", naconmax=settings.worlds * contacts, njmax=rows)


def _sizes(model: Any) -> tuple[int, int]:
    """Contacts and constraint rows of a world at most; Warp, which takes none for a default, is given one."""
    return max(1, model.nconmax), max(1, sum(constraint_rows(model).values()))


def _program(measure: str, name: str, path: Path, settings: Settings) -> tuple[Any, Callable, bool]:
    """Data of one world, a function of (batch, ctrl), and whether ctrl has its worlds first."""
    data, step_one = _engine(name, path, settings)
    if measure == "step":
        return data, throughput.rollout_of(step_one), False
    if measure == "call":
        return data, lambda batch, ctrl: jax.vmap(lambda d, u: step_one(d.replace(ctrl=u)))(batch, ctrl[0]), False
    model = _model(name, path, settings)
    if measure == "jacobians":
        return data, jax.vmap(lambda d, u: js.transition_jacobians(model, d.replace(ctrl=u[0]))), True

    def cost(ctrl: jax.Array, d: Any) -> jax.Array:
        if name.startswith("jaxsim"):
            return jnp.sum(js.rollout(model, d, ctrl)[0].qpos ** 2)
        return jnp.sum(lax.scan(lambda d, u: (step_one(d.replace(ctrl=u)), None), d, ctrl)[0].qpos ** 2)

    return data, jax.vmap(lambda d, u: jax.value_and_grad(cost)(u, d)), True


def _start(model: Any, worlds: int, steps: int) -> Start:
    """As `throughput.prepare` makes it, of zeros."""
    states = (jnp.zeros((worlds, n)) for n in (model.nq, model.nv, model.na))
    return Start(*states, jnp.zeros((steps, worlds, model.nu)))


def _arguments(data: Any, worlds_first: bool, start: Start) -> tuple[Any, jax.Array]:
    ctrl = jnp.asarray(start.ctrl, data.qpos.dtype)
    return throughput.batch_of(data, start), jnp.swapaxes(ctrl, 0, 1) if worlds_first else ctrl


def _of_worlds(start: Start, worlds: int) -> Start:
    return Start(start.qpos[:worlds], start.qvel[:worlds], start.act[:worlds], start.ctrl[:, :worlds])


def _compile(task: dict[str, Any], worlds: int, pool: ThreadPoolExecutor) -> dict[str, Any]:
    """The program of a number of worlds; XLA compiles it beside others of the row while Python traces the next."""
    settings = Settings(worlds=worlds, steps=task["steps"])
    path = Path(task["path"])
    data, fun, first = _program(task["measure"], task["engine"], path, settings)
    model = throughput.load_for(path, settings)

    def arguments(start: Start | None = None) -> tuple[Any, jax.Array]:
        some = _start(model, worlds, task["steps"]) if start is None else _of_worlds(start, worlds)
        return _arguments(data, first, some)

    begin = time.perf_counter()
    donated = (0,) if task["measure"] == "call" else ()
    lowered = jax.jit(fun, donate_argnums=donated).lower(*jax.eval_shape(arguments))
    trace = time.perf_counter() - begin

    def compiled() -> tuple[Any, float]:
        begin = time.perf_counter()
        return lowered.compile(), time.perf_counter() - begin

    return {"arguments": arguments, "trace_s": trace, "compiled": pool.submit(compiled)}


def _measure(task: dict[str, Any], program: dict[str, Any], start: Start, worlds: int) -> dict[str, Any]:
    compiled, seconds = program["compiled"].result()
    out = {"trace_s": program["trace_s"], "compile_s": seconds}
    arguments = list(program["arguments"](start))

    def run() -> Any:
        if task["measure"] != "call":
            return jax.block_until_ready(compiled(*arguments))
        for _ in range(task["steps"]):
            arguments[0] = compiled(*arguments)
        return jax.block_until_ready(arguments[0])

    results = [x for x in jax.tree.leaves(run()) if jnp.issubdtype(x.dtype, jnp.inexact)]
    finite = [jnp.isfinite(x).all() for x in results]
    steps = 1 if task["measure"] == "jacobians" else task["steps"]
    out["seconds"] = throughput.median_seconds(run, task["repeats"])
    out["per_s"] = worlds * steps / out["seconds"]
    out["mean"] = float(sum(jnp.mean(jnp.abs(x)) for x in results if x.size))  # by which engines can be compared
    out["finite"] = bool(jnp.stack(finite).all())
    out["temp_bytes"] = compiled.memory_analysis().temp_size_in_bytes / worlds
    out["peak_bytes"] = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    if worlds == task["profile"]:
        out |= _profile(run, compiled.as_text(), steps)
    return out


def _profile(run: Callable[[], Any], text: str, steps: int) -> dict[str, Any]:
    """Per step what ran on the device, and the longest kernels."""
    kernels, busy = traced(run)
    places = origins(text)
    longest = [
        {"name": k.name, "launches": k.launches / steps, "us": k.us / steps, "from": places.get(kernel_name(k.name))}
        for k in kernels[:KERNELS]
    ]
    total, count = sum(k.us for k in kernels), sum(k.launches for k in kernels)
    return {"busy": busy, "device_us": total / steps, "launches": count / steps, "kernels": longest}


def _measure_warp(task: dict[str, Any], start: Start, worlds: int) -> dict[str, Any]:
    """MuJoCo Warp by itself: a rollout as one CUDA graph, without JAX."""
    import warp as wp

    try:
        import mujoco_warp as mjw
    except ImportError:
        from mujoco.mjx.third_party import mujoco_warp as mjw

    wp.config.quiet = True
    path, settings = Path(task["path"]), Settings(worlds=worlds, steps=task["steps"])
    contacts, rows = _sizes(throughput.load_for(path, settings))
    reference = throughput.reference(path, settings)
    begin = time.perf_counter()
    model = mjw.put_model(reference)
    data = mjw.make_data(reference, nworld=worlds, nconmax=contacts, njmax=rows)
    some = _of_worlds(start, worlds)
    initial = {name: wp.array(getattr(some, name), dtype=float) for name in ("qpos", "qvel", "act")}
    initial |= {"qacc_warmstart": wp.zeros_like(data.qacc_warmstart), "time": wp.zeros_like(data.time)}
    controls = [wp.array(u, dtype=float) for u in some.ctrl]

    def rollout() -> None:
        for name, x in initial.items():
            wp.copy(getattr(data, name), x)
        for u in controls:
            wp.copy(data.ctrl, u)
            mjw.step(model, data)

    rollout()  # compiles its kernels, or finds them compiled on disk
    wp.synchronize()
    run = rollout
    if wp.get_device().is_cuda:
        with wp.ScopedCapture() as capture:
            rollout()
        run = lambda: wp.capture_launch(capture.graph)  # noqa: E731
    out = {"compile_s": time.perf_counter() - begin}
    out["seconds"] = throughput.median_seconds(lambda: (run(), wp.synchronize()), task["repeats"])
    out["per_s"] = worlds * task["steps"] / out["seconds"]
    out["finite"] = bool(np.isfinite(data.qpos.numpy()).all())
    return out


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return "does not fit in memory" if "RESOURCE_EXHAUSTED" in text or "out of memory" in text.lower() else text[:200]


def main() -> None:
    """Measure the numbers of worlds of a task, the smallest first."""
    task = json.loads(Path(sys.argv[1]).read_text())
    warp, programs, failed = task["engine"] == "warp", {}, {}
    with ThreadPoolExecutor(len(task["worlds"])) as pool:
        for worlds in [] if warp else task["worlds"]:
            try:
                programs[worlds] = _compile(task, worlds, pool)
            except Exception as error:  # of other packages: whatever it is, the cell tells it
                failed[worlds] = _said(error)
    print(json.dumps({"ready": True}), flush=True)
    if not sys.stdin.readline():
        return
    start = Start(**np.load(task["start"]))
    for worlds in task["worlds"]:
        try:
            if worlds in failed:
                result = {"error": failed[worlds]}
            elif warp:
                result = _measure_warp(task, start, worlds)
            else:
                result = _measure(task, programs.pop(worlds), start, worlds)
        except Exception as error:
            result = {"error": _said(error)}
        print(json.dumps({"worlds": worlds} | result), flush=True)


if __name__ == "__main__":
    main()
