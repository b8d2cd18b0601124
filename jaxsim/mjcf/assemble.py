"""From compiled items to the arrays of mjModel: bodies, joints, dofs and what is attached to bodies."""

from typing import Any

import numpy as np

from jaxsim.mjcf.bodies import BALL, FREE, HINGE, NQ, NV, SLIDE
from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.frames import EPS
from jaxsim.mjcf.spec import Item, Spec, array

SAMEFRAME_BODY = 1  # mjSAMEFRAME_BODY: the inertial frame is the body frame


def column(items: list[Item], name: str, dtype: Any = np.float64) -> np.ndarray:
    """One scalar attribute of all items."""
    return np.array([getattr(item, name) for item in items], dtype).reshape(len(items))


def rows(items: list[Item], name: str, width: int, dtype: Any = np.float64) -> np.ndarray:
    """One vector attribute of all items, [n, width]."""
    return np.array([getattr(item, name) for item in items], dtype).reshape(len(items), width)


def user(items: list[Item], size: int) -> np.ndarray:
    """The user data of all items, padded to a common length."""
    table = np.zeros((len(items), size))
    for i, item in enumerate(items):
        table[i, : item.user.size] = item.user
    return table


def tree(spec: Spec, m: CompiledModel) -> None:
    """Everything about bodies, joints and dofs."""
    bodies, joints = spec.bodies(), spec.items("joint")
    for item in joints:
        item.nv, item.nq = NV[item.type], NQ[item.type]
    m.set(nbody=len(bodies), njnt=len(joints), nq=sum(j.nq for j in joints), nv=sum(j.nv for j in joints))
    _bodies(bodies, m)
    _joints(joints, m)
    _dofs(joints, m)
    _trees(bodies, m)
    _reference(joints, m)


def _first(items: list[Item], attribute: str = "id") -> int:
    return getattr(items[0], attribute) if items else -1


def _bodies(bodies: list[Item], m: CompiledModel) -> None:
    mocap = 0
    for body in bodies:
        body.mocapid = -1
        if body.mocap:
            body.mocapid, mocap = mocap, mocap + 1
        body.root = body if body.parent is None or body.parent.parent is None else body.parent.root
        joints, geoms = body.contents["joint"], body.contents["geom"]
        body.jnt, body.dofs = (len(joints), _first(joints)), sum(j.nv for j in joints)
        body.geoms = (len(geoms), _first(geoms))
        body.mask = (
            np.bitwise_or.reduce([g.contype for g in geoms] or [0]),
            np.bitwise_or.reduce([g.conaffinity for g in geoms] or [0]),
        )
        body.margin = max([g.margin + g.gap for g in geoms], default=0.0)
    dofnum = np.array([b.dofs for b in bodies])
    m.set(
        "body_",
        parentid=array([b.parent.id if b.parent else 0 for b in bodies], dtype=int),
        rootid=array([b.root.id for b in bodies], dtype=int),
        weldid=array([b.weld.id for b in bodies], dtype=int),
        mocapid=column(bodies, "mocapid", int),
        jntnum=array([b.jnt[0] for b in bodies], dtype=int),
        jntadr=array([b.jnt[1] for b in bodies], dtype=int),
        dofnum=dofnum,
        dofadr=np.where(dofnum > 0, np.cumsum(dofnum) - dofnum, -1),
        geomnum=array([b.geoms[0] for b in bodies], dtype=int),
        geomadr=array([b.geoms[1] for b in bodies], dtype=int),
        pos=rows(bodies, "pos", 3),
        quat=rows(bodies, "quat", 4),
        ipos=rows(bodies, "ipos", 3),
        iquat=rows(bodies, "iquat", 4),
        mass=column(bodies, "mass"),
        inertia=rows(bodies, "inertia", 3),
        gravcomp=column(bodies, "gravcomp"),
        margin=column(bodies, "margin"),
        user=user(bodies, m.nuser_body),
        plugin=np.full(len(bodies), -1, np.int32),
        contype=array([b.mask[0] for b in bodies], dtype=int),
        conaffinity=array([b.mask[1] for b in bodies], dtype=int),
    )
    m.set(nmocap=mocap)


