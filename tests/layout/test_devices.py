"""Batches shared between devices: the numbers of one, and errors that say what is wrong."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import devices
from jaxsim.cli import main
from jaxsim.devices import use_cores

PENDULUM = """<mujoco><worldbody><body>
  <joint axis="0 1 0" damping="0.1"/> <geom size="0.1" pos="0.3 0 0" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""
GRAPHS_ON = f"{devices.GRAPHS}=+WHILE,+CONDITIONAL"
BALL = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body pos="0 0 .099"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


def test_a_world_is_the_same_on_two_devices(float32, optimized):
    model = js.load(BALL)
    data = js.make_data(model)
    noise = 0.1 * np.random.default_rng(0).standard_normal((40, model.nv), np.float32)
    worlds = jax.vmap(lambda v: data.replace(qvel=v))(jnp.asarray(noise))
    alone, split = (jax.jit(f(js.step, (None, 0))) for f in (jax.vmap, devices.vmap))
    expected, got = worlds, worlds
    for _ in range(3):
        expected, got = alone(model, expected), split(model, got)
    assert len(got.qpos.sharding.device_set) == 2 == jax.device_count()
    assert np.ptp(got.qpos, axis=0).min() > 0
    for name in ("qpos", "qvel", "qacc", "xpos", "ncon", "time"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), name)


def test_derivatives_through_two_devices(float32):
    model = js.load(PENDULUM)
    worlds = jax.vmap(lambda x: js.make_data(model).replace(qpos=x))(jnp.linspace(0.1, 0.4, 4).reshape(4, 1))

    def speed(vmap, model):
        return (vmap(js.step, (None, 0))(model, worlds).qvel ** 2).sum()

    one, two = (jax.jit(jax.grad(lambda m, v=v: speed(v, m), allow_int=True))(model) for v in (jax.vmap, devices.vmap))
    assert np.abs(one.body_mass).max() > 0
    np.testing.assert_allclose(two.body_mass, one.body_mass, rtol=1e-4)  # float32 sums in another order


STOPPED = """<mujoco><option tolerance="0"/><worldbody><body>
  <joint name="rail" type="slide" axis="1 0 0" range="-1 .01" limited="true" damping="1"/> <geom size=".1"/>
  <site name="tip" pos=".1 0 0"/></body></worldbody>
  <actuator><motor joint="rail" gear="20"/></actuator></mujoco>"""


def test_rollouts_and_their_gradients_on_two_devices():
    """The final Data, what is recorded, and derivatives by each world's controls and by the model they share."""
    model = js.load(STOPPED)
    worlds = jax.vmap(lambda v: js.make_data(model).replace(qvel=v))(jnp.linspace(0.5, 2, 4).reshape(4, 1))
    controls = jnp.asarray(np.random.default_rng(0).standard_normal((4, 5, 1)))

    def run(vmap, mass, controls):
        heavier = model.replace(body_mass=model.body_mass * mass)
        ends, path = vmap(js.rollout, (None, 0, 0))(heavier, worlds, controls)
        seen = {"qpos": ends.qpos, "site_xpos": ends.site_xpos, "nefc": ends.nefc, "path": path["qvel"]}
        return (ends.site_xpos**2).sum() + (path["qvel"] ** 2).sum(), seen

    def slopes(vmap):
        fun = jax.value_and_grad(lambda mass, u: run(vmap, mass, u), (0, 1), has_aux=True)
        return jax.jit(fun)(jnp.ones(()), controls)

    (_, one), by_one = slopes(jax.vmap)
    (_, two), by_two = slopes(devices.vmap)
    assert len(two["qpos"].sharding.device_set) == 2
    assert np.max(one["nefc"]) == 1 and np.abs(by_one[0]) > 1e-3 and np.abs(by_one[1]).min() > 1e-9
    for a, b in zip(jax.tree.leaves((one, by_one)), jax.tree.leaves((two, by_two))):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_simulate_gives_the_same_on_any_number_of_devices(capsys, tmp_path):
    saved = []
    for count in (1, 2):
        file = tmp_path / f"{count}.npz"
        argv = ["simulate", "cart_pole", "--worlds", "50", "--steps", "30", "--devices", str(count)]
        assert main([*argv, "--save", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["devices"] == count
        with np.load(file) as arrays:
            saved.append(dict(arrays))
    assert np.ptp(saved[0]["final_qpos"]) > 0
    for name in saved[0]:
        np.testing.assert_array_equal(saved[0][name], saved[1][name], name)


@pytest.mark.parametrize("command", ["simulate", "bench"])
def test_more_devices_than_there_are_is_an_error(capsys, command):
    assert main([command, "cart_pole", "--worlds", "9", "--devices", "3"]) == 2
    assert "--devices 3: JAX has 2" in capsys.readouterr().err


def test_worlds_that_cannot_be_shared_equally_are_an_error(capsys):
    assert main(["simulate", "cart_pole", "--worlds", "9", "--devices", "2"]) == 2
    assert "--devices 2: 9 worlds cannot be shared equally" in capsys.readouterr().err


def test_errors():
    with pytest.raises(ValueError, match="3 devices are asked for, JAX has 2"):
        devices.vmap(js.step, (None, 0), 3)
    with pytest.raises(ValueError, match="shared along axis 0"):
        devices.vmap(js.step, (None, 1))


@pytest.mark.parametrize(
    "before, after", [("", GRAPHS_ON), ("--a=1", f"--a=1 {GRAPHS_ON}"), (f"{devices.GRAPHS}=", f"{devices.GRAPHS}=")]
)
def test_graphs_are_asked_for_where_nothing_is_said_of_them(monkeypatch, before, after):
    monkeypatch.setenv("XLA_FLAGS", before)
    devices.use_graphs()
    devices.use_graphs()
    assert os.environ["XLA_FLAGS"] == after


def test_cores_become_devices_until_jax_is_in_use():
    script = "from jaxsim.devices import use_cores; print(use_cores(3), use_cores(2))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["3", "3"]
    assert use_cores(5) == 2  # JAX is in use here
