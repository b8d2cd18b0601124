"""Which contacts the hard law looks for, of those that may come about within a step."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.collision.budget import budgets_of
from jaxsim.collision.driver import collide
from jaxsim.collision.slots import pairs_of
from jaxsim.core.enums import GeomType
from jaxsim.dynamics.com import com_pos, com_vel
from jaxsim.dynamics.kinematics import kinematics

# a quadruped with random controls at steps of 0.01 s: one foot is 3 cm from another, and is thrown into it by the motors
QPOS = (
    -0.4092, 0.4325, 0.0724, 0.0585, -0.5019, -0.8623, -0.0322, 0.0106, 1.4386, -1.6696, 0.2789, 1.1892, -1.2964, -0.2957,
    1.1482, -1.3773, 0.1258, 0.2248, -1.2993,
)  # fmt: skip
QVEL = (
    -0.134, -0.0987, -0.1502, -0.3326, 0.0576, 0.4025, 13.0439, -3.288, 6.6276, 0.8986, 4.6015, -24.445, -0.3902, 1.0979,
    0.0531, -0.076, -6.9095, 6.9502,
)  # fmt: skip
FEET = {11, 19}
# a humanoid that flails: one hand is thrown at a foot
FLAILS = (
    -0.0076, 0.0404, 0.6064, 0.7425, -0.0707, -0.5093, 0.4293, -0.0629, 0.0301, 0.2432, -0.8555, -0.1683, 0.771,
    -0.0743, -0.4288, 0.0629, -0.078, -0.2172, 0.07, 2.5276, -0.7032, -0.108, 0.0125, 0.4415, -0.2381, 2.2772,
    0.0086, 0.1874,
)  # fmt: skip
MOVES = (
    0.221, 0.173, -3.073, -1.991, -2.844, 3.652, 2.987, 2.849, -7.032, -8.116, -1.577, 18.141, 1.988, -5.447, 6.504,
    -3.238, -0.297, 7.506, 1.389, -14.341, 2.565, 4.492, 3.721, 3.741, 6.376, -9.618, 8.538,
)  # fmt: skip
PULLS = (
    -0.84, -0.378, -0.904, 0.445, 0.446, -0.582, 0.145, -0.096, 0.423, 0.845, 0.492, 0.09, -0.46, 0.214, -0.606,
    0.692, -0.1, 0.214, 0.231, -0.12, -0.893,
)  # fmt: skip
HAND_AND_FOOT = {15, 19}


def test_what_is_light_is_expected_to_be_thrown():
    """Not within the room by velocities alone: the feet were 2.3 mm inside each other after the step."""
    model = js.load("quadruped", contact="hard", max_contacts=23)
    model = model.replace(opt=model.opt.replace(timestep=0.01))
    start = js.make_data(model).replace(qpos=jnp.array(QPOS), qvel=jnp.array(QVEL))
    slots = jax.jit(lambda d: collide(model, com_vel(model, com_pos(model, kinematics(model, d)))[0]))(start)
    pairs = pairs_of(model)
    held = np.asarray(slots.pair)[np.asarray(slots.dist) < 1]
    assert int(slots.detected) > len(held) == model.nconmax
    assert FEET in [{pairs.geom1[i], pairs.geom2[i]} for i in held]
    assert np.all(slots.demand <= model.budget)  # nothing is missed


def test_what_is_sure_to_touch_comes_first():
    """At 0.1 s, impulses that might bring shins together took all room, and a quadruped fell through the floor."""
    model = js.load("quadruped", contact="hard", max_contacts=23)
    model = model.replace(opt=model.opt.replace(timestep=0.1))
    stands = js.make_data(model, keyframe=0)
    falls = stands.replace(qpos=stands.qpos.at[2].add(0.35), qvel=stands.qvel.at[2].set(-3.0))
    slots = jax.jit(lambda d: collide(model, com_vel(model, com_pos(model, kinematics(model, d)))[0]))(falls)
    pairs, floor = pairs_of(model), np.flatnonzero(model.geom_type == GeomType.PLANE)
    held = np.asarray(slots.pair)[np.asarray(slots.dist) < 1]
    assert int(slots.detected) > len(held) == model.nconmax
    assert np.isin(pairs.geom1[held], floor).sum() >= 4  # a foot each


def test_by_default_there_is_room_for_all_that_come_together():
    """With the room of the soft law some near pairs were left out, of them a hand and a foot: 1.3 mm inside each other
    after this step, and 50 mm a few steps later."""
    model = js.load("humanoid", contact="hard")
    model = model.replace(opt=model.opt.replace(timestep=0.01))
    start = js.make_data(model).replace(qpos=jnp.array(FLAILS), qvel=jnp.array(MOVES), ctrl=jnp.array(PULLS))
    end = jax.jit(js.step)(model, start)
    assert HAND_AND_FOOT in [set(geoms) for geoms in end.contact.geom.tolist()]
    assert not np.any(end.warning) and np.all(end.peak <= model.budget)


def test_cells_around_geoms_are_looked_at_too():
    """With the cells that the soft law wants, a quadruped running over a height field has some left out."""
    for law in ("hard", "distant"):
        model = js.load("quadruped_terrain", contact=law)
        free = model.nv - model.nu
        start = js.make_data(model)
        running = start.qvel.at[:2].set(3.0).at[free:].set(10.0)
        d = com_vel(model, com_pos(model, kinematics(model, start.replace(qvel=running))))[0]
        demand = dict(zip(model.topology.names["budget"], np.asarray(collide(model, d).demand)))
        soft = budgets_of(js.load("quadruped_terrain").topology)["hfield cells"]
        assert soft < demand["hfield cells"] <= budgets_of(model.topology)["hfield cells"], law
