"""Trees that fall asleep and wake up: the same trees at the same steps as in MuJoCo, and what they are then."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import AWAKE

BOX = '<freejoint/><geom type="box" size=".1 .1 .1"/>'
# two boxes on each other, a ball that rolls into them and on to a third box, and a box that is dropped on a fourth;
# a hinge with a lazy motor; two boxes that a cord joins, of which one is pushed away; two that are welded; one on which
# a block comes down that people move
ALL = f"""<mujoco><option cone="elliptic" impratio="3"><flag sleep="enable"/></option>
  <default><geom density="300"/></default>
  <worldbody><geom name="floor" type="plane" size="5 5 .1"/>
    <body name="low" pos="0 0 .1">{BOX}<site name="mid" size=".2"/></body><body name="high" pos="0 .02 .3">{BOX}</body>
    <body name="ball" pos="-1 0 .1"><freejoint/><geom type="sphere" size=".1" density="3000"/></body>
    <body name="third" pos="-1.4 1 .1">{BOX}</body><body pos="-1.4 1 .9">{BOX}</body>
    <body pos="2 0 1"><joint name="hinge" axis="0 1 0" damping=".5"/><geom type="capsule" size=".03 .2" pos="0 0 -.2"/></body>
    <body pos="0 2 .1">{BOX}<site name="a"/></body><body name="tied" pos=".5 2 .1">{BOX}<site name="b"/></body>
    <body name="one" pos="0 -2 .1">{BOX}</body><body name="other" pos=".3 -2 .1" sleep="allowed">{BOX}</body>
    <body name="under" pos="2 2 .1">{BOX}</body><body name="hand" mocap="true" pos="2 2 .5"><geom type="box" size=".1 .1 .1"/></body>
    <body name="restless" pos="3 3 .1" sleep="never">{BOX}</body>
  </worldbody>
  <tendon><spatial name="cord" limited="true" range="0 .7"><site site="a"/><site site="b"/></spatial></tendon>
  <equality><weld body1="one" body2="other"/></equality>
  <sensor><touch site="mid"/><accelerometer site="mid"/><framepos objtype="body" objname="high" reftype="body" refname="ball"/>
    <contact geom1="floor" data="found" reduce="netforce"/><tendonpos tendon="cord"/><clock/><jointpos joint="hinge"/>
    <subtreelinvel body="low"/></sensor></mujoco>"""
# asleep from the start: two boxes that lie on each other, and a hinge that a motor turns; another is dropped on the boxes
INIT = f"""<mujoco><option integrator="implicitfast"><flag sleep="enable"/></option>
  <worldbody><geom type="plane" size="5 5 .1"/>
    <body sleep="init" pos="0 0 .0999">{BOX}</body><body sleep="init" pos="0 0 .2998">{BOX}</body>
    <body pos=".05 0 .8">{BOX}</body>
    <body sleep="init" pos="2 0 1"><joint name="turn" axis="0 0 1" damping=".1"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
  <actuator><general name="motor" joint="turn" dyntype="filter" dynprm=".1" gainprm=".2"/></actuator>
  <sensor><actuatorfrc actuator="motor"/></sensor></mujoco>"""


def _events(d, step: int) -> None:
    """What people do to the scene ALL."""
    if step == 150:
        d["qvel"][12] = 2.0  # the ball
    if step == 200:
        d["xfrc_applied"][8, 0] = 60.0  # the tied box, away from the other
    if step == 320:
        d["xfrc_applied"][8, 0] = 0.0
    if step >= 250:
        d["mocap_pos"][0, 2] = max(0.5 - 0.002 * (step - 250), 0.295)
    if step == 350:
        d["qpos"][2 + 7 * 3 + 7 * 2] += 0.01


def _compared(xml: str, events, steps: int):
    """tree_asleep [steps, ntree] of a scene in which both engines agree at every step."""
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.tolerance = 0  # and islands, which what converges in MuJoCo is mostly compared without
    model = js.put_model(mj)
    d, data, step = mujoco.MjData(mj), js.make_data(model), jax.jit(js.step)
    np.testing.assert_array_equal(data.tree_asleep, d.tree_asleep)
    record = []
    for i in range(steps):
        names = ("qpos", "qvel", "ctrl", "xfrc_applied", "mocap_pos")
        inputs = {name: getattr(d, name).copy() for name in names}
        events(inputs, i)
        changes = {}
        for name, x in inputs.items():  # only what changes, as MuJoCo's positions have other last digits
            new = x != getattr(d, name)
            changes |= {name: jnp.where(new, x, getattr(data, name))} if new.any() else {}
            getattr(d, name)[:] = x
        data = step(model, data.replace(**changes))
        mujoco.mj_step(mj, d)
        np.testing.assert_array_equal(data.tree_asleep, d.tree_asleep, f"step {i}")
        np.testing.assert_allclose(data.qpos, d.qpos, atol=1e-7)
        np.testing.assert_allclose(data.qvel, d.qvel, atol=1e-6)
        np.testing.assert_allclose(data.act, d.act, atol=1e-9)
        assert oracle.error(data.sensordata, d.sensordata) < 1e-5  # forces of impacts, to the solvers' tolerance
        record.append(d.tree_asleep.copy())
    return np.array(record), data


def test_sleeps_and_wakes_as_in_mujoco(optimized):
    """By contact, in a row; by a cord that tightens; by a weld; by what people push, move and hold; with readings."""
    asleep = _compared(ALL, _events, 660)[0] >= 0
    slept, wakes = asleep.any(axis=0), (asleep[:-1] & ~asleep[1:]).any(axis=0)
    assert slept.tolist() == [True] * 6 + [True] * 5 + [False]
    # the two boxes, the third one, the tied boxes, and the one under the hand; the welded ones are left alone
    assert wakes[[0, 1, 3, 6, 7, 10]].all() and not wakes[[5, 8, 9]].any()


def test_what_sleeps_from_the_start(optimized):
    """An island and a motor's hinge, which does not feel its control; a box falls on the island."""

    def events(d, step):
        d["ctrl"][:] = step > 30

    asleep = _compared(INIT, events, 300)[0] >= 0
    assert asleep[0].tolist() == [True, True, False, True]
    assert not asleep[150, :3].any() and asleep[-1].all() and asleep[:, 3].all()


