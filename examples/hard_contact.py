"""One cube under both contact laws: thrown across the floor, dropped, and pushed up against its weight.

python examples/hard_contact.py [--out hard_contact]

Writes OUT.html, where soft and hard slide side by side, and OUT.svg: how the height after a push changes with the
force, for several kappa_gradient. The hard cube must stop where Coulomb says, without drift or creep, and never be in
the floor.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.viewer import Trajectory, write_player

SLIDING = """
<mujoco>
  <option timestep="0.01" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="0.25"/>
    <body name="cube" pos="-1.5 -0.5 0.5">
      <freejoint/><geom type="box" size="0.25 0.25 0.25" mass="1" friction="0.25" rgba="0.9 0.5 0.1 1"/>
    </body>
  </worldbody>
</mujoco>
"""
# a ball on a rail upwards: it leaves the floor where the force exceeds its weight
PUSHED = """
<mujoco>
  <option timestep="0.1"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 0.25"><joint type="slide" axis="0 0 1"/><geom size="0.25" mass="1" condim="1"/></body>
  </worldbody>
</mujoco>
"""
KAPPAS = (1e-3, 1e-4, 1e-5, 1e-6)
COLOURS = ("#d1495b", "#edae49", "#66a182", "#00798c")


def seen(data: js.Data) -> dict[str, jax.Array]:
    """What is recorded of each step."""
    return {"xpos": data.xpos, "xquat": data.xquat, "qpos": data.qpos, "dist": data.contact.dist}


def slide() -> dict[str, dict[str, jax.Array]]:
    """The cube thrown with (4, 0.8) m/s from 0.25 m above the floor, for 4 s, by law."""
    thrown = jax.jit(lambda model, data: js.rollout(model, data, length=400, outputs=seen)[1])
    models = {law: js.load(SLIDING, contact=law) for law in ("soft", "hard")}
    speed = jnp.array([4, 0.8, 0, 0, 0, 0])
    return {law: thrown(model, js.make_data(model).replace(qvel=speed)) for law, model in models.items()}


def show(found: dict[str, dict[str, jax.Array]], path: Path) -> None:
    """Both laws side by side."""
    xpos, xquat = (np.stack([way[name] for way in found.values()], axis=1) for name in ("xpos", "xquat"))
    clip = Trajectory(0.01 * np.arange(400), xpos, xquat, world_names=[*found])
    print("wrote", write_player(path, js.load(SLIDING), clip, title="soft and hard"))


def slopes(forces: jax.Array) -> dict[float, np.ndarray]:
    """Change of the height after one step with the force [n] (m/N), for each kappa_gradient."""
    model = js.load(PUSHED, contact="hard")

    def slope(force: jax.Array, kappa: jax.Array) -> jax.Array:
        here = model.replace(opt=model.opt.replace(kappa_gradient=kappa))
        start = js.make_data(here)
        return jax.grad(lambda f: js.step(here, start.replace(qfrc_applied=f[None])).qpos[0])(force)

    every = jax.jit(jax.vmap(jax.vmap(slope, (0, None)), (None, 0)))(forces, jnp.array(KAPPAS))
    return dict(zip(KAPPAS, np.asarray(every)))


def draw(forces: np.ndarray, curves: dict[float, np.ndarray], path: Path) -> None:
    """A plot of the slopes, as SVG."""
    x = 60 + 520 * (forces - forces[0]) / np.ptp(forces)
    lines = []
    for colour, (kappa, slope) in zip(COLOURS, curves.items()):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, 300 - 260 * slope / 0.01))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        label = 60 + 18 * len(lines)
        lines.append(f'<text x="70" y="{label}" fill="{colour}">kappa {kappa:.0e}</text>')
    weight = 60 + 520 * (9.81 - forces[0]) / np.ptp(forces)
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 340" font-family="sans-serif" font-size="13">'
        '<rect width="620" height="340" fill="white"/><path d="M60 30V300H590" fill="none" stroke="#444"/>'
        f'<path d="M{weight:.1f} 30V300" stroke="#bbb" stroke-dasharray="4"/>{"".join(lines)}'
        f'<text x="{weight - 20:.1f}" y="318">weight</text><text x="400" y="334">force on the ball (N)</text>'
        '<text x="60" y="20">change of its height after 0.1 s with the force (m/N)</text></svg>'
    )
    print("wrote", path)


def main() -> None:
    """Slide, push, check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="hard_contact")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    found = slide()
    along = np.array([4, 0.8]) / np.hypot(4, 0.8)
    for law, way in found.items():
        xy = np.asarray(way["qpos"])[:, :2] - [-1.5, -0.5]
        far, creep = xy[-1] @ along, np.abs(xy[-1] - xy[-100]).max()
        drift, depth = np.abs(xy @ [-along[1], along[0]]).max(), max(0.0, -float(way["dist"].min()))
        print(f"{law}: slid {far:.4f} m, {drift:.1e} m sideways, {creep:.1e} m in the last second, {depth:.1e} m deep")
        if law == "hard":
            assert abs(far - 3.4550) < 0.01 * 3.4550 and drift < 1e-4 and creep < 1e-6 and depth == 0
    show(found, Path(f"{args.out}.html"))
    forces = np.linspace(0, 20, 81)
    curves = slopes(jnp.asarray(forces))
    draw(forces, curves, Path(f"{args.out}.svg"))
    # far above its weight the ball is free, far below it is held; in between, a large kappa is smooth
    for kappa, slope in curves.items():
        assert abs(slope[-1] - 0.01) < 0.1 * 0.01 + kappa and slope[0] < 0.1 * 0.01 + kappa, (kappa, slope)


if __name__ == "__main__":
    main()
