"""Which bodies and dofs are simple: their part of the inertia matrix is diagonal."""

import numpy as np

from jaxsim.core.enums import JointType, SameFrame, WrapType
from jaxsim.mjcf.algebra.conventions import EPS
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.derived.tree import tendon_path, wrap_body
from jaxsim.mjcf.language.spec import Item, Spec


def simple_bodies(spec: Spec, m: CompiledModel) -> None:
    """Which bodies have a diagonal inertia matrix (2: sliders only); needs body_sameframe."""
    flags = np.zeros(m.nbody, np.uint8)
    for i, body in enumerate(spec.bodies()):
        parent, joints = m.body_parentid[i], body.contents["joint"]
        fixed_parent = m.body_parentid[parent] == 0 and m.body_dofnum[parent] == 0
        centred = m.body_sameframe[i] == SameFrame.BODY
        flags[i] = centred and (m.body_rootid[i] == i or fixed_parent) and body.simple and _aligned(joints)
        if parent > 0:
            flags[parent] = 0
        if flags[i] and joints and all(j.type == JointType.SLIDE for j in joints):
            flags[i] = 2
    m.set(body_simple=flags)


def _aligned(joints: list[Item]) -> bool:
    """At most one rotation, last, all about axes through the origin."""
    rotated = False
    for joint in joints:
        oblique = joint.type in (JointType.SLIDE, JointType.HINGE) and int(np.sum(np.abs(joint.axis) > EPS)) != 1
        if rotated or np.any(joint.pos) or oblique:
            return False
        rotated = joint.type in (JointType.BALL, JointType.HINGE)
    return True


def simple_dofs(m: CompiledModel) -> None:
    """Bodies on a tendon with armature are not simple; runs of simple dofs; size of the sparse inertia."""
    bodies = wrap_body(m)
    for tendon in map(int, np.flatnonzero(m.tendon_armature)):
        path = tendon_path(m, tendon)
        spatial = np.isin(m.wrap_type[path], (WrapType.SITE, WrapType.SPHERE, WrapType.CYLINDER))
        m.body_simple[bodies[path][spatial]] = 0
    count = np.zeros(m.nv, int)
    for dof in reversed(range(m.nv)):
        after = count[dof + 1] if dof + 1 < m.nv else 0
        count[dof] = after + 1 if m.body_simple[m.dof_bodyid[dof]] else 0
    depth = np.diff(np.append(m.dof_Madr, m.nM))
    m.set(dof_simplenum=count, nC=int(m.nv + np.sum((depth - 1)[count == 0])))
