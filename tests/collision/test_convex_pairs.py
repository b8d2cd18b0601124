"""Pairs that the convex routine takes side by side: contacts beside MuJoCo's, derivatives, a world with nothing near."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.collision.slots import pairs_of
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


WHEEL, BRICK = (0.15, 0.15, 0.3), (0.2, 0.3, 0.15)  # half of their sizes, m
CORNERS = " ".join(f"{0.2 * x} {0.3 * y} {0.15 * z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
LEVEL = f"""<mujoco><asset><mesh name="brick" vertex="{CORNERS}"/>
  <hfield name="flat" nrow="5" ncol="5" size=".5 .5 .1 .1" elevation="{"1 " * 24} 0"/></asset>
  <worldbody><geom type="hfield" hfield="flat"/><geom name="table" type="box" size=".2 .3 .1"/>
  <body><freejoint/><geom name="wheel" type="cylinder" size=".15 .3"/></body>
  <body><freejoint/><geom name="brick" type="box" size=".2 .3 .15"/></body>
  <body><freejoint/><geom name="meshed" type="mesh" mesh="brick"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_lies_nearly_flat_touches_within_itself(dtype, rng):
    """Wheels and bricks on level ground and a table, turned by ever less: which points are lowest is then rounding's."""
    turns = 150
    with jax.enable_x64(dtype == np.float64):
        model = js.load(LEVEL)
        data = js.make_data(model)
        table, wheel, brick, meshed = (model.ids("geom", x)[0] for x in ("table", "wheel", "brick", "meshed"))
        tilt = Rotation.from_rotvec(rng.normal(size=(turns, 3)) * 10 ** -rng.uniform(1, 9, (turns, 1)))
        quarter = np.pi / 2 * rng.integers(0, 4, (turns, 3))
        mat = (tilt * Rotation.from_euler("xyz", quarter)).as_matrix()
        upright = Rotation.from_euler("xyz", quarter).as_matrix()
        own = np.asarray(Rotation.from_quat(np.asarray(model.geom_quat[meshed])[[1, 2, 3, 0]]).as_matrix())

        xpos = np.broadcast_to(data.geom_xpos, (turns, 5, 3)).copy()
        xmat = np.broadcast_to(np.eye(3), (turns, 5, 3, 3)).copy()
        half = {wheel: WHEEL, brick: BRICK, meshed: BRICK}
        xpos[:, table] = [2, 0, 0]
        for geom, size in half.items():
            place = rng.choice([-0.25, -0.125, 0, 0.1], (turns, 2))
            beside = 2 if geom == meshed else 0  # that one is on the table
            height = np.abs(upright) @ size
            xpos[:, geom, :2] = place + np.array([beside, 0])
            xpos[:, geom, 2] = 0.1 + height[:, 2] - 10 ** -rng.uniform(2, 5, turns)
            xmat[:, geom] = mat
        xmat[:, meshed] = mat @ own

        def touches(pos, mat):
            found = collide(model, data.replace(geom_xpos=pos, geom_xmat=mat.reshape(5, 9)))
            pairs = pairs_of(model)
            return found.dist, found.pos, jnp.asarray(pairs.geom2)[found.pair], jnp.asarray(pairs.geom1)[found.pair]

        run = jax.jit(jax.vmap(batched(touches)))
        dist, point, moving, ground = map(np.asarray, run(jnp.asarray(xpos, dtype), jnp.asarray(xmat, dtype)))
    for geom, size in half.items():
        on = (dist < 0) & (moving == geom) & (ground == (table if geom == meshed else 0))
        world, _ = np.nonzero(on)
        assert len(set(world)) > 0.9 * turns
        away = point[on] - xpos[world, geom]
        there = np.abs(np.einsum("nji,nj->ni", mat[world], away))
        if geom == wheel:
            there = np.stack([np.hypot(there[:, 0], there[:, 1]), there[:, 2], there[:, 2]], axis=1)
        size = np.array(size)[[0, 2, 2]] if geom == wheel else size
        # a tilt of 0.1 makes the middle of two points of 0.3 m come out by its square
        assert np.max(there - size) < 3e-3
        # and so is it half as deep below the ground as a corner 0.3 m from the middle
        assert np.abs(point[on][:, 2] - 0.1).max() < 0.06


# shapes that come down on the middles of boxes' tops, where a diagonal would cut those into triangles
OVER_MIDDLES = """<mujoco><asset><mesh name="tip" vertex="0 0 0 .1 0 .2 -.05 .08 .2 -.05 -.08 .2"/></asset>
<default><geom margin=".01" conaffinity="0"/></default><worldbody>
<geom type="box" size=".3 .3 .1" pos="0 0 -.1"/><geom type="box" size=".3 .3 .1" pos="2 0 -.1" contype="2"/>
<geom type="box" size=".3 .3 .1" pos="4 0 -.1" contype="4"/>
<body><freejoint/><geom type="ellipsoid" size=".2 .15 .02" pos="0 0 .15" euler="90 0 0" conaffinity="1"/></body>
<body pos="2 0 0"><freejoint/>
<geom type="cylinder" size=".1 .05" pos="-.0353553391 0 .1060660172" euler="0 45 0" conaffinity="2"/></body>
<body pos="4 0 0"><freejoint/><geom type="mesh" mesh="tip" conaffinity="4"/></body></worldbody></mujoco>"""


def test_middle_of_a_face():
    """A point over the middle of a face slides on that face, not along the diagonal on which a search ends: in it, and
    as far over it."""
    model = js.load(OVER_MIDDLES)
    data = js.make_data(model)

    def found(way, depth):
        qpos = js.integrate_pos(model, data.qpos.at[2::7].add(-depth), way, 1.0)
        contact = js.forward(model, data.replace(qpos=qpos)).contact
        return jnp.concatenate([contact.dist[:3, None], contact.pos[:3], contact.frame.reshape(-1, 9)[:3, :3]], axis=1)

    @jax.jit
    @jax.vmap
    def both(way, depth):
        return found(way, depth), jax.jacfwd(found)(way, depth)

    eps, rest = 1e-5, np.zeros((1, 18))
    ways = np.concatenate([rest, eps * np.eye(18), -eps * np.eye(18)])
    for depth in (1e-3, -1e-3):
        value, slope = map(np.asarray, both(ways, np.full(37, depth)))
        np.testing.assert_allclose(np.abs(value[0][:, [0, 6]]), [[1e-3, 1]] * 3, atol=1e-8)
        by_steps = np.moveaxis(value[1:19] - value[19:], 0, 2) / (2 * eps)
        np.testing.assert_allclose(slope[0], by_steps, atol=1e-6)
