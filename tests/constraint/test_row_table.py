"""The row table against MuJoCo's lists of rows, and against what the builders make."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.constraint.row_table import FAMILIES, row_table
from jaxsim.constraint.rows import make_constraint
from jaxsim.core.enums import Cone, ConstraintType, DisableBit

# every family, in an order of elements that is not the order of families; every limit is active by its margin
XML = """
<mujoco>
  <option cone="{cone}"/><default><geom condim="1"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1" condim="{condim}" contype="2"/>
    <body name="a" pos="0 0 1"><joint name="h" axis="0 1 0" range="-9 9" margin="9" frictionloss=".2"/>
      <geom size=".1" contype="0"/>
      <body name="b" pos=".3 0 0"><joint type="ball" range="0 9" margin="9" frictionloss=".1"/>
        <geom size=".1" contype="0"/></body></body>
    <body name="c" pos="1 0 1"><joint name="s" type="slide" range="-1 1" margin="3"/>
      <joint name="t" type="slide" axis="1 0 0" frictionloss=".3"/><geom size=".1" conaffinity="2" contype="0"/></body>
  </worldbody>
  <tendon><fixed name="t0" range="-1 1" margin="9"><joint joint="s" coef="1"/></fixed>
    <fixed name="t1" frictionloss=".1"><joint joint="t" coef="1"/><joint joint="h" coef="2"/></fixed>
    <fixed name="t2" frictionloss=".1" range="-2 2" margin="9"><joint joint="h" coef="1"/></fixed></tendon>
  <equality>
    <tendon tendon1="t0" tendon2="t2"/><weld body1="a" body2="c"/><joint joint1="s" joint2="t"/>
    <connect body1="b" anchor="0 0 0"/><weld body1="b"/><joint joint1="h"/>
  </equality>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    return oracle.pair_of_xml(XML.format(cone="pyramidal", condim=3))


def test_mujocos_order(scene):
    mj, model = scene
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    table = row_table(model)
    assert set(table.type) == set(range(5)) and len(table.blocks) == len(FAMILIES) - 2  # but for the user's
    np.testing.assert_array_equal(table.type[table.order], d.efc_type)
    np.testing.assert_array_equal(table.id[table.order], d.efc_id)
    for kind, count in table.counts().items():
        assert count == np.sum(d.efc_type == kind)
    J = d.efc_J.reshape(d.nefc, mj.nv)
    single = np.flatnonzero(table.order < len(table.dof))
    column, sign = table.dof[table.order[single]], table.sign[table.order[single]]
    np.testing.assert_array_equal(J[single], sign[:, None] * (column[:, None] == np.arange(mj.nv)))


@pytest.mark.parametrize(
    "bit", [0, DisableBit.EQUALITY, DisableBit.FRICTIONLOSS, DisableBit.LIMIT, DisableBit.CONSTRAINT]
)
def test_flags_remove_families(scene, bit):
    mj, model = scene
    mj.opt.disableflags |= int(bit)
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    mj.opt.disableflags &= ~int(bit)
    table = row_table(model.replace(opt=model.opt.replace(disableflags=model.opt.disableflags | bit)))
    np.testing.assert_array_equal(table.type[table.order], d.efc_type)


def test_builders_make_the_rows_that_the_table_promises(scene):
    def row(m, d):
        return {"pos": d.qpos[:1], "J": jnp.eye(1, m.nv)}

    model = js.extend(scene.model, equality=row, limit=row)
    data, ten_J = js.make_data(model), jnp.zeros((model.ntendon, model.nv))
    assert len(row_table(model).blocks) == len(FAMILIES)
    for block in row_table(model).blocks:
        made = jax.eval_shape(lambda b=block: b.family.build(model, data, ten_J, b.elements))
        n = block.stop - block.start
        assert {x.shape[0] for x in jax.tree.leaves(made)} == {n}
        assert (made.J is None) == (block.family.dof is not None)
        assert made.J is None or made.J.shape == (n, model.nv)
    rows = jax.eval_shape(lambda: make_constraint(model, data, ten_J, None))
    assert rows.D.shape == row_table(model).type.shape
    assert all(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(rows))


@pytest.mark.parametrize("cone", Cone)
def test_rows_of_a_contact(cone):
    """Frictionless contacts are one row, others the edges of a pyramid or the axes of a cone."""
    for condim in (1, 3, 4, 6):
        mj = mujoco.MjModel.from_xml_string(XML.format(cone=cone.name.lower(), condim=condim))
        d = mujoco.MjData(mj)
        d.qpos[-2] = -0.95  # to the floor
        mujoco.mj_forward(mj, d)
        assert d.ncon == 1
        table = row_table(oracle.pair(mj).model)
        assert table.contact_dim == condim
        assert table.contact_size == np.sum(d.efc_type >= ConstraintType.CONTACT_FRICTIONLESS)
        every = table.rows_of_contact(np.array([0, 1, condim]))
        assert every.tolist() == [0, 1, table.contact_size]


@pytest.mark.parametrize(("site", "rows"), [("b", 0), ("c", 0), ("d", 2)])
def test_tendons_that_nothing_lengthens_have_no_rows(site, rows):
    """Between points of one body, or of bodies without a joint between them (where MuJoCo's Jacobian is rounding)."""
    model = js.load(f"""<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1"/><site name="a" pos=".2 0 0"/>
      <site name="b" pos=".1 .1 0"/><body euler="10 20 30"><geom size=".1"/><site name="c" pos=".3 .1 .2"/></body>
      <body pos=".3 0 0"><joint axis="1 0 0"/><geom size=".1"/><site name="d" pos="0 .2 0"/></body></body></worldbody>
      <tendon><spatial frictionloss=".1"><site site="a"/><site site="{site}"/></spatial>
        <spatial frictionloss=".1"><site site="{site}"/><site site="a"/></spatial></tendon></mujoco>""")
    assert len(row_table(model).type) == rows
