"""What a rollout returns, each of its options, its memory, and its errors."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim.core.data import INPUTS, INTEGRATION_STATE
from jaxsim.dynamics.kinematics import poses_of
from jaxsim.rollout import _compiled, segments

# a cart that hits a stop, pulled by an actuator with an activation
XML = """
<mujoco>
  <option timestep=".01" tolerance="0" iterations="50"/>
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0" range="-1 .03" limited="true" damping=".1"/>
      <geom type="sphere" size=".1"/>
      <site name="tip" pos=".1 0 .3"/>
    </body>
  </worldbody>
  <actuator><general joint="rail" dyntype="filter" dynprm=".05" gainprm="20" biasprm="0 0 -1"/></actuator>
  <sensor><jointpos joint="rail"/><framelinvel objtype="site" objname="tip"/></sensor>
</mujoco>
"""
STEPS = 7  # in segments of 4 and 3


@functools.cache
def _scene():
    model = js.load(XML)
    data = js.make_data(model)
    applied = data.xfrc_applied.at[1, 0].set(0.5)
    return model, data.replace(qvel=jnp.array([0.8]), xfrc_applied=applied)


def _controls():
    return jnp.asarray(np.random.default_rng(0).uniform(0.2, 1, (STEPS, 1)))


def _steps(model, data, controls, substeps=1):
    """Data after each control, by single steps."""
    path = []
    for u in controls:
        for _ in range(substeps):
            data = js.step(model, data.replace(ctrl=u))
        path.append(data)
    return path


def _assert_same(found, expected):
    leaves, others = jax.tree.flatten_with_path(found)[0], jax.tree.leaves(expected)
    assert len(leaves) == len(others)
    for (where, a), b in zip(leaves, others):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11, err_msg=jax.tree_util.keystr(where))


def test_final_is_what_repeated_steps_give():
    model, data = _scene()
    path = _steps(model, data, _controls())
    final, trajectory = js.rollout(model, data, _controls())
    _assert_same(final, path[-1])
    assert np.abs(final.site_xpos).max() > 0 and final.nefc == 1  # neither is what make_data gives
    assert set(trajectory) == {"time", "qpos", "qvel", "act", "sensordata"}
    for name, values in trajectory.items():
        np.testing.assert_allclose(values, [getattr(d, name) for d in path], rtol=1e-11, err_msg=name)


def test_final_after_a_reset_is_what_repeated_steps_give():
    """A reset also clears the forces that users set."""
    model, data = _scene()
    bad = data.replace(qvel=jnp.array([np.nan]))
    final, _ = js.rollout(model, bad, _controls())
    assert js.warnings_of(final) == {"BADQVEL": 1} and not np.any(final.xfrc_applied)
    _assert_same(final, _steps(model, bad, _controls())[-1])


def test_no_controls():
    model, data = _scene()
    for remat in ("step", "sqrt"):
        final, trajectory = js.rollout(model, data, jnp.zeros((0, 1)), remat=remat)
        _assert_same(final, data)
        assert trajectory["qpos"].shape == (0, 1)


def _loss(controls, remat="step", **options):
    """Of derived fields at the end, and of what is recorded on the way."""
    model, data = _scene()
    final, seen = js.rollout(model, data, controls, remat=remat, outputs=_tip_and_force, **options)
    return jnp.sum(final.site_xpos**2) + jnp.sum(seen["tip"] ** 3) + 1e-4 * jnp.sum(seen["force"] ** 2)


def _tip_and_force(data):
    return {"tip": data.site_xpos[0], "force": data.qfrc_constraint}


def test_gradients_are_those_of_differences_whatever_is_kept():
    controls, small = _controls(), 1e-6
    model, data = _scene()

    def plain(u):
        path = _steps(model, data, u.reshape(STEPS, 1))
        tips, forces = np.array([d.site_xpos[0] for d in path]), np.array([d.qfrc_constraint for d in path])
        return np.sum(path[-1].site_xpos ** 2) + np.sum(tips**3) + 1e-4 * np.sum(forces**2)

    change = small * np.eye(STEPS)
    flat = controls[:, 0]
    expected = np.array([plain(flat + e) - plain(flat - e) for e in change]) / (2 * small)
    assert np.abs(expected[:-2]).min() > 1e-4
    found = {remat: jax.jit(jax.grad(functools.partial(_loss, remat=remat)))(controls) for remat in ("step", "sqrt")}
    for remat, slope in found.items():
        np.testing.assert_allclose(slope[:, 0], expected, rtol=1e-5, atol=1e-8, err_msg=remat)
        np.testing.assert_allclose(slope, found["step"], rtol=1e-10, atol=1e-13, err_msg=remat)


# a pendulum welded softly to a body that is moved from outside, with a torque that the user's data scale
PULLED = """
<mujoco>
  <option timestep=".01" tolerance="0" iterations="50"/>
  <size nuserdata="1"/>
  <worldbody>
    <body name="hand" mocap="true" pos="0 0 1"/>
    <body name="bob" pos="0 0 1"><joint name="axle" axis="0 1 0" damping=".1"/><geom size=".1" pos="0 .1 -.5"/></body>
  </worldbody>
  <equality><weld body1="bob" body2="hand" solref=".2 1"/></equality>
  <actuator><general joint="axle" dyntype="filter" dynprm=".05" gainprm="20"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("options", [{}, {"remat": "sqrt"}, {"substeps": 2}], ids=str)
