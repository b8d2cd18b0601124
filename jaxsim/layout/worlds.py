"""The primitive that runs a program in a world, or in all worlds of a batch.

One equation stands for a whole step, so that its derivatives can be chosen here rather than found in the thousands
of operations of a batch:

- `vmap` marks operands as batched; a batch of a batch is one larger batch. How the batch runs is decided when
  the program is compiled for a platform: worlds-last and in chunks on a CPU, by `jax.vmap` elsewhere.
- The derivative is another such equation, linear in the tangents, and its transpose a third one. They read the
  inputs of the program and what it kept, and compute all else anew: to differentiate a rollout, nothing else
  is stored of a step.
- A batch of tangents, or of cotangents, in one world becomes columns of one program: `jax.jacfwd` and
  `jax.jacrev` compute the world once and factor its matrices once.
"""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.layout.batch import among, in_chunks, packed
from jaxsim.layout.program import Program
from jaxsim.layout.tracing import uncollected
from jaxsim.layout.unstable import Primitive, Zero, is_linear_input, jaxpr_as_fun, rules, zero_of

Array = jax.Array

MANY = 8192  # worlds that run at once where there is no cache to stay in, of those that are asked for
PLAIN = "JAXSIM_LAYOUT"  # an environment variable; "plain" runs all batches by jax.vmap, to find faults

worlds_p = Primitive("worlds")
worlds_p.multiple_results = True


def batched(fun: Callable, replay: Callable | None = None) -> Callable:
    """A function of one world, whose batches and derivatives run as this package does.

    Args:
        fun: `fun(*pytrees) -> pytree`, or with `replay`, `-> (pytree, kept)`.
        replay: `replay(kept, *pytrees) -> pytree`, the same function for differentiation: its derivatives are those
            of `fun`, with `kept`, the pytree of reals that `fun` returned, taken as constant.

    Returns:
        `fun` without `kept`, differentiable in both modes to any order and under any nesting of `jax.vmap`.
    """

    @uncollected()
    def wrapped(*args):
        leaves, tree = jax.tree.flatten(args)
        avals = [_type(jax.typeof(x)) for x in leaves]

        def flat(*xs):
            out = fun(*jax.tree.unflatten(tree, xs))
            return out if replay else (out, ())

        closed, (out, kept) = jax.make_jaxpr(flat, return_shape=True)(*avals)
        inside = list(map(_type, jax.tree.leaves(kept)))

        def again():
            def run(k, *xs):
                return replay(jax.tree.unflatten(jax.tree.structure(kept), k), *jax.tree.unflatten(tree, xs))

            again, shape = jax.make_jaxpr(run, return_shape=True)(inside, *avals)
            if list(map(_type, jax.tree.leaves(shape))) != list(map(_type, jax.tree.leaves(out))):
                raise TypeError("replay and the function give results of different shapes")
            return again

        program = Program(closed, len(inside), again if replay else None)
        outs = worlds_p.bind(*leaves, program=program, mapped=None, size=None, asked=False)
        return jax.tree.unflatten(jax.tree.structure(out), outs[: len(outs) - len(inside)])

    return wrapped


def where_asked(fun: Callable) -> Callable:
    """A function mapped over lanes, for those that are asked for: the lanes of all worlds of a batch run side by side.

    Args:
        fun: `fun(*pytrees) -> pytree` of one lane; what is traced has to be among its arguments.

    Returns:
        `(asked [n], shared, *pytrees [n, ...]) -> pytree [n, ...]`, zero where not asked, where `fun` takes `shared`,
        which all lanes have in common, before the others. Differentiable as `batched` is. Where some lanes are known to
        take longer than others, asked may be int32: 0, or the turn from 1 to TURNS in which a lane runs, beside others
        of the same turn.
    """

    def one(asked, shared, *args):
        leaves, tree = jax.tree.flatten((shared, *args))

        def flat(*xs):
            return fun(*jax.tree.unflatten(tree, xs))

        closed, out = jax.make_jaxpr(flat, return_shape=True)(*[_type(jax.typeof(x)) for x in leaves])
        outs = worlds_p.bind(asked, *leaves, program=Program(closed), mapped=None, size=None, asked=True)
        return jax.tree.unflatten(jax.tree.structure(out), outs)

    def wrapped(asked, shared, *args):
        return jax.vmap(one, in_axes=(0, None, *[0] * len(args)))(asked, shared, *args)

    return wrapped


