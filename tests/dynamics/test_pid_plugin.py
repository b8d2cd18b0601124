"""Actuators of the plugin mujoco.pid against MuJoCo's own, step by step."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

INSTANCES = {
    "p": 'kp="40"',
    "pd": 'kp="40" kd=".8"',
    "pid": 'kp="30" ki="90" kd=".5" imax="1.5"',
    "free": 'kp="30" ki="20" slewmax="2"',
    "slow": 'kp="30" kd=".4" slewmax=".5"',
    "all": 'kp="25" ki="50" kd=".3" imax="2" slewmax="3"',
    "still": 'kp="10" slewmax="0"',
}
# each on a joint of its own: instance, and what the element says besides
DRIVES = [
    ("p", ""),
    ("pd", 'ctrlrange="-.4 .4" gear="2" nsample="4" delay=".012"'),  # which the plugin does not wait for
    ("pid", 'actdim="1"'),
    ("free", 'actdim="2" forcerange="-6 6"'),
    ("slow", 'actdim="1"'),
    ("all", 'actdim="2"'),
    ("still", 'actdim="1"'),
    ("pd", 'actdim="1" dyntype="filter" dynprm=".05"'),
    ("all", 'actdim="3" dyntype="filterexact" dynprm=".03" actlimited="true" actrange="-.6 .5"'),
    ("pid", 'actdim="2" dyntype="integrator" actearly="true"'),
    ("all", 'actdim="3" dyntype="filterexact" dynprm=".05" actearly="true"'),
]
FIELDS = ("act_dot", "actuator_force", "qfrc_actuator", "qacc", "act", "qvel", "qpos")


def scene(drives=DRIVES, integrator: str = "Euler") -> str:
    """MJCF of a hinge for each drive."""
    instances = "".join(
        f'<instance name="{name}">'
        + "".join(f'<config key="{key}" value={value}/>' for key, value in (x.split("=") for x in text.split()))
        + "</instance>"
        for name, text in INSTANCES.items()
    )
    bodies = "".join(
        f'<body pos="{i} 0 0"><joint name="j{i}" axis="0 1 0" damping=".1"/><geom size=".1" pos=".2 0 0" mass="1"/></body>'
        for i in range(len(drives))
    )
    actuators = "".join(f'<plugin joint="j{i}" instance="{name}" {more}/>' for i, (name, more) in enumerate(drives))
    return f"""<mujoco><option integrator="{integrator}" timestep=".004"/>
        <extension><plugin plugin="mujoco.pid">{instances}</plugin></extension>
        <worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_steps(integrator):
    xml = scene(integrator=integrator)
    mj, m = oracle.converge(mujoco.MjModel.from_xml_string(xml)), js.load(xml)
    d, data = mujoco.MjData(mj), js.make_data(m)
    step, rng = jax.jit(js.step), np.random.default_rng(0)
    bounded = 0
    for i in range(80):
        if i % 8 == 0:
            d.ctrl[:] = rng.uniform(-1, 1, mj.nu)
        data = step(m, data.replace(ctrl=jnp.array(d.ctrl)))
        mujoco.mj_step(mj, d)
        oracle.assert_equal(data, d, FIELDS)
        bounded += abs(d.act[0]) > 1.5 / 90 - 1e-9  # the integral of "pid"
    assert 0 < bounded < 80


def test_derivatives():
    m = js.load(scene())
    first = js.make_data(m).replace(ctrl=jnp.linspace(-0.3, 0.7, m.nu))
    first = jax.jit(js.step)(m, first)

    def value(x):
        model = m.replace(actuator_pidprm=m.actuator_pidprm.at[:, :3].multiply(x[0]))
        after = js.step(model, first.replace(ctrl=first.ctrl * x[1], qpos=first.qpos + x[2]))
        return jnp.concatenate([after.qvel, after.act])

    at = jnp.array([1.01, 1.1, 0.02])
    found, mirrored = jax.jit(jax.jacfwd(value))(at), jax.jit(jax.jacrev(value))(at)
    run = jax.jit(value)
    h = 1e-6
    expected = jnp.stack([(run(at + h * e) - run(at - h * e)) / (2 * h) for e in jnp.eye(3)], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(mirrored, found, atol=1e-12)


@pytest.mark.parametrize(
    "drive, message",
    [
        (("all", ""), 'the controller has 2 states: actdim="2"'),
        (("p", 'actdim="1"'), "the controller has 0 states"),
        (("p", 'dyntype="muscle" actdim="1"'), "needs dyntype 'none', 'integrator', 'filter' or 'filterexact'"),
        (("fast", ""), "no plugin instance is called 'fast'"),
        (("p", 'plugin="mujoco.sdf.nut"'), "is not declared"),
    ],
)
def test_bad_drives(drive, message):
    with pytest.raises(js.MjcfError, match=message.replace("(", r"\(")):
        js.load(scene([drive]))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('key="kd" value=".8"', 'key="damping" value=".8"', "unknown key 'damping'; expected one of kp, ki, kd"),
        ('value=".8"', 'value="much"', "kd='much' is not a number"),
        ('key="imax" value="1.5"', 'key="imax" value="-4"', "imax is negative"),
        ('key="ki" value="90"', 'key="ki" value="-90"', "ki must not be negative"),
        ('key="slewmax" value="2"', 'key="slewmax" value="inf"', "is not finite"),
        ("mujoco.pid", "mujoco.pip", "engine plugin 'mujoco.pip' is not supported"),
    ],
)
def test_bad_instances(old, new, message):
    text = scene()
    assert old in text
    with pytest.raises(js.MjcfError, match=message):
        js.load(text.replace(old, new))