def test_gradients_by_all_that_a_step_reads(options):
    """Also by inputs that stay as they are through all steps."""
    model = js.extend(js.load(PULLED), passive=lambda m, d: d.userdata * jnp.cos(3 * d.qpos))
    data = js.make_data(model)
    data = data.replace(qpos=data.qpos + 0.2, qvel=data.qvel - 0.3, act=data.act + 0.1, userdata=data.userdata + 0.4)
    real = [n for n in (*INTEGRATION_STATE, *INPUTS) if getattr(data, n).dtype == data.qpos.dtype and n != "time"]
    values = {n: getattr(data, n) for n in real if getattr(data, n).size}
    assert {"qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "userdata"} <= set(values)

    def by_rollout(values):
        final, path = js.rollout(model, data.replace(**values), length=4, **options)
        return jnp.sum(final.xpos**2) + jnp.sum(path["qpos"] ** 3) + final.qvel[0]

    def by_steps(values):
        each = options.get("substeps", 1)

        def take(now, _):
            now = js.step(model, now)
            return now, now.qpos

        final, qpos = jax.lax.scan(take, data.replace(**values), length=4 * each)
        return jnp.sum(final.xpos**2) + jnp.sum(qpos[each - 1 :: each] ** 3) + final.qvel[0]

    found, expected = jax.jit(jax.grad(by_rollout))(values), jax.jit(jax.grad(by_steps))(values)
    for name in values:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert all(jnp.abs(expected[n]).max() > 1e-6 for n in ("qfrc_applied", "xfrc_applied", "mocap_quat", "userdata"))


def _kept(steps: int, remat: str) -> int:
    """Bytes that reverse mode keeps, of a loss on derived fields too."""
    model, data = _scene()

    def loss(controls):
        final, seen = js.rollout(model, data, controls, remat=remat)
        return jnp.sum(final.site_xpos**2) + jnp.sum(seen["sensordata"] ** 2)

    back = jax.eval_shape(lambda u: jax.vjp(loss, u)[1], jnp.zeros((steps, model.nu)))
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(back))


def test_memory_of_derivatives():
    _, data = _scene()
    state = js.get_state(data) | {"warning": data.warning, "sensordata": data.sensordata}
    read = sum(x.nbytes for x in (*state.values(), *poses_of(data)))
    assert _kept(64, "step") - _kept(32, "step") <= 32 * read
    last = data.ctrl.nbytes + data.sensordata.nbytes + 1  # per step: the controls, what is recorded, and a flag
    assert _kept(256, "sqrt") - _kept(64, "sqrt") <= (256 - 64) * last + 8 * sum(
        x.nbytes for x in jax.tree.leaves(data)
    )


@pytest.mark.parametrize("length", [0, 1, 2, 7, 32, 37, 100, 101, 1000, 4999])
def test_segments(length):
    count, size = segments(length)
    assert 0 <= count * size - length <= 0.15 * length + 1
    assert count + size <= 3 * np.sqrt(length) + 2


def _controller(data, key):
    """Reads a sensor and a derived field, and adds noise."""
    noise = 0.0 if key is None else 0.1 * jax.random.normal(key, (1,))
    return 0.3 - data.sensordata[:1] - 0.1 * data.site_xpos[0, :1] + noise


@pytest.mark.parametrize("key", [None, 3])
def test_policy(key):
    model, data = _scene()
    key = None if key is None else jax.random.key(key)
    keys = [None] * STEPS if key is None else jax.random.split(key, STEPS)
    run = jax.jit(lambda d: js.rollout(model, d, policy=_controller, length=STEPS, key=key, outputs=lambda d: d.ctrl))
    begin = js.forward(model, data)
    final, controls = run(begin)
    reached = begin
    for k, u in zip(keys, controls):
        np.testing.assert_allclose(u, _controller(reached, k), rtol=1e-11)
        reached = js.step(model, reached.replace(ctrl=u))
    _assert_same(final, reached)
    assert (np.ptp(controls) > 1e-3) and len(set(np.diff(controls[:, 0]).tolist())) == STEPS - 1


