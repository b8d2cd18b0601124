"""Contact sensors beside MuJoCo's: matching, reductions, fields, order and empty slots; derivatives; batches."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.collision.order import in_order
from jaxsim.collision.slots import pairs_of
from jaxsim.core.enums import DisableBit
from jaxsim.stages.forward import position_velocity

DATA = "found force torque dist pos normal tangent"
MATCHES = (
    *('geom1="a2"', 'geom1="floor" geom2="a1"', 'geom1="a1" geom2="floor"', 'body2="world"', 'body1="c" body2="e"'),
    *('subtree1="a"', 'subtree1="a" subtree2="a"', 'body1="world" subtree2="a"', 'site="zone"', ""),
    *('site="zone" subtree2="a"', 'site="ball" body2="e"'),
)
REDUCTIONS = (("none", 3), ("mindist", 2), ("maxforce", 2), ("netforce", 2))


def _sensor(match: str, reduce: str, num: int) -> str:
    data = DATA if reduce == "netforce" else f"{DATA} linvel angvel"
    return f'<contact {match} data="{data}" reduce="{reduce}" num="{num}" cutoff=".001"/>'


XML = f"""
<mujoco>
  <option cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" condim="6"/>
    <site name="zone" type="box" size=".6 .6 .1" pos=".3 0 0" euler="0 0 20"/><site name="ball" size=".35" pos=".2 .3 0"/>
    <body name="a" pos="0 0 .095"><freejoint/>
      <geom name="a1" type="box" size=".1 .15 .1"/><geom name="a2" size=".12" pos=".2 0 0" condim="4"/>
      <body pos=".35 0 0"><joint axis="0 1 0"/>
        <geom type="capsule" size=".09 .1" euler="90 0 0" pos=".1 0 0"/></body></body>
    <body name="c" pos="0 .25 .105"><freejoint/><geom name="c1" size=".11"/></body>
    <body name="e" pos=".05 .26 .3"><freejoint/>
      <geom name="e1" size=".11" condim="1"/><geom name="e2" size=".12" pos=".2 0 -.15"/></body>
  </worldbody>
  <contact><pair geom1="e2" geom2="a2" condim="4"/></contact>
  <sensor>
    {"".join(_sensor(match, *reduction) for match, reduction in itertools.product(MATCHES, REDUCTIONS))}
    <contact/><contact data="normal linvel" num="40"/>
  </sensor>
</mujoco>
"""


def _read(model: js.Model, data: js.Data, qpos: jax.Array, qvel: jax.Array) -> tuple[jax.Array, jax.Array]:
    d = js.forward(model, data.replace(qpos=qpos, qvel=qvel))
    return d.sensordata, d.ncon


@pytest.fixture(scope="module")
def scene():
    """Both models, MuJoCo's data in states with contacts, and none at last, and what is read in all of them."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(XML), max_contacts=16)
    rng, states = np.random.default_rng(1), []
    for k in range(8):
        d = mujoco.MjData(mj)
        d.qvel[:] = rng.standard_normal(mj.nv) * (k > 0)
        for _ in range(8 * k if k < 7 else 0):
            mujoco.mj_step(mj, d)
        d.qpos[2] += 9 * (k == 7)
        d.qpos[10] += 5 * (k == 7)
        d.qpos[17] += 1 * (k == 7)
        d.qacc_warmstart[:] = 0
        mujoco.mj_forward(mj, d)
        states.append(d)
    qpos, qvel = (np.stack([getattr(d, name) for d in states]) for name in ("qpos", "qvel"))
    data = js.make_data(model)
    both = jax.jit(jax.vmap(lambda q, v, p, w: jax.jvp(lambda *x: _read(model, data, *x), (q, v), (p, w))))
    return mj, model, states, both, (qpos, qvel)


