"""Height fields with every type of geom: MuJoCo's contacts where its search is exact, all overlaps by brute force."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from scipy.spatial import ConvexHull

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import pairs_of
from jaxsim.core.enums import WarningType
from jaxsim.dynamics.kinematics import kinematics

NROW, NCOL, SIZE = 6, 7, (1, 1.2, 0.3, 0.1)
HEIGHT = np.random.default_rng(3).uniform(0, 1, (NROW, NCOL)).round(2)
TIP = np.array([[-2, -2, -1.5], [2.5, -2, -1.5], [0, 3, -1.5], [0, 0, 3], [1, 1, 2.5]]) / 10
BOX = ((np.arange(8)[:, None] >> np.arange(3) & 1) * 2 - 1) * [0.15, 0.2, 0.25]
GEOMS = {
    "sphere": 'type="sphere" size=".2"',
    "capsule": 'type="capsule" size=".1 .25"',
    "ellipsoid": 'type="ellipsoid" size=".15 .2 .3"',
    "cylinder": 'type="cylinder" size=".15 .2"',
    "box": 'type="box" size=".15 .2 .25"',
    "mesh": 'type="mesh" mesh="tip"',
}
BODIES = "".join(
    f'<body><freejoint/><geom name="{name}" {geom} contype="0"/></body>' for name, geom in GEOMS.items()
)  # fmt: skip
XML = f"""<mujoco><asset>
    <hfield name="field" nrow="{NROW}" ncol="{NCOL}" size="{" ".join(map(str, SIZE))}"
            elevation="{" ".join(map(str, HEIGHT.ravel()))}"/>
    <mesh name="tip" vertex="{" ".join(map(str, TIP.ravel()))}"/>
  </asset><worldbody>
    <body pos=".1 .2 .3" euler="10 20 30"><geom type="hfield" hfield="field"/></body>{BODIES}
  </worldbody></mujoco>"""
POSES = 40


class Scene:
    def __init__(self):
        self.mj = mujoco.MjModel.from_xml_string(XML)
        self.model = js.load(XML, max_contacts=120, budgets={f"hfield - {name}": 60 for name in GEOMS})
        self.data = js.make_data(self.model)
        rng = np.random.default_rng(0)
        d = mujoco.MjData(self.mj)
        mujoco.mj_forward(self.mj, d)
        self.field = d.geom_xpos[0].copy(), d.geom_xmat[0].reshape(3, 3).copy()
        local = rng.uniform([-0.9, -1, 0.05], [0.9, 1, 0.45], (POSES, len(GEOMS), 3))
        quat = rng.normal(size=(POSES, len(GEOMS), 4))
        quat /= np.linalg.norm(quat, axis=2, keepdims=True)
        self.qpos = np.concatenate([local @ self.field[1].T + self.field[0], quat], axis=2).reshape(POSES, -1)
        self.run = jax.jit(jax.vmap(lambda q, v: jax.jvp(self.contacts, (q,), (v,))))

    def contacts(self, qpos):
        """Rows of dist, pos and normal, the second geom of each, -1 where there is none, and all demands."""
        found = collide(self.model, kinematics(self.model, self.data.replace(qpos=qpos)))
        rows = jnp.concatenate([found.dist[:, None], found.pos, found.frame[:, 0]], axis=1)
        geom = jnp.asarray([*pairs_of(self.model).geom2, -1]).at[found.pair].get(mode="promise_in_bounds")
        geom = jnp.where(found.dist < NO_CONTACT, geom, -1)
        return rows, geom.astype(rows.dtype), found.demand.astype(rows.dtype)

    def theirs(self, qpos):
        """MuJoCo's geom poses, and rows of contacts with their geoms."""
        d = mujoco.MjData(self.mj)
        d.qpos[:] = qpos
        mujoco.mj_forward(self.mj, d)
        rows = np.column_stack([d.contact.dist, d.contact.pos, d.contact.frame[:, :3]])
        return d.geom_xpos.copy(), d.geom_xmat.reshape(-1, 3, 3).copy(), rows, d.contact.geom[:, 1]


def prisms(elevation):
    """The corners [6, 3] of all prisms, in the field's frame."""
    step = 2 * np.array(SIZE[:2]) / [NCOL - 1, NROW - 1]
    for r in range(NROW - 1):
        for c in range(NCOL - 1):
            for corners in (((r + 1, c), (r, c), (r + 1, c + 1)), ((r, c), (r + 1, c + 1), (r, c + 1))):
                yield np.array(
                    [[*(np.array([j, i]) * step - SIZE[:2]), z] for i, j in corners for z in (-SIZE[3], elevation[i, j] * SIZE[2])]
                )  # fmt: skip


def overlap(points1, points2):
    """How deep two polytopes are in each other; negative or zero if they are apart."""
    hull = ConvexHull((points1[:, None] - points2[None]).reshape(-1, 3))
    return -hull.equations[:, 3].max()