def _joints(joints: list[Item], m: CompiledModel) -> None:
    nq, nv = column(joints, "nq", int), column(joints, "nv", int)
    stiffness = rows(joints, "stiffness", 3)
    springyield = column(joints, "springyield")
    kinds = column(joints, "type", int)
    # plastic springs have state: one value, or a quaternion for a ball joint
    slots = np.where(springyield > 0, np.where(kinds == BALL, 4, 1), 0)
    m.set(
        "jnt_",
        type=kinds,
        qposadr=np.cumsum(nq) - nq,
        dofadr=np.cumsum(nv) - nv,
        bodyid=array([j.body.id for j in joints], dtype=int),
        group=column(joints, "group", int),
        plasticadr=np.where(slots > 0, np.cumsum(slots) - slots, -1),
        limited=column(joints, "is_limited", bool),
        actfrclimited=column(joints, "is_actuatorfrclimited", bool),
        actgravcomp=column(joints, "actuatorgravcomp", bool),
        solref=rows(joints, "solreflimit", 2),
        solimp=rows(joints, "solimplimit", 5),
        pos=rows(joints, "pos", 3),
        axis=rows(joints, "axis", 3),
        stiffness=stiffness[:, 0],
        stiffnesspoly=stiffness[:, 1:],
        springyield=springyield,
        range=rows(joints, "range", 2),
        actfrcrange=rows(joints, "actuatorfrcrange", 2),
        margin=column(joints, "margin"),
        user=user(joints, m.nuser_jnt),
    )
    m.set(nplastic=int(slots.sum()))


def _dofs(joints: list[Item], m: CompiledModel) -> None:
    owner = np.repeat(np.arange(len(joints)), [j.nv for j in joints])
    bodyid = m.jnt_bodyid[owner]
    last = np.full(m.nbody, -1)
    parent = np.full(m.nv, -1)
    for body in range(m.nbody):
        last[body] = last[m.body_parentid[body]]
        for dof in range(m.body_dofadr[body], m.body_dofadr[body] + m.body_dofnum[body]):
            parent[dof], last[body] = last[body], dof
    depth = np.zeros(m.nv, int)
    for dof in range(m.nv):
        depth[dof] = 1 + (depth[parent[dof]] if parent[dof] >= 0 else 0)
    damping = rows(joints, "damping", 3)[owner]
    m.set(
        "dof_",
        bodyid=bodyid,
        jntid=owner,
        parentid=parent,
        treeid=np.cumsum(parent == -1) - 1,
        Madr=np.cumsum(depth) - depth,
        solref=rows(joints, "solreffriction", 2)[owner],
        solimp=rows(joints, "solimpfriction", 5)[owner],
        frictionloss=column(joints, "frictionloss")[owner],
        armature=column(joints, "armature")[owner],
        damping=damping[:, 0],
        dampingpoly=damping[:, 1:],
    )
    m.set(nM=int(depth.sum()), nD=int(2 * depth.sum() - m.nv))


def _trees(bodies: list[Item], m: CompiledModel) -> None:
    """Kinematic trees and whether they may sleep, as far as their first body says."""
    ntree = int(m.dof_treeid[-1]) + 1 if m.nv else 0
    policy = np.zeros(ntree, int)
    for body in bodies[1:]:
        dof = m.body_dofadr[body.weld.id]
        if body.sleep and dof >= 0:
            policy[m.dof_treeid[dof]] = body.sleep
    m.set(ntree=ntree, tree_sleep_policy=policy)


def _reference(joints: list[Item], m: CompiledModel) -> None:
    """qpos0, and qpos_spring, where springs are at rest."""
    qpos0, spring = np.zeros(m.nq), np.zeros(m.nq)
    for joint, adr in zip(joints, m.jnt_qposadr):
        if joint.type == FREE:
            pose = np.concatenate([joint.body.pos, joint.body.quat])
            qpos0[adr : adr + 7] = spring[adr : adr + 7] = pose
        elif joint.type == BALL:
            qpos0[adr] = spring[adr] = 1.0
        else:
            qpos0[adr], spring[adr] = joint.ref, joint.springref
    m.set(qpos0=qpos0, qpos_spring=spring)


def simple(spec: Spec, m: CompiledModel) -> None:
    """Which bodies have a diagonal inertia matrix (2: sliders only); needs body_sameframe."""
    flags = np.zeros(m.nbody, np.uint8)
    for i, body in enumerate(spec.bodies()):
        parent, joints = m.body_parentid[i], body.contents["joint"]
        fixed_parent = m.body_parentid[parent] == 0 and m.body_dofnum[parent] == 0
        centred = m.body_sameframe[i] == SAMEFRAME_BODY
        flags[i] = centred and (m.body_rootid[i] == i or fixed_parent) and body.simple and _aligned(joints)
        if parent > 0:
            flags[parent] = 0
        if flags[i] and joints and all(j.type == SLIDE for j in joints):
            flags[i] = 2
    m.set(body_simple=flags)


def _aligned(joints: list[Item]) -> bool:
    """At most one rotation, last, all about axes through the origin."""
    rotated = False
    for joint in joints:
        oblique = joint.type in (SLIDE, HINGE) and int(np.sum(np.abs(joint.axis) > EPS)) != 1
        if rotated or np.any(joint.pos) or oblique:
            return False
        rotated = joint.type in (BALL, HINGE)
    return True


