"""Every supported sensor against MuJoCo: attachments, reference frames, cutoffs, forces, no constraints."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import DisableBit, EnableBit, SensorType
from jaxsim.sensors.table import SUPPORTED_SENSORS

ELSEWHERE = {  # in files of their own
    *(SensorType.GEOMDIST, SensorType.GEOMNORMAL, SensorType.GEOMFROMTO, SensorType.CONTACT, SensorType.RANGEFINDER),
    *(SensorType.CAMPROJECTION, SensorType.INSIDESITE, SensorType.TACTILE, SensorType.USER, SensorType.PLUGIN),
}
OBJECTS = (
    "body", "link", "xbody", "link", "geom", "foot", "site", "tip", "camera", "eye", "camera", "track", "camera", "follow",
    "camera", "watch", "camera", "centre", "body", "world", "site", "wall", "geom", "floor", "site", "hand", "xbody", "lone",
)  # fmt: skip
PAIRS = list(zip(OBJECTS[::2], OBJECTS[1::2]))


def _frame_sensors() -> str:
    """Frame sensors on every kind of object, without and with every kind of reference."""
    lines = []
    for i, (kind, name) in enumerate(PAIRS):
        of = f'objtype="{kind}" objname="{name}"'
        for tag in (
            "framepos",
            "framequat",
            "framexaxis",
            "frameyaxis",
            "framezaxis",
            "framelinvel",
            "frameangvel",
        ):
            lines.append(f"<{tag} {of}/>")
            other, target = PAIRS[(5 * i + 3) % len(PAIRS)]
            lines.append(f'<{tag} {of} reftype="{other}" refname="{target}"/>')
        for tag in ("framelinacc", "frameangacc"):
            lines.append(f"<{tag} {of}/>")
    return "\n".join(lines)


def _site_sensors() -> str:
    tags = ("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer")
    sites = ("tip", "knee", "root", "wall", "hand", "loose", "held")
    return "\n".join(f'<{tag} site="{site}"/>' for tag in tags for site in sites)


BODIES = """
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <site name="wall" pos=".3 .2 .5" euler="20 30 40"/>
    <camera name="watch" pos="1 1 2" mode="targetbody" target="link"/>
    <body name="base" pos="0 0 .2">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .05"/>
      <site name="root" pos=".1 0 0" euler="10 20 30"/>
      <site name="under" type="box" size=".3 .2 .2"/>
      <site name="aside" type="sphere" size=".01" pos="0 0 .3"/>
      <camera name="track" pos="0 1 1" mode="track"/>
      <body name="link" pos=".2 0 0" euler="0 20 0">
        <joint name="hinge" axis="0 1 0" range="-40 40" damping=".1"/>
        <geom name="foot" type="capsule" fromto="0 0 0 .3 0 -.1" size=".03"/>
        <site name="knee" pos=".1 .02 0" euler="30 0 10"/>
        <site name="round" type="ellipsoid" size=".06 .05 .07" pos=".3 0 -.1"/>
        <site name="pill" type="capsule" size=".05 .04" pos=".3 0 -.13"/>
        <site name="can" type="cylinder" size=".05 .02" pos=".3 0 -.2"/>
        <camera name="eye" pos="0 .1 .1" euler="30 40 0"/>
        <body name="shin" pos=".3 0 -.1">
          <joint name="ball" type="ball" range="0 30" damping=".05"/>
          <geom type="sphere" size=".04"/>
          <geom type="capsule" fromto="0 0 0 0 .1 .1" size=".02" mass=".2" contype="0" conaffinity="0"/>
          <site name="tip" pos="0 .1 .1" euler="45 0 0"/>
        </body>
      </body>
    </body>
    <body name="slider" pos="0 1 .5">
      <joint name="slide" type="slide" axis="1 0 1" range="-.1 .1"/>
      <geom size=".05" mass=".5" contype="0" conaffinity="0"/>
      <camera name="follow" pos="0 0 1" mode="trackcom"/>
      <body pos="0 0 .2"><joint name="arm" axis="1 0 0" range="-20 20"/>
        <geom type="capsule" fromto="0 0 0 0 0 .2" size=".02" contype="0" conaffinity="0"/>
        <site name="hand" pos="0 0 .2"/>
        <camera name="centre" pos=".1 .2 .3" mode="targetbodycom" target="base"/></body>
    </body>
    <body name="lone" pos="1 1 .5"><freejoint/><geom size=".1" mass="1" contype="0" conaffinity="0"/>
      <site name="loose" pos=".1 0 0" euler="0 30 0"/></body>
    <body name="welded" pos="-1 1 .5" euler="0 0 20"><freejoint/>
      <geom type="box" size=".1 .05 .05" contype="0" conaffinity="0"/>
      <body pos=".2 0 0"><joint axis="0 0 1"/><geom size=".05" contype="0" conaffinity="0"/><site name="held"/></body></body>
    <body name="chain" pos="-1 0 .5"><joint type="ball"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" contype="0" conaffinity="0"/></body>
  </worldbody>
