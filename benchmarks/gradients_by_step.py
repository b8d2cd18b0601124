"""How far central differences of a rollout are from its gradient, by their step: the table of README.

python benchmarks/gradients_by_step.py [--length 50]

Each control moves along a random direction; what is differentiated is where the first body ends (m). Double precision.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js

MODELS = ("hopper", "humanoid", "quadruped")
STEPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def main() -> None:
    """One row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=50, help="steps of the rollout")
    length = parser.parse_args().length
    jax.config.update("jax_enable_x64", True)
    print("| step of the difference |", " | ".join(f"{step:.0e}" for step in STEPS), "|")
    for name in MODELS:
        model, rng = js.load(name), np.random.default_rng(0)
        data = js.make_data(model, keyframe="stand" if name == "humanoid" else None)
        begin = 0.3 * rng.uniform(-1, 1, (length, model.nu))
        direction = jnp.asarray(rng.standard_normal((length, model.nu)))
        ctrl = jnp.broadcast_to(data.ctrl, direction.shape) if name == "quadruped" else jnp.asarray(begin)  # it stands

        def end(step: jax.Array, model=model, data=data, ctrl=ctrl, direction=direction) -> jax.Array:
            return js.rollout(model, data, ctrl + step * direction)[0].qpos[0]

        gradient, end = float(jax.jit(jax.grad(end))(0.0)), jax.jit(end)
        slopes = [float(end(step) - end(-step)) / (2 * step) for step in STEPS]
        print(f"| {name} |", " | ".join(f"{slope / gradient - 1:.1e}" for slope in slopes), "|", flush=True)


if __name__ == "__main__":
    main()
