"""Frames of inertias, geoms and sites where MuJoCo takes them: exactly at the body's, or at its inertia's.

The compiler marks a frame that is within 1e-6 of its body's frame or of the inertia's (mjtSameFrame), and kinematics
then takes that one. A mesh's own axes, say, are those of its body's inertia but for the rounding of its file.
"""

from typing import Any

import numpy as np

from jaxsim.core.enums import SameFrame

Array = np.ndarray
IDENTITY = np.array([1.0, 0, 0, 0])


def exact_frames(m: Any) -> dict[str, Array]:
    """body_ipos [nbody, 3], body_iquat [nbody, 4] and the same of geoms and sites, by name (mj_local2Global).

    `m` is any object with mjModel's fields.
    """
    flag = np.where(np.isin(m.body_sameframe, (SameFrame.BODY, SameFrame.BODYROT)), m.body_sameframe, SameFrame.NONE)
    ipos, iquat = _exact(flag, m.body_ipos, m.body_iquat, m.body_ipos, m.body_iquat)
    frames = {"body_ipos": ipos, "body_iquat": iquat}
    for kind in ("geom", "site"):
        body, flag = getattr(m, f"{kind}_bodyid"), getattr(m, f"{kind}_sameframe")
        own = getattr(m, f"{kind}_pos"), getattr(m, f"{kind}_quat")
        frames[f"{kind}_pos"], frames[f"{kind}_quat"] = _exact(flag, *own, ipos[body], iquat[body])
    return frames


def _exact(flag: Array, pos: Array, quat: Array, ipos: Array, iquat: Array) -> tuple[Array, Array]:
    """Positions [n, 3] and orientations [n, 4] of frames with a SameFrame flag each; quaternions keep their sign."""
    at_body, at_inertia = flag == SameFrame.BODY, flag == SameFrame.INERTIA
    as_body, as_inertia = at_body | (flag == SameFrame.BODYROT), at_inertia | (flag == SameFrame.INERTIAROT)
    pos = np.where(at_inertia[:, None], ipos, np.where(at_body[:, None], 0.0, pos))
    turn = np.where(as_inertia[:, None], iquat, IDENTITY)
    turn = turn * np.where(np.sum(turn * quat, axis=1, keepdims=True) < 0, -1.0, 1.0)
    return pos, np.where((as_inertia | as_body)[:, None], turn, quat)
