"""insidesite with `enclosed`: how far the whole of an object is inside a zone, beside MuJoCo C and beside a search of
directions by hand.
"""

import jax
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import GeomType
from jaxsim.dynamics.com import com_pos
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.sensors.table import sensors

ZONES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")
OBJECTS = (("body", "corners"), ("geom", "egg"), ("geom", "can"), ("site", "disc"))
SENSORS = "".join(
    f'<insidesite site="{z}" objtype="{t}" objname="{n}" enclosed="true"/>' for z in ZONES for t, n in OBJECTS
)
XML = f"""
<mujoco>
  <asset><mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .4 .1 .2 .1"/></asset>
  <worldbody>
    {"".join(f'<site name="{z}" type="{z}" size=".5 .4 .3" euler="20 30 {40 * i}"/>' for i, z in enumerate(ZONES))}
    <body name="corners"><freejoint/>
      <geom type="mesh" mesh="m" pos=".1 0 0"/><geom type="box" size=".1 .2 .15" pos="-.2 .1 0"/>
      <geom size=".1" pos="0 -.3 .1"/><geom type="capsule" size=".08 .2" euler="0 80 10"/></body>
    <body name="round"><freejoint/>
      <geom name="egg" type="ellipsoid" size=".1 .25 .15" pos=".1 0 0"/>
      <geom name="can" type="cylinder" size=".12 .2" euler="30 0 40"/>
      <site name="disc" type="cylinder" size=".3 .01" pos="0 .1 0"/></body>
  </worldbody>
  <sensor>{SENSORS}</sensor>
</mujoco>
"""


def test_enclosure_is_the_largest_distance_and_never_below_mujocos():
    mj, model = oracle.pair_of_xml(XML)
    rng, data = np.random.default_rng(0), js.make_data(model)
    poses = np.tile(mj.qpos0, (12, 1))
    for pose in poses:
        mujoco.mj_integratePos(mj, pose, np.tile(np.repeat([0.3, 1.5], 3), 2) * rng.standard_normal(mj.nv), 1.0)

    def read(qpos):
        return sensors(model, com_pos(model, kinematics(model, data.replace(qpos=qpos))), None, None).sensordata

    @jax.jit
    @jax.vmap
    def program(qpos, along, weight):
        value, change = jax.jvp(read, (qpos,), (along,))
        return value, change, jax.vjp(read, qpos)[1](weight)[0]

    along, weight = rng.standard_normal(poses.shape), rng.standard_normal((len(poses), mj.nsensordata))
    along[:, [3, 4, 5, 6, 10, 11, 12, 13]] *= 0.3
    value, change, back = map(np.asarray, program(poses, along, weight))

    d, mujocos, searched = mujoco.MjData(mj), [], []
    for pose in poses:
        d.qpos[:] = pose
        mujoco.mj_forward(mj, d)
        mujocos.append(d.sensordata.copy())
        searched.append([_searched(mj, d, i) for i in range(mj.nsensor)])
    mujocos, searched = np.array(mujocos), np.array(searched)
    assert (value > -0.1).any() and (value < 0).any()
    # a search of directions comes near, and not above
    assert (searched < value + 1e-9).all() and (value - searched).max() < 1e-4
    # MuJoCo stops on a lower top at times, and early where the zone is flat along its axis
    assert (mujocos < value + 1e-9).all()
    assert (value - mujocos < 1e-5).mean() > 0.9

    at = lambda h: np.asarray(program(poses + h * along, along, weight)[0])  # noqa: E731
    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-6, 1e-6))
    smooth = np.abs(wide - narrow) < 1e-5  # as long as the same corner is the furthest
    assert smooth.mean() > 0.97
    assert np.abs(change - narrow)[smooth].max() < 1e-6
    np.testing.assert_allclose(np.sum(weight * change, axis=1), np.sum(along * back, axis=1), rtol=1e-9)


