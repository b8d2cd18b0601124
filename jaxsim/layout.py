"""How a batch of worlds is laid out: single-world code, run with the world axis last.

Stage code is written for one world. `jax.vmap` would put the world axis first, [B, n, 3], where every
small vector operation is strided. Here the traced single-world program is run again with each batched
array's world axis last, [n, 3, B]: elementwise work is contiguous over worlds, taking rows copies runs of
B numbers, and a constant matrix acts on all worlds in one product. Factorisations, which LAPACK wants
matrix by matrix, go through the world-first rule of `jax.vmap`; so does any primitive without a rule here.

`batched(fun)` is `fun` with two rules: under `vmap` it runs worlds-last, and its derivative is that of
`fun` itself. On a CPU the worlds go through in chunks, so that temporaries stay in cache and a chunk waits
for its own slowest world only.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend import core

Array = jax.Array

CHUNK = 128  # worlds per chunk on a CPU


def batched(fun: Callable) -> Callable:
    """`fun(*pytrees) -> pytree` of one world, whose batches under `jax.vmap` run worlds-last.

    Forward and reverse derivatives are those of `fun`.
    """

    @custom_vmap
    def primal(*args):
        return fun(*args)

    @primal.def_vmap
    def _(axis_size, in_batched, *args):
        out = _run_batch(fun, axis_size, in_batched, args)
        return out, jax.tree.map(lambda _: True, out)

    @jax.custom_jvp
    @functools.wraps(fun)
    def wrapped(*args):
        return primal(*args)

    @wrapped.defjvp
    def _(primals, tangents):
        return jax.jvp(fun, primals, tangents)

    return wrapped


def _run_batch(fun: Callable, size: int, in_batched: Any, args: Any) -> Any:
    """Trace one world, move batched inputs to worlds-last, run, and move outputs back."""
    leaves, tree = jax.tree.flatten(args)
    flags = jax.tree.leaves(in_batched)
    single = [x[0] if b else x for x, b in zip(leaves, flags)]
    closed, out_shape = jax.make_jaxpr(lambda *xs: fun(*jax.tree.unflatten(tree, xs)), return_shape=True)(*single)
    out_tree = jax.tree.structure(out_shape)

    def worlds_last(*xs):
        moved = [World(jnp.moveaxis(x, 0, -1)) if b else x for x, b in zip(xs, flags)]
        n = next(x.shape[0] for x, b in zip(xs, flags) if b)
        outs = _evaluate(closed.jaxpr, closed.consts, moved, n)
        return settled(lambda xs: [jnp.moveaxis(x, -1, 0) for x in xs])([_spread(x, n) for x in outs])

    return jax.tree.unflatten(out_tree, _in_chunks(worlds_last, size, flags, leaves))


def _in_chunks(fun: Callable, size: int, flags: list[bool], leaves: list[Array]) -> list[Array]:
    """Run in chunks on a CPU; the last chunk is filled with copies of the first worlds."""
    if jax.default_backend() != "cpu" or size <= CHUNK:
        return fun(*leaves)
    count = -(-size // CHUNK)
    fill = count * CHUNK - size

    def split(x):
        if fill:
            x = jnp.concatenate([x, x[:fill]])
        return x.reshape(count, CHUNK, *x.shape[1:])

    parts = [split(x) for x, b in zip(leaves, flags) if b]

    def one(chunk):
        chunk = iter(chunk)
        return fun(*[next(chunk) if b else x for x, b in zip(leaves, flags)])

    outs = lax.map(one, parts)
    return [x.reshape(count * CHUNK, *x.shape[2:])[:size] for x in outs]


def settled(fun: Callable) -> Callable:
    """`fun` as a unit that XLA neither inlines nor fuses with its surroundings, on a CPU.

    XLA's CPU backend recomputes what feeds a gather, a concatenation or a transpose once per use, and an
    optimization barrier does not stop it. A call that must not be inlined does: its operands and results
    are stored.
    """
    if jax.default_backend() != "cpu":
        return fun

    def call(*args):
        with set_xla_metadata(inlineable="false"):
            return jax.jit(fun, inline=False)(*args)

    return call


class World:
    """A batched value, held worlds-last, worlds-first, or both; the other layout is made when asked for."""

    __slots__ = ("_first", "_last")

    def __init__(self, last: Array | None = None, first: Array | None = None):
        self._last, self._first = last, first

    @property
    def array(self) -> Array:
        """The array with the world axis last."""
        if self._last is None:
            self._last = settled(lambda x: jnp.moveaxis(x, 0, -1))(self._first)
        return self._last

    @property
    def first(self) -> Array:
        """The array with the world axis first."""
        if self._first is None:
            self._first = settled(lambda x: jnp.moveaxis(x, -1, 0))(self._last)
        return self._first

    @property
    def only_first(self) -> bool:
        """Whether only the worlds-first layout exists so far."""
        return self._last is None

    @property
    def has_first(self) -> bool:
        """Whether the worlds-first layout exists already."""
        return self._first is not None


Value = Any  # World or an unbatched array


def _spread(x: Value, n: int) -> Array:
    """The array with a world axis last, broadcast if it had none."""
    return x.array if isinstance(x, World) else jnp.broadcast_to(jnp.asarray(x)[..., None], (*np.shape(x), n))


def _evaluate(jaxpr, consts, args: list[Value], n: int) -> list[Value]:
    """Run a jaxpr on values of which some are worlds-last."""
    env: dict[Any, Value] = {}

    def read(v):
        return v.val if isinstance(v, core.Literal) else env[v]

    env.update(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        inner = INLINE.get(eqn.primitive.name)
        named = NAMED.get(eqn.params.get("name", ""))
        if inner is not None and named is not None:
            outs = named(eqn, values, n)
        elif inner is not None:
            closed = eqn.params[inner]
            outs = _evaluate(closed.jaxpr, closed.consts, values, n)
        elif not any(isinstance(v, World) for v in values):
            outs = eqn.primitive.bind(*values, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        else:
            rule = RULES.get(eqn.primitive.name, _fallback)
            outs = rule(eqn, values, n)
        env.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


# primitives that only wrap another program
INLINE = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}


def _fallback(eqn, values: list[Value], n: int) -> list[Value]:
    """World-first, through the primitive's own batching rule; results moved back to worlds-last."""
    moved = [v.first if isinstance(v, World) else v for v in values]
    axes = [0 if isinstance(v, World) else None for v in values]

    def call(*xs):
        out = eqn.primitive.bind(*xs, **eqn.params)
        return out if eqn.primitive.multiple_results else [out]

    outs = jax.vmap(call, in_axes=axes, axis_size=n)(*moved)
    return [World(first=x) for x in outs]


