"""From compiled items to the arrays of mjModel: everything outside the body tree."""

import numpy as np

from jaxsim.mjcf.actuators import BODY, JOINT, JOINTINPARENT, SITE, SLIDERCRANK, SO3, TENDON
from jaxsim.mjcf.assemble import column, rows, user
from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.spec import OBJECT_TYPES, Item, Spec, array
from jaxsim.mjcf.tendons import WRAP_CYLINDER, WRAP_SITE, WRAP_SPHERE

AUTO, AUTO_NEVER, AUTO_ALLOWED = 0, 1, 2  # mjtSleepPolicy


def objects(spec: Spec, m: CompiledModel) -> None:
    """Pairs, equalities, tendons, actuators, sensors, custom fields."""
    _contacts(spec, m)
    _equalities(spec, m)
    _tendons(spec.lists["tendon"], m)
    _actuators(spec.lists["actuator"], m)
    _sensors(spec.lists["sensor"], m)
    _materials(spec, m)
    _custom(spec, m)


def _id(item: Item | None) -> int:
    return -1 if item is None else item.id


def _contacts(spec: Spec, m: CompiledModel) -> None:
    pairs = spec.lists["pair"]
    m.set(npair=len(pairs), nexclude=len(spec.lists["exclude"]))
    m.set(
        "pair_",
        dim=column(pairs, "condim", int),
        geom1=array([p.first.id for p in pairs], dtype=int),
        geom2=array([p.second.id for p in pairs], dtype=int),
        signature=column(pairs, "signature", int),
        solref=rows(pairs, "solref", 2),
        solreffriction=rows(pairs, "solreffriction", 2),
        solimp=rows(pairs, "solimp", 5),
        margin=column(pairs, "margin"),
        gap=column(pairs, "gap"),
        adhesion=column(pairs, "adhesion"),
        friction=rows(pairs, "friction", 5),
    )
    m.set(exclude_signature=column(spec.lists["exclude"], "signature", int))


def _equalities(spec: Spec, m: CompiledModel) -> None:
    items = spec.lists["equality"]
    world = [OBJECT_TYPES["body"] == e.objtype and e.objects[1] is None for e in items]
    m.set(neq=len(items))
    m.set(
        "eq_",
        type=column(items, "type", int),
        obj1id=array([_id(e.objects[0]) for e in items], dtype=int),
        obj2id=array([0 if w else _id(e.objects[1]) for e, w in zip(items, world)], dtype=int),
        objtype=column(items, "objtype", int),
        active0=column(items, "active", bool),
        solref=rows(items, "solref", 2),
        solimp=rows(items, "solimp", 5),
        data=rows(items, "data", 12),
    )
    m.set(nemax=sum({0: 3, 1: 7}.get(e.type, 1) for e in items))


def _tendons(tendons: list[Item], m: CompiledModel) -> None:
    wraps = [wrap for tendon in tendons for wrap in tendon.wraps]
    count = np.array([len(t.wraps) for t in tendons], int)
    stiffness, damping = rows(tendons, "stiffness", 3), rows(tendons, "damping", 3)
    springyield = column(tendons, "springyield")
    plastic = springyield > 0
    m.set(ntendon=len(tendons), nwrap=len(wraps))
    m.set(
        "tendon_",
        type=array([int(t.key == "spatial") for t in tendons], dtype=int),
        adr=np.cumsum(count) - count,
        num=count,
        matid=array([_id(t.material_item) for t in tendons], dtype=int),
        group=column(tendons, "group", int),
        plasticadr=np.where(plastic, m.nplastic + 2 * (np.cumsum(plastic) - plastic), -1),
        limited=column(tendons, "is_limited", bool),
        actfrclimited=column(tendons, "is_actuatorfrclimited", bool),
        width=column(tendons, "width"),
        solref_lim=rows(tendons, "solreflimit", 2),
        solimp_lim=rows(tendons, "solimplimit", 5),
        solref_fri=rows(tendons, "solreffriction", 2),
        solimp_fri=rows(tendons, "solimpfriction", 5),
        range=rows(tendons, "range", 2),
        actfrcrange=rows(tendons, "actuatorfrcrange", 2),
        margin=column(tendons, "margin"),
        stiffness=stiffness[:, 0],
        stiffnesspoly=stiffness[:, 1:],
        damping=damping[:, 0],
        dampingpoly=damping[:, 1:],
        armature=column(tendons, "armature"),
        frictionloss=column(tendons, "frictionloss"),
        lengthspring=rows(tendons, "springlength", 2),
        springyield=springyield,
        user=user(tendons, m.nuser_tendon),
        rgba=rows(tendons, "rgba", 4, np.float32),
    )
    m.set(nplastic=m.nplastic + 2 * int(plastic.sum()))
    geom_wraps = (WRAP_SPHERE, WRAP_CYLINDER)
    m.set(
        "wrap_",
        type=array([w[0] for w in wraps], dtype=int),
        objid=array([_id(w[1]) for w in wraps], dtype=int),
        prm=array([_id(w[2]) if w[0] in geom_wraps else w[2] for w in wraps]),
    )
    _tendon_jacobian(m)


