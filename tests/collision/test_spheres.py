"""Spheres with ellipsoids and with meshes of few vertices: beside MuJoCo, the convex routine and differences."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision import driver
from jaxsim.collision.colliders.ellipsoid import sphere_ellipsoid
from jaxsim.collision.driver import collide
from jaxsim.collision.shape import NO_CONTACT, Shape
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batched

WEDGE = "-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"
CUBE = " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-0.1, 0.1))
SHAPES = {
    "ellipsoid": ('type="ellipsoid" size=".15 .2 .3"', ""),
    "disc": ('type="ellipsoid" size=".3 .3 .02"', ""),
    "wedge": ('type="mesh" mesh="m"', f'<mesh name="m" vertex="{WEDGE}"/>'),
    "cube": ('type="mesh" mesh="m"', f'<mesh name="m" vertex="{CUBE}"/>'),
}


def _scene(shape: str, margin: float) -> str:
    geom, assets = SHAPES[shape]
    return f"""<mujoco><option ccd_iterations="500" ccd_tolerance="1e-12"/><asset>{assets}</asset><worldbody>
      <geom type="sphere" size=".12" margin="{margin}"/><body><freejoint/><geom {geom}/></body></worldbody></mujoco>"""


def _found(model, data):
    def found(qpos, size):
        slots = collide(model.replace(geom_size=size), kinematics(model, data.replace(qpos=qpos)))
        on = jax.lax.stop_gradient(slots.dist < NO_CONTACT)
        dist, pos = jnp.where(on, slots.dist, 0), jnp.where(on[:, None], slots.pos, 0)
        weighted = jnp.sum(pos @ jnp.array([0.3, -0.2, 0.5])) + jnp.sum(slots.frame[:, 0] @ jnp.array([0.7, 0.1, 0.4]))
        return jnp.sum(dist) + weighted, (slots.dist, slots.pos, slots.frame[:, 0])

    return found


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
def test_beside_mujoco(rng, shape, margin):
    xml = _scene(shape, margin)
    model, reference = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    data, worlds = js.make_data(model), 120
    way = rng.normal(size=(worlds, 3))
    way *= rng.uniform(0, 0.45, (worlds, 1)) / np.linalg.norm(way, axis=1, keepdims=True)  # from the centre outwards
    turn = rng.normal(size=(worlds, 4))
    qpos = jnp.asarray(np.concatenate([way, turn / np.linalg.norm(turn, axis=1, keepdims=True)], axis=1))
    run = jax.jit(jax.vmap(batched(_found(model, data)), (0, None)))
    _, (dist, pos, normal) = jax.tree.map(np.asarray, run(qpos, model.geom_size))
    expected, beside, met = mujoco.MjData(reference), 0, 0
    for world, q in enumerate(qpos):
        expected.qpos = q
        mujoco.mj_forward(reference, expected)
        assert expected.ncon == (dist[world] < NO_CONTACT).sum()
        if not expected.ncon:
            continue
        met += 1
        contact = expected.contact[0]
        # deep inside MuJoCo may stop in another place that is no nearer: ours is never the farther one
        assert dist[world, 0] > contact.dist - 1e-8
        same = abs(dist[world, 0] - contact.dist) < 1e-7
        beside += not same
        if same and abs(contact.dist + 0.12) > 1e-3:  # with the centre on the surface MuJoCo's normal is rounding
            np.testing.assert_allclose(normal[world, 0], contact.frame[:3], atol=1e-5)
            np.testing.assert_allclose(pos[world, 0], contact.pos, atol=1e-6)
    assert met > 60 and beside <= 0.05 * met


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives(rng, shape):
    model = js.load(_scene(shape, 0.02))
    data, worlds, eps = js.make_data(model), 40, 1e-6
    way = rng.normal(size=(worlds, 3))
    way *= rng.uniform(0.1, 0.4, (worlds, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    qpos = jnp.asarray(np.concatenate([way, rng.normal(size=(worlds, 4))], axis=1))
    along, wider = jnp.asarray(rng.normal(size=7)), jnp.asarray(rng.normal(size=model.geom_size.shape)) * 0.1
    found = _found(model, data)

    def total(q, s):
        return batched(found)(q, s)[0]

    size = model.geom_size
    _, tangent = jax.jit(jax.vmap(lambda q: jax.jvp(total, (q, size), (along, wider))))(qpos)
    slopes = jax.jit(jax.vmap(jax.grad(total, (0, 1)), (0, None)))(qpos, size)
    reverse = slopes[0] @ along + jnp.sum(slopes[1] * wider[None], axis=(1, 2))
    np.testing.assert_allclose(reverse, tangent, rtol=1e-9, atol=1e-9)
    run = jax.jit(jax.vmap(batched(found), (0, None)))
    (up, (dist, *_)), (down, _) = (run(qpos + e * along[None], size + e * wider) for e in (eps, -eps))
    difference = (up - down) / (2 * eps)
    near = np.asarray(np.abs(difference - tangent) < 1e-5 * (1 + np.abs(difference)))
    assert (dist < NO_CONTACT).sum() > 15 and near.mean() >= 0.95  # but where the nearest feature changes


def test_faces_find_what_the_convex_routine_finds(rng, monkeypatch):
    model = js.load(_scene("wedge", 0.1))
    data = js.make_data(model)
    qpos = jnp.asarray(rng.normal(size=(60, 7)) * np.array([0.2] * 3 + [1] * 4))
    run = jax.jit(jax.vmap(batched(_found(model, data)), (0, None)))
    _, by_faces = run(qpos, model.geom_size)
    monkeypatch.setattr(driver, "have_few_faces", lambda t, among: False)
    again = jax.jit(jax.vmap(batched(_found(model, data)), (0, None)))
    _, by_search = again(qpos, model.geom_size)
    near = np.asarray(by_search[0] < NO_CONTACT)
    assert near.sum() > 20
    for ours, theirs in zip(by_faces, by_search):
        np.testing.assert_allclose(np.asarray(ours)[near], np.asarray(theirs)[near], atol=1e-9)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("few", [True, False])
def test_a_face_is_one_where_triangles_meet(request, monkeypatch, few, precision):
    """Over either diagonal of a cube's top, or beside it by what is hard to tell from it, a ball does not roll as over an
    edge, by faces and by the search."""
    if not few:
        monkeypatch.setattr(driver, "have_few_faces", lambda t, among: False)
    if precision == "float32":
        request.getfixturevalue("float32")
    model = js.load(_scene("cube", 0.0))
    data, depth = js.make_data(model), 0.02
    along = np.tile(np.linspace(-0.9, 0.9, 12), 5)
    off = np.repeat([0, 1e-8, 1e-6, 1e-4, -1e-3], 12)
    place = np.concatenate([np.stack([along * 0.2, side * along * 0.15 + off, 0 * off], axis=1) for side in (1, -1, 0)])
    qpos = np.concatenate([[0, 0, depth - 0.12 - 0.1] - place, np.tile([1, 0, 0, 0], (len(place), 1))], axis=1)

    def found(qpos):
        return batched(_found(model, data))(qpos, model.geom_size)[1]

    qpos = jnp.asarray(qpos, precision)
    (dist, _, normal), slope = jax.jit(jax.vmap(lambda q: (found(q), jax.jacfwd(found)(q))))(qpos)
    small = 1e-9 if precision == "float64" else 1e-5
    np.testing.assert_allclose(dist[:, 0], -depth, atol=small)
    np.testing.assert_allclose(np.asarray(normal)[:, 0, 2], -1, atol=small)
    still = np.zeros((len(place), 3, 3))  # the ball stays, whose lowest point it is; the cube's top moves up and down
    np.testing.assert_allclose(np.asarray(slope[2])[:, 0, :, :3], still, atol=small)
    np.testing.assert_allclose(np.asarray(slope[1])[:, 0, :, :3], still + np.diag([0, 0, 0.5]), atol=small)
    np.testing.assert_allclose(np.asarray(slope[0])[:, 0, :3], still[:, 0] + [0, 0, -1], atol=small)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_places_of_symmetry(dtype):
    """At the centre, on axes and planes of symmetry, of an ellipsoid, a disc and a ball: finite, and the least depth."""
    sizes = [[0.1, 0.2, 0.3], [0.3, 0.3, 0.02], [0.2, 0.2, 0.2], [0.3, 0.1, 0.1]]
    places = [[0, 0, 0], [0.05, 0, 0], [0, 0.05, 0], [0, 0, 0.01], [0.02, 0.03, 0], [0.6, 0, 0], [0, 0, 0.31]]
    size = jnp.asarray([s for s in sizes for _ in places], dtype)
    place = jnp.asarray([p for _ in sizes for p in places], dtype)
    eye = jnp.eye(3, dtype=dtype)

    def dist(place, size):
        ball = Shape(place, eye, jnp.zeros(3, dtype))
        return sphere_ellipsoid(ball, Shape(jnp.zeros(3, dtype), eye, size), jnp.asarray(1e9, dtype))

    found = jax.jit(jax.vmap(dist))(place, size)
    slopes = jax.jit(jax.vmap(jax.grad(lambda *x: dist(*x).dist[0], (0, 1))))(place, size)
    assert all(np.isfinite(x).all() for x in (*found, *slopes))
    u = np.random.default_rng(0).normal(size=(200_000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    u = np.concatenate([u, np.eye(3), -np.eye(3)])
    for p, s, d in zip(np.asarray(place, float), np.asarray(size, float), np.asarray(found.dist, float)[:, 0]):
        least = np.linalg.norm(u * s - p, axis=1).min()
        assert least - 1e-3 * s.max() < abs(d) <= least + 1e-6
        assert (d < 0) == (np.sum((p / s) ** 2) < 1)
