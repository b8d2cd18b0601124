"""Rules for sums and products of matrices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.evaluate import NAMED, evaluate, fallback, rule
from jaxsim.layout.world import World, settled

Array = jax.Array

SHORT_SUM = 128  # sums over an axis no longer than this are written out


@rule("reduce_sum")
def _reduce_sum(eqn, values, n):
    """Sums over short axes are written out, so that they vectorise over worlds and fuse."""
    x = values[0].array
    for axis in sorted(eqn.params["axes"], reverse=True):
        x = _sum(x, axis)
    return [World(x)]


def _sum(x: Array, axis: int) -> Array:
    k = x.shape[axis]
    if not 0 < k <= SHORT_SUM:
        return lax.reduce(x, np.zeros((), x.dtype), lax.add, (axis,))
    return _tree_sum([lax.index_in_dim(x, i, axis, keepdims=False) for i in range(k)])


def _tree_sum(terms: list[Array]) -> Array:
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2])] + terms[len(terms) & ~1 :]
    return terms[0]


@rule("dot_general")
def _dot_general(eqn, values, n):
    a, b = values
    ((ca, cb), (ba, bb)) = eqn.params["dimension_numbers"]
    if ba or bb:
        return fallback(eqn, values, n)
    both = isinstance(a, World) and isinstance(b, World)
    if not both:
        return [World(_dot_constant(eqn, a, b, ca, cb))]
    x, y = a.array, b.array
    few = x.shape[ca[0]] <= 8 or min(x.ndim, y.ndim) == 2  # a short sum, or one factor is a vector
    if len(ca) == 1 and few and x.shape[ca[0]] <= SHORT_SUM:
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
        left = xk.reshape(*xk.shape[:-1], *(1,) * (yk.ndim - 1), xk.shape[-1])
        right = yk.reshape(*(1,) * (xk.ndim - 1), *yk.shape)
        shape = (*xk.shape[:-1], *yk.shape)
        terms.append(jnp.broadcast_to(left, shape) * jnp.broadcast_to(right, shape))
    return _tree_sum(terms)


def _dot_worlds_first(eqn, a: World, b: World, ca, cb) -> World:
    """Matrix products go world by world."""
    p = {k: v for k, v in eqn.params.items() if k in ("precision", "preferred_element_type")}
    dims = ((tuple(i + 1 for i in ca), tuple(i + 1 for i in cb)), ((0,), (0,)))
    return World(first=lax.dot_general(a.first, b.first, dims, **p))


def _gram_blocks(eqn, values, n):
    """sum_c J_c^T K_c J_c, written out if that is short, else world by world."""
    J, K = values
    if not (isinstance(J, World) and isinstance(K, World)):
        closed = eqn.params["jaxpr"]
        return evaluate(closed.jaxpr, closed.consts, values, n)
    blocks, dim, nv = eqn.invars[0].aval.shape
    if jax.default_backend() == "cpu" and blocks * dim <= SHORT_SUM:
        weighted = settled(lambda K, J: _tree_sum([K[:, :, x, None] * J[:, None, x] for x in range(dim)]))
        flat = (blocks * dim, nv, n)
        return [World(_dot_short(J.array.reshape(flat), weighted(K.array, J.array).reshape(flat), 0, 0))]

    def weigh(K, J):
        return _tree_sum([K[:, :, :, x, None] * J[:, :, None, x] for x in range(dim)])

    left = J.first
    right = settled(weigh)(K.first, left)
    rows = (n, blocks * dim, nv)
    dims = (((1,), (1,)), ((0,), (0,)))
    return [
        World(first=lax.dot_general(left.reshape(rows), right.reshape(rows), dims, precision=lax.Precision.HIGHEST))
    ]


NAMED["gram_blocks"] = _gram_blocks
