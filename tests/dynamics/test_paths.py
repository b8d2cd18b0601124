"""Paths of spatial tendons and actuators on sites, against MuJoCo and against their own derivatives."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.dynamics.com import com_pos
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.position import integrate_pos
from jaxsim.dynamics.tendon import tendon
from jaxsim.dynamics.transmission import transmission
from jaxsim.dynamics.wrap import wrap

SCENE = """
<mujoco>
  <worldbody>
    <site name="w" pos=".3 .1 .2" euler="10 20 30"/>
    <geom name="pole" type="cylinder" size=".08 1" pos=".1 .1 .1" euler="20 30 0"/>
    <body name="b0" pos="0 0 .1" euler="10 20 30">
      <freejoint/>
      <geom size=".1 .2 .3" type="box"/>
      <site name="s0" pos=".1 .2 .3" euler="30 20 10"/>
      <geom name="ball" size=".06" pos=".25 .1 .1"/><site name="inside" pos=".25 .1 .12"/>
      <site name="beside" pos=".25 .3 .1"/>
      <body name="b1" pos=".3 0 0" quat=".1 .2 .3 .4">
        <joint name="ball" type="ball" pos=".1 0 0"/>
        <geom size=".1 .2 .3" type="box" pos=".1 .1 .1" euler="3 4 5"/>
        <site name="s1" pos=".1 .2 .3" euler="30 -20 10"/>
        <body name="b2" pos=".3 0 .3">
          <joint name="h" axis="1 2 3" ref="20"/><joint name="sl" type="slide" axis="1 0 1"/>
          <geom size=".1 .2" type="capsule" pos=".1 .1 .1"/>
          <site name="s2" pos=".1 .2 .3"/><site name="again" pos=".1 .2 .3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial><site site="w"/><site site="s0"/><site site="s2"/><site site="again"/></spatial>
    <spatial><site site="w"/><geom geom="ball"/><site site="s1"/></spatial>
    <spatial><site site="w"/><geom geom="ball" sidesite="inside"/><site site="s1"/></spatial>
    <spatial><site site="w"/><geom geom="ball" sidesite="beside"/><site site="s2"/></spatial>
    <spatial>
      <site site="s1"/><geom geom="pole"/><site site="s2"/>
      <pulley divisor="2"/><site site="s0"/><geom geom="pole" sidesite="w"/><site site="s1"/>
      <pulley divisor="3"/><site site="s0"/><site site="s2"/>
    </spatial>
    <fixed name="sum"><joint joint="h" coef="2"/><joint joint="sl" coef="-1"/></fixed>
  </tendon>
  <actuator>
    <motor site="s2" gear="1 2 3 4 5 6"/>
    <orientation site="s2" refsite="w"/>
    <general cranksite="s2" slidersite="s0" cranklength="1.5" gear="2"/>
    <orientation joint="ball"/>
    <motor site="s2" refsite="s0" gear="1 2 3 4 5 6"/>
    <general cranksite="s2" slidersite="w" cranklength=".01" gear="2"/>
    <motor joint="h" gear="3"/>
    <motor tendon="sum" gear="2"/>
  </actuator>
</mujoco>
"""
INSIDE = 2  # the tendon through the ball


@pytest.fixture(scope="module")
def pair() -> tuple[mujoco.MjModel, js.Model]:
    mj = mujoco.MjModel.from_xml_string(SCENE)
    return mj, js.put_model(mj, compile_only=True)  # colliders of cylinders are not what is tested


def at_qpos(m: js.Model, qpos: jax.Array) -> tuple[jax.Array, ...]:
    """Lengths and Jacobians of tendons and of actuators."""
    d = com_pos(m, kinematics(m, js.make_data(m).replace(qpos=qpos)))
    d, ten_J = tendon(m, d)
    d, moment = transmission(m, d, ten_J)
    return d.ten_length, ten_J, d.actuator_length, moment


def of_mujoco(mj: mujoco.MjModel, d: mujoco.MjData) -> tuple[np.ndarray, ...]:
    """The same of MuJoCo."""
    ten_J, moment = np.zeros((mj.ntendon, mj.nv)), np.zeros((mj.nout, mj.nv))
    mujoco.mju_sparse2dense(ten_J, d.ten_J.ravel(), mj.ten_J_rownnz, mj.ten_J_rowadr, mj.ten_J_colind.ravel())
    mujoco.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
    return d.ten_length, ten_J, d.actuator_length, moment


def configurations(mj: mujoco.MjModel, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random qpos [count, nq]."""
    many = mj.qpos0 + 0.4 * rng.standard_normal((count, mj.nq))
    for qpos in many:
        mujoco.mj_normalizeQuat(mj, qpos)
    return many


