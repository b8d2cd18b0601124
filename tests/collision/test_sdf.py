"""Signed distance fields: contacts with every other type are MuJoCo's, and follow when the solids move."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.collision.sdf.field import served, solids
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import fixed_pairs, pairs_of
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batched

GEOMS = {
    "plane": 'type="plane" size="1 1 1" pos="0 0 -.2"/>',
    "sphere": 'type="sphere" size=".2"/>',
    "capsule": 'type="capsule" size=".1 .25"/>',
    "ellipsoid": 'type="ellipsoid" size=".15 .2 .3"/>',
    "cylinder": 'type="cylinder" size=".15 .2"/>',
    "box": 'type="box" size=".15 .2 .25"/>',
    "mesh": 'type="mesh" mesh="tip"/>',
}
TIP = "-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"
CONFIG = {
    "torus": {"radius1": ".3", "radius2": ".12"},
    "bowl": {"radius": ".4", "height": ".15", "thickness": ".04"},
    "bolt": {"radius": ".27"},
    "nut": {},
    "gear": {"alpha": ".3", "diameter": ".8", "teeth": "17", "innerdiameter": ".3"},
}


def field(kind):
    return f'type="sdf" mesh="{kind}"><plugin instance="{kind}"/></geom>'


def scene(geoms, kinds, points=8, iterations=10):
    """XML of free geoms by name, the plugins' shapes among them, of which only those with 'sdf' in it collide."""
    config = {k: "".join(f'<config key="{a}" value="{b}"/>' for a, b in CONFIG[k].items()) for k in kinds}
    plugins = "".join(
        f'<plugin plugin="mujoco.sdf.{k}"><instance name="{k}">{c}</instance></plugin>' for k, c in config.items()
    )
    meshes = "".join(f'<mesh name="{k}"><plugin instance="{k}"/></mesh>' for k in kinds)
    bodies = "".join(
        f'<geom name="{name}" contype="0" {geom}'
        if "plane" in geom
        else f'<body><freejoint/><geom name="{name}" contype="{int("sdf" in geom)}" {geom}</body>'
        for name, geom in geoms.items()
    )
    return f"""<mujoco><option sdf_iterations="{iterations}" sdf_initpoints="{points}"/>
      <extension>{plugins}</extension><asset><mesh name="tip" vertex="{TIP}"/>{meshes}</asset>
      <worldbody>{bodies}</worldbody></mujoco>"""


class Scene:
    def __init__(self, xml, poses, span, **load):
        self.mj = mujoco.MjModel.from_xml_string(xml)
        self.model = js.load(xml, max_contacts=400, **load)
        self.data = js.make_data(self.model)
        rng = np.random.default_rng(0)
        n = self.mj.nq // 7
        quat = rng.normal(size=(poses, n, 4))
        quat /= np.linalg.norm(quat, axis=2, keepdims=True)
        place = rng.uniform(-span, span, (poses, n, 3))
        self.qpos = np.concatenate([place, quat], axis=2).reshape(poses, -1)

    def contacts(self, qpos):
        """Rows of dist, pos and normal, and the two geoms of each, -1 where there is no contact."""
        found = collide(self.model, kinematics(self.model, self.data.replace(qpos=qpos)))
        rows = jnp.concatenate([found.dist[:, None], found.pos, found.frame[:, 0]], axis=1)
        pairs = pairs_of(self.model)
        pair = np.stack([pairs.geom1, pairs.geom2], axis=1)
        if found.pair is None:
            geoms = jnp.asarray(pair[fixed_pairs(self.model)])
        else:
            geoms = jnp.asarray(pair)[jnp.minimum(found.pair, len(pair) - 1)]
        geoms = jnp.where((found.dist < NO_CONTACT)[:, None], geoms, -1)
        return rows, geoms.astype(rows.dtype)

    def theirs(self, qpos):
        d = mujoco.MjData(self.mj)
        d.qpos[:] = qpos
        mujoco.mj_forward(self.mj, d)
        return np.column_stack([d.contact.dist, d.contact.pos, d.contact.frame[:, :3]]), d.contact.geom


def errors(scene, run):
    """Of each pair of geoms, by their names: for each of MuJoCo's contacts the least error of ours, and the difference
    of their numbers in each pose."""
    rows, geoms = jax.tree.map(np.asarray, run(scene.qpos))
    found, uneven = {}, {}
    for k, qpos in enumerate(scene.qpos):
        theirs, owner = scene.theirs(qpos)
        for pair in {tuple(p) for p in owner} | {tuple(p) for p in geoms[k].astype(int) if p[0] >= 0}:
            mine, reference = rows[k][(geoms[k] == pair).all(1)], theirs[(owner == pair).all(1)]
            name = tuple(scene.mj.geom(int(g)).name for g in pair)
            uneven.setdefault(name, []).append(len(mine) - len(reference))
            each = [np.abs(mine - r).max(1).min(initial=9) for r in reference]
            found.setdefault(name, []).append(np.array(each))
    return found, uneven


