"""What takes the place of M in an implicit step: M - h dF/dv, for the forces F that an integrator treats so."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.blocks import dense
from jaxsim.algebra.select import put, take
from jaxsim.algebra.tree import dof_chain
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, Integrator, JointType
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuator_velocity_gain
from jaxsim.dynamics.bias_slope import bias_slope
from jaxsim.dynamics.com import com_vel, inertia_product, rne
from jaxsim.dynamics.fluid import fluid_slope, has_fluid
from jaxsim.dynamics.passive import damping, poly_force_slope, tendon_damping
from jaxsim.solvers.linear.solve import solve
from jaxsim.stages.intermediate import Intermediate

Array = jax.Array


def euler_diagonal(m: Model, d: Data) -> Array | None:
    """What Euler adds to the diagonal of M [nv], h times the slope of joint damping; None for nothing."""
    if not m.nv or m.opt.disables(DisableBit.EULERDAMP) or m.opt.disables(DisableBit.DAMPER):
        return None
    return m.opt.timestep * poly_force_slope(*damping(m), d.qvel, odd=True)


def implicit_matrix(m: Model, d: Data, mid: Intermediate) -> Array:
    """M - h dF/dv [nv, nv] for all smooth forces F, those of the bias too."""
    h = m.opt.timestep
    matrix = dense(d.qM) + _damping_matrix(m, d, mid) + h * bias_slope(m, d, mid.cdof_dot)
    if has_fluid(m):
        matrix = matrix - h * fluid_slope(m, d, np.ones(m.nbody, bool))
    return matrix


def implicitfast_matrix(m: Model, d: Data, mid: Intermediate, bodies: np.ndarray) -> tuple[Array, Array, Array]:
    """What implicitfast adds to M [nv, nv] so that it stays symmetric, the sum, and M - h dF/dv without the bias.

    The last differs in the blocks of lone free bodies [k], which need not be symmetric (see `free_blocks`).
    """
    more = _damping_matrix(m, d, mid)
    matrix = dense(d.qM) + more
    if not has_fluid(m):
        return more, matrix, matrix
    alone = np.isin(np.arange(m.nbody), bodies)
    drag = m.opt.timestep * fluid_slope(m, d, alone)
    more = more - drag * jnp.asarray(~alone[m.dof_bodyid], drag.dtype)[:, None]
    return more, dense(d.qM) + more, matrix - drag


def continuous_acceleration(m: Model, d: Data, mid: Intermediate) -> Array:
    """The acceleration [nv] of forward dynamics after which a step changes the velocity by h qacc (mj_discreteAcc)."""
    if m.opt.integrator == Integrator.RK4:
        raise ValueError(
            "discrete inverse dynamics (flag invdiscrete) is not defined for RK4; use a one-step integrator"
        )
    if not m.nv:
        return d.qacc
    force = _implicit_force(m, d, mid)
    return d.qacc if force is None else solve(mid.mass, force)


def _implicit_force(m: Model, d: Data, mid: Intermediate) -> Array | None:
    """(M - h dF/dv) qacc [nv]; None where it is M qacc."""
    if m.opt.integrator == Integrator.IMPLICIT:
        return _times(implicit_matrix(m, d, mid), d.qacc)
    inertial = inertia_product(m.topology, mid.inertia, d.qacc)
    if m.opt.integrator == Integrator.EULER:
        diagonal = euler_diagonal(m, d)
        return None if diagonal is None else inertial + diagonal * d.qacc
    bodies = standalone_free_bodies(m)
    more, _, whole = implicitfast_matrix(m, d, mid, bodies)
    force = inertial + _times(more, d.qacc)
    if not len(bodies):
        return force
    dofs, block = free_blocks(m, d, whole, bodies)
    own = jnp.stack([take(d.qacc, r) for r in dofs])
    return put(force, dofs.ravel(), jnp.sum(block * own[:, None], axis=-1).reshape(-1))


def _times(matrix: Array, x: Array) -> Array:
    return lax.dot(matrix, x, precision=lax.Precision.HIGHEST)


def standalone_free_bodies(m: Model) -> np.ndarray:
    """Ids [k] of bodies with one free joint and no children that move relative to them (mj_isFreeBody)."""
    free = m.jnt_bodyid[m.jnt_type == JointType.FREE]
    tree_dofs = np.bincount(m.dof_treeid, minlength=m.ntree)
    return np.array([b for b in free if tree_dofs[m.body_treeid[b]] == 6], int)


def free_blocks(m: Model, d: Data, matrix: Array, bodies: np.ndarray) -> tuple[np.ndarray, Array]:
    """Dofs [k, 6] of lone free bodies [k], and their blocks [k, 6, 6] of a matrix [nv, nv] plus h d qfrc_bias / dv."""

    def bias(omega):
        moved = d.replace(qvel=put(d.qvel, spin.ravel(), omega.reshape(-1)))
        moved, cdof_dot = com_vel(m, moved)
        return rne(m, moved, cdof_dot)

    first = m.jnt_dofadr[m.body_jntadr[bodies]]
    dofs = first[:, None] + np.arange(6)
    spin = dofs[:, 3:]
    omega = take(d.qvel, spin.ravel()).reshape(-1, 3)
    # bodies are independent, so one tangent per axis serves all of them
    directions = jnp.broadcast_to(jnp.eye(3, dtype=omega.dtype)[:, None], (3, *omega.shape))
    slopes = jax.vmap(lambda v: jax.jvp(bias, (omega,), (v,))[1])(directions)
    local = jnp.swapaxes(slopes, 0, 1)
    block = matrix[dofs[:, :, None], dofs[:, None]]
    extra = take(local, dofs.ravel()).reshape(*dofs.shape, 3)
    return dofs, block + m.opt.timestep * jnp.concatenate([jnp.zeros_like(extra), extra], axis=2)


def _damping_matrix(m: Model, d: Data, mid: Intermediate) -> Array:
    """-h dF/dv [nv, nv] of the dampers of joints and tendons and of the actuators."""
    h, more = m.opt.timestep, jnp.zeros((m.nv, m.nv), d.qpos.dtype)
    if not m.opt.disables(DisableBit.DAMPER):
        more = _add_diagonal(more, h * poly_force_slope(*damping(m), d.qvel, odd=True))
        if m.ntendon:
            more = more + h * _gram(m, mid.ten_J, poly_force_slope(*tendon_damping(m), d.ten_velocity, odd=True))
    if m.nactuator and not m.opt.disables(DisableBit.ACTUATION):
        more = more - h * _gram(m, mid.moment, actuator_velocity_gain(m, d))
    return more


def _add_diagonal(matrix: Array, diagonal: Array) -> Array:
    return matrix + diagonal[:, None] * jnp.eye(matrix.shape[0], dtype=matrix.dtype)


def _gram(m: Model, J: Array, weight: Array) -> Array:
    """J^T diag(weight) J, within the sparsity of M: MuJoCo drops couplings of dofs on different branches."""
    weighted = weight[:, None] * J
    product = lax.dot_general(J, weighted, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    chain = dof_chain(m.topology)
    return product * jnp.asarray(np.maximum(chain, chain.T), product.dtype)
