"""Planes with meshes of many vertices: contacts and derivatives are those of all pairs, and MuJoCo's."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision import driver, plane_pairs
from jaxsim.collision.driver import collide
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batched

BODIES = 6


def _scene(rng) -> str:
    assets, bodies = [], []
    for i in range(BODIES):
        points = rng.normal(size=(120, 3))
        points *= [0.1, 0.08, 0.05] / np.linalg.norm(points, axis=1, keepdims=True)
        assets.append(f'<mesh name="m{i % 2}" vertex="{" ".join(f"{x:.6f}" for x in points.ravel())}"/>')
        bodies.append(
            f'<body pos="{i} 0 .1"><freejoint/><geom type="mesh" mesh="m{i % 2}" margin=".01" contype="0"/></body>'
        )
    planes = '<geom type="plane" size="9 9 .1"/><geom type="plane" size="9 9 .1" euler="0 40 0" pos="2 0 -.2"/>'
    return f"<mujoco><asset>{''.join(assets[:2])}</asset><worldbody>{planes}{''.join(bodies)}</worldbody></mujoco>"


def test_meshes_near_their_planes(rng, monkeypatch):
    xml = _scene(rng)
    model, reference = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    assert plane_pairs.has_many_vertices(model, np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH))
    data = js.make_data(model)
    away = 0.3 * rng.normal(size=(8, model.nq)) * np.array([0.1, 0.1, 0.5, 1, 1, 1, 1] * BODIES)
    worlds = jnp.asarray(np.asarray(data.qpos) + away).at[-1, 2::7].set(50.0)

    def found(qpos):
        slots = collide(model, kinematics(model, data.replace(qpos=qpos)))
        on = jax.lax.stop_gradient(slots.dist < NO_CONTACT)
        total = jnp.sum(jnp.where(on, slots.dist, 0)) + jnp.sum(jnp.where(on[:, None], slots.pos, 0) @ jnp.arange(3.0))
        return total, (slots.dist, slots.pos)

    run = jax.jit(jax.vmap(jax.value_and_grad(batched(found), has_aux=True)))
    (_, (dist, pos)), slope = run(worlds)
    expected = mujoco.MjData(reference)
    for world, qpos in enumerate(worlds):
        expected.qpos = qpos
        mujoco.mj_forward(reference, expected)
        ours = np.asarray(dist[world][dist[world] < NO_CONTACT])
        np.testing.assert_allclose(np.sort(ours), np.sort(expected.contact.dist), atol=1e-9)
    assert (dist[:-1] < NO_CONTACT).sum() > 20 and (dist[-1] == NO_CONTACT).any()

    monkeypatch.setattr(driver, "has_many_vertices", lambda m, geom: False)
    every = jax.jit(jax.vmap(jax.value_and_grad(batched(lambda q: found(q)), has_aux=True)))
    (_, (same, places)), slopes = every(worlds)
    np.testing.assert_allclose(dist, same, atol=1e-12)
    near = np.asarray(dist < NO_CONTACT)
    np.testing.assert_allclose(pos[near], places[near], atol=1e-12)
    np.testing.assert_allclose(slope, slopes, atol=1e-11)


@pytest.mark.parametrize("height", [0.0, 0.03])
def test_no_contact_is_lost_at_the_margin(rng, height):
    """A box as a mesh with its lowest corners exactly at the margin, or a hair beside."""
    corners = np.stack(np.meshgrid(*[[-0.1, 0.1]] * 3), axis=-1).reshape(-1, 3)
    more = rng.uniform(-0.09, 0.09, (600, 3))  # inside: of no hull
    sphere = rng.normal(size=(600, 3))
    sphere *= 0.1 / np.linalg.norm(sphere, axis=1, keepdims=True)
    text = " ".join(f"{x:.9f}" for x in np.concatenate([corners, more, sphere]).ravel())
    ball = " ".join(f"{x:.9f}" for x in sphere.ravel())
    xml = f"""<mujoco><asset><mesh name="b" vertex="{text}"/><mesh name="s" vertex="{ball}"/></asset><worldbody>
      <geom type="plane" size="1 1 1" margin="{height}"/><body pos="0 0 {0.1 + height}"><freejoint/>
      <geom type="mesh" mesh="b"/></body><body pos="2 0 5"><freejoint/><geom type="mesh" mesh="s"/></body></worldbody></mujoco>"""
    model = js.load(xml)
    assert plane_pairs.has_many_vertices(model, np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH))
    reference = mujoco.MjModel.from_xml_string(xml)
    expected = mujoco.MjData(reference)
    counts = []
    for beside in (-1e-6, 1e-6):
        data = js.make_data(model)
        data = data.replace(qpos=data.qpos.at[2].add(beside))
        expected.qpos = data.qpos
        mujoco.mj_forward(reference, expected)
        counts.append(expected.ncon)
        assert js.forward(model, data).ncon == expected.ncon
    assert counts == [4, 0]


def test_faces_of_many_corners_keep_the_lowest(rng):
    """A foot whose sole has 22 corners, most at its ends, at sixty tilts and turns: which four have contacts is as in
    MuJoCo, which keeps the lowest one of them."""
    angle = np.sort(rng.uniform(0, 2 * np.pi, 22))
    end = 0.08 * np.sign(np.cos(angle))
    sole = np.stack([end + 0.02 * np.cos(angle), 0.03 * np.sin(angle), np.full(22, -0.03)], axis=1)
    top = 0.7 * sole[::3] * [1, 1, -1]
    text = " ".join(f"{x:.9f}" for x in np.concatenate([sole, top]).ravel())
    xml = f"""<mujoco><asset><mesh name="foot" vertex="{text}"/></asset><worldbody><geom type="plane" size="1 1 1"/>
      <body><freejoint/><geom type="mesh" mesh="foot"/></body></worldbody></mujoco>"""
    model, reference = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    expected, vert = mujoco.MjData(reference), reference.mesh_vert.astype(float)
    poses, contacts = [], []
    for k in range(60):
        tilt = np.array([1, *rng.normal(size=2) * (1e-3, 0.02, 0.06)[k % 3], 0])
        turn, free = np.zeros(4), tilt / np.linalg.norm(tilt)
        mujoco.mju_mulQuat(turn, np.array([1, 0, 0, rng.normal()]), free)
        expected.qpos = [0, 0, 0, *turn / np.linalg.norm(turn)]
        mujoco.mj_kinematics(reference, expected)
        lowest = (vert @ expected.geom_xmat[1].reshape(3, 3).T + expected.geom_xpos[1])[:, 2].min()
        expected.qpos[2] = -lowest - (1e-4, 2e-3, 0.02)[k // 3 % 3]
        mujoco.mj_kinematics(reference, expected)
        mujoco.mj_collision(reference, expected)
        poses.append(expected.qpos.copy())
        contacts.append(np.column_stack([expected.contact.dist, expected.contact.pos]))
    data = js.make_data(model)
    state = jax.jit(jax.vmap(lambda qpos: js.forward(model, data.replace(qpos=qpos))))(jnp.asarray(np.array(poses)))
    assert {len(x) for x in contacts} == {1, 2, 3, 4}
    for k, theirs in enumerate(contacts):
        ours = np.column_stack([state.contact.dist[k], state.contact.pos[k]])[: state.ncon[k]]
        np.testing.assert_allclose(ours[np.argsort(ours[:, 1])], theirs[np.argsort(theirs[:, 1])], atol=1e-9)
