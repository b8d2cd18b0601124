"""Worlds of many kinematic trees: the same as MuJoCo's, and the same as with dense matrices."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim import models as bundled
from jaxsim.algebra import pieces, select, tree
from jaxsim.constraint import contact
from jaxsim.dynamics import trees
from jaxsim.stages import forward

BOX = (
    """<body pos="{x} {y} {z}" euler="{t} 10 0"><freejoint/><geom type="box" size=".05 .06 .04" condim="{c}"/></body>"""
)
XML = """
<mujoco model="{name}">
  <option timestep=".004" cone="{cone}"><flag energy="enable"/></option>
  <default><geom friction=".6 .02 .005"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    {boxes}
    <body name="dog" pos=".1 .1 .5"><freejoint/><geom type="capsule" size=".05" fromto="-.1 0 0 .1 0 0"/>
      <body pos=".1 0 0"><joint name="leg" axis="0 1 0" range="-40 40" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.25"/></body>
      <body pos="-.1 0 0"><joint axis="0 1 0" frictionloss=".2" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 .1 -.25"/></body></body>
    <body name="a" pos=".5 0 .6"><joint name="a" axis="0 1 0" armature=".01"/><geom size=".05" pos=".1 0 0"/>
      <body pos=".2 0 0"><joint name="b" axis="0 1 0" range="-20 20"/><geom size=".05" pos=".1 0 0"/></body></body>
    <body name="c" pos=".5 .4 .6"><joint name="c" axis="0 1 0" armature=".01"/><geom size=".05" pos=".1 0 0"/>
      <body pos=".2 0 0"><joint type="ball" range="0 20"/><geom size=".05" pos=".1 0 0"/></body></body>
  </worldbody>
  <tendon><fixed armature=".02" frictionloss=".3" range="-.2 .2" limited="true">
    <joint joint="b" coef="1"/><joint joint="leg" coef=".5"/></fixed></tendon>
  <equality><connect body1="a" body2="c" anchor=".5 .2 .1"/><joint joint1="a" joint2="c"/></equality>
  <sensor><e_kinetic/><e_potential/></sensor>