def test_readings_are_mujocos(scene):
    mj, _, states, both, state = scene
    (read, ncon), _ = both(*state, *(np.zeros_like(x) for x in state))
    heard = np.zeros(mj.nsensor, int)
    for i, d in enumerate(states):
        assert ncon[i] == d.ncon
        for s in range(mj.nsensor):
            here = slice(mj.sensor_adr[s], mj.sensor_adr[s] + mj.sensor_dim[s])
            assert oracle.error(read[i][here], d.sensordata[here]) < 1e-8, (i, s)
            heard[s] = max(heard[s], int(d.sensordata[here][0]))
    assert (np.delete(heard, -1) > 0).mean() > 0.9 and (heard > 3).sum() > 8
    assert not states[-1].ncon


def test_derivatives_are_those_of_differences(scene):
    """What slots say of their contacts changes smoothly as long as the contacts are the same."""
    mj, model, _, both, (qpos, qvel) = scene
    rng = np.random.default_rng(2)
    p, w = np.zeros_like(qpos), rng.standard_normal(qvel.shape)
    p[:, [0, 1, 2, 7]] = 0.1 * rng.standard_normal((len(p), 4))
    _, (change, _) = both(qpos, qvel, p, w)
    at = lambda x: np.asarray(both(qpos + x * p, qvel + x * w, p, w)[0][0])  # noqa: E731
    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-6, 1e-6))
    scale = 1 + np.abs(narrow)
    smooth = np.abs(wide - narrow) / scale < 1e-5
    assert smooth.mean() > 0.97 and np.isfinite(change).all()
    assert (np.abs(change - narrow) / scale)[smooth].max() < 1e-4
    assert (np.abs(change[:, smooth.all(0)]) > 1).any(0).sum() > 50

    u, data = rng.standard_normal(mj.nsensordata), js.make_data(model)
    along = jax.jit(jax.grad(lambda q, v: jnp.sum(u * _read(model, data, q, v)[0]), (0, 1)))(qpos[3], qvel[3])
    backward = sum(float(np.sum(a * b)) for a, b in zip(along, (p[3], w[3])))
    assert abs(backward - np.sum(u * change[3])) < 1e-9 * (1 + abs(backward))


def test_batched_is_as_alone(scene):
    _, model, _, _, (qpos, qvel) = scene
    batch = jax.vmap(lambda q, v: js.make_data(model).replace(qpos=q, qvel=v))(qpos[:3], qvel[:3])
    together = jax.vmap(js.step, (None, 0))(model, batch)
    for i in (0, 2):
        alone = js.step(model, jax.tree.map(lambda x, i=i: x[i], batch))
        np.testing.assert_array_equal(alone.sensordata, together.sensordata[i])


@pytest.mark.parametrize("flag", [0, DisableBit.MIDPHASE], ids=["tree", "all pairs"])
def test_slots_that_belong_to_pairs_are_put_in_order(flag):
    """Without a budget the order is known beforehand: that of the bodies, not of the types of geoms."""
    rng = np.random.default_rng(0)
    bodies = "".join(
        f'<body pos="{0.1 * i} 0 .1"><freejoint/><geom size=".1"/><geom type="capsule" size=".08 .1" pos="0 .1 0"/></body>'
        for i in range(4)
    )
    xml = f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>'
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.disableflags |= int(flag)
    model, d = js.put_model(mj, max_contacts=200), mujoco.MjData(mj)
    d.qpos[:] += 0.02 * rng.standard_normal(mj.nq)
    mujoco.mj_forward(mj, d)
    assert d.ncon > 10
    with jax.disable_jit():
        data, mid = position_velocity(model, oracle.put(model, d))
    order = in_order(model, data, mid.slots)
    assert isinstance(order, np.ndarray)
    pairs, active = pairs_of(model), np.asarray(mid.slots.dist)[order] < 1
    found = np.stack([pairs.geom1, pairs.geom2], axis=1)[_pair_of_slots(model)[order]][active]
    np.testing.assert_array_equal(found, [tuple(c.geom) for c in d.contact[: d.ncon]])


def _pair_of_slots(model: js.Model) -> np.ndarray:
    from jaxsim.collision.slots import fixed_pairs

    fixed = fixed_pairs(model)
    assert fixed is not None
    return fixed


def test_sums_have_no_velocities():
    with pytest.raises(js.MjcfError, match="netforce"):
        js.load('<mujoco><sensor><contact data="linvel" reduce="netforce"/></sensor></mujoco>')
