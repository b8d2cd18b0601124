"""Contact sensors beside MuJoCo's: matching, reductions, fields, order and empty slots; derivatives; batches."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.collision.order import ranks
from jaxsim.collision.slots import ContactSlots, pairs_of
from jaxsim.constraint.rows import Rows, RowValues
from jaxsim.constraint.solution import Solution
from jaxsim.core.enums import DisableBit
from jaxsim.sensors.contact import contacts

RUN = jax.vmap(js.forward, (None, 0))
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


@pytest.fixture(scope="module")
def scene():
    """Both models, MuJoCo's data in states with contacts and at last without, and ours in all of them."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(XML), max_contacts=16)
    rng, states = np.random.default_rng(1), []
    for k in range(8):
        d = mujoco.MjData(mj)
        d.qvel[:] = rng.standard_normal(mj.nv) * (k > 0)
        for _ in range(8 * k if k < 7 else 0):
            mujoco.mj_step(mj, d)
        d.qpos[[2, 10, 17]] += np.array([9, 5, 1]) * (k == 7)
        mujoco.mj_forward(mj, d)
        states.append(d)
    given = jax.tree.map(lambda *x: jnp.stack(x), *(oracle.put(model, d) for d in states))
    return mj, model, states, given, RUN(model, given)


def test_readings_are_mujocos(scene):
    mj, _, states, _, data = scene
    heard = np.zeros(mj.nsensor, int)
    for i, d in enumerate(states):
        assert data.ncon[i] == d.ncon
        for s in range(mj.nsensor):
            here = slice(mj.sensor_adr[s], mj.sensor_adr[s] + mj.sensor_dim[s])
            assert oracle.error(data.sensordata[i][here], d.sensordata[here]) < 1e-8, (i, s)
            heard[s] = max(heard[s], int(d.sensordata[here][0]))
    assert (np.delete(heard, -1) > 0).mean() > 0.9 and (heard > 3).sum() > 8
    assert not states[-1].ncon


def test_a_world_is_the_same_alone_and_in_a_batch(scene):
    _, model, _, given, data = scene
    alone = RUN(model, jax.tree.map(lambda x: x[4:5], given))
    np.testing.assert_array_equal(alone.sensordata[0], data.sensordata[4])


def test_derivatives_are_those_of_differences(scene):
    """By what a sensor reads: the contacts, their forces and the motion of the bodies."""
    mj, model, states, _, _ = scene
    rng, data, every = np.random.default_rng(2), js.make_data(model), np.arange(mj.nsensor)

    def reader(pair):
        def read(dist, pos, frame, force, cvel, subtree_com):
            slots = ContactSlots(dist, pos, frame, pair, None, None, None)
            solution = Solution(slots, Rows(*[None] * len(Rows._fields)), RowValues(jnp.zeros(0), force), None)
            return contacts(model, data.replace(cvel=cvel, subtree_com=subtree_com), every, solution)

        return read

    @jax.jit
    def both(pair, x, along, weight):
        value, change = jax.jvp(reader(pair), x, along)
        return value, change, jax.vjp(reader(pair), *x)[1](weight)

    for d in (states[2], states[4]):
        slots = oracle.slots_of(model, d, 16)
        force = rng.standard_normal((16, 6)) * (np.arange(16) < d.ncon)[:, None]
        x = slots.dist, slots.pos, slots.frame, force, d.cvel.copy(), d.subtree_com.copy()
        along = tuple(rng.standard_normal(y.shape) for y in x)
        along[0][d.ncon :] = 0
        weight = rng.standard_normal(mj.nsensordata)
        _, change, back = both(slots.pair, x, along, weight)
        at = lambda h: np.asarray(both(slots.pair, tuple(y + h * v for y, v in zip(x, along)), along, weight)[0])  # noqa: B023, E731
        differences = (at(1e-6) - at(-1e-6)) / 2e-6
        assert oracle.error(change, differences) < 1e-8
        assert (np.abs(change) > 0.1).mean() > 0.05
        forward, backward = np.sum(weight * change), sum(np.sum(a * b) for a, b in zip(along, back))
        assert abs(forward - backward) < 1e-9 * abs(forward)
        at_rest = both(slots.pair, (*x[:3], 0 * force, *x[4:]), along, weight)
        assert all(np.isfinite(y).all() for y in jax.tree.leaves(at_rest))


@pytest.mark.parametrize("flag", [0, DisableBit.MIDPHASE], ids=["tree", "all pairs"])
def test_pairs_are_in_the_order_of_mujocos_contacts(flag):
    """That of the bodies, explicit pairs first, and then of the geoms; not of the types of geoms."""
    bodies = "".join(
        f"""<body pos="{0.1 * i} 0 .1"><freejoint/><geom name="a{i}" type="capsule" size=".08 .1" pos="0 .1 0"/>
        <geom name="b{i}" size=".1"/><geom type="box" size=".1 .1 .1" pos="0 -.1 0"/></body>"""
        for i in range(4)
    )
    floors = '<geom type="plane" size="1 1 1"/><geom type="box" size="1 1 .01" pos="0 0 -.02" margin=".1"/>'
    explicit = '<pair geom1="b2" geom2="a1"/><pair geom1="b2" geom2="b1"/><pair geom1="b3" geom2="b0" margin="1"/>'
    mj = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{floors}{bodies}</worldbody><contact>{explicit}</contact></mujoco>"
    )
    mj.opt.disableflags |= int(flag)
    model, d = js.put_model(mj), mujoco.MjData(mj)
    d.qpos[:] += 0.02 * np.random.default_rng(0).standard_normal(mj.nq)
    mujoco.mj_forward(mj, d)
    table = pairs_of(model)
    rank = dict(zip(zip(table.geom1, table.geom2), ranks(model.topology, int(model.opt.disableflags))))
    found = [rank[tuple(c.geom)] for c in d.contact]
    assert len(set(found)) > 40
    assert found == sorted(found)


def test_sums_have_no_velocities():
    with pytest.raises(js.MjcfError, match="netforce"):
        js.load('<mujoco><sensor><contact data="linvel" reduce="netforce"/></sensor></mujoco>')