def _elementwise(eqn, values: list[Value], n: int) -> list[Value]:
    shape = eqn.outvars[0].aval.shape
    if any(isinstance(v, World) and v.only_first for v in values) and len(shape) > 1:
        return _elementwise_first(eqn, values, n)
    operands = []
    for v in values:
        x = v.array if isinstance(v, World) else jnp.asarray(v)
        inner = x.ndim - isinstance(v, World)
        if inner < len(shape):  # a scalar operand among arrays
            ones = (1,) * (len(shape) - inner)
            x = x.reshape(ones + x.shape) if isinstance(v, World) else x.reshape(ones + x.shape)
        x = x if isinstance(v, World) else x[..., None]
        operands.append(jnp.broadcast_to(x, (*shape, n)))
    out = eqn.primitive.bind(*operands, **eqn.params)
    return [World(o) for o in out] if eqn.primitive.multiple_results else [World(out)]


def _elementwise_first(eqn, values: list[Value], n: int) -> list[Value]:
    """In the worlds-first layout, where some operand is held in that layout only."""
    shape = (n, *eqn.outvars[0].aval.shape)
    operands = []
    for v in values:
        x = v.first if isinstance(v, World) else jnp.asarray(v)[None]
        x = x.reshape(x.shape[:1] + (1,) * (len(shape) - x.ndim) + x.shape[1:])
        operands.append(jnp.broadcast_to(x, shape))
    return [World(first=eqn.primitive.bind(*operands, **eqn.params))]


def _unary(transform: Callable[[dict, int], dict]) -> Callable:
    """A rule for a one-operand primitive whose parameters need the world axis added."""

    def rule(eqn, values, n):
        x = values[0].array
        out = eqn.primitive.bind(x, **transform(dict(eqn.params), x.ndim - 1))
        return [World(o) for o in out] if eqn.primitive.multiple_results else [World(out)]

    return rule


def _broadcast_in_dim(eqn, values, n):
    p = eqn.params
    shape, dims = p["shape"], p["broadcast_dimensions"]
    return [World(lax.broadcast_in_dim(values[0].array, (*shape, n), (*dims, len(shape))))]


def _reshape(eqn, values, n):
    return [World(lax.reshape(values[0].array, (*eqn.params["new_sizes"], n)))]


