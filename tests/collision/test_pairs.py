"""The table of candidate pairs, against MuJoCo's filters applied to every two geoms one by one."""

import tracemalloc

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision.pairs import candidate_pairs, groups
from jaxsim.collision.shape import Candidates
from jaxsim.core.enums import DisableBit, GeomType

SHAPES = ('type="sphere" size=".1"', 'type="capsule" size=".1 .1"', 'type="box" size=".1 .1 .1"')


def _scene(seed: int) -> str:
    """Trees of jointed and welded bodies with random bitmasks, static geoms, planes, excludes and pairs."""
    rng = np.random.default_rng(seed)

    def geom(name: str) -> str:
        shape = SHAPES[rng.integers(3)]
        masks = f'contype="{rng.integers(4)}" conaffinity="{rng.integers(4)}" condim="{rng.choice([1, 3, 4])}"'
        return f'<geom name="{name}" {shape} {masks} priority="{rng.integers(2)}"/>'

    def body(name: str, depth: int) -> str:
        joint = '<joint type="hinge"/>' if rng.random() < 0.7 else ""
        geoms = "".join(geom(f"{name}g{k}") for k in range(rng.integers(1, 4)))
        below = "".join(body(f"{name}b{k}", depth - 1) for k in range(2)) if depth else ""
        return f'<body name="{name}">{joint}{geoms}<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{below}</body>'

    plane = '<geom name="p{0}" type="plane" size="1 1 1"/>'
    world = plane.format(0) + geom("w0") + body("a", 2) + geom("w1") + plane.format(1) + body("b", 1)
    return f"""<mujoco><worldbody>{world}</worldbody><contact><exclude body1="bb0" body2="a"/>
      <pair geom1="bg0" geom2="ag0" condim="6"/><pair geom1="w0" geom2="w1"/><pair geom1="p1" geom2="ab0g0"/>
      <pair geom1="ag0" geom2="bg0" condim="1"/></contact></mujoco>"""


def _admits(t, g1: int, g2: int, filter_parent: bool) -> bool:
    """mj_collideGeoms and mj_filterBodyPair's rules for two geoms."""
    flat = [t.geom_type[g] in (GeomType.PLANE, GeomType.HFIELD) for g in (g1, g2)]
    if all(flat) or not (t.geom_contype[g1] & t.geom_conaffinity[g2] or t.geom_contype[g2] & t.geom_conaffinity[g1]):
        return False
    body1, body2 = sorted(int(t.geom_bodyid[g]) for g in (g1, g2))
    if (body1 << 16) + body2 in t.exclude_signature:
        return False
    weld1, weld2 = t.body_weldid[body1], t.body_weldid[body2]
    if weld1 == weld2 or not (t.body_dofnum[weld1] or t.body_dofnum[weld2]):
        return False
    above1, above2 = (t.body_weldid[t.body_parentid[w]] for w in (weld1, weld2))
    related = weld1 and weld2 and (weld1 == above2 or weld2 == above1)
    return not (filter_parent and related)


def _expected(t, filter_parent: bool) -> list[tuple[int, int, int, int]]:
    """(geom 1, geom 2, pair, condim) in the order of the table: by types, explicit ones first, then by ids."""
    explicit = [tuple(sorted(map(int, g))) for g in zip(t.pair_geom1, t.pair_geom2)]
    every = [(a, b) for a in range(t.ngeom) for b in range(a + 1, t.ngeom)]
    automatic = [c for c in every if c not in explicit and _admits(t, *c, filter_parent)]
    rows = []
    for k, couple in enumerate([*explicit, *automatic]):
        first, second = sorted(couple, key=lambda g: t.geom_type[g])
        pair = k if k < len(explicit) else -1
        winner = max(couple, key=lambda g: (t.geom_priority[g], t.geom_condim[g]))
        rows.append((first, second, pair, t.pair_dim[pair] if pair >= 0 else t.geom_condim[winner]))
    return sorted(rows, key=lambda row: (t.geom_type[row[0]], t.geom_type[row[1]]))


