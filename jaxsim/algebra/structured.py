"""Products with matrices that have a structure, whose derivatives follow the structure.

The mass matrix M and the contact Jacobian J are computed once and multiplied many times, so they are formed. To
differentiate M x with respect to positions is another matter: the derivatives of M are nv matrices, while M x is a
sweep over the tree, and the derivative of a sweep costs as much as a sweep. So a product here takes the matrix, and
the few arrays from which it follows with a function that multiplies without it:

    matrix  [n, k] @ x [k]                        the value
    apply(factors, x)                             the same; what is differentiated with respect to factors
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from jaxsim.algebra.blocks import Blocks, times

Array = jax.Array
Apply = Callable[[Any, Array], Array]


def product(apply: Apply, matrix: Array | Blocks, factors: Any, x: Array) -> Array:
    """matrix [n, k] times x [k] -> [n], where `apply(factors, x)` is the same and linear in x."""
    return _product(times, apply, matrix, factors, x)


def product_t(apply: Apply, matrix: Array, factors: Any, x: Array) -> Array:
    """matrix [n, k] transposed times x [n] -> [k], where `apply(factors, ...)` multiplies by the matrix."""

    def apply_t(factors: Any, x: Array) -> Array:
        column = jax.ShapeDtypeStruct(matrix.shape[1:], x.dtype)
        return jax.linear_transpose(lambda y: apply(factors, y), column)(x)[0]

    return _product(_times_t, apply_t, matrix, factors, x)


def _times_t(matrix: Array, x: Array) -> Array:
    return lax.dot(x, matrix, precision=lax.Precision.HIGHEST)


def derivative_along(fun: Callable[[Any], Any], x: Any, dot: Any) -> Any:
    """The derivative of `fun` at a pytree x along `dot`, some leaves of which are SymbolicZero; None if all are."""
    leaves, tree = jax.tree.flatten(x)
    dots = jax.tree.leaves(dot)
    moving = [i for i, dot in enumerate(dots) if not isinstance(dot, SymbolicZero)]
    if not moving:
        return None

    def along(*moved):
        every = list(leaves)
        for i, leaf in zip(moving, moved):
            every[i] = leaf
        return fun(jax.tree.unflatten(tree, every))

    return jax.jvp(along, tuple(leaves[i] for i in moving), tuple(dots[i] for i in moving))[1]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _product(by: Apply, apply: Apply, matrix: Array | Blocks, factors: Any, x: Array) -> Array:
    return by(matrix, x)


def _product_jvp(by: Apply, apply: Apply, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The matrix's own tangent says nothing new: it is that of the factors."""
    matrix, factors, x = primals
    _, factors_dot, x_dot = tangents
    parts = []
    if not isinstance(x_dot, SymbolicZero):
        parts.append(_product(by, apply, matrix, factors, x_dot))
    if (change := derivative_along(lambda factors: apply(factors, x), factors, factors_dot)) is not None:
        parts.append(change)
    out = _product(by, apply, matrix, factors, x)
    return out, sum(parts[1:], parts[0]) if parts else jnp.zeros_like(out)


_product.defjvp(_product_jvp, symbolic_zeros=True)
