"""User sensors, which read nothing, and noise, which only those get who ask for it."""

import jax
import mujoco
import numpy as np
import oracle

import jaxsim as js

XML = """
<mujoco>
  <worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
  <sensor>
    <user dim="3" noise=".5"/><jointpos joint="j" noise="2"/><clock/>
    <user dim="4" datatype="quaternion" needstage="pos"/><user dim="2" noise="1" datatype="positive" cutoff=".1"/>
  </sensor>
</mujoco>
"""


def test_user_sensors_read_zero():
    mj, model = oracle.pair_of_xml(XML)
    d = mujoco.MjData(mj)
    d.qpos[0], d.time = 0.3, 1.5
    mujoco.mj_forward(mj, d)
    data = js.forward(model, oracle.put(model, d))
    np.testing.assert_array_equal(data.sensordata, d.sensordata)
    assert data.sensordata[3] == 0.3


def test_noise_has_the_deviations_of_the_sensors():
    _, model = oracle.pair_of_xml(XML)
    data = js.make_data(model).replace(sensordata=np.arange(11.0))
    noise = jax.vmap(lambda key: js.sensor_noise(model, data, key))(jax.random.split(jax.random.key(0), 20_000))
    change = np.asarray(noise) - np.arange(11)
    expected = np.array([0.5, 0.5, 0.5, 2, 0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_allclose(change.std(0), expected, rtol=0.03)
    assert (np.abs(change.mean(0)) <= 0.04 * expected).all()
    correlation = np.corrcoef(change[:, expected > 0].T)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.04
    again, other = (js.sensor_noise(model, data, jax.random.key(k)) for k in (0, 1))
    np.testing.assert_array_equal(again, js.sensor_noise(model, data, jax.random.key(0)))
    assert (again != other)[expected > 0].all()
