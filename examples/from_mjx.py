"""From an MJX script to jaxsim, line by line.

python examples/from_mjx.py

Each line of the MJX script stands above what takes its place. At the end the states are compared with MuJoCo C's.
"""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js

XML = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <body name="thrown" pos="0 0 0.4"><freejoint/><geom name="brick" type="box" size="0.1 0.05 0.03"/></body>
  </worldbody>
  <sensor><framepos name="where" objtype="body" objname="thrown"/></sensor>
</mujoco>
"""


def main() -> None:
    """Throw a brick in 8 worlds."""
    jax.config.update("jax_enable_x64", True)  # to compare with MuJoCo C

    # mj_model = mujoco.MjModel.from_xml_string(XML)
    # mjx_model = mjx.put_model(mj_model)
    model = js.load(XML)  # or js.put_model(mj_model)

    # mjx_data = mjx.make_data(mjx_model)
    data = js.make_data(model)

    # speeds = jnp.linspace(0, 2, 8)
    # batch = jax.vmap(lambda speed: mjx_data.replace(qvel=mjx_data.qvel.at[0].set(speed)))(speeds)
    speeds = jnp.linspace(0, 2, 8)
    batch = jax.vmap(lambda speed: data.replace(qvel=data.qvel.at[0].set(speed)))(speeds)

    # step = jax.jit(jax.vmap(mjx.step, in_axes=(None, 0)))
    # for _ in range(100):
    #     batch = step(mjx_model, batch)
    step = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))
    for _ in range(100):
        batch = step(model, batch)

    # address = mj_model.sensor("where").adr[0]
    # print(batch.sensordata[:, address : address + 3])
    print(batch.sensor("where"))

    # friction = mjx_model.geom_friction.at[mj_model.geom("brick").id, 0].set(0.2)
    # smooth = mjx_model.replace(geom_friction=friction)
    smooth = model.set("geom_friction", "brick", jnp.array([0.2, 0.005, 0.0001]))
    further = step(smooth, batch)
    assert np.isfinite(further.qpos).all()

    # gradients: in MJX forward mode only, or with iterations=1; here both modes, of the converged solution
    def reach(speed: jax.Array) -> jax.Array:
        thrown = data.replace(qvel=data.qvel.at[0].set(speed))
        return js.rollout(model, thrown, length=100)[0].qpos[0]

    print("change of the distance with the speed:", jax.jit(jax.grad(reach))(1.0))

    reference = mujoco.MjModel.from_xml_string(XML)
    state = mujoco.MjData(reference)
    state.qvel[0] = float(speeds[5])
    for _ in range(100):
        mujoco.mj_step(reference, state)
    difference = float(np.abs(batch.qpos[5] - state.qpos).max())
    print(f"after 100 steps {difference:.1e} away from MuJoCo C")
    assert difference < 1e-6


if __name__ == "__main__":
    main()