</mujoco>
"""


@pytest.fixture
def by_trees(monkeypatch):
    """Small worlds count as large ones."""
    monkeypatch.setattr(trees, "MANY", 19)


def apart(xml: str, many: int) -> str:
    """The model with `many` more sites in the world: programs are kept by what a model has, not by names."""
    return xml.replace("<worldbody>", "<worldbody>" + many * "<site/>")


def heap(name: str, cone: str = "pyramidal", count: int = 6) -> str:
    """Boxes above each other and other things, which fall upon each other."""
    boxes = [
        BOX.format(x=0.03 * (i % 2), y=0.02 * (i % 3), z=0.1 + 0.13 * i, t=17 * i, c=4 - i % 2) for i in range(count)
    ]
    return XML.format(name=name, cone=cone, boxes="".join(boxes))


def scattered(mj: mujoco.MjModel, rng: np.random.Generator) -> list[mujoco.MjData]:
    """States in which much touches, from which the solver starts anywhere."""
    found = []
    for d in oracle.states(mj, rng, (80, 80, 150)):
        d.qacc_warmstart[:] += 3 * rng.standard_normal(mj.nv)
        d.qfrc_applied[:] = 0.5 * rng.standard_normal(mj.nv)
        warm = d.qacc_warmstart.copy()
        mujoco.mj_forward(mj, d)
        d.qacc_warmstart[:] = warm
        found.append(_copy(mj, d))
    return found


def _copy(mj: mujoco.MjModel, d: mujoco.MjData) -> mujoco.MjData:
    other = mujoco.MjData(mj)
    mujoco.mj_copyData(other, mj, d)
    return other


def test_a_batch_of_heaps_is_mujocos(by_trees):
    pair = oracle.pair_of_xml(heap("heap", "elliptic"))
    assert [dofs.shape[1] for dofs in trees.trees_of(pair.model).dofs] == [2, 4, 6, 8]
    found = scattered(pair.mj, np.random.default_rng(1))
    batch = jax.tree.map(lambda *x: jnp.stack(x), *[oracle.put(pair.model, d) for d in found])
    after = jax.vmap(js.forward, (None, 0))(pair.model, batch)
    assert sum(d.ncon for d in found) >= 20 and (np.asarray(after.ncon) == [d.ncon for d in found]).all()
    assert np.asarray(after.solver_converged).all()
    for i, d in enumerate(found):
        mine = jax.tree.map(lambda x, i=i: x[i], after)
        inertia = np.zeros((pair.mj.nv, pair.mj.nv))
        mujoco.mj_fullM(pair.mj, d, inertia)
        assert oracle.error(mine.qM, inertia) < 1e-9
        oracle.assert_equal(mine, d, ("qfrc_bias", "qacc_smooth", "cvel", "energy", "sensordata"))
        oracle.assert_equal(mine, d, ("qacc", "qfrc_constraint"), 1e-8)


def test_derivatives_are_those_of_dense_matrices(monkeypatch):
    rng, found = np.random.default_rng(2), []
    mj = oracle.pair_of_xml(heap("to fall", count=3)).mj
    state = scattered(mj, rng)[-1]
    *tangents, weight = (jnp.asarray(rng.standard_normal(n)) for n in (mj.nv, mj.nv, mj.nq, mj.nv))
    for sites, many in enumerate((10, 1000)):
        monkeypatch.setattr(trees, "MANY", many)
        model = oracle.pair_of_xml(apart(heap("derivatives", count=3), sites)).model
        model = js.extend(model, passive=lambda m, d: -jnp.matvec(d.qM, d.qvel))
        assert (trees.trees_of(model) is None) == (many == 1000)
        data = oracle.put(model, state)

        def velocity(qvel, force, qpos, model=model, data=data):
            return js.step(model, data.replace(qvel=qvel, qfrc_applied=force, qpos=qpos)).qvel

        at = data.qvel, data.qfrc_applied, data.qpos
        found.append(jax.vjp(velocity, *at)[1](weight))
        if many == 10:  # forward mode, against reverse mode
            moved = jax.jvp(velocity, at, tuple(tangents))[1]
            pulled = sum(x @ y for x, y in zip(tangents, found[0]))
            assert oracle.error(moved @ weight, pulled) < 1e-9
    for ours, dense in zip(*found):
        assert oracle.error(ours, dense) < 1e-8


def test_rows_can_still_be_written_out(by_trees):
    pair = oracle.pair_of_xml(heap("rows", count=2))
    d = scattered(pair.mj, np.random.default_rng(3))[0]
    data = oracle.put(pair.model, d)
    rows = js.constraint_rows(pair.model, data.replace(qacc=jnp.asarray(d.qacc))).compact()
    J = np.asarray(d.efc_J).reshape(-1, pair.mj.nv)
    assert rows.J.shape == J.shape and oracle.error(np.sort(rows.force), np.sort(d.efc_force)) < 1e-7
    assert oracle.error(rows.J.T @ rows.force, J.T @ d.efc_force) < 1e-8


def test_bundled_models_have_dense_matrices():
    for name in bundled.names():
        model = js.load(name)
        assert trees.trees_of(model) is None
        assert tree.velocity_before(model.topology).size <= pieces.SMALL


def test_products_with_matrices_of_many_blocks():
    rng = np.random.default_rng(0)
    matrix = np.zeros((601, 700))
    for i in range(100):
        matrix[1 + 5 * i : 5 + 5 * i, 7 * i : 7 * i + 4] = rng.integers(1, 3) * np.tri(4)
        matrix[6 + 5 * i - 1, 7 * i + 5] = 1
    matrix[0] = 1
    found = pieces.pieces(matrix)
    assert found is not None and len(found) <= 5
    x = rng.standard_normal((700, 2))
    assert oracle.error(select.product(matrix, jnp.asarray(x)), matrix @ x) < 1e-14
    pulled = jax.linear_transpose(lambda x: select.product(matrix, x), jnp.asarray(x))(jnp.asarray(matrix @ x))[0]
    assert oracle.error(pulled, matrix.T @ (matrix @ x)) < 1e-14
    assert pieces.pieces(rng.standard_normal((300, 300))) is None  # nothing but one block


# a turntable that its base squeezes, with an arm on it, and boxes that stick
TURNTABLE = """<mujoco model="{name}"><option cone="{cone}" integrator="implicitfast"/><worldbody>
  <geom type="plane" size="5 5 .1"/><geom type="box" size=".2 .2 .1" pos="0 0 .1" euler="0 0 25"/>
  <body name="table" pos="0 0 .2499"><joint axis="0 0 1" damping=".1"/><geom type="cylinder" size=".1 .05"/>
    <body pos="0 0 .1"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 .1"/></body>
    {more}</body>
  <body pos="0 1 .049"><freejoint/><geom type="box" size=".05 .05 .05" adhesion="3" gap=".01"/></body>
  <body name="on" pos=".02 1 .149" euler="0 0 20"><freejoint/><geom type="box" size=".05 .05 .05" condim="4"/></body>
  <body pos=".02 1.2 .055"><freejoint/><geom type="box" size=".05 .05 .05" adhesion="2" gap=".01"/></body>
  </worldbody><actuator><adhesion body="on" ctrlrange="0 4" gain="3"/><adhesion body="table" ctrlrange="0 4"/></actuator>