def attached(spec: Spec, m: CompiledModel) -> None:
    """Everything about geoms, sites, cameras and lights."""
    _geoms(spec, m)
    _sites(spec, m)
    _cameras(spec, m)
    _lights(spec, m)


def _id(item: Item | None) -> int:
    return -1 if item is None else item.id


def _geoms(spec: Spec, m: CompiledModel) -> None:
    geoms = spec.items("geom")
    m.set(ngeom=len(geoms))
    m.set(
        "geom_",
        type=column(geoms, "type", int),
        contype=column(geoms, "contype", int),
        conaffinity=column(geoms, "conaffinity", int),
        condim=column(geoms, "condim", int),
        bodyid=array([g.body.id for g in geoms], dtype=int),
        dataid=array([_id(g.data_item) for g in geoms], dtype=int),
        matid=array([_id(g.material_item) for g in geoms], dtype=int),
        group=column(geoms, "group", int),
        priority=column(geoms, "priority", int),
        plugin=np.full(len(geoms), -1, np.int32),
        castshadow=column(geoms, "castshadow", bool),
        solmix=column(geoms, "solmix"),
        solref=rows(geoms, "solref", 2),
        solimp=rows(geoms, "solimp", 5),
        size=rows(geoms, "size", 3),
        aabb=rows(geoms, "aabb", 6),
        rbound=column(geoms, "rbound"),
        pos=rows(geoms, "pos", 3),
        quat=rows(geoms, "quat", 4),
        friction=rows(geoms, "friction", 3),
        margin=column(geoms, "margin"),
        gap=column(geoms, "gap"),
        surfacevel=rows(geoms, "surfacevel", 6),
        adhesion=column(geoms, "adhesion"),
        fluid=rows(geoms, "fluid", 12),
        user=user(geoms, m.nuser_geom),
        rgba=rows(geoms, "rgba", 4, np.float32),
    )


def _sites(spec: Spec, m: CompiledModel) -> None:
    sites = spec.items("site")
    m.set(nsite=len(sites))
    m.set(
        "site_",
        type=column(sites, "type", int),
        bodyid=array([s.body.id for s in sites], dtype=int),
        dataid=array([_id(s.data_item) for s in sites], dtype=int),
        matid=array([_id(s.material_item) for s in sites], dtype=int),
        group=column(sites, "group", int),
        size=rows(sites, "size", 3),
        pos=rows(sites, "pos", 3),
        quat=rows(sites, "quat", 4),
        user=user(sites, m.nuser_site),
        rgba=rows(sites, "rgba", 4, np.float32),
    )


def _cameras(spec: Spec, m: CompiledModel) -> None:
    cameras = spec.items("camera")
    m.set(ncam=len(cameras))
    m.set(
        "cam_",
        mode=column(cameras, "mode", int),
        bodyid=array([c.body.id for c in cameras], dtype=int),
        targetbodyid=array([_id(c.target_item) for c in cameras], dtype=int),
        pos=rows(cameras, "pos", 3),
        quat=rows(cameras, "quat", 4),
        projection=column(cameras, "projection", int),
        fovy=column(cameras, "fovy"),
        ipd=column(cameras, "ipd"),
        resolution=rows(cameras, "resolution", 2, int),
        output=array([_bits(c.output) for c in cameras], dtype=int),
        sensorsize=rows(cameras, "sensorsize", 2, np.float32),
        intrinsic=rows(cameras, "intrinsic", 4, np.float32),
        user=user(cameras, m.nuser_cam),
    )


def _bits(flags: int | tuple[int, ...]) -> int:
    return flags if isinstance(flags, int) else sum(flags)


def _lights(spec: Spec, m: CompiledModel) -> None:
    lights = spec.items("light")
    m.set(nlight=len(lights))
    m.set(
        "light_",
        mode=column(lights, "mode", int),
        bodyid=array([x.body.id for x in lights], dtype=int),
        targetbodyid=array([_id(x.target_item) for x in lights], dtype=int),
        type=column(lights, "type", int),
        texid=array([_id(x.texture_item) for x in lights], dtype=int),
        castshadow=column(lights, "castshadow", bool),
        active=column(lights, "active", bool),
        pos=rows(lights, "pos", 3),
        dir=rows(lights, "dir", 3),
        attenuation=rows(lights, "attenuation", 3, np.float32),
        ambient=rows(lights, "ambient", 3, np.float32),
        diffuse=rows(lights, "diffuse", 3, np.float32),
        specular=rows(lights, "specular", 3, np.float32),
        **{
            n: column(lights, n, np.float32)
            for n in ["bulbradius", "intensity", "range", "cutoff", "softness", "exponent"]
        },
    )
