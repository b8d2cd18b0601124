"""Products of cones: the positive numbers, and second-order cones Q = {x: x_0 >= |x_1:|} of several dimensions.

A vector of the product lies flat: first the positive numbers, then group by group the second-order cones. With
Cones(orthant=2, second=((3, 4), (1, 2))) it has 2 + 12 + 2 numbers and degree 2 + 3 + 1.

The algebra is Jordan's: in Q, b o c = (b . c, b_0 c_1: + c_0 b_1:) with the unit e = (1, 0 ...); for numbers b c and 1.

Source: Vandenberghe, The CVXOPT linear and quadratic cone program solvers, sections 4 and 8; the Dojo paper, eq. 24.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


class Cones(NamedTuple):
    """A product of cones; static."""

    orthant: int = 0  # how many positive numbers
    second: tuple[tuple[int, int], ...] = ()  # (count, dim) of each group of second-order cones

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return self.orthant + sum(count * dim for count, dim in self.second)

    @property
    def degree(self) -> int:
        """Cones: what b . c is divided by to give the mean complementarity."""
        return self.orthant + sum(count for count, _ in self.second)

    def split(self, x: Array) -> tuple[Array, list[Array]]:
        """The positive numbers [orthant], and of each group its vectors [count, dim]."""
        parts, start = [], self.orthant
        for count, dim in self.second:
            parts.append(x[start : start + count * dim].reshape(count, dim))
            start += count * dim
        return x[: self.orthant], parts

    def join(self, numbers: Array, vectors: Sequence[Array]) -> Array:
        """The flat vector [size] of what `split` gives."""
        return jnp.concatenate([numbers, *(v.reshape(-1) for v in vectors)])


def unit(cones: Cones) -> np.ndarray:
    """e [size]."""
    parts = [np.ones(cones.orthant), *(np.eye(1, dim).repeat(count, 0).ravel() for count, dim in cones.second)]
    return np.concatenate(parts)


def product(cones: Cones, b: Array, c: Array) -> Array:
    """b o c [size]."""
    return _blockwise(cones, lambda x, y: x * y, _second_product, b, c)


def quotient(cones: Cones, c: Array, r: Array) -> Array:
    """x [size] of c o x = r, for c inside the cones."""
    return _blockwise(cones, lambda x, y: y / x, _second_quotient, c, r)


def step_length(cones: Cones, x: Array, dx: Array) -> Array:
    """The largest alpha [] for which x + alpha dx is in the cones, for x inside; at most 1e6."""
    (numbers, vectors), (rates, directions) = cones.split(x), cones.split(dx)
    # one over the step length of each cone: negative where the direction stays inside
    speeds = [-rates / numbers, *(_second_speed(v, d) for v, d in zip(vectors, directions))]
    return 1 / jnp.maximum(jnp.max(jnp.concatenate(speeds)), 1e-6)


def depth(cones: Cones, x: Array) -> Array:
    """How far inside the cones x is []: its smallest eigenvalue, negative outside."""
    numbers, vectors = cones.split(x)
    return jnp.min(jnp.concatenate([numbers, *(v[:, 0] - _norm(v[:, 1:]) for v in vectors)]))


def on_path(cones: Cones, x: Array, aim: Array) -> tuple[Array, Array]:
    """The b and c [size] with b - c = x and b o c = aim [size], which is kappa e with a kappa for each cone.

    The eigenvalues of b are (x + sqrt(x^2 + 4 kappa)) / 2.
    """
    (numbers, vectors), (kappa, kappas) = cones.split(x), cones.split(aim)
    b = cones.join(_upper(numbers, kappa), [_second_upper(v, k[:, 0]) for v, k in zip(vectors, kappas)])
    return b, b - x


def _upper(x: Array, kappa: Array) -> Array:
    root = jnp.sqrt(x * x + 4 * kappa)
    return jnp.where(x > 0, 0.5 * (x + root), 2 * kappa / (root + jnp.abs(x)))


def _second_upper(x: Array, kappa: Array) -> Array:
    length = _norm(x[:, 1:])
    high, low = _upper(x[:, 0] + length, kappa), _upper(x[:, 0] - length, kappa)
    direction = x[:, 1:] / jnp.where(length > 0, length, 1)[:, None]
    return 0.5 * jnp.concatenate([(high + low)[:, None], (high - low)[:, None] * direction], axis=1)


def _blockwise(cones: Cones, scalar: Callable, second: Callable, x: Array, y: Array) -> Array:
    (a, vs), (b, ws) = cones.split(x), cones.split(y)
    return cones.join(scalar(a, b), [second(v, w) for v, w in zip(vs, ws)])


def _second_product(b: Array, c: Array) -> Array:
    first = jnp.sum(b * c, axis=1, keepdims=True)
    return jnp.concatenate([first, b[:, :1] * c[:, 1:] + c[:, :1] * b[:, 1:]], axis=1)


def _second_quotient(c: Array, r: Array) -> Array:
    """Inverse of the arrow matrix [[c_0, c_1:'], [c_1:, c_0 I]] times r."""
    head, tail = c[:, :1], c[:, 1:]
    first = (head * r[:, :1] - jnp.sum(tail * r[:, 1:], axis=1, keepdims=True)) / _determinant(c)[:, None]
    return jnp.concatenate([first, (r[:, 1:] - tail * first) / head], axis=1)


def _second_speed(x: Array, d: Array) -> Array:
    """Minus the smallest eigenvalue of the direction, seen where x is e [count].

    With x = sqrt(det) w: rho_0 = (w_0 d_0 - w_1: . d_1:) / sqrt(det), and so on; e + alpha rho is in Q up to
    alpha = 1 / (|rho_1:| - rho_0). No difference of nearly equal squares is taken but in det.
    """
    scale = jnp.sqrt(jnp.maximum(_determinant(x), jnp.finfo(x.dtype).tiny))[:, None]
    w, d = x / scale, d / scale
    first = w[:, :1] * d[:, :1] - jnp.sum(w[:, 1:] * d[:, 1:], axis=1, keepdims=True)
    rest = d[:, 1:] - w[:, 1:] * (first + d[:, :1]) / (w[:, :1] + 1)
    return _norm(rest) - first[:, 0]


def _determinant(x: Array) -> Array:
    """x_0^2 - |x_1:|^2 [count], as a product, which keeps its digits near the boundary."""
    length = _norm(x[:, 1:])
    return (x[:, 0] - length) * (x[:, 0] + length)


def _norm(x: Array) -> Array:
    """|x| [count], with a derivative at zero."""
    square = jnp.sum(x * x, axis=1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