def test_contacts_with_every_type_are_those_of_mujoco():
    """With a torus, whose slope MuJoCo computes as exactly as we do.

    The first start is a corner of the overlap of the boxes, the second lies in its middle: where that of a box is all
    of it, MuJoCo's rounding decides on which side of a crease the search goes on.
    """
    s = Scene(scene(GEOMS | {"ring": field("torus"), "other": field("torus")}, ["torus"]), 12, 0.3)
    found, uneven = errors(s, jax.jit(jax.vmap(s.contacts)))
    for first in [*GEOMS, "ring"]:
        poses = [e for (a, _), es in found.items() if a == first for e in es]
        counts = [n for (a, _), ns in uneven.items() if a == first for n in ns]
        assert sum(map(len, poses)) >= 10, first
        if first == "box":
            assert np.abs(counts).max() <= 2
            assert max(np.sort(e)[:-2].max(initial=0) for e in poses) < 1e-9
        else:
            assert not np.any(counts), first
            each = np.concatenate(poses)
            assert np.median(each) < 1e-13 and np.max(each) < 1e-7, first


def test_shapes_of_the_plugins_are_those_of_mujoco():
    """MuJoCo takes slopes of these as differences, with errors of 1e-8, so that here and there a step has another length."""
    geoms = {"ball": GEOMS["sphere"]} | {kind: field(kind) for kind in CONFIG if kind != "torus"}
    xml = scene(geoms, [k for k in CONFIG if k != "torus"])
    s = Scene(xml.replace('size=".2"', 'size=".1"'), 12, 0.35)
    assert s.model.geom_sdf.tolist() == [-1, 1, 2, 3, 4]
    found, uneven = errors(s, jax.jit(jax.vmap(s.contacts)))
    assert np.mean(np.concatenate([*uneven.values()]) != 0) < 0.1
    for kind, share in {"bowl": 0.9, "bolt": 0.9, "nut": 0.9, "gear": 0.75}.items():  # a gear's distance has jumps
        each = np.concatenate([e for pair, es in found.items() if kind in pair for e in es])
        assert len(each) > 50 and np.quantile(each, share) < 3e-7, kind


def ring_and_ball():
    """A torus and a ball in 8 poses."""
    return Scene(scene({"ball": GEOMS["sphere"], "ring": field("torus")}, ["torus"]), 8, 0.2)


def test_contacts_follow_the_solids():
    """Derivatives in both modes are differences of contacts that are searched for anew, wherever these are smooth: they
    are not where a search halves a step once more or crosses an edge. Starts in the middle of a box that lies within
    that of the other are on one."""
    s = Scene(scene(GEOMS | {"ring": field("torus"), "other": field("torus")}, ["torus"]), 32, 0.3)
    along, step = np.random.default_rng(1).normal(size=s.qpos.shape), 1e-6

    @jax.jit
    @jax.vmap
    def all_of(qpos, along):
        (value, geoms), (exact, _) = jax.jvp(s.contacts, (qpos,), (along,))
        touching = geoms[:, :1] >= 0
        weight = jnp.where(touching, jnp.cos(jnp.arange(value.size, dtype=value.dtype)).reshape(value.shape), 0)
        back = jax.grad(lambda q: jnp.sum(weight * s.contacts(q)[0]))(qpos)
        moved, owners = jax.vmap(lambda h: s.contacts(qpos + h * along))(step * jnp.array([2.0, 1, -1, -2]))
        touching = touching[:, 0] & jnp.all(owners[..., 0] >= 0, axis=0)
        return touching, value, exact, moved, jnp.sum(back * along), jnp.sum(weight * exact)

    touching, value, exact, moved, back, forth = map(np.asarray, all_of(s.qpos, along))
    wide, difference = (moved[:, 0] - moved[:, 3]) / (4 * step), (moved[:, 1] - moved[:, 2]) / (2 * step)
    bent = np.abs(moved[:, 1] + moved[:, 2] - 2 * value).max(2) / step
    size = 1 + np.abs(difference).max(2)
    smooth = touching & (bent < 0.05 * size) & (np.abs(wide - difference).max(2) < 1e-3 * size)
    assert touching.sum() > 1000 and smooth.sum() > 0.8 * touching.sum()
    error = (np.abs(exact - difference).max(2) / size)[smooth]
    assert np.median(error) < 1e-8 and np.quantile(error, 0.99) < 1e-4
    assert np.isfinite(exact).all()
    np.testing.assert_allclose(back, forth, 1e-7, 1e-9)  # each step may multiply rounding by hundreds


