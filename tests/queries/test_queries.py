"""Jacobians, object motions, contact forces and constraint rows against MuJoCo's functions."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import ConstraintType

# one of everything that makes rows: equalities out of type order, friction, limits, contacts
ROBOT = """
<mujoco>
  <option cone="{cone}" jacobian="dense"/>
  <worldbody>
    <camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/>
    <geom name="floor" type="plane" size="5 5 .1" condim="{floor}"/>
    <body name="base" pos="0 0 .29">
      <freejoint/>
      <geom name="trunk" type="box" size=".2 .1 .1" condim="{dim}" mass="3" friction=".7 .02 .003"/>
      <site name="imu" pos=".05 .02 .1" euler="20 30 40"/>
      <body name="arm" pos=".2 0 0">
        <joint name="swivel" type="ball" range="0 .3" limited="true" frictionloss=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 .05"/>
        <body name="hand" pos=".3 0 .05">
          <joint name="wrist" axis="0 1 0" range="-.2 .2" limited="true" frictionloss=".2" pos="0 .01 0"/>
          <geom name="palm" type="sphere" size=".06" condim="1" mass=".2"/>
          <camera name="palmcam" pos="0 0 .1"/>
        </body>
      </body>
    </body>
    <body name="cart" pos="1 0 .1">
      <joint name="rail" type="slide" axis="1 0 0" range="-.1 .1" limited="true" margin=".05"/>
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom name="wheel" type="sphere" size=".12" condim="6"/>
      <body name="pole" pos="0 .3 .5" quat=".9 .1 .2 0">
        <joint name="pivot" axis="0 1 0"/>
        <geom type="capsule" size=".02 .2"/>
        <site name="tip" pos="0 0 .2"/>
      </body>
    </body>
    <body name="post" pos="1 1 1"><geom type="sphere" size=".1"/></body>
  </worldbody>
  <tendon>
    <fixed name="pull" frictionloss=".05" limited="true" range="-.1 .1" armature=".3">
      <joint joint="wrist" coef="1"/><joint joint="pivot" coef="-.5"/>
    </fixed>
    <fixed name="draw"><joint joint="rail" coef="2"/></fixed>
  </tendon>
  <equality>
    <tendon tendon1="draw" tendon2="pull"/>
    <weld body1="pole" body2="post" torquescale=".8"/>
    <joint joint1="rail" joint2="lift" polycoef="0 .3 .1 0 0"/>
    <connect body1="hand" body2="cart" anchor=".1 .2 .3"/>
    <connect body1="base" anchor="0 0 .2" active="false"/>
  </equality>
