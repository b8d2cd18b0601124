"""From compiled items to the arrays of mjModel: bodies, joints and dofs."""

import numpy as np

from jaxsim.core.enums import JointType
from jaxsim.mjcf.assembly.columns import array, column, rows, user
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.spec import Item, Spec


def bodies(spec: Spec, m: CompiledModel) -> None:
    """Everything about bodies, joints and dofs."""
    items, joints = spec.bodies(), spec.items("joint")
    for item in joints:
        item.nv, item.nq = JointType(item.type).nv, JointType(item.type).nq
    m.set(nbody=len(items), njnt=len(joints), nq=sum(j.nq for j in joints), nv=sum(j.nv for j in joints))
    _bodies(items, m)
    _joints(joints, m)
    _dofs(joints, m)
    _trees(items, m)
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
        body.margin = max([0.0, *(g.margin + g.gap for g in geoms)])
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
    slots = np.where(springyield > 0, np.where(kinds == JointType.BALL, 4, 1), 0)
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
        if joint.type == JointType.FREE:
            pose = np.concatenate([joint.body.pos, joint.body.quat])
            qpos0[adr : adr + 7] = spring[adr : adr + 7] = pose
        elif joint.type == JointType.BALL:
            qpos0[adr] = spring[adr] = 1.0
        else:
            qpos0[adr], spring[adr] = joint.ref, joint.springref
    m.set(qpos0=qpos0, qpos_spring=spring)
