"""Forces of a fluid on a moving box and on a moving ellipsoid, and their derivatives by velocity.

Everything is in the axes of the object and per object: velocities [n, 6] relative to the fluid and forces [n, 6] are
angular (torque), then linear. These are the two models of MuJoCo's "Fluid forces" (engine_passive.c); the slopes are
their exact derivatives (engine_derivative.c). Ratios of areas are formed from unit vectors and from the ellipsoid's own
proportions, so that neither small ellipsoids nor small velocities come near zero in a denominator.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import take
from jaxsim.core.enums import MINVAL

Array = jax.Array

_SKEW = np.array([0, 2, 1, 2, 0, 0, 1, 0, 0]), np.array([0, -1, 1, 1, 0, -1, -1, 1, 0])


class Box(NamedTuple):
    """Coefficients of boxes [n] of equal inertia: force = -(viscous + quadratic |v|) v, axis by axis."""

    viscous: Array  # [n, 6]
    quadratic: Array  # [n, 6]

    def force(self, velocity: Array) -> Array:
        """Torque and force [n, 6] at velocities [n, 6]."""
        return -(self.viscous + self.quadratic * jnp.abs(velocity)) * velocity

    def slope(self, velocity: Array) -> Array:
        """Derivative [n, 6, 6] of the force by the velocity [n, 6]."""
        slope = -(self.viscous + 2 * self.quadratic * jnp.abs(velocity))
        return slope[:, :, None] * jnp.eye(6, dtype=slope.dtype)[None]

    def drag_slope(self, velocity: Array) -> Array:
        """The same: there is nothing but drag."""
        return self.slope(velocity)


def box_coefficients(inertia: Array, mass: Array, density: Array, viscosity: Array) -> Box:
    """Box for principal inertias [n, 3] (kg m^2) and masses [n] (kg); those without mass feel nothing."""
    massive = (mass >= MINVAL)[:, None]
    a, b = _others(inertia)
    size = jnp.sqrt(jnp.maximum(a + b - inertia, MINVAL) / jnp.where(massive, mass[:, None], 1) * 6)
    a, b = _others(size)
    diameter = jnp.sum(size, axis=-1, keepdims=True) / 3  # of a sphere, for the viscous part
    ones = jnp.ones_like(size)
    viscous = vector.join(np.pi * diameter**3 * ones, 3 * np.pi * diameter * ones)
    quadratic = vector.join(size * (a**4 + b**4) / 64, a * b / 2)
    return Box(jnp.where(massive, viscosity * viscous, 0), jnp.where(massive, density * quadratic, 0))


def _others(x: Array) -> tuple[Array, Array]:
    """The other two components beside each of [n, 3]."""
    return take(x, vector.NEXT, 1), take(x, vector.AFTER, 1)


class Ellipsoid(NamedTuple):
    """Coefficients of ellipsoids [n], in columns [n, 1] but for the three axes [n, 3]."""

    density: Array  # [] kg/m^3
    scale: Array  # 1, of all forces
    blunt: Array  # kg/m^3, coefficient times density, as the next two
    slender: Array
    kutta: Array
    magnus: Array  # kg, coefficient times density and volume
    mass: Array  # [n, 3] kg, of the fluid that moves along
    inertia: Array  # [n, 3] kg m^2, of that fluid
    share: Array  # [n, 3] 1, squares of the cross sections along the axes over the square of the widest
    widest: Array  # m^2, largest cross section
    drag_moment: Array  # [n, 3] m^5
    viscous_force: Array  # kg/s
    viscous_torque: Array  # kg m^2/s

    def force(self, velocity: Array) -> Array:
        """Torque and force [n, 6] at velocities [n, 6].

        They come from the added mass, from lift by rotation (Magnus) and by circulation (Kutta), and from drag.
        """
        w, v = spatial.halves(velocity)
        flow = _flow(self, v)
        momentum, spin = self.mass * v, self.inertia * w
        # (normal x v) x v with the normal along share v, times the area and the cosine of the angle between the two
        lift = (
            self.kutta * self.widest * jnp.sqrt(flow.first / flow.second) * flow.speed * (flow.first - self.share) * v
        )
        drag = self.viscous_force + flow.speed * flow.pressure(self)
        force = vector.cross(momentum, w) + self.magnus * vector.cross(w, v) + lift - drag * v
        twist = self.viscous_torque + self.density * vector.norm(self.drag_moment * w)[:, None]
        torque = vector.cross(momentum, v) + vector.cross(spin, w) - twist * w
        return self.scale * vector.join(torque, force)

    def slope(self, velocity: Array) -> Array:
        """Derivative [n, 6, 6] of the force by the velocity [n, 6]."""
        w, v = spatial.halves(velocity)
        flow = _flow(self, v)
        cross_w, cross_v = _skew(w), _skew(v)
        cross_momentum, cross_spin = _skew(self.mass * v), _skew(self.inertia * w)
        mass, inertia, magnus = self.mass[:, None], self.inertia[:, None], self.magnus[:, :, None]
        torque = (
            cross_spin - cross_w * inertia + _twist_slope(self, w),
            cross_momentum - cross_v * mass,
        )
        force = (
            cross_momentum - magnus * cross_v,
            magnus * cross_w - cross_w * mass + _lift_slope(self, flow) + _drag_slope(self, flow, v),
        )
        slope = jnp.concatenate([jnp.concatenate(half, axis=2) for half in (torque, force)], axis=1)
        return self.scale[:, :, None] * slope

    def drag_slope(self, velocity: Array) -> Array:
        """The same [n, 6, 6] of the drag alone."""
        w, v = spatial.halves(velocity)
        nothing = jnp.zeros((*w.shape, 3), w.dtype)
        torque, force = (_twist_slope(self, w), nothing), (nothing, _drag_slope(self, _flow(self, v), v))
        slope = jnp.concatenate([jnp.concatenate(half, axis=2) for half in (torque, force)], axis=1)
        return self.scale[:, :, None] * slope


def ellipsoid_coefficients(axes: Array, fluid: Array, density: Array, viscosity: Array) -> Ellipsoid:
    """Ellipsoid for semi-axes [n, 3] (m) and rows [n, 12] of geom_fluid."""
    scale, blunt, slender, angular, kutta, magnus = vector.columns(fluid[:, :6])
    x, y, z = vector.columns(axes)
    large, small = jnp.maximum(jnp.maximum(x, y), z), jnp.minimum(jnp.minimum(x, y), z)
    total = x + y + z
    middle = total - large - small
    a, b = _others(axes)
    own = 8 / 15 * np.pi * axes * jnp.maximum(a, b) ** 4
    most = 8 / 15 * np.pi * middle * large**4
    return Ellipsoid(
        density,
        scale,
        density * blunt,
        density * slender,
        density * kutta,
        density * magnus * (4 / 3 * np.pi) * (x * y * z),
        density * fluid[:, 6:9],
        density * fluid[:, 9:],
        (a * b / (large * middle)) ** 2,
        np.pi * large * middle,
        angular * own + slender * (most - own),
        viscosity * (2 * np.pi) * total,
        viscosity * np.pi * (2 / 3 * total) ** 3,
    )


class _Flow(NamedTuple):
    """The ellipsoid as the fluid meets it, in columns [n, 1] but for the direction."""

    speed: Array  # m/s
    direction: Array  # [n, 3] of the velocity; any at rest, where it does not matter
    first: Array  # sum of share direction^2
    second: Array  # sum of share^2 direction^2
    section: Array  # m^2, projected area

    def pressure(self, e: Ellipsoid) -> Array:
        """Drag per squared speed [n, 1] (kg/m)."""
        return self.section * e.blunt + e.slender * (e.widest - self.section)


def _flow(e: Ellipsoid, v: Array) -> _Flow:
    direction, speed = vector.normalize_with_norm(v)
    first = jnp.sum(e.share * direction**2, axis=-1, keepdims=True)
    second = jnp.sum((e.share * direction) ** 2, axis=-1, keepdims=True)
    return _Flow(speed[:, None], direction, first, second, e.widest * jnp.sqrt(second / first))


def _skew(x: Array) -> Array:
    """[n, 3, 3] with skew(x) y = x cross y, for x [n, 3]."""
    index, sign = _SKEW
    return (take(x, index, 1) * jnp.asarray(sign[None], x.dtype)).reshape(-1, 3, 3)


def _outer(a: Array, b: Array) -> Array:
    return a[:, :, None] * b[:, None]


def _diagonal(x: Array) -> Array:
    """[n, 3, 3] of diagonals [n, 3] or [n, 1]."""
    return x[:, :, None] * jnp.eye(3, dtype=x.dtype)[None]


def _twist_slope(e: Ellipsoid, w: Array) -> Array:
    """Of -(viscous torque + density |moment w|) w, [n, 3, 3]."""
    moment = e.drag_moment * w
    rate = e.density / jnp.maximum(vector.norm(moment)[:, None], MINVAL)
    gradient = rate * e.drag_moment * moment
    return -_diagonal(e.viscous_torque + vector.dot(w, gradient)[:, None]) - _outer(w, gradient)


def _drag_slope(e: Ellipsoid, flow: _Flow, v: Array) -> Array:
    """Of -(viscous + speed pressure) v, [n, 3, 3]."""
    u, first, second = flow.direction, flow.first, flow.second
    turn = e.widest * e.share * u * (e.share * first - second) / (first * jnp.sqrt(first * second))  # of the area
    gradient = flow.pressure(e) * u + (e.blunt - e.slender) * turn
    return -_outer(v, gradient) - _diagonal(flow.pressure(e) * flow.speed + e.viscous_force)


def _lift_slope(e: Ellipsoid, flow: _Flow) -> Array:
    """Of the lift by circulation, [n, 3, 3]."""
    u, share, first, second = flow.direction, e.share, flow.first, flow.second
    rate = e.kutta * e.widest * flow.speed / jnp.sqrt(first * second)
    off = (share - first) * u
    change = (share**2 * (first / second) - share + first) * u
    across = _outer(2 * first * u, share * u) - _outer(2 * first * share * u, u)
    return rate[:, :, None] * (across + _outer(off, change) - _diagonal((share - first) * first))
