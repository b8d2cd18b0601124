"""Rules for sums and products of matrices."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.layout.evaluate import fallback, rule
from jaxsim.layout.world import World, settled

Array = jax.Array

SHORT_SUM = 128  # sums over an axis no longer than this are written out


REDUCTIONS = {
    "reduce_sum": lax.add,
    "reduce_prod": lax.mul,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
}


def _short(eqn) -> bool:
    """Whether a reduction is written out, so that it vectorises over worlds and fuses."""
    return all(0 < eqn.invars[0].aval.shape[axis] <= SHORT_SUM for axis in eqn.params["axes"])


@rule(*REDUCTIONS, size=lambda eqn, batched: 1 if _short(eqn) else None)
def _reduce(eqn, values, n):
    x = values[0].array
    if not _short(eqn):
        return [World(eqn.primitive.bind(x, **eqn.params))]
    for axis in sorted(eqn.params["axes"], reverse=True):
        x = _fold(REDUCTIONS[eqn.primitive.name], x, axis)
    return [World(x)]


def _fold(combine: Callable, x: Array, axis: int) -> Array:
    """Reduce over an axis by halves, with few operations."""
    left = []
    while (count := x.shape[axis]) > 1:
        half = count // 2
        if count % 2:
            left.append(lax.slice_in_dim(x, count - 1, count, axis=axis))
        x = combine(lax.slice_in_dim(x, 0, half, axis=axis), lax.slice_in_dim(x, half, 2 * half, axis=axis))
    return lax.squeeze(_tree(combine, [x, *left]), [axis])


def _tree(combine: Callable, terms: list[Array]) -> Array:
    while len(terms) > 1:
        terms = [combine(a, b) for a, b in zip(terms[::2], terms[1::2])] + terms[len(terms) & ~1 :]
    return terms[0]


def _written_out(eqn, batched: list[bool]) -> bool:
    """Whether a product is a sum of products over worlds, written out."""
    ((ca, _), (ba, bb)) = eqn.params["dimension_numbers"]
    if ba or bb or not all(batched) or len(ca) > 1:
        return False
    return not ca or eqn.invars[0].aval.shape[ca[0]] <= SHORT_SUM


def _product_size(eqn, batched: list[bool]) -> int | None:
    """Long sums of matrices count for more."""
    if not _written_out(eqn, batched):
        return None
    shapes = [v.aval.shape for v in eqn.invars]
    ((ca, _), _) = eqn.params["dimension_numbers"]
    return 1 if not ca or min(map(len, shapes)) == 1 or shapes[0][ca[0]] <= 8 else 8


@rule("dot_general", size=_product_size)
def _dot_general(eqn, values, n):
    a, b = values
    ((ca, cb), (ba, bb)) = eqn.params["dimension_numbers"]
    if ba or bb:
        return fallback(eqn, values, n)
    batched = [isinstance(v, World) for v in values]
    if not all(batched):
        return [World(_dot_constant(eqn, a, b, ca, cb))]
    if _written_out(eqn, batched):
        x, y = a.array, b.array
        if not ca:  # an outer product is a sum of one term
            x, y, ca, cb = x[None], y[None], (0,), (0,)
        return [World(settled(lambda x, y: _dot_short(x, y, ca[0], cb[0]))(x, y))]
    return [_dot_worlds_first(eqn, a, b, ca, cb)]


def _dot_constant(eqn, a, b, ca, cb):
    """One factor is the same in all worlds: a plain product with the worlds as columns."""
    p = {k: v for k, v in eqn.params.items() if k in ("precision", "preferred_element_type")}
    dims = ((ca, cb), ((), ()))
    if isinstance(b, World):
        return lax.dot_general(a, _stored(b.array), dims, **p)
    x = _stored(a.array)
    free = x.ndim - 1 - len(ca)  # its free axes come first, then the worlds, then those of b
    out = lax.dot_general(x, b, dims, **p)
    return jnp.moveaxis(out, free, -1)


def _stored(x: Array) -> Array:
    """x in memory: XLA flattens the operands of a product, and computing them by flat indices is slow."""
    return settled(lambda x: x)(x) if x.ndim > 2 else x


def _dot_short(x: Array, y: Array, cx: int, cy: int) -> Array:
    """A contraction over a short axis, written out: out[i.., j.., B]."""
    terms = []
    for k in range(x.shape[cx]):
        xk = lax.index_in_dim(x, k, cx, keepdims=False)
        yk = lax.index_in_dim(y, k, cy, keepdims=False)
        rows, shape = xk.ndim - 1, (*xk.shape[:-1], *yk.shape)
        left = lax.broadcast_in_dim(xk, shape, (*range(rows), len(shape) - 1))
        right = lax.broadcast_in_dim(yk, shape, range(rows, len(shape)))
        terms.append(left * right)
    return _tree(lax.add, terms)


def _dot_worlds_first(eqn, a: World, b: World, ca, cb) -> World:
    """Matrix products go world by world."""
    p = {k: v for k, v in eqn.params.items() if k in ("precision", "preferred_element_type")}
    dims = ((tuple(i + 1 for i in ca), tuple(i + 1 for i in cb)), ((0,), (0,)))
    return World(first=lax.dot_general(a.first, b.first, dims, **p))