def _wrap_body(m: CompiledModel, wrap: int) -> int:
    """Body of the object at one place of a tendon's path; -1 for a pulley."""
    obj = m.wrap_objid[wrap]
    match int(m.wrap_type[wrap]):
        case 1:  # joint
            return int(m.jnt_bodyid[obj])
        case 3:  # site
            return int(m.site_bodyid[obj])
        case 4 | 5:  # sphere, cylinder
            return int(m.geom_bodyid[obj])
    return -1


def _path(m: CompiledModel, tendon: int) -> range:
    return range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])


def _tendon_jacobian(m: CompiledModel) -> None:
    """Which dofs can change the length of each tendon."""
    columns = []
    for tendon in range(m.ntendon):
        if m.tendon_type[tendon] == 0:
            dofs = {int(m.jnt_dofadr[m.wrap_objid[w]]) for w in _path(m, tendon)}
        else:
            dofs = set()
            for wrap in _path(m, tendon):
                dofs |= body_dofs(m, _wrap_body(m, wrap))
        columns.append(sorted(dofs))
    count = array([len(c) for c in columns], dtype=int)
    m.set(nJten=int(count.sum()))
    dofs_of_all = [dof for dofs in columns for dof in dofs]
    m.set("ten_J_", rownnz=count, rowadr=np.cumsum(count) - count, colind=array(dofs_of_all, dtype=int))


def body_dofs(m: CompiledModel, body: int) -> set[int]:
    """The dofs that move a body."""
    dofs: set[int] = set()
    while body > 0:
        first = m.body_dofadr[body]
        dofs |= set(range(first, first + m.body_dofnum[body])) if first >= 0 else set()
        body = m.body_parentid[body]
    return dofs


def _actuators(actuators: list[Item], m: CompiledModel) -> None:
    ctrlnum, outnum = column(actuators, "ctrlnum", int), column(actuators, "outnum", int)
    actnum, samples = column(actuators, "actnum", int), column(actuators, "nsample", int)
    history = np.where(samples > 0, 2 + samples + samples * np.maximum(ctrlnum, 1), 0)
    damping = rows(actuators, "damping", 3)
    inputs = [row for a in actuators for row in a.inputs]
    m.set(nactuator=len(actuators), nu=int(ctrlnum.sum()), nout=int(outnum.sum()), na=int(actnum.sum()))
    m.set(
        "actuator_",
        trntype=column(actuators, "trntype", int),
        dyntype=column(actuators, "dyntype", int),
        gaintype=column(actuators, "gaintype", int),
        biastype=column(actuators, "biastype", int),
        ctrladr=np.cumsum(ctrlnum) - ctrlnum,
        ctrlnum=ctrlnum,
        ctrlspec=column(actuators, "ctrlspec", int),
        outadr=np.cumsum(outnum) - outnum,
        outnum=outnum,
        actadr=np.where(actnum > 0, np.cumsum(actnum) - actnum, -1),
        actnum=actnum,
        trnid=array([(a.target.id, _id(a.second)) for a in actuators], 2, int),
        cranklength=column(actuators, "cranklength"),
        dynprm=rows(actuators, "dynprm", 10),
        gainprm=rows(actuators, "gainprm", 10),
        biasprm=rows(actuators, "biasprm", 10),
        actlimited=column(actuators, "is_actlimited", bool),
        actrange=rows(actuators, "actrange", 2),
        actearly=column(actuators, "actearly", bool),
        delay=column(actuators, "delay"),
        history=np.stack([samples, column(actuators, "interp", int)], 1),
        historyadr=np.where(samples > 0, np.cumsum(history) - history, -1),
        damping=damping[:, 0],
        dampingpoly=damping[:, 1:],
        armature=column(actuators, "armature"),
        forcelimited=column(actuators, "is_forcelimited", bool),
        forcerange=rows(actuators, "forcerange", 2),
        group=column(actuators, "group", int),
        plugin=np.full(len(actuators), -1, np.int32),
        user=user(actuators, m.nuser_actuator),
        ctrllimited=array([limited for _, limited in inputs], dtype=bool),
        ctrlrange=array([bounds for bounds, _ in inputs], 2),
        gear=np.repeat(rows(actuators, "gear", 6), outnum, axis=0),
        lengthrange=np.repeat(rows(actuators, "lengthrange", 2), outnum, axis=0),
    )
    m.set(nhistory=int(history.sum()))


