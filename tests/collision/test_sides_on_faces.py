"""Sides of cylinders that lie along faces: how many contacts MuJoCo C gives, pair by pair, and how deep they are."""

import jax
import mujoco
import numpy as np
import pytest

import jaxsim as js

DRUM, STICK = 'type="cylinder" size=".15 .2"', 'type="cylinder" size=".05 .2"'
BRICK = 'type="box" size=".15 .2 .25"'
# stones like those of benchmarks/poses.py
POINTS = np.random.default_rng(0).normal(size=(12, 3))
POINTS *= [0.15, 0.2, 0.25] / np.linalg.norm(POINTS, axis=1, keepdims=True)
STONE = f'''<asset><mesh name="stone" vertex="{" ".join(f"{x:.4f}" for x in POINTS.ravel())}"/></asset>'''
LEVEL, TIPPED = "1.6207963 0 0", "1.5207963 0 0"  # rad about x: lying along y, 0.05 rad aslant


def placed(pos, **turn):
    """Attributes of a body's pose."""
    return f'pos="{pos}" ' + " ".join(f'{k}="{v}"' for k, v in turn.items())


# two geoms, the poses of both, and how many contacts they have
PAIRS = {
    "an end of the second's side within the first's cap": (
        (DRUM, placed("0 0 0")), (STICK, placed("0 .12 .24", euler=LEVEL)), 1,
    ),
    "the second's side across a rim of the first's cap": (
        (DRUM, placed("0 0 0")), (STICK, placed("0 .12 .24", euler=TIPPED)), 2,
    ),
    "an end of the first's side within the second's cap": (
        (STICK, placed("0 .12 .24", euler=LEVEL)), (DRUM, placed("0 0 0")), 2,
    ),
    "a corner of a box that is apart, along whose face a side lies": (
        (DRUM, placed("0 0 0", quat=".513947 -.539338 -.532887 .401253")),
        (BRICK, placed("-.462922 .058063 -.24762", quat=".124312 .754775 .527643 -.369396")), 0,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def contacts():
    """Of all pairs, side by side in one scene: geoms and distances [n, 3] in C and here."""
    return found_by_both([x[:2] for x in PAIRS.values()])


def found_by_both(pairs, flags=0, more=""):
    """The same of any pairs, with flags disabled in C."""
    bodies = []
    for i, ((geom1, pose1), (geom2, pose2)) in enumerate(pairs):
        both = "".join(
            f"<body {pose}><freejoint/><geom {geom}/></body>" for geom, pose in ((geom1, pose1), (geom2, pose2))
        )
        bodies.append(f'<frame pos="{3 * i} 0 0">{both}</frame>')
    xml = f"""<mujoco><compiler angle="radian"/><option ccd_tolerance="1e-12" ccd_iterations="500"/>
    {more}<worldbody>{"".join(bodies)}</worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.disableflags |= flags
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    m = js.load(xml)
    found = jax.jit(js.forward)(m, js.make_data(m))
    n = int(found.ncon)
    ours = np.column_stack([np.asarray(found.contact.geom)[:n], np.asarray(found.contact.dist)[:n]])
    return np.column_stack([d.contact.geom, d.contact.dist]), ours


@pytest.mark.parametrize("i", range(len(PAIRS)), ids=PAIRS)
def test_as_many_as_c(contacts, i):
    theirs, ours = (x[x[:, 0] == 2 * i] for x in contacts)
    assert len(theirs) == len(ours) == list(PAIRS.values())[i][2]
    np.testing.assert_allclose(np.sort(ours[:, 2]), np.sort(theirs[:, 2]), rtol=0, atol=1e-6)


def test_capsules_swell_by_half_of_the_margin():
    """The ends of a side along a face that is aslant: those of a thicker capsule, moved back along the normal."""
    capsule = ('type="capsule" size=".05 .2" margin=".02"', placed("0 .12 .25", euler=LEVEL))
    drum = ('type="cylinder" size=".15 .2" margin=".02"', placed("0 0 0"))
    bar = (
        'type="capsule" size=".1 .25" margin=".02"',
        placed("0 0 0", quat="-.47191822 -.4385875 .59258865 -.48350067"),
    )
    stone = ('type="mesh" mesh="stone" margin=".02"', placed(
        ".16237722 -.31576511 .04331851", quat=".24376184 -.3596356 -.32356911 -.84056257"
    ))  # fmt: skip
    theirs, ours = found_by_both([(capsule, drum), (bar, stone)], more=STONE)
    assert len(theirs) == len(ours) == 4
    for first in (0, 2):
        one, other = (x[x[:, 0] == first, 2] for x in (theirs, ours))
        np.testing.assert_allclose(np.sort(other), np.sort(one), rtol=0, atol=1e-7)


def test_a_corner_within_a_cap_is_one_contact():
    """No line along the side is nearer to it than any other, and C's is any of those that its search ends with."""
    drum = (DRUM, placed("0 0 0", quat="-.221623 .155605 -.730561 -.626858"))
    brick = (BRICK, placed("-.151129 -.211937 -7.8e-05", quat="-.037047 -.584062 .050649 .80928"))
    theirs, ours = found_by_both([(drum, brick)], mujoco.mjtDisableBit.mjDSBL_MULTICCD)
    assert len(theirs) == 1
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
