"""Energy, momentum and closed forms: a T-handle that turns over, a double pendulum, a thrown ball, a damped spring.

The handle's weight is compensated, so that all are in one world, and one program for each integrator serves all checks.
"""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest
from scipy.special import ellipj, ellipkinc

import jaxsim as js
from jaxsim.core.enums import Integrator

INERTIA = np.array([0.02, 0.05, 0.06])  # of the handle, kg m^2
SPIN = np.array([0.3, 5.0, 0.6])  # about its middle axis, nearly
MASS, STIFFNESS, DAMPING = 2.0, 50.0, 3.0  # of the spring's slide
XML = """
<mujoco>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="handle" gravcomp="1" pos="0 0 5"><freejoint/>
      <inertial pos="0 0 0" mass=".7" diaginertia=".02 .05 .06"/></body>
    <body name="ball" pos="3 0 0"><freejoint/><inertial pos="0 0 0" mass=".4" diaginertia=".01 .01 .01"/></body>
    <body name="slide" pos="6 0 0" gravcomp="1"><joint name="spring" type="slide" axis="1 0 0" stiffness="50" damping="3"/>
      <inertial pos="0 0 0" mass="2" diaginertia=".1 .1 .1"/></body>
    <body name="upper" pos="0 4 0"><joint name="a" axis="0 1 0"/>
      <inertial pos="0 0 -.5" mass="1" diaginertia=".08 .08 .002"/>
      <body pos="0 0 -1"><joint name="b" axis="0 1 0"/>
        <inertial pos="0 0 -.5" mass="1" diaginertia=".08 .08 .002"/></body></body>
  </worldbody>
</mujoco>
"""
ORDER = {
    Integrator.EULER: 1,
    Integrator.IMPLICIT: 1,
    Integrator.IMPLICITFAST: 1,
    Integrator.DISCRETE: 1,
    Integrator.RK4: 4,
}
THROW, STRETCH, ANGLES, SWINGS = np.array([1.0, -2.0, 7.0]), 0.3, np.array([2.0, -1.0]), np.array([2.0, 0.5])
RECORDS, STEPS = 4, 40


@functools.cache
def _program(integrator: Integrator):
    """(every, timestep) -> states [RECORDS, ...] after every so many steps."""
    mj = mujoco.MjModel.from_xml_string(XML)
    mj.opt.integrator = int(integrator)
    _mj, model = oracle.pair(mj)
    start = js.make_data(model)
    start = start.replace(
        qpos=start.qpos.at[14:].set(jnp.asarray([STRETCH, *ANGLES])),
        qvel=jnp.asarray([0, 0, 0, *SPIN, *THROW, 0, 0, 0, 0, *SWINGS]),
    )

    def run(every, timestep):
        m = model.replace(opt=model.opt.replace(timestep=timestep))

        def some(data, _):
            data = jax.lax.fori_loop(0, every, lambda _, d: js.step(m, d), data)
            return data, (data.qpos, data.qvel)

        return jax.lax.scan(some, start, None, length=RECORDS)[1]

    return jax.jit(run)


