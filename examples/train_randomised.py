"""Train a swing-up on one cart-pole and on many different ones, and try both policies on poles of other weights.

python examples/train_randomised.py [--steps 1_000_000] [--out train_randomised]

Both trainings are those of configs/cart_pole_swing_up.yaml by PPO; in the second each world has a pole and a motor of
its own. Writes OUT.svg: what the policies gain with poles from half to three times the model's weight; and OUT.html, in
which the second one plays. It must swing up every pole, and the first one must not, or there was nothing to be won.
Needs what the extra `train` installs.
"""

import argparse
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from jax import lax
from picture import Curve, draw

import jaxsim as js
from jaxsim import envs

ROOT = Path(__file__).parents[1]
POLE, MOTOR = "body_mass,body_inertia:pole", "actuator_gear[0]:push"
VARIED = f'{{"{POLE}": {{scale: [0.5, 3]}}, "{MOTOR}": {{scale: [0.8, 1.25]}}}}'
WEIGHTS = np.linspace(0.5, 3, 6)  # of poles that are tried, relative to the model's
EPISODES = 32  # with each of them
# of 500: the least was 380 to 411 in four trainings on many that differed a little, 125 to 147 in those on one
SOLVED = 330


def trained(folder: Path, *options: str) -> envs.Policy:
    """The policy of a training, whose files go into a folder."""
    config = ["configs/cart_pole_swing_up.yaml", "--seed", "0", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "training.ppo", *config, *options], cwd=ROOT, check=True)
    return envs.load_policy(folder / "policy.zip")


@functools.partial(jax.jit, static_argnums=0)
def returns(policy: envs.Policy, factor: jax.Array) -> jax.Array:
    """What a policy gains in episodes [EPISODES] with a pole whose weight is the model's times a factor []."""
    env, length = policy.env, policy.env.episode_length
    pole = env.model.body("pole")
    heavy = env.model.set("body_mass", "pole", factor * pole.mass).set("body_inertia", "pole", factor * pole.inertia)
    model = js.set_const(heavy)

    def step(worlds: envs.State, _: None) -> tuple[envs.State, jax.Array]:
        worlds = jax.vmap(env.step, (0, 0, None))(worlds, policy.act(worlds.obs), model)
        return worlds, worlds.reward

    begun = jax.vmap(env.reset, (0, None))(jax.random.split(jax.random.key(1), EPISODES), model)
    return lax.scan(step, begun, length=length)[1].sum(0)


def main() -> None:
    """Train both, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", default="1_000_000", help="of each training")
    parser.add_argument("--out", default="train_randomised")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as runs:
        same = trained(Path(runs) / "same", "--steps", args.steps)
        varied = trained(Path(runs) / "varied", "--steps", args.steps, "--randomise", VARIED)
        shutil.copy(Path(runs) / "varied" / "policy.html", args.out + ".html")
    curves = {}
    for name, policy in (("trained on one pole", same), ("trained on many", varied)):
        gained = np.stack([returns(policy, np.float32(weight)) for weight in WEIGHTS])
        curves[name] = Curve(WEIGHTS, gained.min(1))
        print(f"{name}: least return with poles of {WEIGHTS} times the weight {gained.min(1).round()}")
    draw(
        Path(args.out + ".svg"), f"least return of {EPISODES} episodes", "weight of the pole (1 is the model's)", curves
    )
    one, many = (curve.y for curve in curves.values())
    assert many.min() > SOLVED > one.min()


if __name__ == "__main__":
    main()