</mujoco>
"""
CASES = [("pyramidal", 3, 1), ("elliptic", 4, 1)]


@functools.cache
def scene(cone="pyramidal", dim=3, floor=1):
    """Model and Data in both engines, moving and in contact."""
    mj, model = oracle.pair_of_xml(ROBOT.format(cone=cone, dim=dim, floor=floor))
    d = mujoco.MjData(mj)
    rng = np.random.default_rng(1)
    for _ in range(5):
        mujoco.mj_step(mj, d)
    d.qpos[mj.joint("swivel").qposadr[0] :][:4] = [0.9, 0.3, -0.2, 0.1]
    mujoco.mj_normalizeQuat(mj, d.qpos)
    d.qpos[mj.joint("wrist").qposadr[0]] = 0.25
    d.qpos[mj.joint("rail").qposadr[0]] = -0.12
    d.qvel[:] = 0.5 * rng.standard_normal(mj.nv)
    mujoco.mj_forward(mj, d)
    return mj, d, model, js.forward(model, oracle.put(model, d))


def same(ours, theirs, tolerance=1e-9):
    assert oracle.error(ours, theirs) < tolerance


def mj_jacobian(function, mj, d, *args):
    jacp, jacr = np.zeros((3, mj.nv)), np.zeros((3, mj.nv))
    function(mj, d, jacp, jacr, *args)
    return jacp, jacr


def test_point_jacobians():
    mj, d, model, data = scene()
    point = np.array([0.3, -0.2, 0.7])
    for body in range(mj.nbody):
        for ours, theirs in ((js.jac, mujoco.mj_jac), (js.jac_dot, mujoco.mj_jacDot)):
            for a, b in zip(ours(model, data, jnp.asarray(point), body), mj_jacobian(theirs, mj, d, point, body)):
                same(a, b)


@pytest.mark.parametrize("name", ["Body", "BodyCom", "Geom", "Site"])
def test_object_jacobians(name):
    mj, d, model, data = scene()
    ours = {"Body": js.jac_body, "BodyCom": js.jac_body_com, "Geom": js.jac_geom, "Site": js.jac_site}[name]
    for i in range({"Geom": mj.ngeom, "Site": mj.nsite}.get(name, mj.nbody)):
        for a, b in zip(ours(model, data, i), mj_jacobian(getattr(mujoco, f"mj_jac{name}"), mj, d, i)):
            same(a, b)


def test_subtree_jacobian():
    mj, d, model, data = scene()
    for body in range(mj.nbody):
        theirs = np.zeros((3, mj.nv))
        mujoco.mj_jacSubtreeCom(mj, d, theirs, body)
        same(js.jac_subtree_com(model, data, body), theirs)


def test_jacobian_is_the_derivative_of_position_and_jac_dot_of_the_jacobian():
    """Independent of MuJoCo: differentiate forward kinematics along qvel."""
    _, _, model, data = scene()

    def tip(t):
        qpos = js.integrate_pos(model, data.qpos, data.qvel, t)
        moved = js.forward(model, data.replace(qpos=qpos))
        return moved.site_xpos[0], js.jac_site(model, moved, "imu")

    (_, velocity), (_, rate) = (jax.jvp(lambda t, i=i: tip(t)[i], (0.0,), (1.0,)) for i in range(2))
    same(js.jac_site(model, data, "imu")[0] @ data.qvel, velocity)
    for a, b in zip(js.jac_dot(model, data, data.site_xpos[0], "base"), rate):
        same(a @ data.qvel, b @ data.qvel)


@pytest.mark.parametrize("local", [False, True])
def test_object_motion(local):
    mj, d, model, data = scene()
    mujoco.mj_rnePostConstraint(mj, d)
    sizes = {"body": mj.nbody, "xbody": mj.nbody, "geom": mj.ngeom, "site": mj.nsite, "camera": mj.ncam}
    for kind, n in sizes.items():
        what = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        for i in range(n):
            theirs = np.zeros(6)
            mujoco.mj_objectVelocity(mj, d, what, i, theirs, local)
            same(js.object_velocity(model, data, kind, i, local), theirs)
            mujoco.mj_objectAcceleration(mj, d, what, i, theirs, local)
            same(js.object_acceleration(model, data, kind, i, local), theirs)


def test_inertia_products():
    mj, d, model, data = scene()
    full, x = np.zeros((mj.nv, mj.nv)), np.random.default_rng(0).standard_normal((3, mj.nv))
    mujoco.mj_fullM(mj, d, full)
    same(js.full_m(model, data), full)
    product, solution = np.zeros_like(x), np.zeros_like(x)
    for i in range(3):
        mujoco.mj_mulM(mj, d, product[i], x[i])
    mujoco.mj_solveM(mj, d, solution, x)
    same(js.mul_m(model, data, jnp.asarray(x)), product)
    same(js.solve_m(model, data, jnp.asarray(x)), solution)
    same(js.solve_m(model, data, jnp.asarray(x[0])), solution[0])
    for product in (js.solve_m, js.mul_m):
        with pytest.raises(ValueError, match="vectors are rows"):  # a transposed Jacobian, whose numbers would be mixed
            product(model, data, jnp.zeros((model.nv, 3)))


def test_apply_ft():
    mj, d, model, data = scene()
    force, torque, point = np.random.default_rng(0).standard_normal((3, 3))
    theirs = np.zeros(mj.nv)
    mujoco.mj_applyFT(mj, d, force, torque, point, mj.body("hand").id, theirs)
    same(js.apply_ft(model, data, *map(jnp.asarray, (force, torque, point)), "hand"), theirs)


def test_positions_add_and_subtract():
    mj, d, model, _ = scene()
    velocity, dt = np.random.default_rng(0).standard_normal(mj.nv), 0.3
    moved, back = d.qpos.copy(), np.zeros(mj.nv)
    mujoco.mj_integratePos(mj, moved, velocity, dt)
    mujoco.mj_differentiatePos(mj, back, dt, d.qpos, moved)
    ours = js.integrate_pos(model, jnp.asarray(d.qpos), jnp.asarray(velocity), dt)
    same(ours, moved)
    same(js.differentiate_pos(model, dt, jnp.asarray(d.qpos), ours), back)


@pytest.mark.parametrize("case", CASES)
def test_constraint_rows(case):
    """Every row of every family, in MuJoCo's order; contacts may be in another order."""
    mj, d, model, data = scene(*case)
    rows = js.constraint_rows(model, data).compact()
    assert d.nefc == len(rows.type) and set(np.unique(d.efc_type)) >= {0, 1, 2, 3, 4}
    names = ("pos", "margin", "aref", "D", "frictionloss", "force")
    theirs = {name: getattr(d, f"efc_{name}") for name in names}
    theirs["J"] = d.efc_J.reshape(d.nefc, mj.nv)
    n = int((d.efc_type < 5).sum())
    np.testing.assert_array_equal(rows.type[:n], d.efc_type[:n])
    np.testing.assert_array_equal(rows.id[:n], d.efc_id[:n])
    order = np.concatenate([np.arange(n), n + contact_order(data, d, rows, n)]).astype(int)
    np.testing.assert_array_equal(rows.type[order], d.efc_type)
    for name, value in theirs.items():
        assert oracle.error(getattr(rows, name)[order], value) < 1e-9, name