@pytest.mark.parametrize("integrator", ORDER, ids=lambda i: i.name)
def test_closed_forms_to_the_order_that_the_integrator_promises(integrator):
    """Errors after 0.4 s, in 40, 80 and 160 steps."""
    end = 0.4
    steps = STEPS * np.array([1, 2, 4])
    program = _program(integrator)
    qpos, qvel = (np.array(x) for x in zip(*((y[-1] for y in program(n // RECORDS, end / n)) for n in steps)))

    ball = THROW * end - 0.5 * end * np.array([0, 0, 9.81 * end])
    late = (
        np.zeros(3) if ORDER[integrator] > 1 else 0.5 * end * 9.81 * end / steps
    )  # a step is one of the latest velocity
    np.testing.assert_allclose(qpos[:, 7:10] - [3, 0, 0], ball - late[:, None] * [0, 0, 1], atol=1e-12)

    errors = {
        "handle": np.abs(qvel[:, 3:6] - _spin(end)).max(axis=1),
        "momentum": np.abs(_momentum(qpos, qvel) - _momentum_at_start()).max(axis=1),
        "spring": np.abs(qpos[:, 14] - _stretch(end)),
        "pendulum": np.abs(_energy(qpos, qvel) - _energy_at_start()),
    }
    for name, error in errors.items():
        ratio = error[:-1] / error[1:]
        assert (np.abs(np.log2(ratio) - ORDER[integrator]) < 0.1).all(), (name, error)


def test_a_handle_turns_over_and_a_double_pendulum_swings_for_a_minute():
    """RK4, 30,000 steps."""
    timestep, end = 0.002, 60.0
    qpos, qvel = map(np.asarray, _program(Integrator.RK4)(round(end / timestep / RECORDS), timestep))
    times = end * np.arange(1, RECORDS + 1) / RECORDS
    spin = np.array([_spin(t) for t in times])
    assert (np.sign(_spin(np.linspace(0, end, 600))[:, 1]) < 0).mean() > 0.3  # it is upside down for much of the time
    np.testing.assert_allclose(qvel[:, 3:6], spin, atol=1e-5)
    np.testing.assert_allclose(_momentum(qpos, qvel), np.tile(_momentum_at_start(), (RECORDS, 1)), atol=1e-7)
    np.testing.assert_allclose(0.5 * qvel[:, 3:6] ** 2 @ INERTIA, 0.5 * SPIN**2 @ INERTIA, rtol=1e-7)
    np.testing.assert_allclose(_energy(qpos, qvel), _energy_at_start(), rtol=1e-5)  # RK4 loses some, h^5 a step
    np.testing.assert_allclose(qvel[:, 6:8], np.tile(THROW[:2], (RECORDS, 1)), atol=1e-12)


def _spin(time):
    """Angular velocities [..., 3] of a free body in its frame, by Jacobi's elliptic functions (Landau, Mechanics, 37)."""
    a, b, c = INERTIA
    energy, square = SPIN**2 @ INERTIA, (SPIN * INERTIA) @ (SPIN * INERTIA)
    assert square > energy * b
    size = np.sqrt(
        [
            (energy * c - square) / (a * (c - a)),
            (energy * c - square) / (b * (c - b)),
            (square - energy * a) / (c * (c - a)),
        ]
    )
    rate = np.sqrt((c - b) * (square - energy * a) / (a * b * c))
    modulus = (b - a) * (energy * c - square) / ((c - b) * (square - energy * a))
    phase = ellipkinc(np.arctan2(SPIN[1] / size[1], SPIN[0] / size[0]), modulus)
    sn, cn, dn, _ = ellipj(rate * np.asarray(time) + phase, modulus)
    return size * np.stack([cn, sn, dn], axis=-1)


def _stretch(time):
    """Of a damped spring that is let go."""
    decay = DAMPING / (2 * MASS)
    rate = np.sqrt(STIFFNESS / MASS - decay**2)
    return STRETCH * np.exp(-decay * time) * (np.cos(rate * time) + decay / rate * np.sin(rate * time))


def _momentum(qpos, qvel):
    """Angular momentum [..., 3] of the handle about its centre, in the world."""
    w, x, y, z = np.moveaxis(qpos[..., 3:7], -1, 0)
    vector, local = np.stack([x, y, z], -1), INERTIA * qvel[..., 3:6]
    once = np.cross(vector, local)
    return local + 2 * (w[..., None] * once + np.cross(vector, once))


def _momentum_at_start():
    return INERTIA * SPIN


def _energy(qpos, qvel):
    """Of the double pendulum, from angles about y: J."""
    first, second = qpos[..., 15], qpos[..., 15] + qpos[..., 16]
    rate1, rate2 = qvel[..., 13], qvel[..., 13] + qvel[..., 14]
    half = 0.5 * np.stack([np.sin(first), np.cos(first)]), 0.5 * np.stack([np.sin(second), np.cos(second)])
    turned = [np.stack([h[1], -h[0]]) for h in half]
    speed1, speed2 = turned[0] * rate1, 2 * turned[0] * rate1 + turned[1] * rate2
    kinetic = 0.5 * ((speed1**2).sum(0) + (speed2**2).sum(0) + 0.08 * (rate1**2 + rate2**2))
    return kinetic - 9.81 * (half[0][1] + 2 * half[0][1] + half[1][1])


def _energy_at_start():
    qpos, qvel = np.zeros(17), np.zeros(15)
    qpos[15:], qvel[13:] = ANGLES, SWINGS
    return _energy(qpos, qvel)