PAIR = f"""<mujoco><option{{}}><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .0999">{BOX}</body><body pos="0 0 .2998">{BOX}</body><body name="far" pos="2 0 {{}}">{BOX}</body>
  </worldbody></mujoco>"""


def _rest(model, steps=60):
    """Data of the scene PAIR after some steps, when the two boxes sleep."""
    step = jax.jit(js.step)
    data = js.make_data(model)
    for _ in range(steps):
        data = step(model, data)
    assert data.tree_asleep[:2].tolist() == [1, 0]
    return data, step


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "discrete"])
def test_what_sleeps_stays_where_it_is(integrator):
    """Bit by bit; in MuJoCo, what sleeps under RK4 wakes at once, as its quaternions are normalised again."""
    model = js.load(PAIR.format(f' integrator="{integrator}"', 0.4))
    data, step = _rest(model)
    later = data
    for _ in range(20):
        later = step(model, later)
    np.testing.assert_array_equal(later.qpos[:14], data.qpos[:14])
    assert (later.qpos[14:] != data.qpos[14:]).any() and not later.qvel[:12].any() and not later.qacc[:12].any()
    assert not later.qfrc_constraint[:12].any() and later.solver_converged


def test_what_people_do_wakes(float32):
    """Positions, velocities and forces that are given to one of two that sleep wake both; states go on as they were."""
    model = js.load(PAIR.format("", 0.4))
    data, step = _rest(model)
    for change in (
        {"qpos": data.qpos.at[9].add(1e-5)},
        {"qvel": data.qvel.at[0].set(1e-6)},
        {"qfrc_applied": data.qfrc_applied.at[7].set(0.1)},
        {"xfrc_applied": data.xfrc_applied.at[1, 2].set(0.1)},
    ):
        woken = step(model, data.replace(**change))
        assert (woken.tree_asleep[:2] < 0).all(), change
    copy = js.set_state(js.make_data(model), js.get_state(data))
    jax.tree.map(np.testing.assert_array_equal, step(model, copy).qpos, step(model, data).qpos)
    assert step(model, copy).tree_asleep[:2].tolist() == [1, 0]
    again = js.reset(model, data)
    assert (again.tree_asleep == AWAKE).all()