def _type(x: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype, without the mesh of devices under which a value was traced."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _run(
    *operands: Array, program: Program, mapped: tuple[bool, ...] | None, size: int | None, asked: bool
) -> list[Array]:
    """A program of one world, or of many by `jax.vmap`."""
    run = jaxpr_as_fun(program.closed)
    if asked:
        run = _if_asked(run, program.outputs)
    if mapped is None:
        return run(*operands)
    if not any(mapped):
        return [jnp.broadcast_to(x[None], (size, *x.shape)) for x in run(*operands)]
    return jax.vmap(run, [0 if m else None for m in mapped], axis_size=size)(*operands)


def _if_asked(run: Callable, types: list) -> Callable:
    """A program of one world that gives zeros if its first operand [] is False."""

    def nothing(*_: Array) -> list[Array]:
        return [jnp.zeros(t.shape, t.dtype) for t in types]

    return lambda on, *xs: lax.cond(on, run, nothing, *xs)


def _run_elsewhere(
    *operands: Array, program: Program, mapped: tuple[bool, ...] | None, size: int | None, asked: bool
) -> list[Array]:
    """By `jax.vmap`; where it is asked for some worlds of many, for those alone."""
    if not asked or mapped is None or not any(mapped) or not size:
        return _run(*operands, program=program, mapped=mapped, size=size, asked=asked)
    own, rest = mapped[1:], operands[1:]
    run = jax.vmap(jaxpr_as_fun(program.closed), [0 if m else None for m in own], axis_size=min(size, MANY))
    return packed(_each(operands[0], mapped[0], size), run, min(size, MANY), program.outputs, own, rest)


@uncollected()
def _run_on_cpu(
    *operands: Array, program: Program, mapped: tuple[bool, ...] | None, size: int | None, asked: bool
) -> list[Array]:
    if mapped is None or not any(mapped) or not size or os.environ.get(PLAIN) == "plain":
        return _run(*operands, program=program, mapped=mapped, size=size, asked=asked)
    if asked:
        return among(_each(operands[0], mapped[0], size), program.closed, size, mapped[1:], operands[1:])
    return in_chunks(program.closed, size, mapped, operands)


def _each(flag: Array, mapped: bool, size: int) -> Array:
    """Flags [size], of one that may be that of all."""
    return flag if mapped else jnp.broadcast_to(flag[None], (size,))


def _impl(*operands: Array, program: Program, mapped: Any, size: Any, asked: bool) -> list[Array]:
    def run(*xs):
        return worlds_p.bind(*xs, program=program, mapped=mapped, size=size, asked=asked)

    return program.once(("impl", mapped, size, asked), lambda: jax.jit(run))(*operands)


def _abstract(*_: Any, program: Program, mapped: Any, size: int | None, asked: bool) -> list:
    lead = () if mapped is None else (size,)
    return [jax.core.ShapedArray((*lead, *t.shape), t.dtype) for t in program.outputs]


def _batch(
    operands: Any, axes: Any, *, program: Program, mapped: Any, size: int | None, asked: bool
) -> tuple[list, list]:
    """Columns of the world where only linear inputs are batched, else more worlds."""
    count = next(x.shape[a] for x, a in zip(operands, axes) if a is not None)
    fixed = len(operands) - program.linear
    if program.linear and all(a is None for a in axes[:fixed]):
        place = [0 if mapped is None or not m else 1 for m in mapped or [False] * len(operands)]
        moved = [x if a is None else jnp.moveaxis(x, a, p) for x, a, p in zip(operands, axes, place)]
        columns = program.columns(tuple(a is not None for a in axes[asked:]), count)
        outs = worlds_p.bind(*moved, program=columns, mapped=mapped, size=size, asked=asked)
        return outs, [0 if mapped is None else 1] * len(outs)
    moved = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(operands, axes)]
    if mapped is None:
        flags = tuple(a is not None for a in axes)
        outs = worlds_p.bind(*moved, program=program, mapped=flags, size=count, asked=asked)
        return outs, [0] * len(outs)
    every = tuple(m or a is not None for m, a in zip(mapped, axes))
    moved = [_spread(x, a is not None, m, count, size) for x, a, m in zip(moved, axes, mapped)]
    outs = worlds_p.bind(*moved, program=program, mapped=every, size=count * size, asked=asked)
    return [x.reshape(count, size, *x.shape[1:]) for x in outs], [0] * len(outs)


