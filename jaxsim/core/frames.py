"""Frames of inertias, geoms and sites where MuJoCo takes them: exactly at the body's, or at its inertia's.

The compiler marks a frame that is within 1e-6 of its body's frame or of the inertia's (mjtSameFrame), and kinematics
then takes that one. A mesh's own axes, say, are those of its body's inertia but for the rounding of its file.
"""

from typing import Any

import numpy as np

from jaxsim.core.enums import SameFrame

Array = np.ndarray
IDENTITY = np.array([1.0, 0, 0, 0])


def snaps(m: Any) -> Array:
    """[nbody + ngeom + nsite, 7] what to add to the poses of inertias, geoms and sites for those of mj_local2Global.

    `m` is any object with mjModel's fields. As an addition, what a model's user gives these fields later still counts.
    """
    flag = np.where(np.isin(m.body_sameframe, (SameFrame.BODY, SameFrame.BODYROT)), m.body_sameframe, SameFrame.NONE)
    ipos, iquat = _exact(flag, m.body_ipos, m.body_iquat, m.body_ipos, m.body_iquat)
    exact, given = [(ipos, iquat)], [(m.body_ipos, m.body_iquat)]
    for kind in ("geom", "site"):
        body, flag = getattr(m, f"{kind}_bodyid"), getattr(m, f"{kind}_sameframe")
        own = getattr(m, f"{kind}_pos"), getattr(m, f"{kind}_quat")
        given.append(own)
        exact.append(_exact(flag, *own, ipos[body], iquat[body]))
    return np.concatenate([np.hstack(poses) for poses in exact]) - np.concatenate([np.hstack(p) for p in given])


def _exact(flag: Array, pos: Array, quat: Array, ipos: Array, iquat: Array) -> tuple[Array, Array]:
    """Positions [n, 3] and orientations [n, 4] of frames with a SameFrame flag each; quaternions keep their sign."""
    at_body, at_inertia = flag == SameFrame.BODY, flag == SameFrame.INERTIA
    as_body, as_inertia = at_body | (flag == SameFrame.BODYROT), at_inertia | (flag == SameFrame.INERTIAROT)
    pos = np.where(at_inertia[:, None], ipos, np.where(at_body[:, None], 0.0, pos))
    turn = np.where(as_inertia[:, None], iquat, IDENTITY)
    turn = turn * np.where(np.sum(turn * quat, axis=1, keepdims=True) < 0, -1.0, 1.0)
    return pos, np.where((as_inertia | as_body)[:, None], turn, quat)
