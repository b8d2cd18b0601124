"""The command line: what it prints and writes, its exit codes, and one-line errors on bad input."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import envs, models
from jaxsim.cli import main
from jaxsim.commands.compare import compare
from jaxsim.commands.recording import Plan, Runner
from jaxsim.commands.simulate import contacts, trajectory

PENDULUM = """
<mujoco model="pendulum">
  <option timestep="0.01"><flag energy="enable"/></option>
  <worldbody>
    <body name="bob" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.01"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" mass="1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="hinge" gear="2" ctrllimited="true" ctrlrange="-0.5 1"/></actuator>
  <keyframe><key name="up" qpos="3"/></keyframe>
</mujoco>
"""


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    return str(path)


def run(capsys, *argv):
    """Exit code, stdout, stderr."""
    try:
        code = main([str(a) for a in argv])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    "argv, message",
    [
        (["info", "humanoit"], "no bundled model is called 'humanoit'; closest: humanoid"),
        (["info", "absent.xml"], "there is no file absent.xml; bundled models: ant,"),
        (["info", "."], ". is a folder"),
        (["simulate", "ant", "--worlds", "0"], "--worlds: '0' is not a whole number of at least 1"),
        (["simulate", "ant", "--perturb", "-1"], "--perturb: '-1' is not a number of at least 0"),
        (["simulate", "ant", "--out", "absent/run.html"], "--out: there is no folder absent"),
        (["simulate", "ant", "--keyframe", "stend"], "keyframe 'stend': the model has stand"),
        (["simulate", "ant", "--keyframe", "7"], "keyframe 7: the model has stand"),
        (["bench", "ant", "--against", "bullet"], "--against bullet: not an engine; choose from mjx, mujoco"),
        (["fly", "ant"], "invalid choice: 'fly'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, argv, message):
    code, out, err = run(capsys, *argv)
    assert code == 2 and not out
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("command", [[], ["simulate"], ["info"], ["check"], ["compare"], ["bench"]])
def test_help(capsys, command):
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0 and out.startswith("usage: jaxsim")
    assert "--json" in out or not command


@pytest.mark.parametrize("name", models.names())
def test_bundled_models_have_no_problems(capsys, name):
    assert run(capsys, "check", name)[:2] == (0, f"{models.path(name)}: no problems\n")


def test_check_lists_every_problem_with_its_line(capsys, tmp_path):
    path = tmp_path / "wrong.xml"
    path.write_text('<mujoco>\n<worldbody>\n<geom size="1 x"/>\n<geom tipe="box"/>\n</worldbody>\n</mujoco>\n')
    code, out, _ = run(capsys, "check", path)
    assert code == 1
    assert f"{path}:3: <geom>" in out and f"{path}:4: <geom>" in out and "2 problems" in out
    code, out, _ = run(capsys, "check", path, "--json")
    record = json.loads(out)
    assert code == 1 and not record["ok"]
    assert [p["line"] for p in record["problems"]] == [3, 4]
    code, out, err = run(capsys, "simulate", path)
    assert code == 2 and not out and f"{path}:3" in err


REFUSED = """
<mujoco>
  <option integrator="discrete" solver="PGS"><flag ipc="enable"/></option>
  <worldbody><body><freejoint/><geom size=".1"/></body></worldbody>