def _spread(x: Array, outer: bool, inner: bool, count: int, size: int) -> Array:
    """An operand with the two batch axes [count, size] as one; as it is if it has neither."""
    if not outer and not inner:
        return x
    shape = x.shape[outer + inner :]
    x = x if outer else x[None]
    x = x if inner else x[:, None]
    return jnp.broadcast_to(x, (count, size, *shape)).reshape(count * size, *shape)


def _jvp(
    primals: Any, tangents: Any, *, program: Program, mapped: Any, size: int | None, asked: bool
) -> tuple[list, list]:
    source = program.source
    outs = worlds_p.bind(*primals, program=source, mapped=mapped, size=size, asked=asked)
    head, primals, tangents = primals[:asked], primals[asked:], tangents[asked:]
    moving = tuple(not isinstance(t, Zero) and jnp.issubdtype(t.dtype, jnp.inexact) for t in tangents)
    dots: list = [zero_of(jax.typeof(x)) for x in outs]
    if any(moving):
        derivative = source.tangents(moving)
        kept = outs[len(outs) - source.kept :] if source.kept else []
        every = [*kept, *primals]
        known = [every[i] for i in derivative.operands]
        flags = None
        if mapped is not None:
            own = mapped[asked:]
            of_every = (*[True] * source.kept, *own)
            flags = (*mapped[:asked], *(of_every[i] for i in derivative.operands), *(own[i] for i in derivative.moving))
        dotted = [tangents[i] for i in derivative.moving]
        moved = worlds_p.bind(*head, *known, *dotted, program=derivative.program, mapped=flags, size=size, asked=asked)
        for i, dot in zip(derivative.results, moved):
            dots[i] = dot
    return [outs[i] for i in program.shown], [dots[i] for i in program.shown]


def _transpose(cotangents: Any, *operands: Any, program: Program, mapped: Any, size: int | None, asked: bool) -> list:
    head, operands, none = operands[:asked], operands[asked:], [None] * asked
    first, mapped = (None, None) if mapped is None else (mapped[:asked], mapped[asked:])
    unknown = tuple(map(is_linear_input, operands))
    pulled = tuple(not isinstance(c, Zero) for c in cotangents)
    results: list = [None] * len(operands)
    if not any(pulled):
        return none + results
    transpose = program.cotangents(unknown, pulled)
    flags = None
    if mapped is not None:
        flags = (*first, *(mapped[i] for i in transpose.operands), *[True] * len(transpose.pulled))
    outs = worlds_p.bind(
        *head,
        *[operands[i] for i in transpose.operands],
        *[cotangents[i] for i in transpose.pulled],
        program=transpose.program,
        mapped=flags,
        size=size,
        asked=asked,
    )
    for i, out in zip(transpose.results, outs):
        # what all worlds share gets the sum of what they pull
        results[i] = out if mapped is None or mapped[i] else jnp.sum(out, axis=0)
    return none + results


def _dead(used: tuple[bool, ...], eqn: Any) -> tuple[list[bool], Any]:
    """The equation for the results that something reads."""
    if not any(used):
        return [False] * len(eqn.invars), None
    if all(used):
        return [True] * len(eqn.invars), eqn
    p = dict(eqn.params)
    p["program"], taken = p["program"].part(used)
    taken = (*[True] * p["asked"], *taken)
    if p["mapped"] is not None:
        p["mapped"] = tuple(m for m, t in zip(p["mapped"], taken) if t)
    inputs, outputs = (
        [v for v, f in zip(variables, flags) if f] for variables, flags in ((eqn.invars, taken), (eqn.outvars, used))
    )
    return list(taken), eqn.replace(invars=inputs, outvars=outputs, params=p)


rules(
    worlds_p,
    abstract=_abstract,
    impl=_impl,
    batch=_batch,
    cpu=_run_on_cpu,
    default=_run_elsewhere,
    jvp=_jvp,
    transpose=_transpose,
    dead=_dead,
)
