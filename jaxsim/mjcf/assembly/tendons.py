"""From compiled items to the arrays of mjModel: tendons."""

import numpy as np

from jaxsim.core.enums import TendonType, WrapType
from jaxsim.mjcf.assembly.columns import array, column, item_id, rows, user
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.derived.tree import tendon_path, wrap_body
from jaxsim.mjcf.language.spec import Spec


def tendons(spec: Spec, m: CompiledModel) -> None:
    """Tendons, their paths, and which dofs they depend on."""
    items = spec.lists["tendon"]
    wraps = [wrap for tendon in items for wrap in tendon.wraps]
    count = np.array([len(t.wraps) for t in items], int)
    stiffness, damping = rows(items, "stiffness", 3), rows(items, "damping", 3)
    springyield = column(items, "springyield")
    plastic = springyield > 0
    m.set(ntendon=len(items), nwrap=len(wraps))
    m.set(
        "tendon_",
        type=array([int(t.key == "spatial") for t in items], dtype=int),
        adr=np.cumsum(count) - count,
        num=count,
        matid=array([item_id(t.material_item) for t in items], dtype=int),
        group=column(items, "group", int),
        plasticadr=np.where(plastic, m.nplastic + 2 * (np.cumsum(plastic) - plastic), -1),
        limited=column(items, "is_limited", bool),
        actfrclimited=column(items, "is_actuatorfrclimited", bool),
        width=column(items, "width"),
        solref_lim=rows(items, "solreflimit", 2),
        solimp_lim=rows(items, "solimplimit", 5),
        solref_fri=rows(items, "solreffriction", 2),
        solimp_fri=rows(items, "solimpfriction", 5),
        range=rows(items, "range", 2),
        actfrcrange=rows(items, "actuatorfrcrange", 2),
        margin=column(items, "margin"),
        stiffness=stiffness[:, 0],
        stiffnesspoly=stiffness[:, 1:],
        damping=damping[:, 0],
        dampingpoly=damping[:, 1:],
        armature=column(items, "armature"),
        frictionloss=column(items, "frictionloss"),
        lengthspring=rows(items, "springlength", 2),
        springyield=springyield,
        user=user(items, m.nuser_tendon),
        rgba=rows(items, "rgba", 4, np.float32),
    )
    m.set(nplastic=m.nplastic + 2 * int(plastic.sum()))
    geom_wraps = (WrapType.SPHERE, WrapType.CYLINDER)
    m.set(
        "wrap_",
        type=array([w[0] for w in wraps], dtype=int),
        objid=array([item_id(w[1]) for w in wraps], dtype=int),
        prm=array([item_id(w[2]) if w[0] in geom_wraps else w[2] for w in wraps]),
    )
    _tendon_jacobian(m)


def _tendon_jacobian(m: CompiledModel) -> None:
    """Which dofs can change the length of each tendon."""
    bodies = wrap_body(m)
    columns = []
    for tendon in range(m.ntendon):
        path = tendon_path(m, tendon)
        if m.tendon_type[tendon] == TendonType.FIXED:
            dofs = set(map(int, m.jnt_dofadr[m.wrap_objid[path]]))
        else:
            dofs = set()
            for body in bodies[path]:
                dofs |= _body_dofs(m, body)
        columns.append(sorted(dofs))
    count = array([len(c) for c in columns], dtype=int)
    m.set(nJten=int(count.sum()))
    dofs_of_all = [dof for dofs in columns for dof in dofs]
    m.set("ten_J_", rownnz=count, rowadr=np.cumsum(count) - count, colind=array(dofs_of_all, dtype=int))


def _body_dofs(m: CompiledModel, body: int) -> set[int]:
    """The dofs that move a body."""
    dofs: set[int] = set()
    while body > 0:
        first = m.body_dofadr[body]
        dofs |= set(range(first, first + m.body_dofnum[body])) if first >= 0 else set()
        body = m.body_parentid[body]
    return dofs
