"""Six-dimensional algebra in the com-based frame (engine_util_spatial.c).

Motion vectors are (angular, linear), force vectors (torque, force), both [..., 6] and expressed in world
axes about the centre of mass of the kinematic tree. A composite inertia is [..., 10]:
(Ixx, Iyy, Izz, Ixy, Ixz, Iyz, m x, m y, m z, m).
"""

from jax import lax

from jaxsim.algebra.arrays import Array, namespace, on_host
from jaxsim.algebra.vector import columns, cross, join


def halves(v: Array) -> tuple[Array, Array]:
    """Angular and linear part of [..., 6]."""
    if on_host(v):
        return v[..., :3], v[..., 3:]
    angular, linear = lax.split(v, (3, 3), axis=v.ndim - 1)
    return angular, linear


def cross_motion(v: Array, s: Array) -> Array:
    """v x s [..., 6] for motion vectors [..., 6] (mju_crossMotion)."""
    (vr, vl), (sr, sl) = halves(v), halves(s)
    return join(cross(vr, sr), cross(vr, sl) + cross(vl, sr))


def cross_force(v: Array, f: Array) -> Array:
    """v x* f [..., 6] for a motion and a force vector [..., 6] (mju_crossForce)."""
    (vr, vl), (fr, fl) = halves(v), halves(f)
    return join(cross(vr, fr) + cross(vl, fl), cross(vr, fl))


def inertia_mul(inertia: Array, v: Array) -> Array:
    """Momentum [..., 6] of a composite inertia [..., 10] moving with v [..., 6] (mju_mulInertVec)."""
    ixx, iyy, izz, ixy, ixz, iyz, mx, my, mz, m = columns(inertia)
    wx, wy, wz, vx, vy, vz = columns(v)
    return join(
        ixx * wx + ixy * wy + ixz * wz - mz * vy + my * vz,
        ixy * wx + iyy * wy + iyz * wz + mz * vx - mx * vz,
        ixz * wx + iyz * wy + izz * wz - my * vx + mx * vy,
        mz * wy - my * wz + m * vx,
        mx * wz - mz * wx + m * vy,
        my * wx - mx * wy + m * vz,
    )


def com_inertia(inertia: Array, mat: Array, offset: Array, mass: Array) -> Array:
    """Composite inertia [n, 10] of bodies with principal inertia [n, 3] in axes mat [n, 9] (row-major),
    displaced by offset [n, 3] from the reference point (mju_inertCom)."""
    r = mat.reshape(*mat.shape[:-1], 3, 3)
    rotated = namespace(r).sum((r * inertia[..., None, :])[..., :, None, :] * r[..., None, :, :], axis=-1)
    ixx, ixy, ixz, _, iyy, iyz, _, _, izz = columns(rotated.reshape(mat.shape))
    x, y, z = columns(offset)
    m = mass[..., None]
    return join(
        ixx + m * (y * y + z * z),
        iyy + m * (x * x + z * z),
        izz + m * (x * x + y * y),
        ixy - m * x * y,
        ixz - m * x * z,
        iyz - m * y * z,
        m * x,
        m * y,
        m * z,
        m,
    )


def shift_motion(v: Array, offset: Array) -> Array:
    """Motion vector [..., 6] about a point displaced by offset [..., 3] (m): the linear part gains angular x offset."""
    vr, vl = halves(v)
    return join(vr, vl + cross(vr, offset))


def shift_force(f: Array, offset: Array) -> Array:
    """Force vector [..., 6] that acts at a point displaced by offset [..., 3] (m), moved to the reference point."""
    fr, fl = halves(f)
    return join(fr + cross(offset, fl), fl)