def test_batches_and_derivatives():
    """Worlds of a batch, of which some sleep, are those that they are alone; what sleeps has no derivative."""
    model = js.load(PAIR.format("", 0.4))
    data, _ = _rest(model)
    moved = data.replace(qvel=data.qvel.at[0].set(0.3))
    worlds = jax.tree.map(lambda a, b: jnp.stack([a, b, a]), data, moved)
    run = jax.jit(jax.vmap(lambda d: js.step(model, d)))
    every = run(worlds)
    assert (every.tree_asleep[:, 0] >= 0).tolist() == [True, False, True]
    alone = run(jax.tree.map(lambda x: x[1:2], worlds))
    for name in ("qpos", "qvel", "tree_asleep"):
        np.testing.assert_array_equal(getattr(alone, name)[0], getattr(every, name)[1])

    def heights(gravity):
        light = model.replace(opt=model.opt.replace(gravity=gravity * jnp.array([0.0, 0.0, -1.0])))
        return js.rollout(light, data, jnp.zeros((3, 0)))[0].qpos[jnp.array([2, 9, 16])]

    slope = jax.jacrev(heights)(9.81)
    difference = (heights(9.81 + 1e-5) - heights(9.81 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, difference, atol=1e-9)
    np.testing.assert_allclose(jax.jacfwd(heights)(9.81), slope, atol=1e-12)
    assert not slope[:2].any() and slope[2] < -1e-5


def test_the_hard_law_lets_sleep():
    model = js.load(PAIR.format("", 0.4), contact="hard")
    data, step = _rest(model, 120)
    fallen = step(model, data.replace(qpos=data.qpos.at[14:17].set(jnp.array([0.1, 0.0, 0.499]))))
    assert (fallen.tree_asleep < 0).all() and np.isfinite(fallen.qpos).all()


def test_many_trees():
    """A row of thirty boxes, whose matrices are kept tree by tree and whose pairs come from tiles."""
    boxes = "".join(f'<body pos="{0.3 * i} 0 .0999">{BOX}</body>' for i in range(30))
    xml = f"""<mujoco><option tolerance="1e-14"><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 .1"/>{boxes}
      <body pos="-.21 0 .0999">{BOX}</body></worldbody></mujoco>"""
    model, mj = js.load(xml), mujoco.MjModel.from_xml_string(xml)
    d, data, step = mujoco.MjData(mj), js.make_data(model), jax.jit(js.step)
    for i in range(120):
        if i == 40:
            d.qvel[180] = 1.0
            data = data.replace(qvel=data.qvel.at[180].set(1.0))
        data = step(model, data)
        mujoco.mj_step(mj, d)
        np.testing.assert_array_equal(data.tree_asleep, d.tree_asleep, f"step {i}")
        np.testing.assert_allclose(data.qpos, d.qpos, atol=1e-6)
        if i == 39:
            assert data.tree_asleep.tolist() == list(range(31))
    assert np.flatnonzero(data.tree_asleep < 0).tolist() == [0, 30]


def test_without_islands():
    """Nothing comes nearer to sleep while anything is constrained: one of two boxes is pressed to the floor for a while."""
    xml = f"""<mujoco><option gravity="0 0 0"><flag island="disable" sleep="enable"/></option>
      <worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 2">{BOX}</body><body pos="1 0 .101">{BOX}</body>
      </worldbody></mujoco>"""
    mj, model = mujoco.MjModel.from_xml_string(xml), js.load(xml)
    d, data, step = mujoco.MjData(mj), js.make_data(model), jax.jit(js.step)
    pressed, free = [], []
    for i in range(60):
        force = -200.0 if 2 <= i < 20 else 0.0
        d.xfrc_applied[2, 2], data = force, data.replace(xfrc_applied=data.xfrc_applied.at[2, 2].set(force))
        data = step(model, data)
        mujoco.mj_step(mj, d)
        np.testing.assert_array_equal(data.tree_asleep, d.tree_asleep, f"step {i}")
        (pressed if d.nefc else free).append(int(d.tree_asleep[0]))
    assert len(pressed) > 5 and len(set(pressed)) == 1 and pressed[0] < -1 and free[-1] == 0


def test_a_pad_that_sleeps():
    """Sensors of what has no body of its own, such as a mesh, go by the geom."""
    xml = """<mujoco><option><flag sleep="enable"/></option><asset><mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
      <worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1" gravcomp="1"><freejoint/>
      <geom name="pad" type="mesh" mesh="m"/></body></worldbody>
      <sensor><tactile mesh="m" geom="pad"/></sensor></mujoco>"""
    model = js.load(xml)
    final, _ = js.rollout(model, js.make_data(model), jnp.zeros((14, 0)))
    assert final.tree_asleep.tolist() == [0] and np.isfinite(final.sensordata).all()


def test_what_is_refused():
    cord = (
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><equality><tendon tendon1="t"/></equality>'
    )
    tied = PAIR.format("", 0.4).replace("<freejoint/>", '<joint name="j" type="slide"/>', 1)
    with pytest.raises(js.MjcfError, match="sleep is not simulated with equalities of tendons"):
        js.load(tied.replace("</mujoco>", cord + "</mujoco>"))
    with pytest.raises(js.MjcfError, match=":2: <body>: 'touching': sleep=\"init\": it touches"):
        js.load(PAIR.format("", 0.4).replace('pos="0 0 .2998"', 'name="touching" sleep="init" pos="0 0 .2998"'))
