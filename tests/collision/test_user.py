"""Colliders of users, for two types of geoms and for two geoms by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.collision.colliders.sphere import sphere_box
from jaxsim.collision.driver import collide
from jaxsim.collision.shape import NO_CONTACT, Candidates, detected
from jaxsim.collision.slots import fixed_pairs, pairs_of
from jaxsim.dynamics.kinematics import kinematics

XML = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body pos="0 0 .4"><freejoint/><geom name="crate" type="box" size=".5 .5 .4"/></body>
  <body pos=".1 0 .98"><freejoint/><geom name="ball" size=".2"/></body>
  <body pos="-.3 0 .99"><freejoint/><geom name="soft" size=".2"/></body></worldbody></mujoco>"""


def above(box, sphere, margin):
    """Contacts with a box's upper side only, as if it were endless: two of them, above one another."""
    normal = box.mat[:, 2]
    height = jnp.sum(normal * (sphere.pos - box.pos)) - box.size[2] - sphere.size[0]
    dist = detected(height + jnp.array([0.0, 0.005]), margin)
    pos = (sphere.pos - normal * (sphere.size[0] + 0.5 * height))[None] + jnp.zeros((2, 3))
    return Candidates(dist, pos, jnp.broadcast_to(normal[None], (2, 3)), jnp.zeros((2, 3)))


def contacts(model):
    """Of each pair of geoms that touch by name, dist and normal of each contact."""
    slots = jax.jit(lambda d: collide(model, kinematics(model, d)))(js.make_data(model))
    found, pairs = {}, pairs_of(model)
    for k, dist, normal in zip(fixed_pairs(model), np.asarray(slots.dist), np.asarray(slots.frame)[:, 0]):
        if dist < NO_CONTACT:
            names = tuple(model.topology.names["geom"][g] for g in (pairs.geom1[k], pairs.geom2[k]))
            found.setdefault(names, []).append((dist, *normal))
    return found


def test_types_and_names():
    """One by names goes before one by types; either way round, normals are from the table's first geom to its second."""
    usual = contacts(js.load(XML))
    assert {k: len(v) for k, v in usual.items()} == {("floor", "crate"): 4, ("ball", "crate"): 1, ("soft", "crate"): 1}
    by_type = contacts(js.load(XML, colliders={("box", "sphere"): above}))
    assert by_type["floor", "crate"] == usual["floor", "crate"]
    for name in ("ball", "soft"):
        assert len(by_type[name, "crate"]) == 2
        np.testing.assert_allclose(by_type[name, "crate"][0], usual[name, "crate"][0], atol=1e-12)
    np.testing.assert_allclose(by_type["soft", "crate"][1][0] - by_type["soft", "crate"][0][0], 0.005)
    by_name = contacts(js.load(XML, colliders={("crate", "soft"): above, ("sphere", "box"): sphere_box}))
    assert by_name["soft", "crate"] == by_type["soft", "crate"] and by_name["ball", "crate"] == usual["ball", "crate"]


@pytest.mark.parametrize(
    ("names", "function", "error", "words"),
    [
        (("ball", "crat"), above, KeyError, "closest: crate"),
        (("box", "mesh"), above, KeyError, "no geom of type mesh"),
        (("ball", "crate"), lambda a, b, margin: margin, ValueError, "of ball and crate gives"),
        (("ball", "crate"), lambda a, b, r: Candidates(r, a.pos, a.pos, a.pos), ValueError, r"expected \[n\]"),
    ],
)
def test_what_is_no_collider_is_refused(names, function, error, words):
    with pytest.raises(error, match=words):
        js.load(XML, colliders={names: function})


def test_what_would_be_of_no_use_is_refused():
    """Two geoms that never meet, one twice, two functions for the same; with a pair, or without all contacts, they load."""
    apart = XML.replace('name="ball"', 'name="ball" contype="0" conaffinity="0"')
    given = {("ball", "crate"): above}
    for xml, colliders, words in (
        (apart, given, "'crate' and 'ball' are never tested with each other"),
        (XML, {("ball", "ball"): above}, "'ball' does not meet itself"),
        (XML, {("box", "sphere"): above, ("sphere", "box"): sphere_box}, "sphere and box are given twice"),
    ):
        with pytest.raises(ValueError, match=words):
            js.load(xml, colliders=colliders)
    pair = apart.replace("</mujoco>", '<contact><pair geom1="ball" geom2="crate"/></contact></mujoco>')
    assert len(contacts(js.load(pair, colliders=given))["ball", "crate"]) == 2
    off = apart.replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    assert js.load(off, colliders=given).nconmax == 0
