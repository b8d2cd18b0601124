"""Pairs that the convex routine takes side by side: contacts beside MuJoCo's, derivatives, a world with nothing near."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batched

COUNT = 9


def _pile(rng):
    """Nine stones side by side in three layers, which makes 36 pairs."""
    corners = rng.normal(size=(10, 3))
    corners *= np.array([0.1, 0.08, 0.06]) / np.linalg.norm(corners, axis=1, keepdims=True)
    vertices = " ".join(f"{x:.6f}" for x in corners.ravel())
    bodies = "".join(
        f'<body pos="{0.14 * (i % 3)} 0 {0.09 * (i // 3) + 0.1}"><freejoint/><geom type="mesh" mesh="stone"/></body>'
        for i in range(COUNT)
    )
    return f"""<mujoco><option ccd_iterations="500" ccd_tolerance="1e-10"><flag multiccd="disable"/></option>
      <asset><mesh name="stone" vertex="{vertices}"/></asset><worldbody>{bodies}</worldbody></mujoco>"""


def test_blocks_of_stones(rng):
    xml = _pile(rng)
    reference = mujoco.MjModel.from_xml_string(xml)
    model = js.load(xml)
    data = js.make_data(model)

    def depths(qpos):
        """Sum over contacts weighted by their places, which shows each of them; and distances."""
        found = collide(model, kinematics(model, data.replace(qpos=qpos)))
        on = jax.lax.stop_gradient(found.dist < 0)
        dist, pos = jnp.where(on, found.dist, 0), jnp.where(on[:, None], found.pos, 0)
        return jnp.sum(dist) + jnp.sum(pos @ jnp.array([0.3, -0.2, 0.5])), found.dist

    def both(qpos, along):
        (value, dist), slope = jax.value_and_grad(batched(depths), has_aux=True)(qpos)
        return value, dist, slope, jax.jvp(lambda q: batched(depths)(q)[0], (qpos,), (along,))[1]

    qpos = data.qpos + 0.005 * jnp.asarray(rng.normal(size=data.qpos.shape))
    along, eps = jnp.asarray(rng.normal(size=qpos.shape)), 1e-6
    apart = data.qpos.at[::7].multiply(10.0).at[2::7].multiply(10.0)
    worlds = jnp.stack([qpos, qpos + eps * along, qpos - eps * along, apart])
    value, dist, slope, tangent = jax.jit(jax.vmap(both, in_axes=(0, None)))(worlds, along)

    expected = mujoco.MjData(reference)
    for world in (0, 3):
        expected.qpos = worlds[world]
        mujoco.mj_forward(reference, expected)
        ours = np.sort(dist[world][dist[world] < 0])
        np.testing.assert_allclose(ours, np.sort(expected.contact.dist), atol=1e-8)
    assert len(expected.contact.dist) == 0 and (dist[0] < 0).sum() >= 8
    difference = (value[1] - value[2]) / (2 * eps)
    np.testing.assert_allclose(tangent[0], difference, rtol=1e-6)
    np.testing.assert_allclose(slope[0] @ along, tangent[0], rtol=1e-11)
    assert not slope[3].any()


def test_smooth_shapes_beside_those_on_a_height_field():
    """Both kinds in one program: pairs with smooth sides, and prisms, which bring points of their own."""
    xml = """<mujoco><option ccd_iterations="500" ccd_tolerance="1e-12"><flag multiccd="disable"/></option>
      <asset><hfield name="field" nrow="4" ncol="4" size="1 1 .3 .1" elevation="0 1 2 1 1 0 1 2 2 1 0 1 1 2 1 0"/></asset>
      <worldbody><geom type="hfield" hfield="field"/>
      <body pos=".1 .05 .25" euler="20 30 10"><freejoint/><geom type="cylinder" size=".1 .15"/></body>
      <body pos=".2 .05 .4" euler="50 10 70"><freejoint/><geom type="ellipsoid" size=".1 .15 .2"/></body>
      <body pos=".1 .2 .4" euler="10 60 20"><freejoint/><geom type="box" size=".1 .12 .08"/></body>
      <body pos=".0 -.1 .35" euler="80 10 20"><freejoint/><geom type="capsule" size=".06 .2"/></body>
      </worldbody></mujoco>"""
    model, expected = js.load(xml), mujoco.MjData(reference := mujoco.MjModel.from_xml_string(xml))
    mujoco.mj_forward(reference, expected)
    found = jax.jit(batched(lambda d: collide(model, kinematics(model, d)).dist))(js.make_data(model))
    kinds = {tuple(sorted(reference.geom_type[c.geom])) for c in expected.contact}
    assert {(1, 5), (4, 5), (4, 6), (5, 6)} <= kinds
    np.testing.assert_allclose(np.sort(found[found < 0]), np.sort(expected.contact.dist), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_a_wheel_lies_nearly_flat_it_touches_within_itself(dtype, rng):
    """On its side or its rim on level ground, turned by ever less: to rounding which points are lowest is then open."""
    half, radius, turns = 0.3, 0.15, 200
    xml = f"""<mujoco><asset><hfield name="flat" nrow="5" ncol="5" size=".5 .5 .1 .1" elevation="{"1 " * 24} 0"/></asset>
      <worldbody><geom type="hfield" hfield="flat"/>
      <body><freejoint/><geom type="cylinder" size="{radius} {half}"/></body></worldbody></mujoco>"""
    with jax.enable_x64(dtype == np.float64):
        model = js.load(xml)
        data = js.make_data(model)
        tilt = Rotation.from_rotvec(rng.normal(size=(turns, 3)) * 10 ** -rng.uniform(1, 9, (turns, 1)))
        upright = rng.random(turns) < 0.5
        turned = tilt * Rotation.from_euler("y", np.where(upright, 0, np.pi / 2))
        pos = rng.choice([-0.25, -0.125, 0, 0.1], (turns, 3))
        pos[:, 2] = 0.1 + np.where(upright, half, radius) - 10 ** -rng.uniform(2, 5, turns)
        geoms = data.geom_xpos.at[1].set(0), data.geom_xmat.reshape(2, 3, 3)
        xpos = jnp.broadcast_to(geoms[0], (turns, 2, 3)).at[:, 1].set(pos.astype(dtype))
        xmat = jnp.broadcast_to(geoms[1], (turns, 2, 3, 3)).at[:, 1].set(turned.as_matrix().astype(dtype))
        at = batched(lambda p, r: collide(model, data.replace(geom_xpos=p, geom_xmat=r)))
        found = jax.jit(jax.vmap(at))(xpos, xmat)
        dist, point = np.asarray(found.dist), np.asarray(found.pos)
    on = dist < 0
    assert on.any(axis=1).all() and on.sum() > 4 * turns
    own = np.einsum("wji,wkj->wki", turned.as_matrix(), point - pos[:, None])
    beyond = np.maximum(np.linalg.norm(own[..., :2], axis=-1) - radius, np.abs(own[..., 2]) - half)
    assert beyond[on].max() < 1e-4  # the points of a tilted rim are as far apart as its depth is deep
    assert np.abs(point[on][:, 2] - 0.1).max() < 0.05
