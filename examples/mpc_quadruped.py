"""Keep a quadruped standing that is pushed, by planning anew 25 times a second what its joints are to do.

python examples/mpc_quadruped.py [--plans 40] [--samples 64] [--out mpc_quadruped.svg]

The plans (MPPI, 0.24 s ahead) are made with the bundled model, its solver stopped early; the one that is pushed is a
tenth heavier, and solved to the end. Servos that hold the pose of the keyframe are what it is compared with: by what
the way it goes costs (from 10 plans on) and by where it stands in the end (from 40 on).
"""

import argparse
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import Cost, mpc, mppi

SUBSTEPS, AHEAD = 10, 6  # 0.04 s, 0.24 s
PUSH = (0.0, 1.2, 0.0)  # m/s


def away(stand: js.Data, data: js.Data) -> jax.Array:
    """How far the trunk is from where it stood, how much it has turned and how fast it is, as one number."""
    place, turn = data.qpos[:3] - stand.qpos[:3], data.qpos[4:7]
    return 20 * jnp.sum(place**2) + 20 * jnp.sum(turn**2) + 0.2 * jnp.sum(data.qvel[:6] ** 2)


def main() -> None:
    """Push it with and without plans, check, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=40)
    parser.add_argument("--samples", type=int, default=64, help="rollouts for each plan")
    parser.add_argument("--out", default="mpc_quadruped.svg")
    args = parser.parse_args()
    model = js.load("quadruped")
    heavier = js.set_const(model.replace(body_mass=1.1 * model.body_mass, body_inertia=1.1 * model.body_inertia))
    stand = js.make_data(model, keyframe="stand")
    pushed = stand.replace(qvel=stand.qvel.at[:3].set(jnp.asarray(PUSH)))
    early = model.replace(opt=model.opt.replace(iterations=4, ls_iterations=8))
    cost = Cost(
        lambda data, t: away(stand, data) + 0.1 * jnp.sum((data.ctrl - stand.ctrl) ** 2),
        lambda data: 5 * away(stand, data),
    )
    shown = lambda data: {"place": data.qpos[:3], "turn": data.qpos[4:7], "away": away(stand, data)}  # noqa: E731
    held = jnp.broadcast_to(stand.ctrl, (AHEAD, model.nu))

    def planner(planning: jax.Array, data: js.Data, ctrl: jax.Array, key: jax.Array) -> jax.Array:
        settings = {"samples": args.samples, "noise": 0.15, "knots": 3, "iterations": 2, "substeps": SUBSTEPS}
        better = lambda: mppi(early, data, ctrl, cost, key, **settings).ctrl  # noqa: E731
        return lax.cond(planning, better, lambda: ctrl)

    @jax.jit
    def controlled(planning: jax.Array) -> dict[str, jax.Array]:
        chosen, key = partial(planner, planning), jax.random.key(0)
        return mpc(heavier, pushed, held, chosen, key, length=args.plans, substeps=SUBSTEPS, outputs=shown)[1]

    begun = time.perf_counter()
    program = controlled.lower(True).compile()
    print(f"{time.perf_counter() - begun:.0f} s to compile")
    paths = {}
    for name in ("servos", "plans"):
        begun = time.perf_counter()
        paths[name] = path = jax.tree.map(np.asarray, program(name == "plans"))
        took, (_, aside, height) = (time.perf_counter() - begun) / args.plans, path["place"].T
        tilt = np.degrees(2 * np.arcsin(np.linalg.norm(path["turn"], axis=1)))
        print(
            f"{name}: {took * 1e3:.0f} ms a control; up to {np.abs(aside).max():.3f} m aside, in the end "
            f"{aside[-1]:.3f} m, {height[-1]:.3f} m high and turned by {tilt[-1]:.0f} degrees; "
            f"cost {path['away'].mean():.3f}"
        )
    seconds = 0.04 * np.arange(1, args.plans + 1)
    curves = {name: Curve(seconds, path["place"][:, 1]) for name, path in paths.items()}
    draw(Path(args.out), "how far the trunk is aside after a push of 1.2 m/s (m)", "time (s)", curves)
    plans, servos = paths["plans"], paths["servos"]
    if args.plans >= 10:  # three plans save a quarter with four of five seeds only
        assert plans["away"].mean() < 0.5 * servos["away"].mean()
    if args.plans >= 40:
        assert plans["away"][-1] < 0.1 * servos["away"][-1]
        assert abs(plans["place"][-1, 2] - stand.qpos[2]) < 0.06  # servos yield to the weight: it stands lower


if __name__ == "__main__":
    main()