</mujoco>
"""


def test_check_prints_what_would_make_a_model_load(capsys, tmp_path):
    """Each refusal ends in an edit; with all of them made the model loads."""
    path = tmp_path / "refused.xml"
    path.write_text(REFUSED)
    code, out, _ = run(capsys, "check", path)
    assert code == 1 and "use implicitfast" in out and '<flag ipc="disable"/>' in out
    path.write_text(REFUSED.replace('"discrete"', '"implicitfast"').replace('"enable"', '"disable"'))
    assert run(capsys, "check", path)[0] == 0


def test_info_counts_rows_and_bytes(capsys):
    code, out, _ = run(capsys, "info", "humanoid", "--worlds", "10", "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["sizes"]["nv"], record["sizes"]["nu"]) == (27, 21)
    assert record["features"]["joints"] == {"hinge": 21, "free": 1}
    # every hinge is limited on both sides; contacts have condim 3 and a pyramidal cone
    assert record["rows"]["limit"] == 42
    assert record["rows"]["contact"] == 4 * record["sizes"]["nconmax"]
    data = js.make_data(js.load(models.path("humanoid")))
    assert record["bytes"]["world"] == sum(leaf.nbytes for leaf in jax.tree.leaves(data))
    assert record["bytes"]["worlds"] == 10 * record["bytes"]["world"]
    assert "constraint rows, at most" in run(capsys, "info", "arm")[1]


def test_simulate_writes_player_and_arrays(capsys, pendulum, tmp_path):
    html, npz = tmp_path / "run.html", tmp_path / "run.npz"
    argv = ["simulate", pendulum, "--worlds", 5, "--steps", 30, "--show-worlds", 3, "--keyframe", "up"]
    argv += ["--perturb", 0.1]
    code, out, err = run(capsys, *argv, "--out", html, "--save", npz)
    assert code == 0, err
    assert "compiled in" in out and "150 steps in" in out and f"wrote {npz}" in out
    assert "World 2" in html.read_text() and "World 3" not in html.read_text()
    with np.load(npz) as arrays:
        saved = dict(arrays)
    # 50 frames per second of 100 steps per second: every second step
    assert saved["xquat"].shape == (15, 3, 2, 4) and saved["final_qpos"].shape == (5, 1)
    np.testing.assert_allclose(saved["time"][:, 0], np.arange(15) * 0.02, atol=1e-6)
    assert np.ptp(saved["ctrl"][-1]) > 0 and saved["ctrl"].min() >= -0.5 and saved["ctrl"].max() <= 1


def test_simulate_as_json_prints_nothing_else(capsys, pendulum):
    code, out, _ = run(capsys, "simulate", pendulum, "--steps", 3, "--policy", "zero", "--json")
    record = json.loads(out)
    assert code == 0 and record["steps"] == 3 and record["finite_worlds"] == 1.0
    assert record["steps_per_s"] > 0 and record["warnings"] == {}


def test_recording_is_what_step_by_step_simulation_gives(pendulum):
    model = js.load(pendulum)
    data = js.make_data(model, "up")
    runner = Runner(model, data, Plan(worlds=2, steps=17, stride=3, shown=1, random=False), seed=0)
    assert runner.trace()[1] > 1000 and runner.compile() > 0
    assert list(runner.run())[-1] == 17
    frames = runner.frames()
    quats = []
    for i in range(17):
        data = js.step(model, data)
        if i % 3 == 0:
            quats.append(data.xquat)
    np.testing.assert_allclose(frames["xquat"][:, 0], quats, atol=1e-5)
    np.testing.assert_allclose(runner.state.data.qpos, np.tile(data.qpos, (2, 1)), atol=1e-5)
    clip = trajectory(frames, 0.03)
    np.testing.assert_allclose(clip.time, np.arange(6) * 0.03)
    assert list(clip.channels) == ["energy [J]"]


def test_recorded_contacts_carry_what_lies_on_them():
    model = js.load(
        """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
             <body pos="0.3 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body>
             <body pos="-0.3 0 0.5"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"""
    )
    plan = Plan(worlds=2, steps=251, stride=125, shown=1, random=False, contacts=True, forces=True)
    runner = Runner(model, js.make_data(model), plan, seed=0)
    runner.trace()
    runner.compile()
    assert list(runner.run())[-1] == 251
    seen = contacts(runner.frames())
    # the second ball is still falling in the first frame; both rest at 0.5 s
    np.testing.assert_array_equal(seen.count[[0, 2]], [[1], [2]])
    np.testing.assert_allclose(np.sort(seen.pos[2, 0, :2, 0]), [-0.3, 0.3], atol=1e-3)
    np.testing.assert_allclose(seen.normal[2, 0, :2], [[0, 0, 1]] * 2, atol=1e-6)
    weights = 9.81 * np.where(seen.pos[2, 0, :2, 0] > 0, 2, 1)
    np.testing.assert_allclose(seen.force[2, 0, :2, 2], weights, rtol=0.02)  # MuJoCo's contacts are soft


def test_compare_with_the_reference(capsys, pendulum):
    pytest.importorskip("mujoco")
    before = jax.config.jax_enable_x64
    code, out, _ = run(capsys, "compare", pendulum, "--steps", 12, "--json")
    record = json.loads(out)
    assert code == 0, record
    assert record["ok"] and record["fields"]["body_mass"] < 1e-12 and record["stages"]["qacc"] < 1e-12
    assert list(record["rollout"]) == ["1", "10", "12"]
    assert jax.config.jax_enable_x64 == before, "the precision of the process must not change"


def test_compare_notices_a_difference(pendulum):
    mujoco = pytest.importorskip("mujoco")
    model, reference = js.load(pendulum), mujoco.MjModel.from_xml_path(pendulum)
    reference.dof_damping[0] *= 1.01
    record = compare(model, reference, steps=10, seed=1)
    assert not record["ok"]
    assert record["fields_beyond_tolerance"] == ["dof_damping"]
    assert "qfrc_passive" in record["stages_beyond_tolerance"]
    assert record["rollout_beyond_tolerance"] == [1, 10]


def test_bench_measures_and_compares(capsys, pendulum):
    pytest.importorskip("mujoco")
    argv = ["bench", pendulum, "--worlds", 4, "--steps", 3, "--repeats", 1, "--against", "mujoco"]
    code, out, _ = run(capsys, *argv, "--json")
    record = json.loads(out)
    ours = record["engines"]["jaxsim"]
    assert code == 0 and ours["finite"] == 1.0
    assert min(ours[k] for k in ("steps_per_s", "trace_s", "compile_s", "equations", "data_bytes")) > 0
    assert record["ratios"]["mujoco"]["steps_per_s"] == pytest.approx(
        ours["steps_per_s"] / record["engines"]["mujoco"]["steps_per_s"]
    )


def test_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "jaxsim", "info", "nothing"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2 and done.stderr.startswith("jaxsim: error: no bundled model")


def run_at_home(home, *words: str, **settings: str) -> subprocess.CompletedProcess:
    """A command of a user whose programs are kept where jaxsim and JAX keep them by default."""
    env = {k: v for k, v in os.environ.items() if k not in ("JAX_COMPILATION_CACHE_DIR", "XDG_CACHE_HOME")}
    env |= {"HOME": str(home), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"} | settings
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300, env=env)


def test_programs_are_kept_for_the_next_run(pendulum, tmp_path):
    def kept(folder):
        return {path.name for path in folder.glob("*-cache")}

    simulate = [
        "-m",
        "jaxsim",
        "simulate",
        str(pendulum),
        "--worlds",
        "2",
        "--steps",
        "3",
        "--out",
        str(tmp_path / "a.html"),
    ]
    assert run_at_home(tmp_path, *simulate).returncode == 0
    first = kept(tmp_path / ".cache" / "jaxsim")
    assert first
    again = run_at_home(tmp_path, *simulate)
    assert again.returncode == 0 and kept(tmp_path / ".cache" / "jaxsim") == first
    assert run_at_home(tmp_path, *simulate, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own")).returncode == 0
    assert kept(tmp_path / "own") and kept(tmp_path / ".cache" / "jaxsim") == first
    homeless = run_at_home("/dev/null", *simulate)
    assert homeless.returncode == 0 and "warning" not in homeless.stderr
    place = (
        "from jaxsim import devices; import jax; print(devices.keep_programs(), jax.config.jax_compilation_cache_dir)"
    )
    assert run_at_home("/dev/null", "-c", place).stdout == "None None\n"
    assert (
        run_at_home(tmp_path, "-c", place, XDG_CACHE_HOME=str(tmp_path)).stdout.split()
        == [str(tmp_path / "jaxsim")] * 2
    )


def test_a_policy_acts_as_in_its_task(tmp_path, capsys, float32):
    """The worlds of `jaxsim simulate` are those of the task's own steps."""
    gain = jnp.array([[0.3, 0.5, 0.2, 4.0, -2.0]])
    env = envs.make("cart_pole_swing_up", n_substeps=3)
    path = tmp_path / "policy.zip"
    envs.save_policy(path, lambda obs: jnp.tanh(obs @ gain.T), 5, "cart_pole_swing_up", {"n_substeps": 3})
    options = ("--worlds", 2, "--steps", 7, "--fps", 1000, "--save", tmp_path / "run.npz")
    assert run(capsys, "simulate", "cart_pole", "--policy", path, *options)[0] == 0
    state = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2))
    controls = []
    for _ in range(3):
        state = jax.vmap(env.step)(state, jnp.tanh(state.obs @ gain.T))
        controls.append(state.data.ctrl)
    with np.load(tmp_path / "run.npz") as saved:
        found = saved["ctrl"]
    expected = np.repeat(np.asarray(controls), 3, axis=0)[:7]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 0.02  # far above the tolerance

    for argv, message in (
        (["ant", "--policy", path], "acts on the model of SwingUp with nq, nv, nu (2, 2, 1); this one has"),
        (["cart_pole", "--out", path, "--save", path], "must be three different files"),
        (["cart_pole", "--policy", "absent.zip"], "--policy absent.zip: neither random nor zero nor a file"),
        (["cart_pole", "--policy", path, "--keyframe", "0"], "the policy's task says how worlds start"),
    ):
        code, _, err = run(capsys, "simulate", *argv)
        assert code == 2 and message in err