@pytest.mark.parametrize("flags", [0, DisableBit.FILTERPARENT], ids=["parents apart", "parents too"])
@pytest.mark.parametrize("seed", range(4))
def test_every_two_geoms(seed, flags):
    t = js.load(_scene(seed)).topology
    pairs = candidate_pairs(t, flags)
    expected = _expected(t, not flags)
    assert np.stack(pairs, axis=1).tolist() == [list(map(int, row)) for row in expected] and len(expected) > 20
    kinds = [(int(t.geom_type[a]), int(t.geom_type[b])) for a, b, *_ in expected]
    assert [kind for kind, index in groups(pairs, t) for _ in index] == kinds
    assert np.array_equal(np.concatenate([index for _, index in groups(pairs, t)]), np.arange(len(pairs)))


def test_geoms_that_two_pairs_name_have_the_contacts_of_both():
    xml = """<mujoco><worldbody><geom name="a" size=".1"/><body pos="0 0 .19"><freejoint/><geom name="b" size=".1"/>
      </body></worldbody><contact><pair geom1="a" geom2="b" condim="1" margin=".01"/>
      <pair geom1="b" geom2="a" condim="3" friction="2 2 .01 0 0"/></contact></mujoco>"""
    model, mj = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    state, theirs = js.forward(model, js.make_data(model)), mujoco.MjData(mj)
    mujoco.mj_forward(mj, theirs)
    assert int(state.ncon) == theirs.ncon == 2
    for name in ("dim", "dist", "includemargin", "friction"):
        np.testing.assert_allclose(getattr(state.contact, name)[:2], getattr(theirs.contact, name), rtol=1e-12)
    np.testing.assert_allclose(state.qacc, theirs.qacc, rtol=1e-9)


def test_memory_follows_the_pairs():
    """3,000 geoms that nothing touches, and one that may touch all: not 4.5 million pairs."""
    boxes = "".join(f'<geom type="box" size=".1 .1 .1" pos="{i} 0 0"/>' for i in range(3000))
    model = js.load(f'<mujoco><worldbody>{boxes}<body><freejoint/><geom size=".1"/></body></worldbody></mujoco>')
    fresh = model.topology.replace()
    tracemalloc.start()
    pairs = candidate_pairs(fresh, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(pairs) == 3000 and peak < 3e6


def test_pairs_of_what_has_no_inside_find_nothing():
    """MuJoCo accepts a pair of planes and height fields, and has no collider for it; a user can have one for planes."""
    text = """<mujoco>
      <asset><hfield name="hill" nrow="2" ncol="2" size="1 1 1 1"/></asset>
      <worldbody>
        <geom name="hill" type="hfield" hfield="hill"/>
        <geom name="ground" type="plane" size="1 1 1" pos="0 0 -1"/>
        <body mocap="true"><geom name="p" type="plane" size="1 1 1"/><geom name="f" type="hfield" hfield="hill"/></body>
        <body pos="0 0 .05"><freejoint/><geom name="a" size=".1"/></body>
      </worldbody>
      <contact><pair geom1="hill" geom2="p"/><pair geom1="hill" geom2="f"/><pair geom1="hill" geom2="a"/>
        <pair geom1="ground" geom2="p"/></contact>
    </mujoco>"""
    c = mujoco.MjModel.from_xml_string(text)
    theirs = mujoco.MjData(c)
    mujoco.mj_forward(c, theirs)
    m = js.load(text)
    ours = js.forward(m, js.make_data(m))
    assert len(candidate_pairs(m.topology, 0)) == 4  # the ball with all four
    touching = sorted(np.asarray(ours.contact.geom)[: int(ours.ncon)].tolist())
    assert touching == sorted(theirs.contact.geom.tolist())

    def apart(a, b, margin):
        return Candidates(jnp.full(1, 9.0), *jnp.zeros((3, 1, 3)))

    own = js.load(text, colliders={("ground", "p"): apart})
    assert len(candidate_pairs(own.topology, 0)) == 5