def test_equal_to_mujoco(pair, rng):
    mj, m = pair
    many = configurations(mj, rng, 40)
    ours = jax.jit(jax.vmap(lambda q: at_qpos(m, q)))(many)
    points = set()
    for k, qpos in enumerate(many):
        d = mujoco.MjData(mj)
        d.qpos[:] = qpos
        mujoco.mj_fwdPosition(mj, d)
        have, want = [np.array(x[k]) for x in ours], of_mujoco(mj, d)
        # MuJoCo stops at 1e-6 when it looks for where a path touches the inside, and the length is least there
        assert oracle.error(have[1][INSIDE], want[1][INSIDE]) < 1e-7
        have[1][INSIDE] = want[1][INSIDE]
        for x, y in zip(have, want):
            assert oracle.error(x, y) < 1e-9
        points |= set(enumerate(d.ten_wrapnum.tolist()))
    # straight and bent: 2 and 4 points of the path round the ball, 8 to 12 of the one over pulleys
    assert {(i, n) for i in (1, 3) for n in (2, 4)} | {(2, 4)} <= points
    assert len({n for i, n in points if i == 4}) > 1


def test_jacobians_are_derivatives(pair, rng):
    """But for the actuators on a site alone, which have no length, and rotations, whose rate is not that of a vector."""
    mj, m = pair
    (qpos,) = configurations(mj, rng, 1)
    still = jnp.zeros(m.nv)

    def lengths(v):
        ten_length, _, length, _ = at_qpos(m, integrate_pos(m, jnp.asarray(qpos), v, jnp.asarray(1.0)))
        return ten_length, length

    def both_modes(v, pull):
        rates = jax.jvp(lengths, (still,), (v,))[1]
        return rates, jax.vjp(lengths, still)[1](pull)[0]

    ten_J, moment = (np.asarray(x) for x in jax.jit(lambda q: at_qpos(m, q)[1::2])(qpos))
    scalar = m.actuator_outadr[[2, 5, 6, 7]]  # slider-cranks, joint and tendon
    v, pull = rng.standard_normal(m.nv), (rng.standard_normal(m.ntendon), np.zeros(m.nout))
    pull[1][scalar] = rng.standard_normal(len(scalar))
    rates, force = jax.jit(both_modes)(v, pull)
    np.testing.assert_allclose(rates[0], ten_J @ v, atol=1e-12)
    np.testing.assert_allclose(rates[1][scalar], moment[scalar] @ v, atol=1e-12)
    np.testing.assert_allclose(force, pull[0] @ ten_J + pull[1] @ moment, atol=1e-12)


CENTRE, RADIUS = np.zeros(3), 0.5
POINTS = {
    "centre": (CENTRE, [1.0, 0, 0]),
    "both at the centre": (CENTRE, CENTRE),
    "the same": ([1.0, 0, 0], [1.0, 0, 0]),
    "on the surface": ([RADIUS, 0, 0], [0, 2.0, 0]),
    "opposite": ([1.0, 0, 0], [-1.0, 0, 0]),
    "on the axis": ([0, 0, 1.0], [0, 0, 2.0]),
    "on a tangent": ([1.0, RADIUS, 0], [-1.0, RADIUS, 0]),
    "inside": ([0.1, 0.2, 0], [0, 0.1, 0.3]),
}


@pytest.mark.parametrize("side", [None, [0, 0.1, 0.0], [0, 2.0, 0], CENTRE], ids=str)
@pytest.mark.parametrize("is_sphere", [True, False], ids=["sphere", "cylinder"])
def test_degenerate_paths_are_finite(float32, is_sphere, side):
    """Values and derivatives in single precision, and the host gives the same values."""
    ends = np.array(list(POINTS.values()), np.float32)

    def around(x0, x1, radius, xp=jnp):
        pos, mat = xp.zeros_like(x0), xp.broadcast_to(xp.eye(3, dtype=x0.dtype), (len(x0), 3, 3))
        at = None if side is None else xp.broadcast_to(xp.asarray(side, x0.dtype), x0.shape)
        return wrap(x0, x1, pos, mat, radius, is_sphere, at)

    def total(*given):
        way = around(*given)
        return sum(jnp.sum(x) for x in way[1:])

    given = ends[:, 0], ends[:, 1], np.full(len(ends), RADIUS, np.float32)
    on_device = tuple(map(jnp.asarray, given))
    way, host = jax.jit(around)(*on_device), around(*given, xp=np)
    assert all(isinstance(x, np.ndarray) for x in host)
    for name, gradient in zip(("x0", "x1", "radius"), jax.jit(jax.grad(total, (0, 1, 2)))(*on_device)):
        assert np.isfinite(gradient).all(), name
    np.testing.assert_array_equal(np.asarray(way.touches)[[0, 1, 2, 7]], host.touches[[0, 1, 2, 7]])
    for ours, theirs in zip(way[1:], host[1:]):
        assert np.isfinite(ours).all()
        assert np.isfinite(theirs).all()