def test_contacts_and_their_derivatives(optimized):
    """One program for both. Contacts of spheres and capsules are MuJoCo's; with smooth shapes its own search is exact to 1e-3 of their size.

    With boxes and meshes it ends before the nearest face is found (it tells their corners apart, but not those of the
    prisms): as many contacts, but some too shallow. Ours are the depths of the polytopes.
    """
    scene = Scene()
    derivatives_are_those_of_differences(scene)
    (rows, geoms, demand), _ = jax.tree.map(np.asarray, scene.run(scene.qpos, np.zeros_like(scene.qpos)))
    assert (demand <= np.asarray(scene.model.budget)).all()
    errors = {name: [] for name in GEOMS}
    elevation = scene.mj.hfield_data.reshape(NROW, NCOL).astype(float)
    for k, qpos in enumerate(scene.qpos):
        pos, mat, theirs, owner = scene.theirs(qpos)
        for g, name in enumerate(GEOMS, 1):
            mine, reference = rows[k][geoms[k] == g], theirs[owner == g]
            if name in ("box", "mesh"):
                own = (BOX if name == "box" else scene.mj.mesh_vert.astype(float)) @ mat[g].T + pos[g]
                depths = [overlap(p @ scene.field[1].T + scene.field[0], own) for p in prisms(elevation)]
                depths = np.array([x for x in depths if x > 0])
                assert len(mine) == len(depths) == len(reference)
                errors[name] += [*np.abs(np.sort(-mine[:, 0]) - np.sort(depths))]
            else:
                assert len(mine) == len(reference)
                errors[name] += [np.abs(mine - r).max(1).min() for r in reference]
    assert all(len(x) > 60 for x in errors.values())
    for name in ("box", "mesh"):
        assert max(errors[name]) < 1e-9
    for name in ("sphere", "capsule"):
        assert np.median(errors[name]) < 1e-12 and max(errors[name]) < 1e-3
    for name in ("ellipsoid", "cylinder"):
        assert np.quantile(errors[name], 0.9) < 3e-3


def derivatives_are_those_of_differences(scene):
    along = np.random.default_rng(1).normal(size=scene.qpos.shape)

    def at(h):
        return jax.tree.map(np.asarray, scene.run(scene.qpos + h * along, along))

    ((low, _, _), _), ((mid, geoms, _), (exact, _, _)), ((high, _, _), _) = at(-1e-6), at(0.0), at(1e-6)
    steady = (np.abs(low - 2 * mid + high).max(2) < 1e-9) & (geoms > 0)
    assert steady.sum() > 0.8 * (geoms > 0).sum() and np.isfinite(exact).all()
    error = np.abs(exact - (high - low) / 2e-6).max(2) / (1 + np.abs(exact).max(2))
    assert np.quantile(error[steady], 0.97) < 1e-5


def test_too_little_room_is_counted_by_name():
    xml = """<mujoco><asset><hfield name="h" nrow="9" ncol="9" size="1 1 .3 .1"/></asset>
      <worldbody><geom type="hfield" hfield="h"/><body pos="0 0 .1"><freejoint/><geom size=".4"/></body></worldbody>
      </mujoco>"""
    model = js.load(xml, budgets={"hfield - sphere": 3, "hfield cells": 2})
    data = jax.jit(js.forward)(model, js.make_data(model))
    assert data.warning[WarningType.CONTACTFULL] > 0
    room = js.budgets(model, data)
    assert room["hfield - sphere"].peak > 3 and room["hfield cells"].peak == 4


def test_margins_reach_further_cells():
    """A ball above a field has contacts with all prisms within its margin, at MuJoCo's distances."""
    xml = XML[: XML.index("<body>")] + '<body><freejoint/><geom size=".2" margin=".05"/></body></worldbody></mujoco>'
    xml = xml.replace('type="hfield"', 'type="hfield" margin=".02"')
    mj, model = mujoco.MjModel.from_xml_string(xml), js.load(xml, max_contacts=60)
    data, d = js.make_data(model), mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    local = np.random.default_rng(2).uniform([-0.9, -1, 0.3], [0.9, 1, 0.5], (20, 3))
    qpos = np.column_stack([local @ d.geom_xmat[0].reshape(3, 3).T + d.geom_xpos[0], np.tile([1.0, 0, 0, 0], (20, 1))])
    run = jax.jit(jax.vmap(lambda q: collide(model, kinematics(model, data.replace(qpos=q))).dist))
    apart = 0
    for pose, dist in zip(qpos, np.asarray(run(qpos))):
        d.qpos[:] = pose
        mujoco.mj_forward(mj, d)
        ours = np.sort(dist[dist < NO_CONTACT])
        assert len(ours) == d.ncon
        np.testing.assert_allclose(ours, np.sort(d.contact.dist), atol=1e-6)
        apart += np.sum(ours > 0)
    assert apart > 20