</mujoco>"""
# what turns about its centre there and hits the arm beside its axis: MuJoCo throws both
HIT = """<body pos=".2 .05 .11"><joint axis="0 1 0" damping=".1"/><geom type="box" size=".1 .1 .05"/></body>"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_pivots_and_what_sticks_among_them(by_trees, cone):
    pair = oracle.pair_of_xml(TURNTABLE.format(name=f"pivots {cone}", cone=cone, more=""))
    assert trees.trees_of(pair.model) is not None and pair.model.haspivots and pair.model.hasadhesion
    d, step = mujoco.MjData(pair.mj), jax.jit(js.step)
    d.qvel[:2], d.ctrl[:] = (1, 2), (2, 1)
    for _ in range(20):
        data = step(pair.model, oracle.put(pair.model, d))
        mujoco.mj_forward(pair.mj, d)
        assert d.ncon > 12 and np.abs(d.qfrc_passive).max() > 1 and np.abs(d.efc_force).max() > 1e14
        assert data.solver_converged
        oracle.assert_equal(data, d, ["qfrc_passive", "actuator_velocity", "qfrc_actuator"])
        oracle.assert_equal(data, d, ["qacc"], 1e-8)  # of forces of 1e14 N
        mujoco.mj_step(pair.mj, d)


def test_pivots_that_are_hit_move_as_with_dense_matrices(monkeypatch):
    """So do their derivatives, by velocities, controls and the stickiness of surfaces."""
    found, slopes = [], []
    for sites, many in enumerate((10, 1000)):
        monkeypatch.setattr(trees, "MANY", many)
        model = js.load(apart(TURNTABLE.format(name="hit", cone="elliptic", more=HIT), sites))
        assert (trees.trees_of(model) is None) == (many == 1000)
        data, step, path = js.make_data(model), jax.jit(js.step), []
        for _ in range(40):
            data = step(model, data)
            path.append(data.qvel)
        found.append(np.stack(path))

        def seen(qvel, ctrl, adhesion, model=model, data=data):
            end = js.step(model.replace(geom_adhesion=adhesion), data.replace(qvel=qvel, ctrl=ctrl))
            return end.qvel, end.qfrc_passive

        at, weight = (data.qvel, data.ctrl + 1, model.geom_adhesion), jnp.cos(jnp.arange(float(model.nv)))
        slopes.append(jax.vjp(seen, *at)[1]((weight, weight)))
    assert np.abs(found[0]).max() < 20
    assert 0 < oracle.error(found[0], found[1]) < 1e-8
    for ours, dense in zip(*slopes):
        assert np.abs(dense).max() > 1e-5 and np.abs(ours - dense).max() < 1e-6 * np.abs(dense).max()


def test_pivots_among_them_come_to_rest_in_float32(float32, by_trees):
    model, step = js.load(TURNTABLE.format(name="single", cone="elliptic", more=HIT)), jax.jit(js.step)
    data, met = js.make_data(model), 0
    data = data.replace(qvel=data.qvel + 0.5)
    for _ in range(100):
        data = step(model, data)
        met += int(data.ncon) > 12
    assert trees.trees_of(model) is not None and data.qvel.dtype == np.float32 and met
    assert not js.warnings_of(data) and data.solver_converged
    assert np.abs(data.qvel[0]) < 1e-3 and np.abs(data.qvel).max() < 20


def test_what_forces_at_contacts_do_is_that_of_written_out_jacobians(by_trees):
    m = oracle.pair_of_xml(TURNTABLE.format(name="give", cone="elliptic", more=HIT)).model
    d = forward.position_velocity(m, js.make_data(m))[0]
    slots = forward.collide(m, d)
    rows = contact.contact_rows(m, d, slots)
    expected = contact._squares(d.replace(qM=d.qM.dense()), contact.written_out(m.topology, rows))
    found = contact._squares_of_bodies(m, d, slots, rows.motion)
    assert contact._last_shared(m).any() and np.max(expected) > 1
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.max(expected))