def test_a_world_alone_and_in_a_batch(optimized):
    """Bit by bit the same."""
    s = ring_and_ball()
    run = jax.jit(jax.vmap(batched(s.contacts)))
    rows, geoms = jax.tree.map(np.asarray, run(s.qpos))
    for k in (0, 3, 7):
        np.testing.assert_array_equal(run(s.qpos[k : k + 1])[0][0], rows[k])
    assert np.sum((geoms >= 0).all(2)) > 30


def test_functions_of_users():
    """They serve in place of a plugin, with their gradients; what is none is refused."""
    xml = scene({"ball": GEOMS["sphere"], "ring": field("torus")}, ["torus"])

    def distance(point):
        across = jnp.sqrt(point[0] ** 2 + point[1] ** 2) - 0.3
        return jnp.sqrt(across**2 + point[2] ** 2) - 0.12

    points = jnp.asarray(np.random.default_rng(0).normal(size=(20, 3)))
    each = []
    for model in (js.load(xml), js.load(xml, sdf={"ring": distance})):
        kinds = served(model.topology, (1,))
        ring = jax.tree.map(lambda x: x[0], solids(model, kinds, np.array([1])))
        each.append(jax.jit(kinds.slope)(points, ring))
    assert model.geom_sdf.tolist() == [-1, -2]
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, 1e-12, 1e-12), *each)
    for functions, error, words in (
        ({"rink": jnp.sum}, KeyError, "closest: ring"),
        ({"ball": jnp.sum}, ValueError, "geom 'ball' is a sphere"),
        ({"ring": jnp.abs}, ValueError, r"gives float64\[3\] for a point"),
    ):
        with pytest.raises(error, match=words):
            js.load(xml, sdf=functions)


def test_a_nut_turns_down_a_bolt():
    """Over 0.8 s beside MuJoCo: by its weight along the thread, as far down and around."""
    plugins = "".join(
        f'<plugin plugin="mujoco.sdf.{kind}"><instance name="{kind}"><config key="radius" value="{radius}"/></instance>'
        "</plugin>"
        for kind, radius in (("nut", 0.26), ("bolt", 0.255))
    )
    nut, bolt = (f'<geom type="sdf" mesh="{k}"><plugin instance="{k}"/></geom>' for k in ("nut", "bolt"))
    mesh = "".join(f'<mesh name="{k}"><plugin instance="{k}"/></mesh>' for k in ("nut", "bolt"))
    xml = f"""<mujoco><option sdf_iterations="10" sdf_initpoints="20"/><extension>{plugins}</extension>
      <asset>{mesh}</asset><default><geom solref="0.01 1" solimp=".95 .99 .0001" friction="0.01"/></default>
      <worldbody><body euler="180 0 0">{bolt}</body>
        <body pos="-0.0012496 0.00329058 0.830362" quat="-0.000212626 0.999996 -0.00200453 0.00185878">
        <joint type="free" damping="30"/>{nut}</body></worldbody></mujoco>"""
    mj, model = mujoco.MjModel.from_xml_string(xml), js.load(xml)
    d = mujoco.MjData(mj)
    _, path = jax.jit(lambda data: js.rollout(model, data, jnp.zeros((400, 0))))(js.make_data(model))
    qpos = np.asarray(path["qpos"])
    mujoco.mj_step(mj, d, 400)
    assert mj.qpos0[2] - d.qpos[2] > 0.005 and np.isfinite(qpos).all()
    np.testing.assert_allclose(mj.qpos0[2] - qpos[-1, 2], mj.qpos0[2] - d.qpos[2], rtol=0.01)
    np.testing.assert_allclose(qpos[-1], d.qpos, atol=5e-4)


def test_meshes_by_their_octrees():
    """Octrees are MuJoCo's, but for vertices in single precision; and so are contacts, whose slopes MuJoCo takes as
    differences where a point is beyond the octree."""
    mesh = f'<mesh name="tip" scale="2 2 2" vertex="{TIP}"/>'
    bodies = "".join(
        f'<body><freejoint/><geom name="{name}" {geom}</body>'
        for name, geom in {"ball": GEOMS["sphere"], "one": 'type="sdf" mesh="tip"/>'}.items()
    )
    xml = f'<mujoco><option sdf_initpoints="8"/><asset>{mesh}</asset><worldbody>{bodies}</worldbody></mujoco>'
    s = Scene(xml, 10, 0.3)
    for name in ("mesh_octadr", "mesh_octnum", "oct_child"):
        np.testing.assert_array_equal(getattr(s.model, name), getattr(s.mj, name))
    for name in ("oct_aabb", "oct_coeff"):
        np.testing.assert_allclose(getattr(s.model, name), getattr(s.mj, name), atol=1e-7)
    s.model = js.put_model(s.mj, max_contacts=200)
    found, uneven = errors(s, jax.jit(jax.vmap(s.contacts)))
    each = np.concatenate(found["ball", "one"])
    assert len(each) > 40 and not np.any(uneven["ball", "one"])
    assert np.median(each) < 1e-13 and np.quantile(each, 0.95) < 1e-6
