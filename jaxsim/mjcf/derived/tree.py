"""Derived fields that do not depend on the configuration: masses, trees, which actuator acts on what."""

from typing import Any

import numpy as np

from jaxsim.core.enums import SameFrame, WrapType
from jaxsim.dynamics.armature import on_joint, on_tendon

Array = np.ndarray
SAME = 1e-6  # frames closer than this count as the same


def fill(m: Any) -> None:
    """Set body_subtreemass, sameframe flags, tree ids and addresses, and who carries actuator armature."""
    m.body_subtreemass[:] = m.body_mass
    for body in range(m.nbody - 1, 0, -1):
        m.body_subtreemass[m.body_parentid[body]] += m.body_subtreemass[body]
    m.ngravcomp = int(np.count_nonzero(m.body_gravcomp > 0))
    m.flg_gravcomp = int(m.ngravcomp > 0)
    m.flg_surfacevel = int(np.any(m.geom_surfacevel))
    m.flg_adhesion = int(np.any(m.geom_adhesion) or np.any(m.pair_adhesion))
    _sameframe(m)
    _trees(m)
    m.jnt_actuatorid[:] = _carried(m, on_joint(m), m.njnt)
    m.tendon_actuatorid[:] = _carried(m, on_tendon(m), m.ntendon)
    _tendon_trees(m)


def _same_quat(a: Array, b: Array) -> Array:
    return (np.abs(a - b) < SAME).all(axis=-1) | (np.abs(a + b) < SAME).all(axis=-1)


def _sameframe(m: Any) -> None:
    """Which frames of inertias, geoms and sites coincide with those of their bodies or of their inertias."""
    identity = np.array([1.0, 0, 0, 0])
    rotated = _same_quat(m.body_iquat, identity)
    centred = (np.abs(m.body_ipos) < SAME).all(axis=1)
    flag = np.where(rotated, np.where(centred, SameFrame.BODY, SameFrame.BODYROT), SameFrame.NONE)
    m.body_sameframe[:] = flag
    for kind in ("geom", "site"):
        body = getattr(m, f"{kind}_bodyid")
        pos, quat = getattr(m, f"{kind}_pos"), getattr(m, f"{kind}_quat")
        at_body = (np.abs(pos) < SAME).all(axis=1)
        at_inertia = (np.abs(pos - m.body_ipos[body]) < SAME).all(axis=1)
        as_body, as_inertia = _same_quat(quat, identity), _same_quat(quat, m.body_iquat[body])
        getattr(m, f"{kind}_sameframe")[:] = np.select(
            [as_body & at_body, as_body, as_inertia & at_inertia, as_inertia],
            [SameFrame.BODY, SameFrame.BODYROT, SameFrame.INERTIA, SameFrame.INERTIAROT],
            SameFrame.NONE,
        )


def _trees(m: Any) -> None:
    """Tree of each body, and the range of bodies and dofs of each tree."""
    weld = m.body_weldid
    moving = m.body_dofnum[weld] > 0
    m.body_treeid[:] = -1
    m.body_treeid[moving] = m.dof_treeid[m.body_dofadr[weld[moving]]]
    for owner, kind in ((m.body_treeid, "body"), (m.dof_treeid, "dof")):
        present = owner[owner >= 0]
        getattr(m, f"tree_{kind}num")[:] = np.bincount(present, minlength=m.ntree)
        trees, first = np.unique(owner, return_index=True)
        getattr(m, f"tree_{kind}adr")[trees[trees >= 0]] = first[trees >= 0]


def _carried(m: Any, among: Array, n: int) -> Array:
    """The one actuator with damping or armature on each of n targets: -1 if there is none, -2 if several."""
    bearing = (m.actuator_damping != 0) | (m.actuator_armature != 0) | m.actuator_dampingpoly.any(axis=1)
    actuator = np.flatnonzero(among & bearing)
    target = m.actuator_trnid[actuator, 0]
    count = np.bincount(target, minlength=n)
    carried = np.full(n, -1)
    carried[target] = actuator
    return np.where(count > 1, -2, carried)


def wrap_body(m: Any) -> Array:
    """Body [nwrap] that each element of a tendon path is fixed to, or -1 for a pulley."""
    body = np.full(len(m.wrap_type), -1)
    for kinds, of in (
        ((WrapType.JOINT,), m.jnt_bodyid),
        ((WrapType.SITE,), m.site_bodyid),
        ((WrapType.SPHERE, WrapType.CYLINDER), m.geom_bodyid),
    ):
        here = np.isin(m.wrap_type, kinds)
        body[here] = of[m.wrap_objid[here]]
    return body


def tendon_path(m: Any, tendon: int) -> slice:
    """Places of a tendon's path among those of all tendons."""
    return slice(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])


def tendon_trees(m: Any) -> list[list[int]]:
    """Kinematic trees along each tendon, in order, without repeats (needs body_treeid)."""
    body = wrap_body(m)
    tree = np.where(body >= 0, m.body_treeid[body], -1)
    return [list(dict.fromkeys(int(k) for k in tree[tendon_path(m, i)] if k >= 0)) for i in range(m.ntendon)]


def _tendon_trees(m: Any) -> None:
    """How many trees each tendon touches, and the first two of them."""
    m.tendon_treeid[:] = -1
    for i, touched in enumerate(tendon_trees(m)):
        m.tendon_treenum[i] = len(touched)
        m.tendon_treeid[i, : len(touched[:2])] = touched[:2]
