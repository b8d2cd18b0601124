"""Images of contact forces: the engine plugin mujoco.sensor.touch_grid.

A sensor looks along the negative z axis of its site. Each contact of the site's body, or of what is welded to it, adds
its force and torque to the cell that its direction falls into. Which cell that is, is a decision; the forces are what
is differentiated.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.slots import ContactSlots, detected, of_bodies
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.sensors.contact import wrenches

Array = jax.Array

NORMAL_FIRST = np.array([2, 0, 1])  # the order of channels: along z, x and y


def images(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """PLUGIN [sum of sensor_dim]: channels of force (N) and torque (N m), each an image of rows over the azimuth."""
    slots = solution.slots
    if slots is None:
        return jnp.zeros(int(m.sensor_dim[s].sum()), d.qpos.dtype)
    channel = _channels(m, d, s, solution, slots)  # [S, 6, n]
    azimuth, elevation = _directions(m, d, s, slots)  # [S, n]
    adr = np.cumsum(m.sensor_dim[s]) - m.sensor_dim[s]
    sizes = m.sensor_gridprm[s, :3].astype(int)
    groups = []
    for size in np.unique(sizes, axis=0):
        alike = np.flatnonzero((sizes == size).all(axis=1))
        horizontal, vertical = (np.array([edges(m.sensor_gridprm[i])[axis] for i in s[alike]]) for axis in (0, 1))
        column, row = _cells(take(azimuth, alike), horizontal), _cells(take(elevation, alike), vertical)
        pixel = (row[:, :, None] & column[:, None]).reshape(len(alike), -1, column.shape[2])
        image = lax.dot_general(
            take(channel, alike)[:, : size[0]],
            pixel.astype(channel.dtype),
            (((2,), (2,)), ((0,), (0,))),
            precision=lax.Precision.HIGHEST,
        )
        where = adr[alike, None] + np.arange(np.prod(size))
        groups.append((where.ravel(), image.reshape(-1)))
    return gather_groups(groups, int(m.sensor_dim[s].sum()))


def edges(prm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Borders [n + 1] of a grid's cells, azimuths and elevations (rad), from a row of sensor_gridprm."""
    _, *cells, wide, high, gamma = prm
    bent = []
    for n, view in zip(map(int, cells), (wide, high)):
        even = np.cumsum([-1.0, *[2 / n] * n])  # step by step, as MuJoCo does
        bent.append((gamma * even**5 + (1 - gamma) * even) * (view * np.pi / 180))
    return bent[0], bent[1]


def _cells(angle: Array, border: np.ndarray) -> Array:
    """[S, n, cells] bool: angles [S, n] that are above the lower and not above the upper border [S, cells + 1]."""
    above = angle[:, None] > jnp.asarray(border, angle.dtype)[:, :, None]
    return above[:, :-1] & ~above[:, 1:]


def _channels(m: Model, d: Data, s: np.ndarray, solution: Solution, slots: ContactSlots) -> Array:
    """[S, 6, n] forces and torques on sensors' bodies by contacts, in the frames of sites; zero by others."""
    body = np.asarray(m.body_weldid)[m.site_bodyid[m.sensor_objid[s]]]
    own = jnp.asarray(np.asarray(m.body_weldid)[:, None] == body, d.qpos.dtype)
    first, second = (of_bodies(m, slots, side, own) for side in (0, 1))
    # a force is that on the second body
    sign = jnp.where(detected(m, slots)[:, None], jnp.where(first > 0, -first, second), 0).T

    wrench = wrenches(solution)
    world = jnp.stack([vector.matvec_t(slots.frame, wrench[:, k : k + 3]) for k in (0, 3)])  # [2, n, 3]
    mat = take(d.site_xmat, m.sensor_objid[s]).reshape(-1, 1, 1, 3, 3)
    local = vector.matvec_t(mat, world[None])[..., NORMAL_FIRST]  # [S, 2, n, 3]
    return jnp.moveaxis(sign[:, None, :, None] * local, 3, 2).reshape(len(s), 6, -1)


def _directions(m: Model, d: Data, s: np.ndarray, slots: ContactSlots) -> tuple[Array, Array]:
    """Azimuth and elevation [S, n] (rad) of contacts as seen from sensors' sites."""
    site = m.sensor_objid[s]
    mat, pos = take(d.site_xmat, site).reshape(-1, 1, 3, 3), take(d.site_xpos, site)[:, None]
    x, y, z = jnp.moveaxis(lax.stop_gradient(vector.matvec_t(mat, slots.pos[None] - pos)), 2, 0)
    return jnp.arctan2(x, -z), jnp.arctan2(y, jnp.hypot(x, z))
