"""Derivatives through impacts, beside what they are known to be.

python benchmarks/contact_gradients.py [--skip cube]

Three tasks of arXiv 2207.05060, without gravity and friction: a ball of 0.1 m that bounces once, elastic; one that is
thrown so that it comes to a target by way of floor and wall, restitution 0.92; two balls, of which one is pushed so
that the other comes to rest nowhere but at the target. And the cube that DiffMJX (arXiv 2506.14186) tosses: how far it
gets aside, by the speed with which it falls, once with its contacts of a smoothed cube and once with MuJoCo's. Steps of
RK4 are all alike, or as long as an error allows, chosen beforehand. Each line has what came out and what is right.
Times are of processors, the least of five. Float64.
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import jaxsim as js
from jaxsim.collision.shape import Candidates, Shape, detected

Array = jax.Array
BALL = """<body name="{name}"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
<geom size="{radius}" mass="1"/></body>"""
TABLE = """<mujoco><option timestep="{h}" gravity="0 0 0"/><default><geom condim="1" {solver}/></default><worldbody>
{things}</worldbody></mujoco>"""
FLOOR, WALL = '<geom type="plane" size="9 9 1"/>', '<geom type="plane" size="9 9 1" pos="1.75 0 0" zaxis="-1 0 0"/>'
SPRING = 'solref="-20000 0" solimp=".99 .99 .001"'
CUBE = """<mujoco><option timestep="{h}" integrator="{integrator}" gravity="0 0 -2" tolerance="1e-12">
<flag refsafe="disable" eulerdamp="disable"/></option>
<default><geom solref=".005 1" solimp="0 .95 .001 .5 2"/></default><worldbody><geom type="plane" size="20 20 .1"/>
<body><freejoint/><geom type="box" size=".05 .05 .05" density="100" euler="60 0 0"/></body></worldbody></mujoco>"""
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
OPTIMUM = 1.396542160  # of two balls: min over speed and time of impact of a straight push, below


def hard(xml: str, restitution: float = 0.0, kappa: float = 1e-9) -> js.Model:
    """A model under the hard law, with derivatives of the very step."""
    model = js.load(xml, contact="hard")
    opt = model.opt.replace(restitution=restitution, kappa=kappa, kappa_gradient=kappa, tolerance=1e-12)
    return model.replace(opt=opt)


def table(steps: int, time: float, things: str, solver: str = "") -> str:
    """MJCF of what lies on the table."""
    return TABLE.format(h=time / steps, things=things, solver=solver)


def ended(model: js.Model, qpos: Array, qvel: Array, push: Array) -> js.Data:
    """After steps with the forces push [T, nv]."""

    def step(d: js.Data, force: Array) -> tuple[js.Data, Array]:
        d = js.step(model, d.replace(qfrc_applied=force))
        return d, d.solver_converged

    data, converged = jax.lax.scan(step, js.make_data(model).replace(qpos=qpos, qvel=qvel), push)
    return data.replace(solver_converged=jnp.all(converged))


def bounce_once(model: js.Model, steps: int = 480) -> tuple[float, np.ndarray]:
    """Height at the end, and its derivatives with x, z, their speeds, and the first step's force, x and z."""

    @jax.jit
    @jax.value_and_grad
    def height(x: Array) -> Array:
        push = jnp.zeros((steps, 2)).at[0].set(x[4:])
        return ended(model, x[:2], x[2:4], push).qpos[1]

    end, slopes = height(jnp.array([-1, 1, 2, -2, 0, 0.0]))
    return float(end), np.asarray(slopes)


def floor_and_wall(iterations: int = 200) -> dict:
    """The velocity that gradient descent finds from (5, -5)."""
    ball = BALL.format(name="ball", radius=0.1)
    model = hard(table(288, 0.6, FLOOR + WALL + ball), restitution=0.92)

    @jax.jit
    @jax.value_and_grad
    def miss(v: Array) -> Array:
        end = ended(model, jnp.array([-0.5, 1.0]), v, jnp.zeros((288, 2)))
        return jnp.sum((end.qpos - jnp.array([-2, 1.5])) ** 2)

    v = jnp.array([5.0, -5.0])
    first = miss(v)[1]
    for _ in range(iterations):
        v = v - 0.5 * miss(v)[1]
    return {"velocity": v.tolist(), "cost": float(miss(v)[0]), "first gradient": first.tolist()}


