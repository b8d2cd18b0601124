"""Capsules with prisms of height fields: all features tried, beside the search by GJK and EPA."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxsim.collision.convex.form import Form, forms, library
from jaxsim.collision.convex.penetration import (
    ANY,
    Accuracy,
    corners_of_cores,
    locate,
    on_prism,
    penetration,
    penetration_at,
)
from jaxsim.collision.shape import Shape
from jaxsim.core.enums import GeomType
from jaxsim.interop import put_model

XML = '<mujoco><worldbody><geom type="capsule" size=".04 .2"/></worldbody></mujoco>'
POSES = 2000
BASE = np.array([[0.0, 0, -0.2], [0.3, 0.05, -0.2], [0.1, 0.25, -0.2]])
TOP = BASE * [1, 1, 0] + [[0, 0, 0.1], [0, 0, 0.25], [0, 0, 0.05]]


@pytest.mark.parametrize("clockwise", [False, True])
def test_depths_and_distances(rng, clockwise):
    """In float64; of parallel features any point may be the nearest, so that normals are compared, not points."""
    m = put_model(
        mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom type="capsule" size=".04 .2"/></worldbody></mujoco>')
    )
    served, size = library(m.topology, (0,), 6), jnp.asarray(m.geom_size)
    order = [0, 2, 1] if clockwise else [0, 1, 2]
    corner = jnp.asarray(np.concatenate([BASE[order], TOP[order]]))
    zero = jnp.zeros(3)
    prism = Form(corner, zero, jnp.ones(3), zero[0], jnp.int32(GeomType.HFIELD), jnp.int32(0))
    capsule = jax.tree.map(lambda x: x[0], forms(served, size, np.array([0])))

    def both(pos, mat):
        a = Shape(zero, jnp.eye(3), jnp.full(3, 0.3), prism)
        b = Shape(pos, mat, size[0], capsule)
        reach, accuracy = jnp.asarray(1.0), Accuracy(1e-12, 200)
        bare = (x._replace(data=x.data._replace(point=None)) for x in (a, b))
        found = on_prism(*bare, corner, reach)
        located = locate(a, b, found, accuracy, False)
        exact = penetration_at(a, b, located, corners_of_cores(a, b, located), False)
        return exact, located.trusted, penetration(a, b, reach, accuracy, ANY)

    pos = rng.uniform([-0.3, -0.3, -0.4], [0.6, 0.5, 0.6], (POSES, 3))
    mat = Rotation.random(POSES, random_state=rng).as_matrix()
    ours, trusted, search = jax.tree.map(np.asarray, jax.jit(jax.vmap(both))(jnp.asarray(pos), jnp.asarray(mat)))
    assert (ours.dist < -0.04).sum() > 100 and (ours.dist > 0).sum() > 100
    assert trusted.mean() > 0.999
    np.testing.assert_allclose(ours.dist, search.dist, atol=1e-9)
    unique = np.abs(np.sum(ours.normal * search.normal, axis=1) - 1) < 1e-9
    assert unique.mean() > 0.998
    between = ours.witness2 - ours.witness1
    np.testing.assert_allclose(between, ours.dist[:, None] * ours.normal, atol=1e-9)
