"""Large scenes beside MuJoCo C: humanoids in one world and free boxes on a plane, one JSON line per scene.

python benchmarks/scenes.py [--scenes humanoids:1,humanoids:22,boxes:300] [--worlds 1] [--steps 50] [--double]

Each scene runs in a process of its own, whose peak memory is that of load, trace, compilation and steps together.
Beside each time by the clock stands that of all threads together, which other programs on the machine change less.
"""

import argparse
import contextlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsim import models

SCENES = "humanoids:1,humanoids:3,humanoids:22,boxes:30,boxes:100,boxes:300,boxes:1000"


def humanoids(count: int) -> str:
    """The bundled humanoid so many times, two metres apart."""
    side = int(np.ceil(np.sqrt(count)))
    one = '<frame pos="{x} {y} 0"><attach model="humanoid" body="torso" prefix="h{i}_"/></frame>'
    many = "".join(one.format(i=i, x=2 * (i % side), y=2 * (i // side)) for i in range(count))
    return f"""
    <mujoco><option timestep="0.004"/>
      <asset><model name="humanoid" file="{models.path("humanoid")}"/></asset>
      <worldbody><geom type="plane" size="0 0 .5" friction="1 .02 .001"/>{many}</worldbody>
    </mujoco>"""


def boxes(count: int) -> str:
    """Free boxes of different sizes a little above a plane, in a square, near each other but not touching."""
    rng, side = np.random.default_rng(0), int(np.ceil(np.sqrt(count)))
    one = '<body pos="{x:.4f} {y:.4f} {z:.4f}"><freejoint/><geom type="box" size="{s}"/></body>'
    sizes = rng.uniform(0.03, 0.06, (count, 3))
    many = "".join(
        one.format(x=0.14 * (i % side), y=0.14 * (i // side), z=s[2] + 0.002, s=" ".join(f"{v:.4f}" for v in s))
        for i, s in enumerate(sizes)
    )
    return f'<mujoco><worldbody><geom type="plane" size="0 0 1"/>{many}</worldbody></mujoco>'


KINDS = {"humanoids": humanoids, "boxes": boxes}


def measure(scene: str, worlds: int, steps: int, double: bool) -> dict[str, Any]:
    """Times to load, trace and compile, of a step and world, and the peak of memory: see `main` for the units."""
    import jax
    import jax.numpy as jnp

    import jaxsim as js

    jax.config.update("jax_enable_x64", double)
    kind, count = scene.split(":")
    found: dict[str, Any] = {"scene": scene, "worlds": worlds}
    with _timed(found, "load"):
        model = js.load(KINDS[kind](int(count)))
    data, fun = js.make_data(model), js.step
    if worlds > 1:
        noise = 0.01 * np.random.default_rng(0).standard_normal((worlds, model.nv))
        data = jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *x.shape)), data)
        data, fun = data.replace(qvel=jnp.asarray(noise, data.qvel.dtype)), jax.vmap(js.step, (None, 0))
    with _timed(found, "trace"):
        lowered = jax.jit(fun, donate_argnums=1).lower(model, data)  # a step's memory serves the next, as in rollouts
    with _timed(found, "compile"):
        program = lowered.compile()
    times = []
    for _ in range(steps):
        one: dict[str, Any] = {}
        with _timed(one, "step"):
            data = jax.block_until_ready(program(model, data))
        times.append(one)
    for name in times[0]:
        found[f"{name[:-2]}_us"] = round(1e6 * statistics.median(x[name] for x in times) / worlds, 1)
    found |= {name: float(np.mean(getattr(data, name))) for name in ("ncon", "solver_niter", "solver_converged")}
    found |= {"nv": model.nv, "finite": bool(jnp.isfinite(data.qpos).all())}
    found["temp_mb"] = program.memory_analysis().temp_size_in_bytes / 1e6
    return found | {"peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


def beside(scene: str, steps: int) -> float:
    """Microseconds of its thread that a step of MuJoCo C takes, as it is by default."""
    import mujoco

    kind, count = scene.split(":")
    model = mujoco.MjModel.from_xml_string(KINDS[kind](int(count)))
    data, times = mujoco.MjData(model), []
    for _ in range(steps):
        start = time.process_time()
        mujoco.mj_step(model, data)
        times.append(time.process_time() - start)
    return round(1e6 * statistics.median(times), 1)


@contextlib.contextmanager
def _timed(found: dict[str, Any], name: str) -> Iterator[None]:
    """Write down what runs inside: NAME_s by the clock, NAME_cpu_s of all threads together."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    found[f"{name}_s"], found[f"{name}_cpu_s"] = time.perf_counter() - clock, time.process_time() - cpu


def main() -> None:
    """Measure each scene in a process of its own: seconds, microseconds a step and world, MB, GB."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", default=SCENES)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--here", action="store_true", help="measure one scene in this process")
    args = parser.parse_args()
    if args.here:
        found = measure(args.scenes, args.worlds, args.steps, args.double)
        print(json.dumps(found | {"mujoco_us": beside(args.scenes, args.steps)}))
        return
    rest = ["--worlds", str(args.worlds), "--steps", str(args.steps), "--here", *["--double"] * args.double]
    for scene in args.scenes.split(","):
        subprocess.run([sys.executable, __file__, "--scenes", scene, *rest], check=True)


if __name__ == "__main__":
    main()