def two_balls() -> dict:
    """The cost of the best push that a search along gradients finds."""
    steps, h = 480, 1 / 480
    model = hard(table(steps, 1, "".join(BALL.format(name=n, radius=0.2) for n in "ab")), restitution=1.0)
    start = jnp.array([-2, -2, -1, -1.0])

    @jax.jit
    @jax.value_and_grad
    def cost(push: Array) -> Array:
        forces = jnp.concatenate([push, jnp.zeros((steps, 2))], axis=1)
        end = ended(model, start, jnp.zeros(4), forces)
        return jnp.sum(end.qpos[2:] ** 2) + 0.1 * h * jnp.sum(push * push)

    def flat(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = cost(jnp.asarray(x).reshape(steps, 2))
        return float(value), np.asarray(slope).ravel() / h  # of a function of time

    first = jnp.full((steps, 2), 3.0)
    found = minimize(flat, np.full(2 * steps, 3.0), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return {"first cost": float(cost(first)[0]), "cost": found.fun, "iterations": found.nit}


def lowest_point(plane: Shape, box: Shape, margin: Array) -> Candidates:
    """DiffMJX's contacts of a box and a plane at its softness of 0.1: four in one place, a mean of all corners."""

    def share(x: Array) -> Array:
        away = x - jnp.mean(x)
        return jax.nn.softmax(10 * jax.nn.sigmoid(away / jnp.sqrt(jnp.mean(away * away) + 1e-6)))

    normal = plane.mat[:, 2]
    corner = box.pos + jnp.sum((CORNERS * box.size)[:, None] * box.mat[None], axis=2)
    depth = jnp.sum((plane.pos - corner) * normal, axis=1)
    least = 0.1 * jax.nn.softplus(10 * (jnp.sum(share(depth) * depth) - 1e-3))
    weight = share(1e6 * jax.nn.sigmoid(10 * (depth - least)))
    dist = -jnp.sum(weight * depth)
    pos = jnp.sum(weight[:, None] * corner, axis=0) - 0.5 * dist * normal
    four = lambda x: jnp.broadcast_to(x, (4, *x.shape))  # noqa: E731
    return Candidates(detected(four(dist), margin), four(pos), four(normal), jnp.zeros((4, 3)))


def tossed(model: js.Model) -> js.Data:
    """The cube as it starts."""
    data = js.make_data(model)
    return data.replace(qpos=data.qpos.at[2].set(0.2), qvel=data.qvel.at[1].set(-0.1).at[2].set(-2.0))


def stepped(model: js.Model, d: js.Data, h: Array) -> js.Data:
    """After a step of h []."""
    return js.step(model.replace(opt=model.opt.replace(timestep=h)), d)


def timesteps(model: js.Model, d: js.Data, tolerance: float, most: int = 4000) -> Array:
    """[T] s that make a second: such that a step and two halves of it differ by the tolerance (m, or 100 times m/s)."""

    def attempt(state):
        d, t, h, taken, n = state
        h = jnp.minimum(h, 1 - t)
        once, twice = stepped(model, d, h), stepped(model, stepped(model, d, 0.5 * h), 0.5 * h)
        apart = jnp.concatenate([once.qpos - twice.qpos, 0.01 * (once.qvel - twice.qvel)])
        error = jnp.max(jnp.abs(apart)) / tolerance
        good = error <= 1
        d = jax.tree.map(lambda new, old: jnp.where(good, new, old), once, d)
        taken = taken.at[n].set(jnp.where(good, h, 0))
        return d, t + jnp.where(good, h, 0), h * jnp.clip(0.9 * error**-0.2, 0.2, 3), taken, n + good

    start = (d, 0.0, jnp.asarray(1e-3), jnp.zeros(most), 0)
    unfinished = lambda s: (s[1] < 1 - 1e-12) & (s[4] < most)  # noqa: E731
    *_, taken, n = jax.jit(lambda s: jax.lax.while_loop(unfinished, attempt, s))(start)
    return taken[: int(n)]


def toss(model: js.Model, h: Array) -> dict:
    """Way aside of the cube after steps of h [T], its derivative with the speed of its fall, and what both cost."""
    start = tossed(model)

    def aside(speed: Array) -> Array:
        begin = start.replace(qvel=start.qvel.at[2].set(speed))
        return jax.lax.scan(lambda d, h: (stepped(model, d, h), None), begin, h)[0].qpos[1]

    way, both = jax.jit(aside), jax.jit(jax.value_and_grad(aside))
    speed = jnp.asarray(-2.0)
    value, slope = both(speed)
    difference = (way(speed + 1e-6) - way(speed - 1e-6)) / 2e-6
    forward, backward = (min(_seconds(f, speed) for _ in range(5)) for f in (way, both))
    return {
        "steps": len(h),
        "loss": round(float(value), 6),
        "gradient": round(float(slope), 5),
        "differences": round(float(difference), 5),
        "forward s": round(forward, 4),
        "with gradient s": round(backward, 4),
        "ratio": round(backward / forward, 2),
    }


def _seconds(function, x: Array) -> float:
    """Processor time of a call."""
    start = time.process_time()
    jax.block_until_ready(function(x))
    return time.process_time() - start


def cubes() -> None:
    """Print the cube's lines."""
    right = {"DiffMJX's": (-0.301795, 0.17146), "MuJoCo's": (-0.260896, 0.5758)}  # MuJoCo C: RK4, 5e-6 s, +-1e-3 m/s
    for contacts, (loss, gradient) in right.items():
        colliders = {("plane", "box"): lowest_point} if contacts == "DiffMJX's" else None
        for h in (1e-3, 1e-4):
            model = js.load(CUBE.format(h=h, integrator="RK4"), colliders=colliders)
            line = toss(model, jnp.full(round(1 / h), h))
            show("cube, soft law", line | {"contacts": contacts, "h": h, "right": [loss, gradient]})
        for tolerance in (1e-6, 1e-7, 1e-8, 1e-9):
            line = toss(model, timesteps(model, tossed(model), tolerance))
            show("cube, soft law", line | {"contacts": contacts, "tolerance": tolerance, "right": [loss, gradient]})
    for h in (0.01, 0.005):
        line = toss(hard(CUBE.format(h=h, integrator="Euler"), kappa=1e-8), jnp.full(round(1 / h), h))
        show("cube, hard law", line | {"h": h})


def show(what: str, line: dict) -> None:
    """Print one line."""
    print(json.dumps({"task": what} | line), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skip", nargs="*", default=[], choices=["bounce", "wall", "balls", "cube"])
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if "bounce" not in args.skip:
        right = {"right height": 1.2, "right": [0, -1, 0, -1, 0, -1 / 480]}
        ball = BALL.format(name="ball", radius=0.1)
        for law, model in (
            ("hard", hard(table(480, 1, FLOOR + ball), restitution=1.0)),
            ("soft, a spring", js.load(table(480, 1, FLOOR + ball, SPRING))),
        ):
            height, slopes = bounce_once(model)
            show("bounce once", {"law": law, "height": height, "derivatives": slopes.round(6).tolist()} | right)
    if "wall" not in args.skip:
        right_x = (2.15 + 3.65 / 0.92) / 0.6
        show("floor and wall", floor_and_wall() | {"right": [right_x, -(0.9 + 1.4 / 0.92) / 0.6]})
    if "balls" not in args.skip:
        show("two balls", two_balls() | {"right": OPTIMUM})
    if "cube" not in args.skip:
        cubes()


if __name__ == "__main__":
    main()