def _searched(mj, d, sensor):
    """The largest support of the object less the zone's: of random directions, and then ever nearer to the best ones."""
    site, index = mj.sensor_refid[sensor], mj.sensor_objid[sensor]
    sites = d.site_xpos, d.site_xmat, mj.site_type, mj.site_size
    kind = mj.sensor_objtype[sensor]
    geoms = np.flatnonzero(mj.geom_bodyid == index) if kind == mujoco.mjtObj.mjOBJ_BODY else [index]

    def height(direction):
        if kind == mujoco.mjtObj.mjOBJ_SITE:
            reach = _support(*sites, index, direction)
        else:
            solids = d.geom_xpos, d.geom_xmat, mj.geom_type, mj.geom_size
            reach = np.max([_support(*solids, g, direction, mj.mesh_vert) for g in geoms], axis=0)
        return reach - _support(*sites, site, direction)

    rng = np.random.default_rng(1)
    direction = _unit(rng.standard_normal((3000, 3)))
    for spread in 0.1 * 0.7 ** np.arange(20):
        best = direction[np.argsort(height(direction))[-10:]]
        direction = np.concatenate([best, _unit(np.repeat(best, 30, 0) + spread * rng.standard_normal((300, 3)))])
    return height(direction).max()


def _unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _support(pos, mat, kind, size, index, direction, vertices=None):
    local = direction @ mat[index].reshape(3, 3)
    reach = (
        (local @ vertices.T).max(axis=1) if kind[index] == GeomType.MESH else _reach(kind[index], size[index], local)
    )
    return direction @ pos[index] + reach


def _reach(kind, size, n):
    width = np.abs(n)
    match kind:
        case GeomType.SPHERE:
            return np.full(len(n), size[0])
        case GeomType.CAPSULE:
            return size[0] + size[1] * width[:, 2]
        case GeomType.ELLIPSOID:
            return np.linalg.norm(size * n, axis=1)
        case GeomType.CYLINDER:
            return size[0] * np.hypot(n[:, 0], n[:, 1]) + size[1] * width[:, 2]
    return width @ size


def test_at_the_centre_and_on_the_axes_in_float32():
    """No direction is the nearest there: values and derivatives are finite all the same."""
    zones = "".join(f'<site name="{z}" type="{z}" size=".5 .5 .5"/>' for z in ZONES)
    heard = "".join(f'<insidesite site="{z}" objtype="geom" objname="g" enclosed="true"/>' for z in ZONES)
    ball = '<body><freejoint/><geom name="g" size=".1"/></body>'
    with jax.enable_x64(False):
        model = js.load(f"<mujoco><worldbody>{zones}{ball}</worldbody><sensor>{heard}</sensor></mujoco>")
        data = js.make_data(model)

        def read(pos):
            qpos = data.qpos.at[:3].set(pos)
            return sensors(model, com_pos(model, kinematics(model, data.replace(qpos=qpos))), None, None).sensordata

        places = np.array([[0, 0, 0], [0, 0, 0.3], [0.3, 0, 0], [0.7, 0, 0]], np.float32)
        value, slope = jax.jit(jax.vmap(lambda x: (read(x), jax.jacrev(read)(x))))(places)
    np.testing.assert_allclose(value[:, 0], np.array([0, 0.3, 0.3, 0.7]) - 0.4, atol=1e-6)
    np.testing.assert_allclose(value[:, 2], value[:, 0], atol=1e-6)  # an ellipsoid as round as a sphere
    assert np.isfinite(slope).all()


@pytest.mark.parametrize(
    ("sensor", "match"),
    [
        ('objtype="camera" objname="c"', "camera"),
        ('objtype="body" objname="empty"', "at least one geom"),
        ('objtype="geom" objname="floor"', "convex"),
    ],
)
def test_what_cannot_be_enclosed_is_an_error_as_in_mujoco(sensor, match):
    xml = f"""
    <mujoco>
      <worldbody><geom name="floor" type="plane" size="1 1 1"/><site name="s" size=".5"/><camera name="c"/>
        <body name="empty"/></worldbody>
      <sensor><insidesite site="s" {sensor} enclosed="true"/></sensor>
    </mujoco>
    """
    with pytest.raises(ValueError, match=match):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(js.MjcfError, match=match):
        js.load(xml)
