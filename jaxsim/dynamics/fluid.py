"""Forces of the surrounding fluid on bodies (mj_fluid), and their derivatives by velocity.

A body whose geoms ask for the ellipsoid model (`fluidshape`) feels the forces on those geoms; any other one feels
those on the box that has its inertia. Which it is was decided at load, and so was whether there is a fluid at all.
"""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product, products, scatter_add, take
from jaxsim.algebra.tree import subtree
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, DisableBit, GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.com import on_chains, project_forces
from jaxsim.dynamics.fluid_laws import Box, Ellipsoid, box_coefficients, ellipsoid_coefficients

Array = jax.Array


class _Immersed(NamedTuple):
    """Objects [n] in the fluid."""

    body: np.ndarray  # [n]
    arm: Array  # [n, 3] m, from the com of the tree to the object's centre
    mat: Array  # [n, 3, 3] axes of the object
    velocity: Array  # [n, 6] rad/s, m/s, relative to the fluid, in its axes
    law: Box | Ellipsoid


def has_fluid(m: Model) -> bool:
    """Whether there are forces of a fluid on something that moves."""
    off = m.opt.disables(DisableBit.SPRING) and m.opt.disables(DisableBit.DAMPER)  # then nothing is passive
    return bool(m.hasfluid) and m.nv > 0 and not off


def fluid_force(m: Model, d: Data) -> Array:
    """qfrc_fluid [nv]."""
    total = jnp.zeros((m.nbody, 6), d.qpos.dtype)
    for x in _immersed(m, d):
        total = total + scatter_add(x.body, _about_com(x, x.law.force(x.velocity)), m.nbody)
    return project_forces(m, d, total)


def fluid_slope(m: Model, d: Data, whole: np.ndarray, drag: bool = False) -> Array:
    """Derivative of qfrc_fluid by qvel [nv, nv]: the sum over objects of J^T B J (mjd_passive_vel).

    With B_b the slope of all objects below body b, about the com of the tree, the element (i, j) is
    cdof_i . B cdof_j with the B of the lower body of the two.

    Args:
        m: the model.
        d: after `com_vel`.
        whole: [nbody] of which bodies to keep the part of B that is not symmetric.
        drag: without lift and added mass.
    """
    total = jnp.zeros((m.nbody, 36), d.qpos.dtype)
    for x in _immersed(m, d):
        slope = x.law.drag_slope(x.velocity) if drag else x.law.slope(x.velocity)
        if not whole[x.body].all():
            even = (slope + jnp.swapaxes(slope, 1, 2)) / 2
            slope = jnp.where(jnp.asarray(whole[x.body])[:, None, None], slope, even)
        # a force per unit velocity is moved as a force, for each of the six velocities, and so are then its rows
        for _ in range(2):
            slope = jax.vmap(lambda force, x=x: _about_com(x, force), 2, 1)(slope)
        total = total + scatter_add(x.body, slope.reshape(-1, 36), m.nbody)
    total = take(product(subtree(m.topology), total), m.dof_bodyid).reshape(-1, 6, 6)
    lower = products(vector.matvec_t(total, d.cdof), d.cdof)
    upper = products(vector.matvec(total, d.cdof), d.cdof)
    return on_chains(m, lower, upper)


def _about_com(x: _Immersed, force: Array) -> Array:
    """Forces [n, 6] at objects, in their axes, as forces [n, 6] in the world about the com of the tree."""
    return spatial.shift_force(vector.join(*(vector.matvec(x.mat, f) for f in spatial.halves(force))), x.arm)


def _immersed(m: Model, d: Data) -> Iterator[_Immersed]:
    density, viscosity = m.opt.density, m.opt.viscosity
    bodies, geoms = _objects(m.topology)
    if len(bodies):
        box = box_coefficients(take(m.body_inertia, bodies), take(m.body_mass, bodies), density, viscosity)
        yield _placed(m, d, bodies, take(d.xipos, bodies), take(d.ximat, bodies), box)
    if len(geoms):
        body = m.geom_bodyid[geoms]
        fluid = take(m.geom_fluid, geoms)
        massive = take(m.body_mass, body) >= MINVAL
        ellipsoid = ellipsoid_coefficients(_semiaxes(m, geoms), fluid, density, viscosity)
        ellipsoid = ellipsoid._replace(scale=jnp.where(massive[:, None], ellipsoid.scale, 0))
        yield _placed(m, d, body, take(d.geom_xpos, geoms), take(d.geom_xmat, geoms), ellipsoid)


@per_topology
def _objects(t: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Bodies that feel the fluid as boxes, and geoms that do as ellipsoids, of those that move."""
    moves = np.asarray(t.body_treeid) >= 0
    by_geom = np.zeros(t.nbody, bool)
    by_geom[t.geom_bodyid[t.geom_hasfluid]] = True
    return np.flatnonzero(moves & ~by_geom), np.flatnonzero(t.geom_hasfluid & moves[t.geom_bodyid])


def _placed(m: Model, d: Data, body: np.ndarray, pos: Array, mat: Array, of: Box | Ellipsoid) -> _Immersed:
    """Objects on bodies [n] at positions [n, 3] with axes [n, 9]."""
    mat = mat.reshape(-1, 3, 3)
    arm = pos - take(d.subtree_com, m.body_rootid[body])
    spin, speed = spatial.halves(spatial.shift_motion(take(d.cvel, body), arm))
    local = vector.join(vector.matvec_t(mat, spin), vector.matvec_t(mat, speed - m.opt.wind[None]))
    return _Immersed(body, arm, mat, local, of)


def _semiaxes(m: Model, geoms: np.ndarray) -> Array:
    """Semi-axes [n, 3] (m) of the ellipsoids that stand for geoms [n] (mju_geomSemiAxes)."""
    kind = m.geom_type[geoms]
    column = np.tile(np.arange(3), (len(geoms), 1))
    column[kind == GeomType.SPHERE] = 0
    column[kind == GeomType.CAPSULE] = 0  # and the half length comes on top of the third
    column[kind == GeomType.CYLINDER] = 0, 0, 1
    size = take(m.geom_size, geoms)
    axes = take(size.reshape(-1), (3 * np.arange(len(geoms))[:, None] + column).ravel()).reshape(-1, 3)
    caps = np.zeros((len(geoms), 3))
    caps[kind == GeomType.CAPSULE, 2] = 1
    return axes + jnp.asarray(caps, size.dtype) * size[:, 1:2] if caps.any() else axes