"""
ALL = f"""
<mujoco>
  <option timestep=".002" magnetic=".1 -.3 .5"/>
  {BODIES}
  <tendon>
    <fixed name="cable" range="-.05 .05"><joint joint="slide" coef="1"/><joint joint="arm" coef="-.3"/></fixed>
    <fixed name="belt" limited="true" range="-.2 .3" margin=".4"><joint joint="hinge" coef="1"/></fixed>
  </tendon>
  <equality>
    <weld body1="welded" body2="chain" torquescale=".7" relpose=".1 .2 0 .9 .1 .2 .3"/>
    <connect body1="welded" anchor=".1 0 0"/>
    <weld site1="loose" site2="hand" torquescale="1.3" active="false"/>
    <connect site1="loose" site2="wall"/>
  </equality>
  <actuator>
    <motor name="m1" joint="hinge" gear="3"/><position name="m2" joint="slide" kp="10"/>
    <motor name="m3" tendon="cable"/><motor name="m4" tendon="cable" gear="-2"/><motor name="m5" joint="ball" gear=".1 .2 .3"/>
  </actuator>
  <sensor>
    {_frame_sensors()}
    {_site_sensors()}
    <touch site="under"/><touch site="aside"/><touch site="round"/><touch site="pill"/><touch site="can"/>
    <touch site="round" cutoff=".5"/><touch site="wall"/>
    <jointpos joint="hinge"/><jointvel joint="slide"/><jointactuatorfrc joint="hinge"/>
    <jointpos joint="hinge" cutoff=".01"/><jointvel joint="slide" cutoff=".02"/>
    <tendonpos tendon="cable"/><tendonvel tendon="cable"/><tendonactuatorfrc tendon="cable"/>
    <tendonactuatorfrc tendon="belt"/>
    <actuatorpos actuator="m1"/><actuatorvel actuator="m3"/><actuatorfrc actuator="m2"/><actuatorfrc actuator="m5"/>
    <ballquat joint="ball"/><ballangvel joint="ball"/>
    <jointlimitpos joint="hinge"/><jointlimitvel joint="hinge"/><jointlimitfrc joint="hinge"/>
    <jointlimitpos joint="slide"/><jointlimitvel joint="slide"/><jointlimitfrc joint="slide"/>
    <jointlimitpos joint="ball"/><jointlimitvel joint="ball"/><jointlimitfrc joint="ball"/>
    <tendonlimitpos tendon="cable"/><tendonlimitvel tendon="cable"/><tendonlimitfrc tendon="cable"/>
    <tendonlimitpos tendon="belt"/><tendonlimitvel tendon="belt"/><tendonlimitfrc tendon="belt"/>
    <subtreecom body="link"/><subtreelinvel body="link"/><subtreeangmom body="link"/>
    <subtreecom body="world"/><subtreelinvel body="world"/><subtreeangmom body="world"/>
    <subtreelinvel body="base"/><subtreeangmom body="base"/>
    <clock/><e_potential/><e_kinetic/>
    <framelinvel objtype="site" objname="tip" cutoff=".01"/>
  </sensor>
