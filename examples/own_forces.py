"""Functions of one's own in a step: a wind that gusts, a feedback law and a sensor, and their derivative.

python examples/own_forces.py

What MuJoCo does by callbacks: `js.extend` binds functions to a model, which are traced with it. The wind's strength is
identified at the end from where it has blown a pendulum, by Newton's method on the derivative through all steps.
"""

import jax
import jax.numpy as jnp

import jaxsim as js

XML = """
<mujoco>
  <option timestep="0.005"/>
  <size nuserdata="1"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.01"/>
      <geom name="bob" type="capsule" size="0.03" fromto="0 0 0 0 0 -0.5" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="brake" joint="hinge"/></actuator>
  <sensor><user name="power" dim="1" needstage="vel"/></sensor>
</mujoco>
"""


def wind(model: js.Model, data: js.Data) -> jax.Array:
    """Torque [nv] of gusts of the strength data.userdata[0] (N m)."""
    gust = 1 + 0.5 * jnp.sin(2 * jnp.pi * data.time)
    return data.userdata[0] * gust * jnp.cos(data.qpos)


def brake(model: js.Model, data: js.Data) -> jax.Array:
    """Controls [nu] against the motion."""
    return -0.1 * data.joint("hinge").qvel[None]


def power(model: js.Model, data: js.Data) -> jax.Array:
    """The readings [1] of all user sensors: what the wind does (W)."""
    return wind(model, data) * data.qvel


def main() -> None:
    """Blow, measure, identify."""
    jax.config.update("jax_enable_x64", True)
    model = js.extend(js.load(XML), passive=wind, control=brake, sensor=power)

    def swung(strength: jax.Array) -> jax.Array:
        data = js.make_data(model).replace(userdata=strength[None])
        return js.rollout(model, data, length=80)[0].qpos[0]

    swung, slope = jax.jit(swung), jax.jit(jax.grad(swung))
    seen, strength = swung(jnp.array(0.7)), jnp.array(0.2)
    for _ in range(8):
        strength = strength - (swung(strength) - seen) / slope(strength)
    print(f"strength of the wind: {strength:.9f} N m")
    assert abs(strength - 0.7) < 1e-9
    blown = js.step(model, js.make_data(model).replace(userdata=jnp.array([0.7]), qvel=jnp.array([2.0])))
    print("power:", blown.sensor("power"))
    assert abs(blown.sensor("power") - 1.4) < 1e-6


if __name__ == "__main__":
    main()
