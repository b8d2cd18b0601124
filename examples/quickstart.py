"""The README's first lines as a script: many worlds, a player in HTML, and a gradient through contact.

python examples/quickstart.py [--worlds 64] [--out quickstart.html]

The gradient must agree with a central difference.
"""

import argparse

import jax
import numpy as np

import jaxsim as js
from jaxsim.viewer import Trajectory, write_player


def main() -> None:
    """Simulate, show, differentiate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--out", default="quickstart.html")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)  # for the central difference below; float32 otherwise
    model = js.load("hopper")
    start = js.make_data(model)

    keys = jax.random.split(jax.random.key(0), args.worlds)
    worlds = jax.vmap(lambda key: start.replace(qvel=0.3 * jax.random.normal(key, start.qvel.shape)))(keys)

    def fall(data: js.Data) -> tuple[js.Data, tuple[jax.Array, jax.Array]]:
        return js.rollout(model, data, length=250, outputs=lambda data: (data.xpos, data.xquat))

    final, (xpos, xquat) = jax.jit(jax.vmap(fall))(worlds)
    js.report(final)
    assert np.isfinite(final.qpos).all()
    shown = slice(0, min(args.worlds, 6))
    time = np.arange(xpos.shape[1]) * float(model.opt.timestep)
    clip = Trajectory(time, np.swapaxes(xpos[shown], 0, 1), np.swapaxes(xquat[shown], 0, 1))
    print("wrote", write_player(args.out, model, clip, title="hopper", body_names=model.topology.names["body"]))

    def distance(speed: jax.Array) -> jax.Array:
        thrown = start.replace(qvel=start.qvel.at[0].set(speed))
        return js.rollout(model, thrown, length=50)[0].qpos[0]

    value, gradient = jax.jit(jax.value_and_grad(distance))(0.5)
    further, less = (jax.jit(distance)(0.5 + step) for step in (1e-5, -1e-5))
    difference = (further - less) / 2e-5
    print(f"{value:.3f} m; a faster start changes it by {gradient:.9f} s, by a central difference {difference:.9f} s")
    assert abs(difference - gradient) < 1e-6


if __name__ == "__main__":
    main()