def _sensors(sensors: list[Item], m: CompiledModel) -> None:
    dim, samples = (
        column(sensors, "dimension", int),
        array([getattr(s, "nsample", 0) for s in sensors], dtype=int),
    )
    history = np.where(samples > 0, 2 + samples + samples * dim, 0)
    m.set(nsensor=len(sensors), nsensordata=int(dim.sum()))
    m.set(
        "sensor_",
        type=column(sensors, "type", int),
        datatype=column(sensors, "datatype", int),
        needstage=column(sensors, "needstage", int),
        objtype=column(sensors, "objtype", int),
        objid=array([_id(s.obj) for s in sensors], dtype=int),
        reftype=column(sensors, "reftype", int),
        refid=array([_id(s.ref) for s in sensors], dtype=int),
        intprm=rows(sensors, "intprm", 3, int),
        dim=dim,
        adr=np.cumsum(dim) - dim,
        cutoff=array([getattr(s, "cutoff", 0.0) for s in sensors]),
        noise=array([getattr(s, "noise", 0.0) for s in sensors]),
        history=np.stack([samples, array([getattr(s, "interp", 0) for s in sensors], dtype=int)], 1),
        historyadr=np.where(samples > 0, m.nhistory + np.cumsum(history) - history, -1),
        delay=array([getattr(s, "delay", 0.0) for s in sensors]),
        interval=array([getattr(s, "interval", (0.0, 0.0)) for s in sensors], 2),
        plugin=np.full(len(sensors), -1, np.int32),
        user=user(sensors, m.nuser_sensor),
    )
    m.set(nhistory=m.nhistory + int(history.sum()))


def _materials(spec: Spec, m: CompiledModel) -> None:
    """Colours of materials: the viewer shows them, and rays pass through what is invisible."""
    materials = spec.lists["material"]
    m.set(nmat=len(materials), mat_rgba=rows(materials, "rgba", 4, np.float32))


def _custom(spec: Spec, m: CompiledModel) -> None:
    for kind in ("numeric", "text", "tuple"):
        setattr(m, f"n{kind}", len(spec.lists[kind]))
    numerics, tuples = spec.lists["numeric"], spec.lists["tuple"]
    size = column(numerics, "length", int)
    data = np.concatenate([np.zeros(0), *(n.values for n in numerics)])
    m.set(numeric_adr=np.cumsum(size) - size, numeric_size=size, numeric_data=data, nnumericdata=data.size)
    texts = [t.data.encode() + b"\0" for t in spec.lists["text"]]
    size = array([len(t) for t in texts], dtype=int)
    m.set(text_adr=np.cumsum(size) - size, text_size=size, text_data=b"".join(texts), ntextdata=int(size.sum()))
    size = array([len(t.parts) for t in tuples], dtype=int)
    parts = [part for t in tuples for part in t.resolved]
    m.set(tuple_adr=np.cumsum(size) - size, tuple_size=size, ntupledata=len(parts))
    m.set(
        tuple_objtype=array([p[0] for p in parts], dtype=int),
        tuple_objid=array([p[1].id for p in parts], dtype=int),
    )
    m.set(tuple_objprm=array([p[2] for p in parts]))


def tree_path(m: CompiledModel, tendon: int) -> list[int]:
    """Kinematic trees along a tendon, in order, without repeats."""
    trees = [int(m.body_treeid[body]) for w in _path(m, tendon) if (body := _wrap_body(m, w)) >= 0]
    return [t for t in dict.fromkeys(trees) if t >= 0]


def sleep_policy(m: CompiledModel) -> None:
    """Trees that may not sleep on their own: actuated ones, and those joined by active tendons."""
    policy = m.tree_sleep_policy

    def stay_awake(tree: int) -> None:
        if tree >= 0 and policy[tree] == AUTO:
            policy[tree] = AUTO_NEVER

    for kind, (first, second) in zip(m.actuator_trntype, m.actuator_trnid):
        if kind == TENDON:
            for tree in tree_path(m, first):
                stay_awake(tree)
        elif kind in (JOINT, JOINTINPARENT) or (kind == SO3 and second < 0):
            stay_awake(m.body_treeid[m.jnt_bodyid[first]])
        elif kind in (SITE, SLIDERCRANK, SO3):
            stay_awake(m.body_treeid[m.site_bodyid[first]])
        elif kind == BODY:
            stay_awake(m.body_treeid[first])
    for tendon in range(m.ntendon):
        trees = tree_path(m, tendon)
        springy = [m.tendon_stiffness, m.tendon_stiffnesspoly, m.tendon_damping, m.tendon_dampingpoly]
        active = any(np.any(f[tendon]) for f in springy) or m.tendon_actuatorid[tendon] != -1
        if len(trees) > 2 or (len(trees) == 2 and active):
            for tree in trees:
                stay_awake(tree)
    policy[policy == AUTO] = AUTO_ALLOWED


def simple_dofs(m: CompiledModel) -> None:
    """Bodies on a tendon with armature are not simple; runs of simple dofs; size of the sparse inertia."""
    for tendon in map(int, np.flatnonzero(m.tendon_armature)):
        for wrap in _path(m, tendon):
            if m.wrap_type[wrap] in (WRAP_SITE, WRAP_SPHERE, WRAP_CYLINDER):
                m.body_simple[_wrap_body(m, wrap)] = 0
    count = np.zeros(m.nv, int)
    for dof in reversed(range(m.nv)):
        after = count[dof + 1] if dof + 1 < m.nv else 0
        count[dof] = after + 1 if m.body_simple[m.dof_bodyid[dof]] else 0
    depth = np.diff(np.append(m.dof_Madr, m.nM))
    m.set(dof_simplenum=count, nC=int(m.nv + np.sum((depth - 1)[count == 0])))