def _transpose(eqn, values, n):
    p = eqn.params["permutation"]
    return [World(lax.transpose(values[0].array, (*p, len(p))))]


def _slice(eqn, values, n):
    p, x = eqn.params, values[0].array
    strides = p["strides"] or (1,) * (x.ndim - 1)
    return [World(lax.slice(x, (*p["start_indices"], 0), (*p["limit_indices"], n), (*strides, 1)))]


def _concatenate(eqn, values, n):
    parts = [v.array if isinstance(v, World) else _spread(v, n) for v in values]
    return [World(settled(lambda *xs: lax.concatenate(xs, eqn.params["dimension"]))(*parts))]


def _pad(eqn, values, n):
    x, fill = values
    config = [*eqn.params["padding_config"], (0, 0, 0)]
    if isinstance(fill, World):
        return _fallback(eqn, values, n)
    return [World(lax.pad(x.array, fill, config))]


SHORT_SUM = 128  # sums over an axis no longer than this are written out


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


def _dot_general(eqn, values, n):
    a, b = values
    ((ca, cb), (ba, bb)) = eqn.params["dimension_numbers"]
    if ba or bb:
        return _fallback(eqn, values, n)
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
        return lax.dot_general(a, b.array, dims, **p)
    x = a.array
    free = x.ndim - 1 - len(ca)  # its free axes come first, then the worlds, then those of b
    out = lax.dot_general(x, b, dims, **p)
    return jnp.moveaxis(out, free, -1)


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
    """sum_c J_c^T K_c J_c world by world: a product of matrices, which LAPACK's layout suits best."""
    J, K = values
    if not (isinstance(J, World) and isinstance(K, World)):
        closed = eqn.params["jaxpr"]
        return _evaluate(closed.jaxpr, closed.consts, values, n)

    def weigh(K, J):
        return _tree_sum([K[:, :, :, x, None] * J[:, :, None, x] for x in range(K.shape[-1])])

    left = J.first
    right = settled(weigh)(K.first, left)
    flat = (n, -1, left.shape[-1])
    dims = (((1,), (1,)), ((0,), (0,)))
    return [World(first=lax.dot_general(left.reshape(flat), right.reshape(flat), dims, precision=lax.Precision.HIGHEST))]


def _gather(eqn, values, n):
    """Rows at indices; a world's own indices become a batch dimension of the gather."""
    x, index = values
    p = dict(eqn.params)
    d = p["dimension_numbers"]
    sizes = tuple(p["slice_sizes"])
    rank = len(eqn.outvars[0].aval.shape)
    if isinstance(x, World):
        axis = x.array.ndim - 1
        if isinstance(index, World):
            # index vectors stay last, worlds before them
            starts = jnp.moveaxis(index.array, -1, -2)
            d = d._replace(
                operand_batching_dims=(*d.operand_batching_dims, axis),
                start_indices_batching_dims=(*d.start_indices_batching_dims, starts.ndim - 2),
            )
            sizes = (*sizes, 1)
        else:
            starts = index
            d = d._replace(offset_dims=(*d.offset_dims, rank))
            sizes = (*sizes, n)
        operand = x.array
    else:
        operand, starts = x, jnp.moveaxis(index.array, -1, -2)
    p.update(dimension_numbers=d, slice_sizes=sizes)
    shape = (*eqn.outvars[0].aval.shape, n)
    out = settled(lambda a, i: eqn.primitive.bind(a, i, **p))(operand, starts)
    if out.shape != shape:
        return _fallback(eqn, values, n)
    return [World(out)]


def _while(eqn, values, n):
    """Run until every world is done; worlds that are done keep their state."""
    p = eqn.params
    nc, nb = p["cond_nconsts"], p["body_nconsts"]
    cond_consts, body_consts, start = values[:nc], values[nc : nc + nb], values[nc + nb :]
    shapes = [v.aval.shape for v in eqn.outvars]
    for v in body_consts:
        if isinstance(v, World) and (v.only_first or v.array.ndim > 2):
            _ = v.first, v.array  # transposed once, outside the loop, if the loop needs it so

    def cond(carry):
        (out,) = _evaluate(p["cond_jaxpr"].jaxpr, p["cond_jaxpr"].consts, [*cond_consts, *map(World, carry)], n)
        return _spread(out, n)

    def step(carry):
        active = cond(carry)
        new = _evaluate(p["body_jaxpr"].jaxpr, p["body_jaxpr"].consts, [*body_consts, *map(World, carry)], n)
        return [
            jnp.where(active.reshape((1,) * len(s) + (n,)), _spread(b, n), a)
            for a, b, s in zip(carry, new, shapes)
        ]

    first = [_spread(v, n) for v in start]
    return [World(x) for x in lax.while_loop(lambda c: jnp.any(cond(c)), step, first)]