def contact_order(data, d, rows, n):
    """For each of MuJoCo's contact rows, the place among ours."""
    starts = {int(s): int(np.flatnonzero(rows.id[n:] == s)[0]) for s in np.unique(rows.id[n:])}
    places = []
    for con in d.contact:
        if con.efc_address < 0:
            continue
        slot = int(np.argmin(np.abs(np.asarray(data.contact.pos) - con.pos).sum(1)))
        size = int((rows.id[n:] == slot).sum())
        places.extend(range(starts[slot], starts[slot] + size))
    return np.array(places)


@pytest.mark.parametrize("case", CASES)
def test_contact_force(case):
    mj, d, model, data = scene(*case)
    for i in range(d.ncon):
        theirs = np.zeros(6)
        mujoco.mj_contactForce(mj, d, i, theirs)
        slot = int(np.argmin(np.abs(np.asarray(data.contact.pos) - d.contact[i].pos).sum(1)))
        same(js.contact_force(model, data, slot), theirs)
    assert not js.contact_force(model, data, int(data.ncon)).any()
    stepped = js.step(model, data)  # whose contacts are those of where it began
    assert np.isnan(js.contact_force(model, stepped, 0)).all()
    assert np.isfinite(js.contact_force(model, js.forward(model, stepped), 0)).all()


# a ball, a tilted box on its two lower corners, and a heavier ball
APART = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .099"><freejoint/><geom size=".1"/></body>
    <body pos="1 0 .138" euler="45 1 0"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="2 0 .199"><freejoint/><geom size=".2"/></body>
  </worldbody>
