"""Jacobians of points of bodies (mj_jac and its family).

All read what `forward` leaves in Data. Elements are given by name or by index; indices are static. A point
is in world coordinates, metre. Jacobians are (jacp, jacr), each [3, nv]: the velocity of the point, and the
angular velocity of its body, per unit of qvel, in world axes.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product
from jaxsim.algebra.tree import ancestor, subtree
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, JointType
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world
from jaxsim.dynamics.com import com_vel
from jaxsim.queries.elements import Element, element_id, tree_center

Array = jax.Array


def jac(model: Model, data: Data, point: Array, body: Element) -> tuple[Array, Array]:
    """Jacobians [3, nv], [3, nv] of a world point [3] (m) that moves with a body (mj_jac)."""
    check_one_world("jac", data)
    b = element_id(model, "body", body)
    turn, slide = spatial.halves(data.cdof)
    arm = jnp.broadcast_to((point - tree_center(model, data, b))[None], turn.shape)
    moves = jnp.asarray(ancestor(model.topology)[b], turn.dtype)[None]
    return (slide + vector.cross(turn, arm)).T * moves, turn.T * moves


def jac_body(model: Model, data: Data, body: Element) -> tuple[Array, Array]:
    """Jacobians [3, nv], [3, nv] of the origin of a body's frame (mj_jacBody)."""
    check_one_world("jac_body", data)
    b = element_id(model, "body", body)
    return jac(model, data, data.xpos[b], b)


def jac_body_com(model: Model, data: Data, body: Element) -> tuple[Array, Array]:
    """Jacobians [3, nv], [3, nv] of the centre of mass of a body (mj_jacBodyCom)."""
    check_one_world("jac_body_com", data)
    b = element_id(model, "body", body)
    return jac(model, data, data.xipos[b], b)


def jac_geom(model: Model, data: Data, geom: Element) -> tuple[Array, Array]:
    """Jacobians [3, nv], [3, nv] of the centre of a geom (mj_jacGeom)."""
    check_one_world("jac_geom", data)
    g = element_id(model, "geom", geom)
    return jac(model, data, data.geom_xpos[g], model.geom_bodyid[g])


def jac_site(model: Model, data: Data, site: Element) -> tuple[Array, Array]:
    """Jacobians [3, nv], [3, nv] of a site (mj_jacSite)."""
    check_one_world("jac_site", data)
    s = element_id(model, "site", site)
    return jac(model, data, data.site_xpos[s], model.site_bodyid[s])


def jac_subtree_com(model: Model, data: Data, body: Element) -> Array:
    """Jacobian [3, nv] of the centre of mass of a body and its descendants (mj_jacSubtreeCom).

    The mean of the bodies' com Jacobians, weighted by mass. With r the offset of a body's com from the
    centre of its tree, dof j adds (sum m) slide_j + turn_j x (sum m r) over the bodies that it moves.
    """
    check_one_world("jac_subtree_com", data)
    b = element_id(model, "body", body)
    t = model.topology
    moved = (ancestor(t) * subtree(t)[b][:, None]).T
    mass = product(moved, model.body_mass)[:, None]
    moment = product(moved, model.body_mass[:, None] * (data.xipos - data.subtree_com[model.body_rootid]))
    turn, slide = spatial.halves(data.cdof)
    total = mass * slide + vector.cross(turn, moment)
    return total.T / jnp.maximum(model.body_subtreemass[b], MINVAL)


def jac_dot(model: Model, data: Data, point: Array, body: Element) -> tuple[Array, Array]:
    """Rate of change [3, nv] of the Jacobians of `jac`, for a point fixed to the body (mj_jacDot)."""
    check_one_world("jac_dot", data)
    b = element_id(model, "body", body)
    _, cdof_dot = com_vel(model, data)
    spinning = _rotates_as_quaternion(model)[:, None]
    cdof_dot = jnp.where(spinning, spatial.cross_motion(data.cvel[model.dof_bodyid], data.cdof), cdof_dot)
    arm = point - tree_center(model, data, b)
    velocity = spatial.shift_motion(data.cvel[b], arm)[3:]
    turn_dot, slide_dot = spatial.halves(cdof_dot)
    turn = spatial.halves(data.cdof)[0]
    jacp = slide_dot + vector.cross(turn_dot, jnp.broadcast_to(arm[None], turn.shape))
    jacp = jacp + vector.cross(turn, jnp.broadcast_to(velocity[None], turn.shape))
    moves = jnp.asarray(ancestor(model.topology)[b], turn.dtype)[None]
    return jacp.T * moves, turn_dot.T * moves


def _rotates_as_quaternion(model: Model) -> np.ndarray:
    """Which dofs [nv] turn a ball or free joint."""
    kind = model.jnt_type[model.dof_jntid]
    within = np.arange(model.nv) - model.jnt_dofadr[model.dof_jntid]
    return (kind == JointType.BALL) | ((kind == JointType.FREE) & (within >= 3))


def apply_ft(model: Model, data: Data, force: Array, torque: Array, point: Array, body: Element) -> Array:
    """Generalised force [nv] of a world force (N) and torque (N m) at a point of a body (mj_applyFT)."""
    check_one_world("apply_ft", data)
    jacp, jacr = jac(model, data, point, body)
    return vector.matvec_t(jacp, force) + vector.matvec_t(jacr, torque)
