"""The experiments of Dojo's paper, under the hard law in joint coordinates, float64.

python benchmarks/dojo_figures.py [drops convergence smoothing] [--models humanoid quadruped PATH ...]

drops: table II and figure 7. Each model, with dampers of 25 N m s/rad and springs of 1 N m/rad on its joints as the
paper's Atlas has them and nothing that drives it, falls for half a metre more than it stands above the floor, turned by
(0, 0.2, 0.1) rad, and lies. The least gap at steps of 0.1, 0.01 and 0.001 s; and how far the height of its base is from
that at 500 Hz, at 20 to 250 Hz: at most, and at the end. MuJoCo C beside it.

convergence: figures 9 and 10. What a single solve needs, along such a fall and from afar, until residual and
complementarity are within 1e-8, and the condition of the matrix of its end.

smoothing: figure 4. A cube is pushed aside or up, by about what it resists; the derivative of where the step ends, at
each kappa, beside that of the mean over forces with noise: as it is (by quadrature over the step at kappa = 1e-10) and
as 500 samples show it, by least squares (zeroth order) and by the mean of their derivatives (first order). Errors
are root mean squares over forces, relative to the derivative of a cube that nothing holds.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js
from jaxsim.core.enums import JointType
from jaxsim.solvers.impact_search import search
from jaxsim.solvers.impacts import impact_problem, start_of
from jaxsim.stages.forward import position_velocity, smooth_acceleration
from jaxsim.stages.hard import impact_of, settings_of

Array = jax.Array
DAMPER, SPRING = 25.0, 1.0
TURN, HEIGHT = np.array([0.0, 0.2, 0.1]), 0.5  # rad, m
TABLE, RATES = (0.1, 0.01, 0.001), (20, 50, 100, 250, 500)  # s; Hz
LASTS = 5.0  # s
CUBE = """<mujoco><option timestep="0.1" gravity="0 0 -1"/><worldbody><geom type="plane" size="5 5 1" friction=".5"/>
<body pos="0 0 .25"><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><joint axis="1 0 0"/>
<geom type="box" size=".25 .25 .25" mass="1" friction=".5"/></body></worldbody></mujoco>"""
PUSHES = {"friction": (0, 0.5), "impact": (1, 1.0)}  # along which slide, N that it resists
SAMPLES = 500


def robot(name: str) -> tuple[js.Model, js.Data]:
    """A model with such dampers and springs, and where it starts to fall."""
    model = js.load(name, contact="hard")
    joints = model.jnt_type[model.dof_jntid] != JointType.FREE
    hinges = model.jnt_type == JointType.HINGE
    model = model.replace(
        dof_damping=jnp.where(joints, DAMPER, 0), jnt_stiffness=jnp.where(hinges, SPRING, 0),
        dof_frictionloss=jnp.zeros(model.nv), opt=model.opt.replace(integrator="euler", kappa=1e-6, tolerance=1e-8),
    )  # fmt: skip
    data = js.make_data(model, keyframe=0) if model.nkey else js.make_data(model)
    turned = js.algebra.quaternion.mul(js.algebra.quaternion.exp(jnp.asarray(TURN)), data.qpos[3:7])
    return model, data.replace(qpos=data.qpos.at[3:7].set(turned).at[2].add(HEIGHT))


def fallen(model: js.Model, data: js.Data, h: float) -> tuple[np.ndarray, float, int]:
    """Height of the base after each step [steps], the least gap (m), and how many steps did not converge."""

    def step(d: js.Data, _) -> tuple[js.Data, tuple]:
        d = js.step(model.replace(opt=model.opt.replace(timestep=jnp.asarray(h))), d)
        return d, (d.qpos[2], jnp.min(d.contact.dist), d.solver_converged)

    _, (height, gap, converged) = jax.jit(lambda d: jax.lax.scan(step, d, length=round(LASTS / h)))(data)
    return np.asarray(height), float(gap.min()), int((~converged).sum())


def fallen_in_mujoco(name: str, qpos: np.ndarray, h: float) -> tuple[np.ndarray, float, int]:
    """The same by MuJoCo C: steps that warn of numbers too large are those that do not converge."""
    path = name if Path(name).exists() else str(js.models.path(name))
    m = mujoco.MjModel.from_xml_path(path)
    m.opt.integrator, m.opt.timestep, m.dof_frictionloss[:] = mujoco.mjtIntegrator.mjINT_EULER, h, 0
    m.dof_damping[:] = np.where(m.jnt_type[m.dof_jntid] != mujoco.mjtJoint.mjJNT_FREE, DAMPER, 0)
    m.jnt_stiffness[:] = np.where(m.jnt_type == mujoco.mjtJoint.mjJNT_HINGE, SPRING, 0)
    d, heights, gap = mujoco.MjData(m), [], np.inf
    d.qpos[:] = qpos
    for _ in range(round(LASTS / h)):
        mujoco.mj_step(m, d)
        heights.append(d.qpos[2])
        gap = min([gap, *d.contact.dist])
    return np.array(heights), gap, int(d.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)


def drops(name: str) -> None:
    """Print a line of table II and one of figure 7 for each of us and MuJoCo C."""
    model, data = robot(name)
    start = np.array(data.qpos)
    ways = {"hard": lambda h: fallen(model, data, h), "MuJoCo C": lambda h: fallen_in_mujoco(name, start, h)}
    for which, fall in ways.items():
        line = {"drop": Path(name).name, "by": which, "nv": model.nv}
        for h in TABLE:
            _, gap, failed = fall(h)
            line |= {f"least gap at {h} s, m": float(f"{gap:.3g}"), f"not converged at {h} s": failed}
        falls = {rate: fall(1 / rate)[0] for rate in RATES}
        fine = falls[RATES[-1]]
        for rate in RATES[:-1]:
            times = np.arange(1, len(falls[rate]) + 1) / rate
            away = np.abs(falls[rate] - np.interp(times, np.arange(1, len(fine) + 1) / RATES[-1], fine))
            line[f"from 500 Hz at {rate} Hz, m, at most and at the end"] = [
                float(f"{x:.2g}") for x in (away.max(), away[-1])
            ]
        print(json.dumps(line), flush=True)


def convergence(name: str) -> None:
    """Print a line for each kappa: iterations of single solves at 1e-8."""
    model, data = robot(name)
    model = model.replace(opt=model.opt.replace(timestep=jnp.asarray(0.01)))
    states = jax.jit(lambda d: js.rollout(model, d, length=200, outputs=lambda d: (d.qpos, d.qvel))[1])(data)

    def solved(kappa: Array, qpos: Array, qvel: Array) -> tuple:
        m = model.replace(opt=model.opt.replace(kappa=kappa))
        d, mid = smooth_acceleration(m, *position_velocity(m, data.replace(qpos=qpos, qvel=qvel)))
        form, t = impact_of(m, d, mid)
        free = d.qvel + m.opt.timestep * d.qacc_smooth
        settings = settings_of(m, free)._replace(tolerance=jnp.asarray(1e-8), accuracy=1e-8 / kappa)
        afar = start_of(form, t, free)
        w, how = search(form, t, afar, afar, settings, True)
        return how, jnp.linalg.cond(impact_problem(form).factor(t, w).A), jnp.sum(mid.slots.dist < 1e-3)

    every = jax.jit(jax.vmap(solved, (None, 0, 0)))
    for kappa in (1e-1, 1e-4, 1e-6, 1e-8):
        how, condition, touching = jax.tree.map(np.asarray, every(jnp.asarray(kappa), *states))
        touch, worst = touching > 0, lambda x: float(f"{x.max():.2g}")
        print(json.dumps({
            "convergence": Path(name).name, "kappa": kappa, "solves": len(touch), "with contact": int(touch.sum()),
            "iterations mean, 99 %, most": [round(float(how.iterations.mean()), 1),
                                            *np.percentile(how.iterations, [99, 100]).tolist()],
            "above 15": int((how.iterations > 15).sum()), "not converged": int((~how.converged).sum()),
            "residual": worst(how.residual), "complementarity": worst(how.complementarity),
            "condition": worst(condition),
        }), flush=True)  # fmt: skip


def smoothing() -> None:
    """Print, for friction and impact and each noise, the kappa whose derivative is nearest, and what samples give."""
    model, rng = js.load(CUBE, contact="hard"), np.random.default_rng(0)
    start, free = js.make_data(model), float(model.opt.timestep) ** 2  # m/N, of a kilogramme that nothing holds

    def around(forces: np.ndarray, along: Array, noise: np.ndarray) -> list[np.ndarray]:
        """Ends and derivatives at forces [n] with noise [n, samples], which nothing smooths."""
        found = push(jnp.asarray((forces[:, None] + noise).ravel()), along, jnp.asarray(1e-10))
        return [np.asarray(x).reshape(noise.shape) / free for x in found]

    def end(force: Array, along: Array, kappa: Array) -> Array:
        here = model.replace(opt=model.opt.replace(kappa=kappa, kappa_gradient=kappa, tolerance=1e-12))
        return js.step(here, start.replace(qfrc_applied=force * along)).qpos @ along

    push = jax.jit(jax.vmap(jax.value_and_grad(end), (0, None, None)))
    kappas, width = np.logspace(-8, -3, 41), np.linspace(-5, 5, SAMPLES)
    normal = np.exp(-(width**2) / 2) / np.exp(-(width**2) / 2).sum()
    for name, (which, resists) in PUSHES.items():
        along, forces = jnp.eye(3)[which], resists + np.linspace(-0.4, 0.4, 81)
        slopes = np.stack([push(jnp.asarray(forces), along, jnp.asarray(kappa))[1] for kappa in kappas]) / free

        for sigma in (0.1, 0.03, 0.01):
            noise = sigma * rng.standard_normal((len(forces), SAMPLES))
            exact = around(forces, along, np.broadcast_to(sigma * width, noise.shape))[1] @ normal
            ends, grads = around(forces, along, noise)
            zeroth = np.array([np.polyfit(x, y, 1)[0] for x, y in zip(noise, ends)])
            off, first, zeroth = (
                np.sqrt(((x - exact) ** 2).mean(axis=-1)) for x in (slopes, grads.mean(axis=1), zeroth)
            )
            print(json.dumps({
                "smoothing": name, "noise, N": sigma, "kappa": float(f"{kappas[off.argmin()]:.2g}"),
                "off": float(f"{off.min():.2g}"), f"{SAMPLES} samples, zeroth order": float(f"{zeroth:.2g}"),
                f"{SAMPLES} samples, first order": float(f"{first:.2g}"),
                "first order is as near with samples": round(SAMPLES * (first / off.min()) ** 2),
            }), flush=True)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["drops", "convergence", "smoothing"])
    parser.add_argument("--models", nargs="+", default=["humanoid", "quadruped"])
    args = parser.parse_args()
    if unknown := set(args.what) - {"drops", "convergence", "smoothing"}:
        parser.error(f"unknown: {', '.join(unknown)}; there are drops, convergence and smoothing")
    jax.config.update("jax_enable_x64", True)
    for what in args.what:
        if what == "smoothing":
            smoothing()
        else:
            for name in args.models:
                (drops if what == "drops" else convergence)(name)


if __name__ == "__main__":
    main()
