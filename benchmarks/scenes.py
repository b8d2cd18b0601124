"""Large scenes beside MuJoCo C: humanoids in one world and free boxes on a plane, one JSON line per scene.

python benchmarks/scenes.py [--scenes humanoids:1,humanoids:22,boxes:300] [--worlds 1] [--steps 50] [--double]

Each scene runs in a process of its own, whose peak memory is that of load, trace, compilation and steps together.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
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
    """Seconds to load, trace and compile, microseconds per step and world, and the peak of memory in GB."""
    import jax
    import jax.numpy as jnp

    import jaxsim as js

    jax.config.update("jax_enable_x64", double)
    kind, count = scene.split(":")
    start = time.perf_counter()
    model = js.load(KINDS[kind](int(count)))
    found: dict[str, Any] = {"scene": scene, "worlds": worlds, "nv": model.nv, "load_s": _since(start)}
    data = js.make_data(model)
    fun = js.step
    if worlds > 1:
        noise = 0.01 * np.random.default_rng(0).standard_normal((worlds, model.nv))
        data = jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *x.shape)), data)
        data, fun = data.replace(qvel=jnp.asarray(noise, data.qvel.dtype)), jax.vmap(js.step, (None, 0))
    start = time.perf_counter()
    lowered = jax.jit(fun).lower(model, data)
    found["trace_s"], start = _since(start), time.perf_counter()
    program = lowered.compile()
    found["compile_s"] = _since(start)
    found["temp_mb"] = program.memory_analysis().temp_size_in_bytes / 1e6
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        data = jax.block_until_ready(program(model, data))
        times.append(time.perf_counter() - start)
    per_world = 1e6 * statistics.median(times) / worlds
    found |= {
        "step_us": per_world,
        "step_us_each": per_world / int(count),
        "finite": bool(jnp.isfinite(data.qpos).all()),
    }
    found |= {"niter": float(np.mean(data.solver_niter)), "ncon": float(np.mean(data.ncon))}
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return found


def beside(scene: str, steps: int) -> float:
    """Microseconds per step of MuJoCo C on one thread, as it is by default."""
    import mujoco

    kind, count = scene.split(":")
    model = mujoco.MjModel.from_xml_string(KINDS[kind](int(count)))
    data, times = mujoco.MjData(model), []
    for _ in range(steps):
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 2)


def main() -> None:
    """Measure each scene in a process of its own."""
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
