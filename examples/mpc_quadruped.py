"""Keep a quadruped standing that is pushed, by planning anew 25 times a second what its joints are to do.

python examples/mpc_quadruped.py [--out mpc_quadruped.svg]

The plans (MPPI, 0.24 s ahead) are made with the bundled model; the one that is pushed is a tenth heavier. Servos that
hold the pose of the keyframe are what it is compared with.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import Cost, mpc, mppi

SUBSTEPS, AHEAD, PLANS = 10, 6, 40  # 0.04 s, 0.24 s, 1.6 s
PUSH = np.array([0.0, 1.2, 0.0])  # m/s


def main() -> None:
    """Push it with and without plans, check, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="mpc_quadruped.svg")
    args = parser.parse_args()
    model = js.load("quadruped")
    heavier = js.set_const(model.replace(body_mass=1.1 * model.body_mass, body_inertia=1.1 * model.body_inertia))
    key = model.key("stand")
    stand = js.make_data(model).replace(qpos=jnp.asarray(key.qpos), ctrl=jnp.asarray(key.ctrl))
    pushed = stand.replace(qvel=stand.qvel.at[:3].set(jnp.asarray(PUSH)))

    def pose(data: js.Data) -> jax.Array:
        place, turn = data.qpos[:3] - stand.qpos[:3], data.qpos[4:7]
        return 20 * jnp.sum(place**2) + 20 * jnp.sum(turn**2) + 0.2 * jnp.sum(data.qvel[:6] ** 2)

    cost = Cost(lambda data, t: pose(data) + 0.1 * jnp.sum((data.ctrl - stand.ctrl) ** 2), lambda data: 5 * pose(data))

    def planner(data: js.Data, ctrl: jax.Array, key: jax.Array) -> jax.Array:
        return mppi(model, data, ctrl, cost, key, samples=64, noise=0.15, knots=3, iterations=2, substeps=SUBSTEPS).ctrl

    held = jnp.broadcast_to(stand.ctrl, (AHEAD, model.nu))
    controlled = jax.jit(
        lambda key: mpc(heavier, pushed, held, planner, key, length=PLANS, substeps=SUBSTEPS)[1]["qpos"]
    )
    begun = time.perf_counter()
    program = controlled.lower(jax.random.key(0)).compile()
    compiled = time.perf_counter()
    planned = np.asarray(program(jax.random.key(0)))
    print(f"{compiled - begun:.0f} s to compile, {(time.perf_counter() - compiled) / PLANS * 1e3:.0f} ms for each plan")
    servos = np.asarray(js.rollout(heavier, pushed, length=PLANS * SUBSTEPS)[1]["qpos"])[SUBSTEPS - 1 :: SUBSTEPS]
    seconds = 0.04 * np.arange(1, PLANS + 1)
    for name, path in (("servos", servos), ("plans", planned)):
        print(
            f"{name}: up to {np.abs(path[:, 1]).max():.3f} m aside, at last {path[-1, 1]:.3f} m, at {path[-1, 2]:.3f} m"
        )
    draw(
        Path(args.out),
        "how far the trunk is aside after a push of 1.2 m/s (m)",
        "time (s)",
        {"servos that hold the pose": Curve(seconds, servos[:, 1]), "plans": Curve(seconds, planned[:, 1])},
    )
    assert abs(planned[-1, 2] - 0.316) < 0.03 and np.abs(planned[-1, 4:7]).max() < 0.1
    assert abs(planned[-1, 1]) < 0.5 * abs(servos[-1, 1])


if __name__ == "__main__":
    main()
