"""Depths of thin and flat shapes, whose best normals are the hardest to find, beside all directions tried on the host."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import jaxsim as js
from jaxsim.collision.convex.form import forms, library
from jaxsim.collision.convex.penetration import met, penetration
from jaxsim.collision.shape import Shape
from jaxsim.core.enums import GeomType as G
from jaxsim.interop import put_model

GEOMS = {
    "wheel": ("cylinder", (0.25, 0.03, 0)),
    "rod": ("cylinder", (0.03, 0.25, 0)),
    "disc": ("ellipsoid", (0.25, 0.2, 0.03)),
    "needle": ("ellipsoid", (0.02, 0.03, 0.3)),
    "plate": ("box", (0.2, 0.25, 0.02)),
    "brick": ("box", (0.15, 0.2, 0.25)),
}
ROUND = ("wheel", "rod", "disc", "needle")
PAIRS = [p for p in itertools.combinations_with_replacement(GEOMS, 2) if set(p) & set(ROUND)]
POSES = 400
# poses for which a normal was found that is worse than the best by more than 1e-6 m: there is one of 3561 (by 2e-4 m),
# where the best one is downhill from none of the directions that are tried
MISSED = 1


def reach(name, direction):
    """How far a geom reaches along directions [..., 3] in its frame."""
    kind, (a, b, c) = GEOMS[name]
    x, y, z = np.moveaxis(np.abs(direction), -1, 0)
    if kind == "cylinder":
        return a * np.hypot(x, y) + b * z
    return np.linalg.norm(direction * (a, b, c), axis=-1) if kind == "ellipsoid" else a * x + b * y + c * z


def reach_of_both(pair, pos, mat, normal):
    """How far the difference of two geoms reaches along normals [n, ..., 3], at poses [n, 3] and [n, 2, 3, 3]."""
    one, other = (np.einsum("nij,n...i->n...j", mat[:, k], normal) for k in (0, 1))
    return reach(pair[0], one) + reach(pair[1], other) - np.einsum("n...i,ni->n...", normal, pos)


def around(normal, radius, n=64):
    """Directions [..., n, 3] within some angle of others [..., 3]."""
    rng = np.random.default_rng(3)
    more = normal[..., None, :] + radius * rng.normal(size=(*normal.shape[:-1], n, 3))
    return more / np.linalg.norm(more, axis=-1, keepdims=True)


def least_reach(pair, pos, mat):
    """The least reach [n] that there is in any direction: of 4000, and of ever nearer ones around the best of them."""
    k = np.arange(4000) + 0.5
    height, angle = 1 - 2 * k / len(k), np.pi * (1 + 5**0.5) * k
    across = np.sqrt(1 - height**2)
    sphere = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=-1)
    tried = np.broadcast_to(sphere, (len(pos), *sphere.shape))
    for radius in (0.02, 0.01, 0.004, 0.002, 1e-3, 4e-4, 2e-4, 1e-4):
        order = np.argsort(reach_of_both(pair, pos, mat, tried), axis=1)[:, :16]
        best = np.take_along_axis(tried, order[..., None], axis=1)
        tried = np.concatenate([best, around(best, radius).reshape(len(pos), -1, 3)], axis=1)
    return reach_of_both(pair, pos, mat, tried).min(axis=1)


def test_no_direction_is_better(rng):
    """In float64; what is found is a depth along its normal, and there is none less deep."""
    geoms = "".join(f'<geom type="{kind}" size="{a} {b} {c}"/>' for kind, (a, b, c) in GEOMS.values())
    m = put_model(mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>"))
    served, size = library(m.topology, tuple(range(len(GEOMS)))), jnp.asarray(m.geom_size)
    kinds = met(((G.CYLINDER, G.BOX), (G.CYLINDER, G.ELLIPSOID)))

    def rows(geom, pos, mat):
        form, sizes = forms(served, size, geom), size.at[geom].get(mode="promise_in_bounds")
        a, b = (Shape(pos[i], mat[i], sizes[i], jax.tree.map(lambda x, i=i: x[i], form)) for i in (0, 1))
        found = penetration(a, b, jnp.asarray(1, pos.dtype), pairs=kinds)
        return found.dist, found.normal

    missed = {}
    run = jax.jit(jax.vmap(rows, in_axes=(None, 0, 0)))
    for pair in PAIRS:
        pos = rng.uniform(-1, 1, (POSES, 3)) * 0.3
        mat = Rotation.random(2 * POSES, random_state=rng).as_matrix().reshape(POSES, 2, 3, 3)
        both = np.stack([np.zeros_like(pos), pos], axis=1)
        dist, normal = map(np.asarray, run(np.array([list(GEOMS).index(x) for x in pair], np.int32), both, mat))
        deep = dist < -1e-6
        assert deep.sum() > 20
        dist, normal, pos, mat = dist[deep], normal[deep], pos[deep], mat[deep]
        np.testing.assert_allclose(-dist, reach_of_both(pair, pos, mat, normal), atol=1e-12, err_msg=str(pair))
        missed[pair] = int((-dist > least_reach(pair, pos, mat) + 1e-6).sum())
    assert sum(missed.values()) <= MISSED, missed


def test_distance_of_a_descent_is_more_exact_than_asked():
    """A rod along a drum's axis: at ccd_tolerance itself the normal is off by 2e-3 rad, here and in MuJoCo C alike."""
    xml = """<mujoco><option ccd_tolerance="{}" ccd_iterations="500"/><worldbody>
    <geom type="capsule" size="0.0251592 0.240341"/>
    <body pos="-0.0474643880 0.0000742876309 -0.240166806" quat="-5.33526043e-06 1.41421312e-06 2.16704120e-06 1">
      <freejoint/><geom type="cylinder" size="0.0275 0.01"/></body></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml.format("1e-12"))
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    m = js.load(xml.format("1e-6"))
    found = jax.jit(js.forward)(m, js.make_data(m)).contact
    np.testing.assert_allclose(found.dist[0], d.contact.dist[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.frame[0].reshape(-1)[:3], d.contact.frame[0, :3], rtol=0, atol=2e-5)  # C's own
