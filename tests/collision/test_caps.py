"""A cylinder that stands on a box: which four corners of the polygon for its cap are its contacts."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js

RADIUS, HALF = 0.03, 0.035
CUP = f"""<mujoco><worldbody>
  <geom type="box" size=".7 .4 .4" pos="0 0 -.4"/>
  <body><freejoint/><geom type="cylinder" size="{RADIUS} {HALF}"/></body>
</worldbody></mujoco>"""
TILT, POSES = 1e-4, 12  # rad


def test_a_cup_stands_on_a_square():
    """Of a regular polygon many corners make quadrilaterals alike: ours is the largest, C's as rounding has it."""
    mj, model = mujoco.MjModel.from_xml_string(CUP), js.load(CUP)
    d, data = mujoco.MjData(mj), js.make_data(model)
    rng = np.random.default_rng(0)
    way = np.concatenate([rng.uniform(-0.1, 0.1, (POSES, 3)), TILT * rng.normal(size=(POSES, 3))], axis=1)
    way[:, 2] = HALF - 2e-4
    turned = np.concatenate([np.zeros((POSES, 5)), rng.uniform(-np.pi, np.pi, (POSES, 1))], axis=1)

    @jax.jit
    @jax.vmap
    def contacts(way, turned):
        qpos = js.integrate_pos(model, js.integrate_pos(model, data.qpos, turned, 1.0), way, 1.0)
        found = js.forward(model, data.replace(qpos=qpos))
        return qpos, found.ncon, found.contact.dist[:4], found.contact.pos[:4]

    for qpos, ncon, dist, pos in zip(*map(np.asarray, contacts(jnp.asarray(way), jnp.asarray(turned)))):
        d.qpos[:] = qpos
        mujoco.mj_forward(mj, d)
        assert ncon == d.ncon == 4
        np.testing.assert_allclose(dist[0], d.contact.dist[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(area(pos), 2 * RADIUS**2, rtol=1e-6)
        assert area(d.contact.pos) <= area(pos) * (1 + 1e-9)


def area(corner):
    """Of a quadrilateral [4, 3] on the floor, whose corners may have any order (m2)."""
    middle = (corner - corner.mean(0))[:, :2]
    a, b, c, d = middle[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    return 0.5 * abs(np.cross([*(c - a), 0], [*(d - b), 0])[2])
