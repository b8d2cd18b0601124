"""Capsules with prisms of height fields and with meshes: all features tried, beside the search by GJK and EPA."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxsim.collision.convex.form import Form, forms, library
from jaxsim.collision.convex.locate import Accuracy, corners_of_cores, locate
from jaxsim.collision.convex.penetration import ANY, on_mesh, on_prism, penetration, penetration_at
from jaxsim.collision.convex.rods import Facets
from jaxsim.collision.hulls import facets, is_whole
from jaxsim.collision.shape import Shape
from jaxsim.core.enums import GeomType
from jaxsim.interop import put_model

XML = '<mujoco><worldbody><geom type="capsule" size=".04 .2"/></worldbody></mujoco>'
POSES = 2000
BASE = np.array([[0.0, 0, -0.2], [0.3, 0.05, -0.2], [0.1, 0.25, -0.2]])
TOP = BASE * [1, 1, 0] + [[0, 0, 0.1], [0, 0, 0.25], [0, 0, 0.05]]


STONE = np.random.default_rng(4).normal(size=(14, 3)) * [0.15, 0.1, 0.2]
CUBE = np.stack(np.meshgrid([-0.2, 0.2], [-0.1, 0.1], [-0.15, 0.15]), axis=-1).reshape(-1, 3)


def _beside_search(rng, feature, a, b, moved):
    """Depths and distances of shapes, of which one is moved, in float64. Of parallel features any point may be the nearest,
    so that normals are compared, not points."""
    reach, accuracy = jnp.asarray(1.0), Accuracy(1e-12, 200)

    def both(pos, mat):
        x, y = (s._replace(pos=pos, mat=mat) if i == moved else s for i, s in enumerate((a, b)))
        bare = (s._replace(data=s.data._replace(point=None)) for s in (x, y))
        located = locate(x, y, feature(*bare, reach), accuracy, False)
        exact = penetration_at(x, y, located, corners_of_cores(x, y, located), False)
        return exact, located.trusted, penetration(x, y, reach, accuracy, ANY)

    pos = rng.uniform([-0.4, -0.4, -0.4], [0.6, 0.5, 0.6], (POSES, 3))
    mat = Rotation.random(POSES, random_state=rng).as_matrix()
    ours, trusted, search = jax.tree.map(np.asarray, jax.jit(jax.vmap(both))(jnp.asarray(pos), jnp.asarray(mat)))
    assert (ours.dist < -0.04).sum() > 60 and (ours.dist > 0).sum() > 100
    assert trusted.mean() > 0.998
    np.testing.assert_allclose(ours.dist, search.dist, atol=1e-9)
    unique = np.abs(np.sum(ours.normal * search.normal, axis=1) - 1) < 1e-9
    assert unique.mean() > 0.998
    np.testing.assert_allclose(ours.witness2 - ours.witness1, ours.dist[:, None] * ours.normal, atol=1e-9)


def _shape(form, size):
    return Shape(jnp.zeros(3), jnp.eye(3), size, form)


@pytest.mark.parametrize("clockwise", [False, True])
def test_prisms(rng, clockwise):
    m = put_model(mujoco.MjModel.from_xml_string(XML))
    served, size = library(m.topology, (0,), 6), jnp.asarray(m.geom_size)
    order = [0, 2, 1] if clockwise else [0, 1, 2]
    corner = jnp.asarray(np.concatenate([BASE[order], TOP[order]]))
    zero = jnp.zeros(3)
    prism = Form(corner, zero, jnp.ones(3), zero[0], jnp.int32(GeomType.HFIELD), jnp.int32(0))
    capsule = jax.tree.map(lambda x: x[0], forms(served, size, np.array([0])))
    found = lambda a, b, reach: on_prism(a, b, corner, reach)  # noqa: E731
    _beside_search(rng, found, _shape(prism, jnp.full(3, 0.3)), _shape(capsule, size[0]), 1)


@pytest.mark.parametrize("points", [STONE, CUBE], ids=["stone", "cube"])
def test_meshes(rng, points):
    vertices = " ".join(f"{x:.6f}" for x in points.ravel())
    m = put_model(
        mujoco.MjModel.from_xml_string(
            f'''<mujoco><asset><mesh name="m" vertex="{vertices}"/></asset><worldbody>
            <geom type="capsule" size=".04 .2"/><geom type="mesh" mesh="m"/></worldbody></mujoco>'''
        )
    )
    served, size = library(m.topology, (0, 1)), jnp.asarray(m.geom_size)
    assert is_whole(m.topology, 0)
    table = Facets(*(jnp.asarray(x[0]) for x in facets(m.topology, served.row)))
    capsule, mesh = (jax.tree.map(lambda x, i=i: x[i], forms(served, size, np.array([0, 1]))) for i in (0, 1))
    found = lambda a, b, reach: on_mesh(a, b, table, reach)  # noqa: E731
    _beside_search(rng, found, _shape(capsule, size[0]), _shape(mesh, size[1]), 0)
