"""Actuators on sites: forces at one site or between two, slider-cranks, and rotations (mj_transmission)."""

import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.arrays import Array, namespace
from jaxsim.algebra.select import take
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.com import wrench_rows


def gears_of(m: Model, actuators: np.ndarray) -> Array:
    """Gears [n, 6] of actuators [n]: those of their first output."""
    return take(m.actuator_gear, m.actuator_outadr[actuators])


def on_site(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Lengths [n], which are zero, and arms [n, nv] of a force and torque that turn with a site."""
    site, gear = m.actuator_trnid[chosen, 0], gears_of(m, chosen)
    mat = _mats(d, site)
    arm = _rows(m, d, site, vector.matvec(mat, gear[:, :3]), vector.matvec(mat, gear[:, 3:]))
    return namespace(arm).zeros(len(chosen), arm.dtype), arm


def site_to_site(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Lengths [n], position and rotation vector of a site seen from another times gear, and arms [n, nv]."""
    site, ref = m.actuator_trnid[chosen].T
    gear, mat = gears_of(m, chosen), _mats(d, ref)
    offset = vector.matvec_t(mat, take(d.site_xpos, site) - take(d.site_xpos, ref))
    length = vector.dot(offset, gear[:, :3]) + vector.dot(_relative_rotation(m, d, site, ref), gear[:, 3:])
    wrench = vector.matvec(mat, gear[:, :3]), vector.matvec(mat, gear[:, 3:])
    return length, _relative_rows(m, d, site, ref, *wrench)


def site_rotation(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Rotation vectors of sites seen from others as three lengths each [3 n], and arms [3 n, nv]."""
    site, ref = m.actuator_trnid[chosen].T
    length = _relative_rotation(m, d, site, ref)
    xp, mat = namespace(length), _mats(d, site)
    axes = xp.swapaxes(mat, 1, 2).reshape(-1, 3)  # the axes of each site, one after the other
    rows = _relative_rows(m, d, np.repeat(site, 3), np.repeat(ref, 3), xp.zeros_like(axes), axes)
    return length.reshape(-1), rows


def slider_crank(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Slider positions [n] on its axis a, a'v - sqrt((a'v)^2 + rod^2 - v'v) times gear, and arms [n, nv].

    v points from the slider to the crank; where the rod cannot reach, the slider follows the crank, at a'v.
    """
    crank, slider = m.actuator_trnid[chosen].T
    gear, rod = gears_of(m, chosen)[:, 0], take(m.actuator_cranklength, chosen)
    axis, vec = _mats(d, slider)[..., 2], take(d.site_xpos, crank) - take(d.site_xpos, slider)
    xp, along = namespace(vec), vector.dot(axis, vec)
    square = along * along + rod * rod - vector.dot(vec, vec)
    reaches = square > 0
    root = xp.sqrt(xp.where(reaches, square, 1))
    length = xp.where(reaches, along - root, along)
    share, pull = xp.where(reaches, 1 - along / root, 1)[:, None], xp.where(reaches, 1 / root, 0)[:, None]
    force, none = axis * share + vec * pull, xp.zeros_like(vec)
    at_slider = _rows(m, d, slider, -force, vector.cross(axis, vec * share))
    return length * gear, (_rows(m, d, crank, force, none) + at_slider) * gear[:, None]


def _mats(d: Data, site: np.ndarray) -> Array:
    """Orientations [n, 3, 3] of sites."""
    return take(d.site_xmat, site).reshape(-1, 3, 3)


def _rows(m: Model, d: Data, site: np.ndarray, force: Array, torque: Array) -> Array:
    """Generalised forces [n, nv] of world forces and torques [n, 3] at sites [n]."""
    return wrench_rows(m, d, m.site_bodyid[site], force, torque, take(d.site_xpos, site))


def _relative_rows(m: Model, d: Data, site: np.ndarray, ref: np.ndarray, force: Array, torque: Array) -> Array:
    """Generalised forces of a wrench on sites and its opposite on others; dofs that move both do not count."""
    rows = _rows(m, d, site, force, torque) - _rows(m, d, ref, force, torque)
    moves = ancestor(m.topology)
    common = moves[m.site_bodyid[site]] * moves[m.site_bodyid[ref]]
    return rows * namespace(rows).asarray(1 - common, rows.dtype)


def _relative_rotation(m: Model, d: Data, site: np.ndarray, ref: np.ndarray) -> Array:
    """Rotation vectors [n, 3] of sites seen from others."""
    turn, base = (quaternion.mul(take(d.xquat, m.site_bodyid[s]), take(m.site_quat, s)) for s in (site, ref))
    return quaternion.subtract(turn, base)
