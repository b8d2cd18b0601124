"""Everything in Model that follows from its other fields (mj_setConst of MuJoCo 4.0), under jit and autodiff.

Change masses, poses, sizes, armature, gears ..., then call `set_const`. What the compiler resolves once is
left alone, as in MuJoCo 4.0: spring lengths of tendons that were automatic, dampings that came from damping
ratios, inertias that came from geoms, and the statistics in `model.stat`. Of the bounding volumes the radii
are recomputed; a mesh keeps its own.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import matmul, product, put, take
from jaxsim.algebra.tree import subtree
from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_model
from jaxsim.dynamics import reference
from jaxsim.dynamics.com import com_pos, crb
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.tendon import tendon, tendon_armature
from jaxsim.dynamics.transmission import transmission
from jaxsim.solvers.linear.solve import solve

Array = jax.Array


@jax.jit
def set_const(model: Model) -> Model:
    """Recompute every derived field of the model (mj_setConst).

    Args:
        model: with any real-valued fields changed, batched under `vmap`, or traced.

    Returns:
        The model with body_subtreemass, body_margin, geom_rbound, the sizes of height field geoms, dof_M0,
        dof_length, dof_invweight0, body_invweight0, tendon_length0, tendon_invweight0, actuator_length0,
        actuator_acc0, the eq_data of connects and welds, and the cam_ and light_ fields ending in 0.
    """
    check_model("set_const", model)
    m = model.replace(body_subtreemass=product(subtree(model.topology), model.body_mass))
    m = _geom_bounds(m)
    d = com_pos(m, kinematics(m, make_data(m)))
    d, ten_J = tendon(m, d)
    d = crb(m, d)
    m = m.replace(dof_M0=jnp.diagonal(d.qM), tendon_length0=d.ten_length)
    d, moment = transmission(m, tendon_armature(m, d, ten_J), ten_J)
    m = m.replace(actuator_length0=d.actuator_length, dof_length=reference.dof_length(m, reference.body_size(m, d)))
    m = _inverse_weights(m, d, ten_J, moment)
    return m.replace(eq_data=reference.relative_poses(m, d), **reference.viewers(m, d))


def _inverse_weights(m: Model, d: Data, ten_J: Array, moment: Array) -> Model:
    """Diagonals of J M^-1 J^T of dofs, bodies and tendons, and accelerations |M^-1 moment| of actuators."""
    if not m.nv:
        names = ("body_invweight0", "tendon_invweight0", "actuator_acc0")
        return m.replace(**{k: jnp.zeros_like(getattr(m, k)) for k in names})
    inverse = jax.vmap(solve, (None, 0))(d.qM, jnp.eye(m.nv, dtype=d.qM.dtype))

    def solve_rows(rows: Array) -> Array:
        return matmul(rows, inverse)

    blocks = [reference.Block(np.arange(m.nv), solve_rows, lambda rows: vector.dot(solve_rows(rows), rows))]
    return m.replace(
        dof_invweight0=reference.dof_invweight(m, jnp.diagonal(inverse)),
        body_invweight0=reference.body_invweight(m, d, blocks),
        tendon_invweight0=reference.weights(ten_J, blocks),
        actuator_acc0=vector.norm(reference.solved(moment, blocks)),
    )


def _geom_bounds(m: Model) -> Model:
    """Bounding radii, the margins of bodies, and the size of height field geoms."""
    if not m.ngeom:
        return m
    field = np.flatnonzero(m.geom_type == GeomType.HFIELD)
    radius = m.geom_rbound
    if len(field):
        size = take(m.hfield_size, m.geom_dataid[field])
        x, y, top, bottom = size.T
        m = m.replace(geom_size=put(m.geom_size, field, jnp.stack([x, y, top / 4 + bottom / 2], axis=1)))
        radius = put(radius, field, reference.hfield_bound(size))
    for kind, bound in reference.BOUND.items():
        chosen = np.flatnonzero(m.geom_type == kind)
        if len(chosen):
            radius = put(radius, chosen, bound(take(m.geom_size, chosen)))
    member = m.geom_bodyid[None] == np.arange(m.nbody)[:, None]
    margin = reference.largest(member, m.geom_margin + m.geom_gap)
    return m.replace(geom_rbound=radius, body_margin=margin)
