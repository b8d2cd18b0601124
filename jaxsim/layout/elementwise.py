"""Rules for elementwise primitives, for those that reshape, and for gathers."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.evaluate import SIZES, fallback, one, rule
from jaxsim.layout.world import Value, World, settled, spread

Array = jax.Array

ELEMENTWISE = [
    "abs",
    "acos",
    "acosh",
    "add",
    "add_any",
    "and",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "convert_element_type",
    "copy",
    "copy_p",
    "cos",
    "cosh",
    "div",
    "eq",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "not",
    "or",
    "population_count",
    "pow",
    "real",
    "rem",
    "round",
    "rsqrt",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
    "xor",
]


SIZES["iota"] = one


@rule(*ELEMENTWISE, size=one)
def _elementwise(eqn, values: list[Value], n: int) -> list[Value]:
    shape = eqn.outvars[0].aval.shape
    if any(isinstance(v, World) and v.only_first for v in values) and len(shape) > 1:
        return _elementwise_first(eqn, values, n)
    out = eqn.primitive.bind(*[_filling(v, (*shape, n)) for v in values], **eqn.params)
    return [World(o) for o in out] if eqn.primitive.multiple_results else [World(out)]


def _filling(v: Value, shape: tuple[int, ...]) -> Array:
    """An operand of one world, a scalar or of the rank of the result, in the shape of the result, worlds last."""
    if not isinstance(v, World):
        return lax.broadcast_in_dim(v, shape, range(np.ndim(v)))
    x = v.array
    if x.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, [*range(x.ndim - 1), len(shape) - 1])


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


@rule("broadcast_in_dim", size=one)
def _broadcast_in_dim(eqn, values, n):
    p = eqn.params
    shape, dims = p["shape"], p["broadcast_dimensions"]
    return [World(lax.broadcast_in_dim(values[0].array, (*shape, n), (*dims, len(shape))))]


@rule("reshape", size=one)
def _reshape(eqn, values, n):
    return [World(lax.reshape(values[0].array, (*eqn.params["new_sizes"], n)))]


@rule("transpose", size=one)
def _transpose(eqn, values, n):
    p = eqn.params["permutation"]
    return [World(lax.transpose(values[0].array, (*p, len(p))))]


@rule("slice", size=one)
def _slice(eqn, values, n):
    p, x = eqn.params, values[0].array
    strides = p["strides"] or (1,) * (x.ndim - 1)
    return [World(lax.slice(x, (*p["start_indices"], 0), (*p["limit_indices"], n), (*strides, 1)))]


@rule("concatenate", size=one)
def _concatenate(eqn, values, n):
    parts = [v.array if isinstance(v, World) else spread(v, n) for v in values]
    return [World(settled(lambda *xs: lax.concatenate(xs, eqn.params["dimension"]))(*parts))]


@rule("stack", size=one)
def _stack(eqn, values, n):
    return [World(eqn.primitive.bind(*[spread(v, n) for v in values], **eqn.params))]


@rule("unstack", size=one)
def _unstack(eqn, values, n):
    x, axis = values[0].array, eqn.params["axis"]
    return [World(lax.index_in_dim(x, i, axis, keepdims=False)) for i in range(x.shape[axis])]


@rule("pad", size=lambda eqn, batched: None if batched[1] else 1)
def _pad(eqn, values, n):
    x, fill = values
    config = [*eqn.params["padding_config"], (0, 0, 0)]
    if isinstance(fill, World):
        return fallback(eqn, values, n)
    return [World(lax.pad(x.array, fill, config))]


@rule("gather", size=one)
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
    shape = (*eqn.outvars[0].aval.shape, n)
    wide = starts.shape
    if isinstance(index, World) and _of_rows(eqn):
        wide, d = _one_by_one(wide, shape, operand.ndim)
        sizes = (1,) * operand.ndim
    p.update(dimension_numbers=d, slice_sizes=sizes)

    def rows(operand: Array, starts: Array) -> Array:
        if wide != starts.shape:
            first = starts.ndim - 2
            starts = lax.broadcast_in_dim(starts, wide, (*range(first), len(wide) - 2, len(wide) - 1))
        return eqn.primitive.bind(operand, starts, **p)

    out = settled(rows)(operand, starts)
    if out.shape != shape:
        return fallback(eqn, values, n)
    return [World(out)]


def _of_rows(eqn) -> bool:
    """Whether whole rows [*k, *row] of an operand [n, *row] are gathered."""
    d, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    x, index = (v.aval.shape for v in eqn.invars)
    first = len(index) - 1
    plain = lax.GatherDimensionNumbers(tuple(range(first, first + len(x) - 1)), (0,), (0,))
    return d == plain and tuple(sizes) == (1, *x[1:])


def _one_by_one(
    starts: tuple[int, ...], shape: tuple[int, ...], rank: int
) -> tuple[tuple[int, ...], lax.GatherDimensionNumbers]:
    """For indices of rows in the shape [*k, worlds, 1] and a result in [*k, *row, worlds]: the shape of those of their
    numbers, and how these are gathered from an operand of some rank.

    XLA's CPU backend lays out whole rows with the worlds before their numbers. LLVM then makes the loads of one number
    of all worlds, which are some numbers apart, at once, but for those of the last world, whose results it rounds
    otherwise.
    """
    first = len(starts) - 2
    batch = tuple(range(first, first + rank - 1))
    return (*shape, 1), lax.GatherDimensionNumbers((), (0,), (0,), tuple(range(1, rank)), batch)


_SAME = _unary(lambda params, rank: params)  # axes keep their numbers, the world axis coming last
rule("squeeze", "split", "rev", size=one)(_SAME)
rule("cumsum")(_SAME)

SHORT = 8  # elements up to which XLA's own way to find the largest serves as well


@rule("argmax", "argmin")
def _first_best(eqn, values, n):
    """The largest or least element, then the first that is no worse: both vectorise over worlds, XLA's pairs do not."""
    (axis,), x = eqn.params["axes"], values[0].array
    size, kind = x.shape[axis], eqn.params["index_dtype"]
    if size <= SHORT:
        return _SAME(eqn, values, n)
    most = eqn.primitive.name == "argmax"

    def first(x):
        best = (jnp.max if most else jnp.min)(x, axis=axis, keepdims=True)
        worse = x < best if most else x > best
        return jnp.min(jnp.where(worse, size - 1, lax.broadcasted_iota(kind, x.shape, axis)), axis=axis)

    return [World(settled(first)(x))]
