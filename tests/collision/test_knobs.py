"""Ellipsoids, cylinders and boxes that overlap prisms and meshes of few faces: of many normals none is lower than theirs."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxsim.collision.convex.difference import difference
from jaxsim.collision.convex.form import Form, forms, library
from jaxsim.collision.convex.gjk import OVERLAP
from jaxsim.collision.convex.locate import Accuracy
from jaxsim.collision.convex.penetration import around_mesh, around_prism, from_guess, sift
from jaxsim.collision.convex.rods import Facets
from jaxsim.collision.hulls import facets, filled_up
from jaxsim.collision.shape import Shape
from jaxsim.core.enums import GeomType
from jaxsim.interop import put_model

POSES, WAYS = 1500, 3000
SIZES = {"ellipsoid": (0.15, 0.2, 0.3), "cylinder": (0.15, 0.2), "box": (0.15, 0.2, 0.25)}
BASE = np.array([[-0.2, -0.2, -0.1], [0.2, -0.2, -0.1], [0.2, 0.2, -0.1]])
PRISM = np.concatenate([BASE, BASE * [1, 1, 0] + [[0, 0, 0.1], [0, 0, 0.25], [0, 0, 0.02]]])
STONE = np.random.default_rng(4).normal(size=(14, 3)) * [0.15, 0.1, 0.2]


@pytest.fixture(scope="module", params=SIZES)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    vertices = " ".join(f"{x:.6f}" for x in STONE.ravel())
    size = " ".join(map(str, SIZES[kind]))
    return put_model(
        mujoco.MjModel.from_xml_string(
            f"""<mujoco><asset><mesh name="m" vertex="{vertices}"/></asset><worldbody>
            <geom type="{kind}" size="{size}"/><geom type="mesh" mesh="m"/></worldbody></mujoco>"""
        )
    )


def _shape(form, size):
    return Shape(jnp.zeros(3), jnp.eye(3), size, form)


def _not_above(rng, kind, corner, a, b, guess, moved):
    """Of random poses that overlap: the depth is what both reach along the normal, and no other normal's is less.

    `corner` [v, 3] (m) are those of the polyhedron, and the shape that is moved the one of `a` and `b` that is round.
    """
    accuracy = Accuracy(1e-6, 200)

    def both(pos, mat):
        x, y = (s._replace(pos=pos, mat=mat) if i == moved else s for i, s in enumerate((a, b)))
        inside = sift(x, y, jnp.zeros(()), accuracy).state == OVERLAP
        known = guess(x, y)
        found = [from_guess(x, y, n, accuracy) for n in known.normal]
        one, other = found
        lower = one[1] <= other[1]
        normal = jnp.where(lower, one[0].normal, other[0].normal)
        height = difference(x, y).point(normal)[:3] @ normal
        return inside, jnp.where(lower, one[1], other[1]), height, known.height[0]

    pos = rng.uniform(-0.35, 0.35, (POSES, 3))
    mat = Rotation.random(POSES, random_state=rng).as_matrix()
    inside, depth, height, guessed = map(np.asarray, jax.jit(jax.vmap(both))(jnp.asarray(pos), jnp.asarray(mat)))
    assert inside.sum() > 300
    np.testing.assert_allclose(depth, height, atol=1e-12)
    exact = guessed[inside] - depth[inside] < 1e-6  # a descent has little left to do
    assert exact.all() if kind == "box" else exact.mean() > 0.9

    way = rng.normal(size=(WAYS, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    semi_axes = np.array({"ellipsoid": SIZES[kind], "cylinder": (0.15, 0.15, 0), "box": (0, 0, 0)}[kind])
    half = np.array({"ellipsoid": (0, 0, 0), "cylinder": (0, 0, 0.2), "box": SIZES[kind]}[kind])
    least = []
    for p, r in zip(pos, mat):
        local = way @ r
        reach = np.linalg.norm(semi_axes * local, axis=1) + np.abs(local) @ half
        least.append(np.min(np.max(way @ (corner - p).T, axis=1) + reach))
    assert np.all(depth[inside] <= np.array(least)[inside] + 1e-8)


def test_prisms(kind, model, rng):
    served, size = library(model.topology, (0,), len(PRISM)), jnp.asarray(model.geom_size)
    corner, zero = jnp.asarray(PRISM), jnp.zeros(3)
    filled = jnp.asarray(filled_up(PRISM, served.unit.shape[1]))
    prism = Form(filled, zero, jnp.ones(3), zero[0], jnp.int32(GeomType.HFIELD), jnp.int32(0))
    knob = jax.tree.map(lambda x: x[0], forms(served, size, np.array([0])))
    a, b = _shape(prism, jnp.full(3, 0.3)), _shape(knob, size[0])
    _not_above(rng, kind, PRISM, a, b, lambda x, y: around_prism(x, y, corner, kind == "box"), 1)


def test_meshes(kind, model, rng):
    served, size = library(model.topology, (0, 1)), jnp.asarray(model.geom_size)
    table = Facets(*(jnp.asarray(x[0]) for x in facets(model.topology, served.row)))
    knob, mesh = (jax.tree.map(lambda x, i=i: x[i], forms(served, size, np.array([0, 1]))) for i in (0, 1))
    a, b = _shape(knob, size[0]), _shape(mesh, size[1])
    _not_above(rng, kind, np.asarray(mesh.point), a, b, lambda x, y: around_mesh(x, y, table, kind == "box"), 0)