def _scan(eqn, values, n):
    """Scan with carries worlds-last; scanned inputs and outputs keep their leading axis."""
    p = eqn.params
    nc, nk = p["num_consts"], p["num_carry"]
    consts, carry, xs = values[:nc], values[nc : nc + nk], values[nc + nk :]
    worlds = [isinstance(x, World) for x in xs]
    body = p["jaxpr"]

    def step(carry, x):
        x = [World(a) if w else a for a, w in zip(x, worlds)]
        out = _evaluate(body.jaxpr, body.consts, [*consts, *map(World, carry), *x], n)
        out = [_spread(o, n) for o in out]
        return out[:nk], out[nk:]

    start = [_spread(c, n) for c in carry]
    arrays = [x.array if w else x for x, w in zip(xs, worlds)]
    carry, ys = lax.scan(step, start, arrays, length=p["length"], reverse=p["reverse"], unroll=p["unroll"])
    return [World(x) for x in (*carry, *ys)]


def _cond(eqn, values, n):
    """All branches run and the results are selected where worlds may differ in the choice."""
    index, *operands = values
    branches = eqn.params["branches"]
    if not isinstance(index, World):
        flags = [isinstance(v, World) for v in operands]

        def branch(closed):
            def run(*xs):
                xs = [World(x) if f else x for x, f in zip(xs, flags)]
                return [_spread(o, n) for o in _evaluate(closed.jaxpr, closed.consts, xs, n)]

            return run

        arrays = [v.array if f else v for v, f in zip(operands, flags)]
        return [World(o) for o in lax.switch(index, [branch(b) for b in branches], *arrays)]
    results = [[_spread(o, n) for o in _evaluate(b.jaxpr, b.consts, operands, n)] for b in branches]
    chosen = index.array
    outs = []
    for options in zip(*results):
        which = chosen.reshape((1,) * (options[0].ndim - 1) + (n,))
        out = options[0]
        for i, option in enumerate(options[1:], 1):
            out = jnp.where(which == i, option, out)
        outs.append(World(out))
    return outs


def _barrier(eqn, values, n):
    outs = lax.optimization_barrier([v.array if isinstance(v, World) else v for v in values])
    return [World(o) if isinstance(v, World) else o for o, v in zip(outs, values)]


def _custom_linear_solve(eqn, values, n):
    """The solution only: the derivative of a batch is taken outside."""
    lengths, closed = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    skip = lengths.matvec + lengths.vecmat
    consts = values[skip : skip + lengths.solve]
    rhs = values[sum(lengths) :]
    return _evaluate(closed.jaxpr, closed.consts, [*consts, *rhs], n)


# functions under jax.jit that have a rule of their own, by name
NAMED: dict[str, Callable] = {"gram_blocks": _gram_blocks}

ELEMENTWISE = """
abs acos acosh add and asin asinh atan atan2 atanh cbrt ceil clamp convert_element_type copy copy_p cos cosh div
eq erf exp exp2 expm1 floor ge gt imag integer_pow is_finite le log log1p logistic lt max min mul ne neg
nextafter not or pow real rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign
sin sinh sqrt square stop_gradient sub tan tanh xor
""".split()

RULES: dict[str, Callable] = {name: _elementwise for name in ELEMENTWISE} | {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _unary(lambda p, r: p),
    "expand_dims": _unary(lambda p, r: p),
    "slice": _slice,
    "split": _unary(lambda p, r: p),
    "concatenate": _concatenate,
    "pad": _pad,
    "rev": _unary(lambda p, r: p),
    "reduce_sum": _reduce_sum,
    "reduce_max": _unary(lambda p, r: p),
    "reduce_min": _unary(lambda p, r: p),
    "reduce_prod": _unary(lambda p, r: p),
    "reduce_and": _unary(lambda p, r: p),
    "reduce_or": _unary(lambda p, r: p),
    "argmax": _unary(lambda p, r: p),
    "argmin": _unary(lambda p, r: p),
    "cumsum": _unary(lambda p, r: p),
    "dot_general": _dot_general,
    "gather": _gather,
    "while": _while,
    "scan": _scan,
    "cond": _cond,
    "optimization_barrier": _barrier,
    "custom_linear_solve": _custom_linear_solve,
}