</mujoco>
"""


def test_contact_forces_follow_the_contacts_of_data():
    """Rounding may leave out another contact when all are found again: those of data keep their own forces."""
    model = js.load(APART)
    data = js.forward(model, js.make_data(model))
    slots = jnp.arange(data.contact.dist.shape[0])
    forces = np.asarray(jax.vmap(lambda i: js.contact_force(model, data, i))(slots))
    other = data.replace(contact=jax.tree.map(lambda x: jnp.roll(x, -1, axis=0), data.contact))
    moved = np.asarray(jax.vmap(lambda i: js.contact_force(model, other, i))(slots))
    assert len(np.unique(forces[: int(data.ncon), 0])) > 2  # so that another contact's force would be seen
    np.testing.assert_allclose(moved, np.roll(forces, -1, axis=0), rtol=1e-12)
    rows, shifted = js.constraint_rows(model, data), js.constraint_rows(model, other)
    of_contact = np.asarray(rows.type) >= int(ConstraintType.CONTACT_FRICTIONLESS)
    per_slot = np.asarray(rows.force)[of_contact].reshape(len(slots), -1)
    np.testing.assert_allclose(
        np.asarray(shifted.force)[of_contact].reshape(len(slots), -1), np.roll(per_slot, -1, axis=0), rtol=1e-12
    )


def test_names_and_ids():
    _, _, model, data = scene()
    a, b = js.jac_body(model, data, "hand"), js.jac_body(model, data, np.int32(model.body("hand").id))
    same(a[0], b[0])
    with pytest.raises(KeyError, match="closest: hand"):
        js.jac_body(model, data, "hnd")
    with pytest.raises(KeyError, match="has"):
        js.jac_site(model, data, 99)
    with pytest.raises(ValueError, match="expected"):
        js.object_velocity(model, data, "joint", 0)


def test_batched_and_compiled():
    _, _, model, data = scene()
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)
    ours = jax.jit(jax.vmap(lambda d: js.jac_site(model, d, "tip")))(batch)
    same(ours[0][1], js.jac_site(model, data, "tip")[0])
    rows = jax.vmap(js.constraint_rows, (None, 0))(model, batch)
    same(rows.force[1], js.constraint_rows(model, data).force)


def test_a_batch_is_refused_with_what_to_do():
    """By all that read what they need of one world; plain lists are points."""
    model = js.load("cart_pole")
    data = js.forward(model, js.make_data(model))
    worlds = jax.tree.map(lambda x: jnp.stack([x] * 3), data)
    point = [0.0, 0.0, 3.0]
    calls = {
        "ray": lambda d: js.ray(model, d, point, [0, 0, -1.0]),
        "geom_distance": lambda d: js.geom_distance(model, d, 0, 1),
        "jac": lambda d: js.jac(model, d, jnp.zeros(3), "pole"),
        "jac_body": lambda d: js.jac_body(model, d, "pole"),
        "jac_subtree_com": lambda d: js.jac_subtree_com(model, d, "cart"),
        "apply_ft": lambda d: js.apply_ft(model, d, jnp.zeros(3), jnp.zeros(3), jnp.zeros(3), "pole"),
        "mul_m": lambda d: js.mul_m(model, d, jnp.zeros(2)),
        "solve_m": lambda d: js.solve_m(model, d, jnp.zeros(2)),
        "object_velocity": lambda d: js.object_velocity(model, d, "body", "pole"),
        "object_acceleration": lambda d: js.object_acceleration(model, d, "body", "pole"),
        "constraint_rows": lambda d: js.constraint_rows(model, d),
        "contact_force": lambda d: js.contact_force(model, d, 0),
    }
    for name, call in calls.items():
        jax.eval_shape(call, data)
        with pytest.raises(ValueError, match=rf"{name} takes one world, got \(3,\): use jax.vmap\(js.{name}, ...\)"):
            jax.eval_shape(call, worlds)


def test_a_folder_does_not_hide_a_bundled_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cart_pole").mkdir()
    assert js.load("cart_pole").nq == 2