@pytest.mark.parametrize("options", [{}, {"remat": "sqrt"}, {"substeps": 2}], ids=str)
def test_derivative_of_a_policy_by_its_weights(options):
    model, data = _scene()
    begin = js.forward(model, data)

    def loss(weights):
        def act(data, key):
            return weights[0] - weights[1] * data.qpos - weights[2] * data.sensordata[:1] * data.site_xpos[0, :1]

        final, _ = js.rollout(model, begin, policy=act, length=STEPS, **options)
        return final.site_xpos[0, 0] + final.qvel[0]

    weights, small = jnp.array([0.3, 1.0, 0.5]), 1e-6
    run = jax.jit(loss)
    expected = [(run(weights + e) - run(weights - e)) / (2 * small) for e in small * jnp.eye(3)]
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(weights), np.array(expected), rtol=1e-6, atol=1e-9)
    assert np.abs(expected).min() > 1e-5


def test_substeps():
    model, data = _scene()
    path = _steps(model, data, _controls()[:3], substeps=4)
    final, trajectory = js.rollout(model, data, _controls()[:3], substeps=4)
    _assert_same(final, path[-1])
    np.testing.assert_allclose(trajectory["time"], [0.04, 0.08, 0.12])
    np.testing.assert_allclose(trajectory["act"], [d.act for d in path], rtol=1e-11)


def test_a_length_alone_holds_the_controls():
    model, data = _scene()
    data = data.replace(ctrl=jnp.array([0.6]))
    _assert_same(
        js.rollout(model, data, length=STEPS),
        js.rollout(model, data, jnp.full((STEPS, 1), 0.6)),
    )
    held = jax.grad(lambda u: js.rollout(model, data.replace(ctrl=u), length=STEPS)[0].qpos[0])(data.ctrl)
    given = jax.grad(lambda u: js.rollout(model, data, u)[0].qpos[0])(jnp.full((STEPS, 1), 0.6))
    np.testing.assert_allclose(held, given.sum(0), rtol=1e-12)


def test_batch():
    model, data = _scene()
    begin = jax.vmap(lambda v: data.replace(qvel=v))(jnp.array([[0.8], [0.2], [-0.5]]))
    controls = jnp.stack([_controls(), 0.5 * _controls(), -_controls()])
    final, trajectory = jax.vmap(js.rollout, in_axes=(None, 0, 0))(model, begin, controls)
    for i in range(3):
        one, path = js.rollout(model, jax.tree.map(lambda x, i=i: x[i], begin), controls[i])
        _assert_same(jax.tree.map(lambda x, i=i: x[i], (final, trajectory)), (one, path))


def test_controls_are_compiled_once_for_each_shape():
    model, data = _scene()
    js.rollout(model, data, _controls())
    before = _compiled._cache_size()
    js.rollout(model, data, np.asarray(_controls(), np.float32))
    assert _compiled._cache_size() == before


MISUSES = {
    "either ctrl or policy, got both": lambda m, d: js.rollout(m, d, jnp.zeros((2, 1)), policy=_controller, length=2),
    "rollout takes ctrl, or policy and length, or length if": lambda m, d: js.rollout(m, d),
    "length is None: without ctrl, rollout takes length=T": lambda m, d: js.rollout(m, d, policy=_controller),
    "length and key go with a policy": lambda m, d: js.rollout(m, d, jnp.zeros((2, 1)), length=2),
    r"ctrl has shape \(2, 3\), expected \(T, 1\) \[T, nu\]$": lambda m, d: js.rollout(m, d, jnp.zeros((2, 3))),
    r"ctrl has shape \(\), expected \(T, 1\)": lambda m, d: js.rollout(m, d, 0.5),
    r"ctrl has shape \(4, 2, 1\), .*: use jax.vmap\(js.rollout, in_axes=\(None, 0, 0\)\)": lambda m, d: js.rollout(
        m, d, jnp.zeros((4, 2, 1))
    ),
    "ctrl is int64, expected float64": lambda m, d: js.rollout(m, d, jnp.zeros((2, 1), int)),
    "substeps is 0, expected a whole number": lambda m, d: js.rollout(m, d, jnp.zeros((2, 1)), substeps=0),
    "remat is 'all', expected one of 'step', 'sqrt'": lambda m, d: js.rollout(m, d, jnp.zeros((2, 1)), remat="all"),
    r"policy returns shape \(3,\), expected \(1,\) \[nu\]": lambda m, d: js.rollout(
        m, d, policy=lambda d, k: jnp.zeros(3), length=2
    ),
    "policy returns int64, expected float64": lambda m, d: js.rollout(
        m, d, policy=lambda d, k: jnp.zeros(1, int), length=2
    ),
    r"rollout takes \(model, data\), got \(Data, Model\)": lambda m, d: js.rollout(d, m, jnp.zeros((2, 1))),
}


@pytest.mark.parametrize("message", MISUSES)
def test_errors(message):
    with pytest.raises((TypeError, ValueError), match=message):
        MISUSES[message](*_scene())
