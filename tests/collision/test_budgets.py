"""Many candidate pairs: tiles of blocks find what testing every pair finds, and what each budget lacks is said."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim import models
from jaxsim.checks.resting import resting_contacts
from jaxsim.collision import broadphase
from jaxsim.collision.bounds import centres, extent
from jaxsim.collision.broadphase import blocks_of
from jaxsim.collision.driver import collide
from jaxsim.collision.slots import contact_buffer
from jaxsim.core.model import Model
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batched

ROBOT = """<body name="{0}" pos="{1} 0 .35"><freejoint/><geom size=".11" margin=".02"/>
  <geom size=".1" pos="0 0 .16"/>
  <body pos=".15 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .2 0 0"/>
    <body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .2 0 0"/>
      <geom size=".05" pos=".2 0 0" gap=".01"/></body></body></body>"""


def _scene() -> str:
    """Three robots over a floor of 60 boxes, some of them in turned static bodies, with a plane and explicit pairs."""
    rng = np.random.default_rng(0)
    box = '<geom type="box" size=".1 .1 .1" pos="{:.3f} {:.3f} {:.3f}" euler="0 0 {:.0f}"/>'
    boxes = [
        box.format(x, y, 0.1 * rng.random(), 90 * rng.random()) for x in rng.random(5) * 2 for y in np.arange(6) / 5
    ]
    turned = f'<body euler="0 0 40" pos=".5 -1 0">{"".join(boxes)}</body>'
    robots = "".join(ROBOT.format(f"r{i}", 0.4 * i) for i in range(3))
    plane = '<geom name="plane" type="plane" size="5 5 1" pos="0 0 -.1"/>'
    return f"""<mujoco><worldbody>{plane}{"".join(boxes)}{turned}{robots}
      <geom name="post" type="capsule" size=".05 .3" pos=".2 .3 .3"/></worldbody>
      <contact><exclude body1="r0" body2="r2"/></contact></mujoco>"""


def _found(
    m: js.Model, d: js.Data, pos: jax.Array, mat: jax.Array
) -> tuple[js.Contact, jax.Array, jax.Array, jax.Array]:
    d = d.replace(geom_xpos=pos, geom_xmat=mat)
    d = contact_buffer(m, d, collide(m, d))
    return d.contact, d.ncon, d.peak, d.warning


def _poses(m: js.Model, d: js.Data, worlds: int) -> tuple[jax.Array, jax.Array]:
    """Poses [worlds, ngeom, ...] of all geoms, of robots tumbled about."""
    rng = np.random.default_rng(1)
    qpos = np.asarray(d.qpos) + rng.normal(scale=0.15, size=(worlds, m.nq)) * np.array(
        ([2, 2, 1, 2, 2, 2, 2, 3, 3]) * 3
    )
    placed = jax.jit(jax.vmap(lambda q: kinematics(m, d.replace(qpos=q))))(qpos)
    return placed.geom_xpos, placed.geom_xmat


_run = jax.jit(jax.vmap(batched(_found), (None, None, 0, 0)))


def _sets(contact: js.Contact) -> list[dict[tuple, np.ndarray]]:
    """For each world the contacts by geoms, in the order of their places along x."""
    worlds = []
    for geom, dist, pos in zip(*(np.asarray(x) for x in (contact.geom, contact.dist, contact.pos))):
        keys = [tuple(g) for g in geom if g[0] >= 0]
        worlds.append({k: np.sort(dist[(geom == k).all(1)]) for k in set(keys)} | {"sum": pos[geom[:, 0] >= 0].sum(0)})
    return worlds


@pytest.fixture
def many(monkeypatch) -> js.Model:
    """The scene as if its pairs were many."""
    monkeypatch.setattr(broadphase, "MANY", 100)
    model = js.load(_scene(), max_contacts=50)
    assert "tiles" in js.budgets(model)
    return model


def test_tiles_find_what_every_pair_finds(many, monkeypatch):
    monkeypatch.setattr(broadphase, "MANY", 10**6)
    few = js.load(_scene(), max_contacts=many.nconmax)
    assert "tiles" not in js.budgets(few)
    poses = _poses(few, js.make_data(few), 20)
    monkeypatch.setattr(broadphase, "MANY", 100)
    contact, ncon, _, warning = _run(many, js.make_data(many), *poses)
    monkeypatch.setattr(broadphase, "MANY", 10**6)
    expected, number, *_ = _run(few, js.make_data(few), *poses)
    np.testing.assert_array_equal(ncon, number)
    assert ncon.max() > 12 and not warning.any()
    kinds = {tuple(sorted(few.geom_type[list(pair)])) for world in _sets(expected) for pair in world if pair != "sum"}
    assert len(kinds) >= 6
    for ours, theirs in zip(_sets(contact), _sets(expected)):
        assert ours.keys() == theirs.keys()
        for pair in ours:
            np.testing.assert_allclose(ours[pair], theirs[pair], rtol=1e-12, atol=1e-12)
    # parameters belong to the contacts
    order = [np.lexsort((*np.asarray(c.pos[0]).T, *np.asarray(c.geom[0]).T)) for c in (contact, expected)]
    for name in ("includemargin", "friction", "solref", "solimp", "dim"):
        np.testing.assert_array_equal(getattr(contact, name)[0][order[0]], getattr(expected, name)[0][order[1]])


def test_alone_in_a_batch_and_permuted(many):
    data, poses = js.make_data(many), _poses(many, js.make_data(many), 20)
    together = _run(many, data, *poses)
    turned = _run(many, data, *(x[::-1] for x in poses))
    alone = [_run(many, data, *(x[i : i + 1] for x in poses)) for i in range(20)]
    single = jax.tree.map(lambda *x: np.concatenate(x), *alone)
    for a, b, c in zip(*map(jax.tree.leaves, (together, turned, single)), strict=True):
        np.testing.assert_array_equal(a, b[::-1])
        np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize("name", ["contacts", "tiles"])
def test_too_small_a_budget(many, name):
    """It is named with what would have sufficed, contacts stay finite, and worlds that have room keep theirs."""
    poses = _poses(many, js.make_data(many), 20)
    full = _run(many, js.make_data(many), *poses)
    needs = np.asarray(full[2])[:, list(js.budgets(many)).index(name)]
    assert needs.min() < needs.max()
    small = js.load(_scene(), budgets={"contacts": 50, name: int(np.median(needs))})
    data = js.make_data(small)
    got = _run(small, data, *poses)
    fits = needs <= int(np.median(needs))
    assert 0 < fits.sum() < 20 and np.array_equal(np.asarray(got[3])[:, 1] == 0, fits)
    peak = js.budgets(small, data.replace(peak=got[2]))[name]
    assert (peak.size, peak.peak) == (int(np.median(needs)), needs.max())
    told = str(js.diagnose(small, data.replace(peak=got[2].max(0))))
    assert f"budget of {name}: room for {peak.size}, {peak.peak} would have sufficed" in told
    size = min(small.nconmax, many.nconmax)
    for key in ("dist", "pos", "frame", "geom"):
        ours, theirs = (np.asarray(getattr(x[0], key))[:, :size] for x in (got, full))
        assert np.isfinite(ours).all()
        # two sizes are two programs, whose last digit is the compiler's
        np.testing.assert_allclose(ours[fits], theirs[fits], rtol=0, atol=4e-16)


def test_there_is_room_for_the_poses_that_a_model_comes_with():
    """Feet of many capsules, which the keyframe puts flat on the ground; their number and type do not tell."""
    capsules = "".join(f'<geom type="capsule" size=".01 .1" pos="{0.03 * i} 0 0" euler="90 0 0"/>' for i in range(24))
    xml = f"""<mujoco><worldbody><geom type="plane" size="5 5 1" pos="1 0 .2"/>
      <body pos="0 0 1"><freejoint/><geom type="box" size=".01 .1 .01" pos="1 0 0"/>
        <body><joint axis="0 0 1"/>{capsules}<geom size=".01" pos="2 0 0"/><geom size=".01" pos="2 0 .1"/>
        <geom type="cylinder" size=".05 .01" pos="3 0 0"/></body></body></worldbody>
      <keyframe><key qpos="0 0 1 1 0 0 0 0"/><key name="stand" qpos="0 0 .2099 1 0 0 0 .1"/></keyframe></mujoco>"""
    model, reference = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    state = mujoco.MjData(reference)
    mujoco.mj_resetDataKeyframe(reference, state, 1)
    mujoco.mj_forward(reference, state)
    assert state.ncon == 24 * 2 + 4 + 1 + 3 == resting_contacts(model)
    assert model.nconmax == 58  # as many as are possible, which is less than a quarter more
    assert js.load(xml, max_contacts=20).nconmax == 20  # a choice is a choice


def test_there_is_room_for_one_foot_across_the_other():
    """Each of five capsules side by side touches each of five others, and so do two balls elsewhere."""
    sole = "".join(f'<geom type="capsule" size=".01 .1" pos="{0.03 * i} 0 0" euler="90 0 0"/>' for i in range(-2, 3))
    leg = '<body pos="{}"><joint axis="0 0 1" pos="0 0 {}"/>{}</body>'
    xml = f"""<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".05"/>
      {leg.format("0 0 -.3", 0, sole)}{leg.format("0 0 -.281", 0, sole)}
      <body pos=".2 0 0"><joint/><geom size=".1"/></body><body pos=".39 0 0"><joint/><geom size=".1"/></body>
      </body></worldbody></mujoco>"""
    model = js.load(xml)
    across = np.array([0, 0, 1, 1, 0, 0, 0, 0, np.pi / 2, 0, 0])
    data = js.forward(model, js.make_data(model).replace(qpos=jnp.asarray(across)))
    assert data.ncon == 5 * 5 + 1 < model.nconmax < 5 * 5 + 10 and not js.warnings_of(data)


def test_there_is_room_for_one_humanoid_upon_another():
    """In 2000 steps of 256 worlds two limp ones had up to 27 contacts, and 56 pairs of capsules near each other."""
    scene = """<mujoco><option timestep=".004"/><asset><model name="h" file="{}"/></asset><worldbody>
      <geom type="plane" size="5 5 1"/><attach model="h" body="torso" prefix="a"/>
      <frame pos="0 0 1"><attach model="h" body="torso" prefix="b"/></frame></worldbody></mujoco>"""
    room = js.budgets(js.load(scene.format(models.path("humanoid"))))
    assert room["contacts"].size > 27 and room["capsule - capsule"].size > 56


def test_there_is_room_for_a_robot_on_a_height_field_and_for_a_puzzle():
    """Ground that is higher than the field's origin, and cubes that lie flat on each other in a linkage."""
    xml = """<mujoco><asset><hfield name="f" nrow="9" ncol="9" size="1 1 2 .1" elevation="{}"/></asset><worldbody>
      <geom type="hfield" hfield="f" euler="0 0 30"/><body pos=".5 0 2.1"><freejoint/><geom size=".1"/><geom size=".1"
      pos="0 0 .3"/></body><body pos="3 0 2"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    assert resting_contacts(js.load(xml.format("0" + 80 * " 1"))) == 3  # one that touches, counted as three
    cubes = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
    piece = '<body><joint type="ball"/><geom type="box" size=".0099 .0099 .0099" pos="{} {} {}"/></body>'
    pieces = "".join(piece.format(*(0.02 * c for c in cube)) for cube in cubes)
    model = js.load(f"<mujoco><worldbody><body>{pieces}</body></worldbody></mujoco>")
    faces, edges = 48, 60  # of 3 x 3 x 3 cubes without the one in the middle: 54 - 6, 72 - 12
    settled = int(1.2 * (4 * faces + edges))
    assert resting_contacts(model) == settled and model.nconmax == -(-5 * settled // 4)
    balls = '<replicate count="4" offset=".2 0 0"><body><freejoint/><geom size=".1"/></body></replicate>'
    assert resting_contacts(js.load(f"<mujoco><worldbody>{balls}</worldbody></mujoco>")) == 3


def test_boxes_on_a_height_field_have_the_same_room_in_bodies_of_one_and_of_several():
    """Each face lies on several prisms, so that they have twice what they have on a plane."""
    ground = '<geom type="hfield" hfield="f"/>', '<geom type="plane" size="9 9 1"/>'
    scene = """<mujoco><asset><hfield name="f" nrow="9" ncol="9" size="9 9 1 .1"/></asset><worldbody>{}
      <replicate count="6" offset=".5 0 0"><body pos="0 0 1"><freejoint/>{}</body></replicate></worldbody></mujoco>"""
    box, apart = '<geom type="box" size=".1 .1 .1"/>', '</body><body pos="0 .5 1"><freejoint/>'
    single, several, flat = (
        js.load(scene.format(under, geoms)).nconmax
        for under, geoms in [(ground[0], box + apart + box), (ground[0], 2 * box), (ground[1], 2 * box)]
    )
    assert single == several == 6 + 12 * 2 * 8 and flat == 6 + 12 * 8


@pytest.mark.parametrize(
    "geom", ['type="box" size=".3 .2 .1"', 'type="ellipsoid" size=".3 .2 .1"', 'type="cylinder" size=".2 .1"']
)
def test_what_is_dropped_on_fine_ground_has_room_for_as_many_prisms_as_in_mujoco(geom):
    scene = f"""<mujoco><asset><hfield name="f" nrow="30" ncol="30" size="1 1 .1 .1"/></asset><worldbody>
      <geom type="hfield" hfield="f"/><body pos="0 0 .5"><freejoint/><geom {geom}/></body></worldbody></mujoco>"""
    reference = mujoco.MjModel.from_xml_string(scene)
    state, most = mujoco.MjData(reference), 0
    for _ in range(400):
        mujoco.mj_step(reference, state)
        most = max(most, state.ncon)
    assert 40 < most <= js.load(scene).nconmax == 50


def test_heaps_have_room_beside_walls_and_for_near_meshes():
    """Of a rare kind, as many as lie against a single wall; of meshes, more pairs than touch."""
    corners = "0 0 0 .1 0 0 0 .1 0 0 0 .1"
    ball, stone = '<geom size=".05"/>', '<geom type="mesh" mesh="m"/>'
    scene = """<mujoco><asset><mesh name="m" vertex="{}"/></asset><worldbody><geom type="capsule" size=".1 2"/>
      <replicate count="200" offset=".2 0 0"><body pos="1 0 0"><freejoint/>{}</body></replicate></worldbody></mujoco>"""
    rooms = [{k: v.size for k, v in js.budgets(js.load(scene.format(corners, x))).items()} for x in (ball, stone)]
    assert rooms[0]["sphere - capsule"] >= 100
    assert rooms[1]["mesh - mesh"] > rooms[1]["contacts"] > 0


def test_what_geoms_reach_to():
    """Against points all over their surfaces; a mesh has its centre beside its box's."""
    rng = np.random.default_rng(0)
    names = {"sphere": ".3", "capsule": ".1 .2", "ellipsoid": ".1 .2 .4", "cylinder": ".3 .1", "box": ".1 .2 .3"}
    geoms = "".join(f'<geom type="{name}" size="{size}"/>' for name, size in names.items())
    model = js.load(
        f"""<mujoco><asset><mesh name="a" vertex="0 0 0  1 0 0  0 2 0  0 0 3  .1 .1 .1"/></asset><worldbody><body>
        <joint type="ball"/>{geoms}<geom type="mesh" mesh="a"/></body></worldbody></mujoco>"""
    )
    along = rng.normal(size=(1, 40, 3))
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    ball = rng.normal(size=(200_000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    disc = ball / np.hypot(ball[:, :1], ball[:, 1:2])
    ends, corners = np.sign(ball[:, 2:]) * [0, 0, 1], np.sign(ball)
    points = [0.3 * ball, 0.1 * ball + 0.2 * ends, ball * [0.1, 0.2, 0.4]]
    points += [disc * [0.3, 0.3, 0] + 0.1 * ends, corners * [0.1, 0.2, 0.3]]
    for i, surface in enumerate(points):
        reach = np.max(along[0] @ surface.T, axis=1)
        np.testing.assert_allclose(extent(model, np.array([i]), jnp.asarray(along))[0], reach, atol=1e-3)
    data, mesh = js.make_data(model), np.array([5])
    beside = np.asarray(centres(model, data.replace(geom_xmat=jnp.tile(jnp.eye(3).reshape(1, 9), (6, 1))), mesh))[0]
    low, high = model.mesh_vert.min(axis=0), model.mesh_vert.max(axis=0)
    np.testing.assert_allclose(beside, (low + high) / 2, atol=1e-6)
    axes = jnp.asarray(np.eye(3)[None])
    np.testing.assert_allclose(extent(model, mesh, axes)[0], (high - low) / 2, rtol=1e-6)


def test_what_is_not_a_budget():
    xml = '<mujoco><worldbody><geom size=".1"/><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    with pytest.raises(ValueError, match="no budget called 'sphere - mesh'; this model has: contacts, sphere - sphere"):
        js.load(xml, budgets={"sphere - mesh": 3})
    with pytest.raises(ValueError, match="the budget of contacts is 0, but must be 1 or more"):
        js.load(xml, max_contacts=0)


# two trees that lean on each other and on a static body, with sensors that read contacts
LEANING = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 .2 0"><geom size=".1" pos="0 0 .05"/></body>
    <body pos="0 0 .14"><freejoint/><geom size=".15" mass="1" friction="2"/><site name="s" size=".2"/>
      <body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .2 0 -.1" condim="4"/>
        <site name="arm"/></body></body>
    <body pos="0 0 .4"><freejoint/><geom size=".12" mass=".5" priority="1" solimp=".8 .9 .01 .5 2"/></body></worldbody>
  <contact><pair geom1="p1" geom2="p2" condim="1"/></contact>
  <sensor><touch site="s"/><force site="arm"/></sensor></mujoco>"""
LEANING = LEANING.replace('mass="1"', 'mass="1" name="p1"').replace('size=".1" pos="0 0 .05"', 'size=".1" name="p2"')


def test_dynamics_without_tables_over_pairs(monkeypatch):
    """Parameters, Jacobians and sensors of contacts that tiles found are MuJoCo's."""
    monkeypatch.setattr(broadphase, "MANY", 0)
    mj = mujoco.MjModel.from_xml_string(LEANING)
    model = js.put_model(mj)
    assert "tiles" in js.budgets(model)
    ref = mujoco.MjData(mj)
    ref.qvel[:] = np.linspace(-1, 1, mj.nv)
    data = js.make_data(model).replace(qvel=jnp.asarray(ref.qvel))
    mujoco.mj_forward(mj, ref)
    ours = jax.jit(js.forward)(model, data)
    assert ref.ncon == ours.ncon == 4
    np.testing.assert_allclose(ours.qacc, ref.qacc, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.sensordata, ref.sensordata, rtol=1e-6, atol=1e-6)


def test_blocks_hold_neighbours():
    """Blocks are of one tree, and static ones of geoms that lie together; planes are in none."""
    model: Model = js.load(_scene())
    block = blocks_of(model)
    assert (block[model.geom_type == 0] == -1).all() and block.max() < 30
    place = np.asarray(_poses(model, js.make_data(model), 1)[0][0])
    for k in range(block.max() + 1):
        index = np.flatnonzero(block == k)
        assert 1 <= len(index) <= broadphase.WIDTH
        root = np.unique(model.body_rootid[model.geom_bodyid[index]])
        moving = model.body_weldid[model.geom_bodyid[index]] > 0
        assert (moving.all() and len(root) == 1) or not moving.any()
        if not moving.any():
            assert np.ptp(place[index], axis=0).max() < 1.5
    assert jnp.asarray(model.geom_block).shape == (model.ngeom,)


def test_there_is_room_for_pairs_that_are_near_where_the_model_begins():
    """Forty stones in one box: more pairs of a box and a mesh than twenty contacts would give room for."""
    stone = '<body pos="{:.3f} {:.3f} {:.3f}"><freejoint/><geom type="mesh" mesh="stone"/></body>'
    stones = "".join(stone.format(0.3 * (i % 8), 0.3 * (i // 8), 0.2) for i in range(40))
    xml = f"""<mujoco><asset><mesh name="stone" vertex="-.1 -.1 0 .1 -.1 0 0 .1 0 0 0 .1"/></asset><worldbody>
      <body><joint/><geom type="box" size="2 2 .3" pos="1 1 0"/></body>{stones}</worldbody></mujoco>"""
    model = js.load(xml, max_contacts=20)
    assert "box - mesh" not in js.budgets(model)  # there is room for all forty
    assert js.load(xml, max_contacts=20, budgets={"box - mesh": 7}).budget.tolist().count(7) == 1
