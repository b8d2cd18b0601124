"""Single precision beside double: errors are within the table of PRECISION.md; and far from the origin they stay so.

Pairs that the convex routine serves are tested against the table in test_convex, where its programs are.
"""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from precision import AFAR, FAR, assert_within_table, rounded
from scipy.spatial.transform import Rotation

from jaxsim.collision.hulls import hulls
from jaxsim.collision.shape import NO_CONTACT, Shape
from jaxsim.collision.table import ANALYTIC
from jaxsim.core.enums import GeomType as G
from jaxsim.interop import put_model

SIZES = {
    G.PLANE: [5, 5, 0.1],
    G.SPHERE: [0.2, 0, 0],
    G.CAPSULE: [0.1, 0.25, 0],
    G.ELLIPSOID: [0.15, 0.2, 0.3],
    G.CYLINDER: [0.15, 0.2, 0],
    G.BOX: [0.15, 0.2, 0.25],
    G.MESH: [0.3, 0.3, 0.3],
}
TIP = "-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"
PAIRS = list(ANALYTIC)
POSES = 300


@pytest.fixture(scope="module")
def found():
    """Of all analytic pairs the deepest contact in double, in single precision, and in single far away: rows [n, 7]."""
    mj = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="m" vertex="{TIP}"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    )
    hull = jax.tree.map(lambda x: x[0], hulls(put_model(mj), np.array([0])))

    def one(pair, pos, mat):
        dtype = pos.dtype
        a, b = (Shape(pos[i], mat[i], jnp.asarray(SIZES[k], dtype)) for i, k in enumerate(pair))
        if pair[1] == G.MESH:
            b = b._replace(data=jax.tree.map(lambda x: x.astype(dtype) if x.dtype == jnp.float64 else x, hull))
        c = ANALYTIC[pair][0](a, b, jnp.asarray(0.1, dtype))
        rows = jnp.concatenate([c.dist[:, None], c.pos, c.normal], axis=1)
        return rows.at[jnp.argmin(c.dist)].get(mode="promise_in_bounds")

    @jax.jit
    @jax.vmap
    def run(pos, mat):
        return {pair: one(pair, pos, mat) for pair in PAIRS}

    rng = np.random.default_rng(0)
    away = rng.normal(size=(POSES, 3))
    pos = np.zeros((POSES, 2, 3))
    pos[:, 1] = away * rng.uniform(0.1, 0.5, (POSES, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    pos, mat = rounded(pos), Rotation.random(2 * POSES, random_state=1).as_matrix().reshape(POSES, 2, 3, 3)
    single = mat.astype(np.float32)
    return [
        {k: np.asarray(x) for k, x in run(*poses).items()}
        for poses in ((pos, mat), (pos.astype(np.float32), single), ((pos + FAR).astype(np.float32), single))
    ]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{G(pair[0]).name.lower()}-{G(pair[1]).name.lower()}")
def test_errors_are_those_of_the_table(found, pair):
    double, single, far = (x[pair] for x in found)
    assert single.dtype == np.float32 and np.isfinite(single).all() and np.isfinite(far).all()
    near = double[:, 0] < 0.099
    assert near.sum() > 30 and (single[near, 0] < NO_CONTACT).all()
    assert_within_table(pair, double[near], single[near])
    # positions have the same digits there, so that what counts is what is computed from them
    np.testing.assert_allclose(far[near, 0], single[near, 0], atol=1e-6)
    apart = np.abs(far[near, 1:4] - FAR - single[near, 1:4]).max(axis=1)
    assert np.quantile(apart, 0.98) < AFAR
