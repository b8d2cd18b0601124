"""The derivative of the bias force by velocity (mjd_rne_vel).

With s_j the axis of dof j (cdof), v_b and I_b the velocity and inertia of body b and h_b = I_b v_b its momentum, the
force that moves body b at qacc = 0 is f_b = I_b a_b + v_b x* h_b, with a_b = sum_i s_i' v_i over the dofs that move b.
What dof j adds to it, for a body b that j moves, is linear in s_j and in e_j, which does not depend on b:

    df_b / dv_j = I_b e_j + (I_b (s_j x v_b) + s_j x* h_b + v_b x* I_b s_j)
    e_j = s_j' + p_j x s_j,    p_j the velocity by those dofs up to j's body that do not carry along what j does

So the derivative needs sums over subtrees of I_b and of the 6 x 6 matrices of the bracket, and no recursion.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product, products, take
from jaxsim.algebra.tree import ancestor, subtree, velocity_before
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.com import on_chains

Array = jax.Array


def bias_slope(m: Model, d: Data, cdof_dot: Array) -> Array:
    """Derivative of qfrc_bias by qvel [nv, nv], for the rates cdof_dot [nv, 6] of the dofs' axes."""
    momentum = spatial.inertia_mul(d.cinert, d.cvel)

    def response(axis: Array) -> Array:
        """The bracket [nbody, 6] for one and the same axis [6] everywhere."""
        s = jnp.broadcast_to(axis[None], d.cvel.shape)
        turned = spatial.inertia_mul(d.cinert, spatial.cross_motion(s, d.cvel))
        return turned + spatial.cross_force(s, momentum) + spatial.cross_force(d.cvel, spatial.inertia_mul(d.cinert, s))

    bracket = jax.vmap(response, out_axes=2)(jnp.eye(6, dtype=d.cvel.dtype)).reshape(-1, 36)
    below = subtree(m.topology)
    inertia = take(product(below, d.cinert), m.dof_bodyid)
    bracket = take(product(below, bracket), m.dof_bodyid).reshape(-1, 6, 6)
    still = product(_not_carried(m.topology), d.cdof * d.qvel[:, None])
    e = cdof_dot + spatial.cross_motion(still, d.cdof)
    lower = products(spatial.inertia_mul(inertia, d.cdof), e) + products(vector.matvec_t(bracket, d.cdof), d.cdof)
    upper = products(spatial.inertia_mul(inertia, e) + vector.matvec(bracket, d.cdof), d.cdof)
    return on_chains(m, lower, upper)


@per_topology
def _not_carried(t: Topology) -> np.ndarray:
    """[nv, nv] 0/1: row j marks the dofs up to the body of dof j whose axes do not move with dof j."""
    return ancestor(t)[t.dof_bodyid] * (1 - velocity_before(t).T)
