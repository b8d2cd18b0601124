"""Three formulations of hard contact, one answer: joint coordinates, maximal coordinates, and the exact law of 2012.

python benchmarks/laws_agree.py [--scenes 50]

Where nothing turns, their steps are the same equations, whatever the timestep: a cart, a leg and a foot on slides, on a
tilted floor, with limits, springs, dampers and friction. Where something turns, integrators differ by the timestep h,
maximal coordinates being those of a variational midpoint: so h goes to zero, and with it the gaps, which makes a step
an impact of a box and its hinged leg with several contacts at once. Each line is one of kappa and h: in how many scenes
all three converge, and the largest differences of velocities after a step (m/s, rad/s). Float64.
"""

import argparse
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim import maximal

FLOOR = '<geom type="plane" size="5 5 1" contype="1" conaffinity="0"/>'
DEFAULT = '<default><geom contype="0" conaffinity="1" condim="3"/></default>'
SLIDES = f"""<mujoco>{DEFAULT}<worldbody>{FLOOR}
<body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
<joint type="slide" axis="0 0 1"/>
<geom type="box" size=".1 .12 .1" mass="1"/>
<body pos=".2 0 -.05"><joint type="slide" axis=".6 0 .8" limited="true" range="-.04 .03" damping=".5" stiffness="20"/>
<geom size=".05" mass=".5"/>
<body pos=".1 .1 .01"><joint type="slide" axis="0 .6 -.8" limited="true" range="-.03 .03" damping=".2"/>
<geom size=".06" mass=".3" condim="1"/></body></body></body></worldbody></mujoco>"""
TURNING = f"""<mujoco>{DEFAULT}<worldbody>{FLOOR}<body pos="0 0 .1"><freejoint/>
<geom type="box" size=".1 .12 .1" mass="1"/>
<body pos=".15 0 0"><joint axis="0 1 0" damping=".1"/><geom size=".03" pos=".12 .02 -.07" mass=".4"/></body>
</body></worldbody></mujoco>"""


def sliding(model: js.Model, x: jax.Array, h: jax.Array) -> tuple[js.Model, jax.Array, jax.Array]:
    """Model, qpos and qvel of a random scene, of numbers x [24] from 0 to 1."""
    gravity = model.opt.gravity + 4 * (x[:3] - 0.5)
    lifts = jnp.array([0.2, 0.2, 0.02, 0.02, 0.02]) * (x[3:8] - jnp.array([0.5, 0.5, -0.9, 0.5, 0.5]))
    return _varied(model, h, x[18:], gravity), model.qpos0 + lifts, 6 * (x[8:13] - 0.5) - jnp.array([0, 0, 2.0, 0, 0])


def turning(model: js.Model, x: jax.Array, h: jax.Array) -> tuple[js.Model, jax.Array, jax.Array]:
    """The same of a scene in which everything touches at the same time, but for gaps that go with the timestep."""
    dofs = 0.5 * (x[:7] - 0.5)
    qpos = js.integrate_pos(model, model.qpos0, dofs.at[2].set(0.2 + 0.1 * x[2]), h)
    qvel = 4 * (x[7:14] - 0.5)
    return _varied(model, h, x[18:], model.opt.gravity), qpos, qvel.at[2].add(-1.5)


def _varied(model: js.Model, h: jax.Array, x: jax.Array, gravity: jax.Array) -> js.Model:
    """With friction and masses by numbers x [6] from 0 to 1."""
    friction = model.geom_friction.at[:, 0].set(0.1 + 0.5 * x[0])
    scale = jnp.concatenate([jnp.ones(1), 0.5 + x[1 : model.nbody]])
    return model.replace(
        opt=model.opt.replace(timestep=h, gravity=gravity, tolerance=1e-12),
        geom_friction=friction,
        body_mass=model.body_mass * scale,
        body_inertia=model.body_inertia * scale[:, None],
    )


def in_joint_coordinates(model: js.Model, qpos: jax.Array, qvel: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Velocities after a step [nv], and whether they were found."""
    end = js.step(model, js.make_data(model).replace(qpos=qpos, qvel=qvel))
    return end.qvel, end.solver_converged


def in_maximal_coordinates(model: js.Model, qpos: jax.Array, qvel: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same."""
    mechanism = maximal.from_model(model)
    end, _, how = maximal.stepped(mechanism, maximal.to_maximal(mechanism, qpos, qvel))
    return end.qvel, how.converged


def steps(xml: str, scene, scenes: int) -> dict:
    """By formulation, a function of kappa and timestep: velocities after a step of each scene, whether they were found,
    and velocities before it."""
    x = jnp.asarray(np.random.default_rng(0).uniform(size=(scenes, 24)))
    hard, exact = (js.load(xml, contact=law) for law in ("hard", "exact"))

    @functools.partial(jax.jit, static_argnums=0)
    def found(step, model: js.Model, kappa: jax.Array, h: jax.Array):
        def one(x: jax.Array):
            m, qpos, qvel = scene(model, x, h)
            return *step(m.replace(opt=m.opt.replace(kappa=kappa)), qpos, qvel), qvel

        return jax.vmap(one)(x)

    def of(model: js.Model, step):
        return lambda kappa, h: jax.tree.map(np.asarray, found(step, model, jnp.asarray(kappa), jnp.asarray(h)))

    return {
        "joint": of(hard, in_joint_coordinates),
        "exact": of(exact, in_joint_coordinates),
        "maximal": of(hard, in_maximal_coordinates),
    }


def compared(what: str, xml: str, scene, scenes: int, places: tuple[tuple[float, float], ...]) -> None:
    """Print a line for each (kappa / h, h)."""
    laws = steps(xml, scene, scenes)
    for relative, h in places:
        ends = {name: law(relative * h, h) for name, law in laws.items()}
        good = np.all([found for _, found, _ in ends.values()], axis=0)
        line = {"scenes": what, "kappa": float(f"{relative * h:.1g}"), "timestep": h, "of": scenes}
        line |= {f"{name} found": int(end[1].sum()) for name, end in ends.items()} | {"all found": int(good.sum())}
        for one, other in (("joint", "exact"), ("joint", "maximal"), ("maximal", "exact")):
            away = np.abs(ends[one][0] - ends[other][0])[good].max(initial=0)
            line[f"{one} from {other}"] = float(f"{away:.2g}")
        changes = np.abs(ends["exact"][0] - ends["exact"][2])[good].max(axis=1)
        print(json.dumps(line | {"changes, median": round(float(np.median(changes)), 2)}), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=50)
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    compared("slides", SLIDES, sliding, args.scenes, tuple((kappa, 0.01) for kappa in (1e-4, 1e-8, 1e-10)))
    compared("turning", TURNING, turning, args.scenes, tuple((1e-4, h) for h in (1e-2, 1e-3, 1e-4)))


if __name__ == "__main__":
    main()
