"""Loop closures: equality constraints between links, beside the joints of the tree, as rows of one vector.

Their derivatives are taken in reverse mode, a row at a time, with respect to displacements of all links: rows are few.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import take
from jaxsim.constraint.equality import anchor_points, weld_sides
from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import EqType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.coordinates import SCALAR
from jaxsim.dynamics.kinematics import local_frames
from jaxsim.maximal.bodies import rotation
from jaxsim.maximal.joints import Frames, frames
from jaxsim.maximal.mechanism import Mechanism, in_link

Array = jax.Array


@per_topology
def loops_of(t: Topology, kind: EqType) -> np.ndarray:
    """The equalities [k] of a kind that are active at load."""
    return np.flatnonzero((t.eq_type == kind) & np.asarray(t.eq_active0, bool))


def loop_count(t: Topology) -> int:
    """Number of rows of all loop closures."""
    rows = {EqType.CONNECT: 3, EqType.WELD: 6, EqType.JOINT: 1}
    return sum(size * len(loops_of(t, kind)) for kind, size in rows.items())


def loop_gaps(mechanism: Mechanism, at: Frames, straight: Array) -> Array:
    """How far loops are open [rows] (m, rad), at poses of links and values [nv] of scalar coordinates, counted from
    those at qpos0."""
    m, t = mechanism.model, mechanism.model.topology
    connects, welds, couplings = (loops_of(t, kind) for kind in (EqType.CONNECT, EqType.WELD, EqType.JOINT))
    rows = []
    d = placed(mechanism, at) if len(connects) or len(welds) else None
    if d is not None and len(connects):
        _, (first, second) = anchor_points(m, d, connects, EqType.CONNECT)
        rows.append((first - second).reshape(-1))
    if d is not None and len(welds):
        bodies, (first, second) = anchor_points(m, d, welds, EqType.WELD)
        left, right, _ = weld_sides(m, d, welds, *bodies)
        turned = quaternion.mul(left, right)
        twist = 2 * turned[:, 1:] * jnp.where(turned[:, :1] < 0, -1, 1).astype(turned.dtype)
        rows.append(vector.join(first - second, twist).reshape(-1))
    if len(couplings):
        rows.append(_couplings(m, straight, couplings))
    return jnp.concatenate(rows)


def _couplings(m: Model, straight: Array, chosen: np.ndarray) -> Array:
    """What `constraint.equality.joint_coupling` holds at zero [n]."""
    first, second = m.eq_obj1id[chosen], m.eq_obj2id[chosen]
    x1 = take(straight, m.jnt_dofadr[first])
    x2 = take(straight, m.jnt_dofadr[np.where(second >= 0, second, first)])
    c = take(m.eq_data, chosen)
    share = x2 * (c[:, 1] + x2 * (c[:, 2] + x2 * (c[:, 3] + x2 * c[:, 4])))
    return x1 - c[:, 0] - jnp.where(second >= 0, share, 0)


def placed(mechanism: Mechanism, at: Frames) -> Data:
    """Data with poses of bodies and of sites that follow from those of links."""
    m, s = mechanism.model, mechanism.structure
    pos, quat = in_link(m)
    com = jnp.concatenate([mechanism.com, jnp.zeros((1, 3), pos.dtype)])
    link_quat = take(at.quat, s.link)
    xpos = take(at.pos, s.link) + quaternion.rotate(link_quat, pos - take(com, s.link))
    xquat = quaternion.mul(link_quat, quat)
    d = make_data(m).replace(xpos=xpos, xquat=xquat, xmat=rotation(xquat).reshape(-1, 9))
    local = local_frames(m)[0][m.nbody + m.ngeom :]
    site = take(xpos, m.site_bodyid) + quaternion.rotate(take(xquat, m.site_bodyid), local)
    return d.replace(site_xpos=site)


def loop_jacobian(mechanism: Mechanism, at: Frames, straight: Array) -> tuple[Array, Array]:
    """Derivatives [rows, n, 6] with displacements of links, in the world's axes, and rotations, in their own, and
    [rows, nv] with coordinates."""
    n = mechanism.structure.n

    def moved(shift: Array, x: Array) -> Array:
        twist = quaternion.mul(at.quat[:n], vector.join(jnp.ones_like(shift[:, :1]), 0.5 * shift[:, 3:]))
        return loop_gaps(mechanism, frames(at.pos[:n] + shift[:, :3], twist), x)

    return jax.jacrev(moved, (0, 1))(jnp.zeros((n, 6), at.pos.dtype), straight)


def straight_coordinates(m: Model, qpos: Array) -> Array:
    """[nv] coordinates of slides and hinges, counted from those at qpos0; zero for others."""
    source = _sources(m.topology)
    moved = jnp.concatenate([qpos - m.qpos0, jnp.zeros(1, qpos.dtype)])
    return take(moved, source)


@per_topology
def _sources(t: Topology) -> np.ndarray:
    """[nv] where each dof of a slide or hinge is in qpos, nq for others."""
    source = np.full(t.nv, t.nq)
    scalar = np.isin(t.jnt_type, SCALAR)
    source[t.jnt_dofadr[scalar]] = t.jnt_qposadr[scalar]
    return source
