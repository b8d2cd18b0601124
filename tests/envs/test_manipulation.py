"""The hand and the peg beside MuJoCo C with contacts, their derivatives, goals and places; the dog's rough ground."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim import envs, models


def controls(name: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Random controls [100, nu], held for ten steps, that keep the cube among the fingers, the peg on the block."""
    rng = np.random.default_rng(0)
    part = rng.uniform(0.3 * low, 0.3 * high, (10, len(low)))
    if name == "hand":
        part[:, 1::3], part[:, 2::3] = rng.uniform(-0.4, 0.2, (10, 3)), rng.uniform(1.4, 2.1, (10, 3))
    else:
        part[:, :2] *= 0.3
        part[:, 2] = -0.13
    return part.repeat(10, axis=0)


@pytest.mark.parametrize("name", ["hand", "peg"])
def test_steps_are_those_of_mujoco(name):
    mj = mujoco.MjModel.from_xml_path(str(models.path(name)))
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 100, 50
    d = mujoco.MjData(mj)
    mujoco.mj_resetDataKeyframe(mj, d, 0)
    d.qpos[2] -= 0.04 if name == "peg" else 0
    model, ctrl, contacts = js.put_model(mj), controls(name, *mj.actuator_ctrlrange.T), 0
    start = js.make_data(model, "ready").replace(qpos=jnp.asarray(d.qpos))
    final, seen = js.rollout(model, start, jnp.asarray(ctrl), outputs=lambda data: (data.qpos, data.qvel))
    theirs = []
    for u in ctrl:
        d.ctrl[:] = u
        mujoco.mj_step(mj, d)
        contacts = max(contacts, d.ncon)
        theirs.append((d.qpos.copy(), d.qvel.copy()))
    assert contacts > 4 and not final.warning.any()
    for ours, other in zip(seen, zip(*theirs)):
        np.testing.assert_allclose(np.asarray(ours)[-100:], other, atol=1e-9)


@pytest.mark.parametrize("task", ["hand_turn", "peg_insert"])
def test_derivatives_of_a_step_are_finite(task):
    env = envs.make(task)
    state = env.reset(jax.random.key(0))
    gradient = jax.jit(jax.grad(lambda action: env.step(state, action).reward))(jnp.full(env.action_size, 0.3))
    assert jnp.isfinite(gradient).all() and jnp.abs(gradient).max() > 0


def test_a_goal_that_is_reached_is_paid_for_once_and_followed_by_another():
    env = envs.make("hand_turn", effort=0.0, away=0.0)
    state = env.reset(jax.random.key(0))
    there = {**state.info, "goal": -state.data.qpos[12:16]}  # the same orientation
    info = {**there, **env.advance(env.model, state.data, there)}
    gained, terms = env.reward(env.model, state.data, state.data, jnp.zeros(9), info)
    assert info["new"] and terms["count"] == 1 and gained == pytest.approx(1 + env.constants.bonus, abs=1e-4)
    w, angle = info["goal"][0], jnp.linalg.norm(env.observe(env.model, state.data, info)[-3:])
    assert angle == pytest.approx(2 * np.arccos(abs(w)), abs=1e-6) and angle <= env.constants.turn + 1e-6
    later = {**info, **env.advance(env.model, state.data, info)}
    assert bool(later["new"]) == bool(angle < env.constants.reached)


def test_the_peg_counts_as_inserted_in_the_hole_and_not_beside_it():
    env = envs.make("peg_insert", area=0.02, noise=0.0)
    state = env.reset(jax.random.key(1))
    x, y, _ = state.data.mocap_pos[0]
    yaw = 2 * jnp.arcsin(state.data.mocap_quat[0, 3])
    found = []
    for aside in (0.0, 0.01):
        qpos = jnp.stack([x + aside, y, -0.155, yaw + np.pi / 2, 0, 0])
        data = js.forward(env.model, state.data.replace(qpos=qpos))
        found.append(bool(env.reward(env.model, state.data, data, jnp.zeros(4), {})[1]["inserted"]))
        np.testing.assert_allclose(env.observe(env.model, data, {})[19:21], [0, 1], atol=1e-6)
    assert found == [True, False]


def test_the_ground_is_level_at_the_start_rough_beyond_and_touched_by_feet_only():
    env = envs.make("quadruped_terrain", rough=0.05)
    field = env.model.hfield("terrain")
    height = np.asarray(env.model.hfield_data).reshape(161, 161) * field.size[2]
    assert height.min() == 0 and 0.03 < height.max() < 0.05 + 1e-6 and not height[78:83, 78:83].any()
    assert (height != np.asarray(envs.make("quadruped_terrain", seed=1).model.hfield_data).reshape(161, 161)).any()
    x, y = 3.0, 0.0
    ground = height[80, 80 + int(8 * x)]
    stand = js.make_data(env.model, "stand")
    data = js.forward(env.model, stand.replace(qpos=stand.qpos.at[:3].add(jnp.array([x, y, ground - 0.05]))))
    names = {env.model.geom(int(i)).name for i in np.asarray(data.contact.geom)[: int(data.ncon)].ravel()}
    assert int(data.ncon) >= 4 and names == {
        "terrain",
        *(f"foot_{a}_{b}" for a in ("front", "hind") for b in ("left", "right")),
    }