</mujoco>
"""
# one sensor of each family on two bodies, where compiling is what takes the time
FEW = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="base" pos="0 0 .1">
      <joint name="root" type="slide" axis="0 0 1"/>
      <geom size=".1"/><site name="s" size=".2" euler="10 20 30" pos=".05 0 0"/>
      <body name="link" pos=".1 0 0">
        <joint name="j" axis="0 1 0" range="-10 20"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/><site name="tip" pos=".3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m" joint="j"/></actuator>
  <sensor>
    <touch site="s"/><accelerometer site="tip"/><gyro site="tip"/><velocimeter site="tip"/><force site="tip"/>
    <torque site="s"/><magnetometer site="s"/><jointpos joint="j"/><jointlimitfrc joint="j"/><actuatorfrc actuator="m"/>
    <framepos objtype="site" objname="tip" reftype="body" refname="base"/>
    <framequat objtype="site" objname="tip"/>
    <framelinvel objtype="site" objname="tip" reftype="body" refname="base"/>
    <framelinacc objtype="site" objname="tip"/>
    <subtreelinvel body="base"/><subtreeangmom body="base"/><e_potential/><e_kinetic/><clock/>
  </sensor>
</mujoco>
"""
FREE_FLIGHT = (
    ALL.replace(' active="false"', "")
    .replace("<connect", "<connect active='false'")
    .replace("<weld", "<weld active='false'")
)


