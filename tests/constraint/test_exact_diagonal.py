"""The flag diagexact: rows that are relative to the diagonal of J M^-1 J^T, not to diagApprox; all families, beside MuJoCo."""

import differences
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import EnableBit
from jaxsim.dynamics import trees

XML = """
<mujoco>
  <option cone="{cone}" impratio="3"><flag diagexact="enable"/></option>
  <default><geom friction=".7 .02 .01"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .098"><freejoint/><geom size=".1" condim="1"/></body>
    <body name="rod" pos="0 .19 .098" euler="0 1 0"><freejoint/>
      <geom type="capsule" fromto="-.1 0 0 .4 0 0" size=".1" condim="6"/></body>
    <body name="arm" pos="1 0 .8"><joint name="s" type="slide" axis="1 0 .3" frictionloss="1" range="-.01 .01"/>
      <geom size=".1"/>
      <body pos=".4 0 0"><joint name="h" axis="0 1 0" frictionloss=".1" range="-3 3" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 .4 0 -.74" size=".05"/>
        <body name="hand" pos=".4 0 0"><joint type="ball" range="0 5"/><geom size=".06" pos="0 .1 .1"/></body></body></body>
    <body name="bob" pos="1.8 .1 .8"><freejoint/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <tendon><fixed name="t" frictionloss=".2" limited="true" range="-.02 .02" armature=".1">
    <joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed></tendon>
  <equality><weld body1="hand" body2="bob" torquescale=".7"/><joint joint1="s" joint2="h" polycoef=".1 .7 .3 0 0"/>
    <connect body1="rod" anchor=".1 0 .2"/><tendon tendon1="t" polycoef=".1 0 0 0 0"/></equality>
</mujoco>
"""


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_rows_of_all_families(cone, many, rng, monkeypatch):
    """Also where trees are many, and whose masses are kept in blocks."""
    if many:
        monkeypatch.setattr(trees, "MANY", 19)
    mj, model = oracle.pair_of_xml(XML.format(cone=cone))
    assert (trees.trees_of(model) is not None) == many
    without, most = js.put_model(mj), 0
    without = without.replace(opt=without.opt.replace(enableflags=0))
    for _ in range(3):
        d = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, d.qpos, 0.02 * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = 0.3 * rng.standard_normal(mj.nv)
        mujoco.mj_forward(mj, d)
        data = oracle.put(model, d)
        oracle.assert_equal(js.forward(model, data), d, ["nefc", "ncon", "qacc", "qfrc_constraint"])
        assert oracle.error(js.forward(without, data).qacc, d.qacc) > 1e-4
        most = max(most, d.ncon)
        if not many:
            data = data.replace(qacc=d.qacc.copy())
            mujoco.mj_inverse(mj, d)
            oracle.assert_equal(js.inverse(model, data), d, ["qfrc_inverse"])
    assert most >= 4


def test_derivatives_and_batches(rng):
    """By positions, which the diagonal depends on, and masses; a world of a batch as in any other batch, in float32 too."""
    _, model = oracle.pair_of_xml(XML.format(cone="elliptic"))
    assert model.opt.enables(EnableBit.DIAGEXACT)
    data = js.make_data(model)
    weight = jnp.asarray(rng.standard_normal(model.nv))

    def loss(x):
        moved = data.replace(qvel=x["qvel"], qpos=data.qpos + x["qpos"])
        return weight @ js.forward(model.replace(body_mass=x["body_mass"]), moved).qacc

    point = {"qvel": data.qvel + 0.1, "qpos": 0 * data.qpos, "body_mass": model.body_mass}
    ways = {k: jnp.asarray(rng.standard_normal(v.shape)) * 1e-3 for k, v in point.items()}
    ways["body_mass"] = jnp.abs(ways["body_mass"])
    found = differences.compare(loss, point, ways, 1e-3)
    assert all(abs(x) > 1e-3 for x in found.values())

    with jax.enable_x64(False):
        small = js.load(XML.format(cone="elliptic"))
        speed = jnp.asarray(0.1 * rng.standard_normal((40, small.nv)), jnp.float32)
        worlds = jax.vmap(lambda v: js.make_data(small).replace(qvel=v))(speed)
        step = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))
        moved = step(small, worlds)
        swapped = step(small, jax.tree.map(lambda x: x[::-1], worlds))
    assert np.isfinite(moved.qacc).all() and not moved.warning.any()
    assert np.array_equal(np.asarray(swapped.qpos)[::-1], np.asarray(moved.qpos))
