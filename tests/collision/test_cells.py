"""Furthest points by cells of directions: exactly those of a search over all, alone, in batches and worlds-last."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision.convex import cells
from jaxsim.layout import batched

COUNT = 3000


def _cores(rng) -> np.ndarray:
    """A flat ellipsoid, a drum with many corners on its rims, a box, a needle, and a point; filled up to one size."""
    round_ = rng.normal(size=(500, 3))
    angle = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle), np.full(240, 0.5)], axis=1)
    corners = np.stack(np.meshgrid(*[[-1.0, 1]] * 3), axis=-1).reshape(-1, 3)
    parts = [
        round_ / np.linalg.norm(round_, axis=1, keepdims=True) * [1, 0.5, 0.05],
        np.concatenate([rim, rim * [1, 1, -1]]),
        corners * [0.1, 0.2, 0.3],
        rng.normal(size=(60, 3)) * [1, 1e-3, 1e-3],
        np.full((1, 3), 0.3),
    ]
    return np.stack([np.concatenate([x, np.repeat(x[:1], 500 - len(x), axis=0)]) for x in parts])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_furthest_points_are_those_of_all(rng, dtype):
    unit = _cores(rng)
    table = cells.Cells(unit, 32)
    row = rng.integers(0, len(unit), COUNT).astype(np.int32)
    direction = rng.normal(size=(COUNT, 3))
    direction[:300] = np.sign(direction[:300]) * rng.integers(
        0, 2, (300, 3)
    )  # along axes, edges and diagonals, or zero
    heights = np.einsum("kni,ki->kn", unit[row], direction)
    programs = (
        jax.vmap(table.furthest),
        lambda r, d: cells._on_cpu(r, d, table),
        lambda r, d: cells._elsewhere(r, d, table),
        jax.vmap(batched(table.furthest)),
    )
    for program in programs:
        number, point = jax.jit(program)(jnp.asarray(row), jnp.asarray(direction, dtype))
        found = heights[np.arange(COUNT), np.asarray(number)]
        slack = 8 * jnp.finfo(dtype).eps * np.linalg.norm(direction, axis=1)
        assert (found >= heights.max(axis=1) - slack).all()
        np.testing.assert_allclose(point, unit[row, np.asarray(number)], atol=2 * jnp.finfo(dtype).eps)
    assert table.many.mean() < 20 and table.many.max() < 260  # of 500 points; half of the drum's are furthest at a pole


def test_directions_that_are_none_give_points_all_the_same(rng):
    table = cells.Cells(_cores(rng), 32)
    bad = jnp.asarray([[np.nan, 1, 0], [np.inf, 0, 1], [-np.inf, np.inf, 0], [0, 0, 0], [1e-300, 0, 0]])
    row = jnp.zeros(len(bad), jnp.int32)
    for program in (table.furthest, jax.vmap(batched(table.furthest))):
        number, point = jax.jit(program)(row, bad)
        assert ((number >= 0) & (number < 500)).all() and jnp.isfinite(point).all()


def test_meshes_of_many_vertices_touch_as_in_mujoco(rng):
    """Two stones with 150 and 400 vertices, a cylinder and a box; a batch of one as a batch of many, bit by bit."""
    assets = ""
    for name, n in (("a", 150), ("b", 400)):
        points = rng.normal(size=(n, 3))
        points *= [0.1, 0.08, 0.06] / np.linalg.norm(points, axis=1, keepdims=True)
        assets += f'<mesh name="{name}" vertex="{" ".join(f"{x:.6f}" for x in points.ravel())}"/>'
    geoms = ('type="mesh" mesh="a"', 'type="mesh" mesh="b"', 'type="box" size=".07 .05 .09"', 'type="mesh" mesh="b"')
    bodies = "".join(f"<body><freejoint/><geom {g}/></body>" for g in geoms)
    xml = f"""<mujoco><option ccd_tolerance="1e-12" ccd_iterations="200"><flag multiccd="disable"/></option>
      <asset>{assets}</asset><worldbody>{bodies}</worldbody></mujoco>"""
    model, reference = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    expected = mujoco.MjData(reference)
    qpos = rng.normal(size=(24, 4, 7)) * [0.06, 0.06, 0.06, 1, 1, 1, 1]
    qpos[..., 3:] /= np.linalg.norm(qpos[..., 3:], axis=-1, keepdims=True)
    data = js.make_data(model)

    def contacts(q):
        c = js.forward(model, data.replace(qpos=q)).contact
        return c.dist, c.pos, c.geom

    run = jax.jit(jax.vmap(contacts))
    many, alone = (jax.tree.map(np.asarray, run(jnp.asarray(q.reshape(len(q), -1)))) for q in (qpos, qpos[3:4]))
    for one, each in zip(alone, many):
        np.testing.assert_array_equal(one[0], each[3])
    total = 0
    for dist, geom, q in zip(many[0], many[2], qpos):
        expected.qpos = q.reshape(-1)
        mujoco.mj_forward(reference, expected)
        theirs = {tuple(c.geom): c.dist for c in expected.contact}
        ours = {tuple(sorted(g)): x for g, x in zip(geom.tolist(), dist) if g[0] >= 0 and x < 0}
        assert ours.keys() == {tuple(sorted(map(int, g))) for g in theirs}
        for g, x in theirs.items():
            np.testing.assert_allclose(ours[tuple(sorted(map(int, g)))], x, atol=1e-9)
        total += len(ours)
    assert total > 60