def _random_state(mj: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    d = mujoco.MjData(mj)
    velocity = 0.4 * rng.standard_normal(mj.nv)
    mujoco.mj_integratePos(mj, d.qpos, velocity, 1.0)
    if mj.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        d.qpos[2] = rng.uniform(0.0, 0.25)  # near the floor
    d.qvel[:] = rng.standard_normal(mj.nv)
    d.ctrl[:] = rng.standard_normal(mj.nu)
    d.xfrc_applied[1:] = rng.standard_normal((mj.nbody - 1, 6))
    d.time = 1.25
    mujoco.mj_forward(mj, d)
    return d


def _wrong(mj: mujoco.MjModel, ours, theirs, tolerance: float = 1e-9) -> dict[str, str]:
    """Sensors whose values differ, by type and position."""
    wrong = {}
    for i in range(mj.nsensor):
        here = slice(mj.sensor_adr[i], mj.sensor_adr[i] + mj.sensor_dim[i])
        error = oracle.error(np.asarray(ours)[here], theirs[here])
        if not error < tolerance:
            wrong[f"{SensorType(mj.sensor_type[i]).name} {i}"] = f"{error:.1e}"
    return wrong


@pytest.mark.parametrize("xml", [ALL, FREE_FLIGHT], ids=["held", "free"])
def test_every_sensor(xml, rng):
    mj, model = oracle.pair_of_xml(xml)
    assert set(mj.sensor_type) == set(SUPPORTED_SENSORS) - ELSEWHERE
    seen = np.zeros(mj.nsensordata)
    for _ in range(8):
        d = _random_state(mj, rng)
        data = js.forward(model, oracle.put(model, d))
        assert oracle.error(data.qacc, d.qacc) < 1e-9
        assert not _wrong(mj, data.sensordata, d.sensordata)
        seen = np.maximum(seen, np.abs(d.sensordata))
    # nothing passes for being zero: every type has a sensor that reads something
    heard = {int(mj.sensor_type[i]) for i in range(mj.nsensor) if seen[mj.sensor_adr[i] :][: mj.sensor_dim[i]].any()}
    assert heard == set(SUPPORTED_SENSORS) - ELSEWHERE


def test_sensors_of_files(models, rng):
    mj, model = models
    assert js.make_data(model).sensordata.shape == (mj.nsensordata,)
    for d in oracle.states(mj, rng, (0, 60, 60) if mj.nsensor else ()):
        data = js.forward(model, oracle.put(model, d))
        assert not _wrong(mj, data.sensordata, d.sensordata)


NO_CONSTRAINTS = """
<mujoco>
<worldbody>
<body><joint name="j" limited="true" range="-1 1"/><geom size=".1" pos=".2 0 0"/><site name="s" pos=".1 0 .1"/></body>
</worldbody>
<sensor><touch site="s"/><force site="s"/><torque site="s"/><accelerometer site="s"/><jointlimitfrc joint="j"/>
<jointlimitpos joint="j"/></sensor></mujoco>"""


@pytest.mark.parametrize("bit", [0, DisableBit.CONSTRAINT, DisableBit.CONTACT, DisableBit.LIMIT, DisableBit.GRAVITY])
def test_without_constraints(bit, rng):
    mj = mujoco.MjModel.from_xml_string(NO_CONSTRAINTS)
    mj.opt.disableflags = int(bit)
    mj, model = oracle.pair(mj)
    for x in (0.3, 1.2):
        d = mujoco.MjData(mj)
        d.qpos[:], d.qvel[:] = x, 0.5
        mujoco.mj_forward(mj, d)
        assert not _wrong(mj, js.forward(model, oracle.put(model, d)).sensordata, d.sensordata)


def test_disabled_sensors_keep_their_values():
    mj = mujoco.MjModel.from_xml_string(NO_CONSTRAINTS)
    mj.opt.disableflags = int(DisableBit.SENSOR)
    mj, model = oracle.pair(mj)
    before = jnp.arange(mj.nsensordata, dtype=float)
    data = js.forward(model, js.make_data(model).replace(sensordata=before))
    np.testing.assert_array_equal(data.sensordata, before)


def test_two_sided_limit_reads_the_first_active_row():
    xml = """<mujoco><worldbody>
    <body><joint name="j" type="slide" range="-.1 .1" margin=".5"/><geom size=".1"/></body></worldbody>
    <sensor><jointlimitpos joint="j"/><jointlimitvel joint="j"/><jointlimitfrc joint="j"/></sensor></mujoco>"""
    mj, model = oracle.pair_of_xml(xml)
    for x in (-0.3, 0.0, 0.05, 0.3):
        d = mujoco.MjData(mj)
        d.qpos[:], d.qvel[:] = x, 0.7
        mujoco.mj_forward(mj, d)
        assert not _wrong(mj, js.forward(model, oracle.put(model, d)).sensordata, d.sensordata)


def test_energy_flag_and_sensor_agree(rng):
    mj = mujoco.MjModel.from_xml_string(FEW)
    mj.opt.enableflags |= int(EnableBit.ENERGY)
    mj, model = oracle.pair(mj)
    d = _random_state(mj, rng)
    data = js.forward(model, oracle.put(model, d))
    oracle.assert_equal(data, d, ["energy"])
    at = np.flatnonzero(mj.sensor_type == SensorType.E_POTENTIAL)[0]
    np.testing.assert_allclose(data.sensordata[mj.sensor_adr[at]], data.energy[0], rtol=1e-12)


def test_inverse_fills_sensors(rng):
    mj, model = oracle.pair_of_xml(FEW)
    d = _random_state(mj, rng)
    data = oracle.put(model, d).replace(qacc=jnp.asarray(d.qacc.copy()))
    mujoco.mj_inverse(mj, d)
    inverse = js.inverse(model, data)
    # forces of actuators are not part of the inverse
    wrong = _wrong(mj, inverse.sensordata, d.sensordata, 1e-9)
    assert {k.split()[0] for k in wrong} <= {"ACTUATORFRC", "JOINTACTFRC", "TENDONACTFRC"}


def test_gradients_are_finite_at_rest():
    _, model = oracle.pair_of_xml(FEW)
    data = js.make_data(model)

    def total(qpos, qvel):
        return jnp.sum(js.forward(model, data.replace(qpos=qpos, qvel=qvel)).sensordata ** 2)

    gradients = jax.jit(jax.grad(total, (0, 1)))(data.qpos, data.qvel)
    assert all(bool(jnp.isfinite(g).all()) for g in gradients)


@pytest.mark.usefixtures("float32")
def test_float32(rng):
    mj = oracle.converge(mujoco.MjModel.from_xml_string(FEW))
    model = js.put_model(mj)
    d = _random_state(mj, rng)
    data = js.forward(model, oracle.put(model, d))
    assert data.sensordata.dtype == jnp.float32
    assert oracle.error(data.sensordata, d.sensordata) < 1e-3
