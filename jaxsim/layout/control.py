"""Rules for loops, branches and barriers."""

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.layout.evaluate import evaluate, program_size, rule
from jaxsim.layout.queue import LANES, is_queued, run_queue
from jaxsim.layout.world import World, spread, within

LARGE = 300  # operations from which a branch that no world takes is left out


@rule("while")
def _while(eqn, values, n):
    """Run until every world is done; worlds that are done keep their state."""
    p = eqn.params
    nc, nb = p["cond_nconsts"], p["body_nconsts"]
    cond_consts, body_consts, start = values[:nc], values[nc : nc + nb], values[nc + nb :]
    shapes = [v.aval.shape for v in eqn.outvars]
    if n > LANES and is_queued(eqn):
        return _queue(p, cond_consts, body_consts, start, n)
    for v in body_consts:
        if isinstance(v, World) and (v.only_first or v.array.ndim > 2):
            _ = v.first, v.array  # transposed once, outside the loop, if the loop needs it so

    def cond(carry):
        (out,) = evaluate(p["cond_jaxpr"].jaxpr, p["cond_jaxpr"].consts, [*within(cond_consts), *map(World, carry)], n)
        return spread(out, n)

    def step(carry):
        active = cond(carry)
        new = evaluate(p["body_jaxpr"].jaxpr, p["body_jaxpr"].consts, [*within(body_consts), *map(World, carry)], n)
        return [jnp.where(_before(active, len(s)), spread(b, n), a) for a, b, s in zip(carry, new, shapes)]

    first = [spread(v, n) for v in start]
    return [World(x) for x in lax.while_loop(lambda c: any_by_product(cond(c)), step, first)]


def _queue(p, cond_consts: list, body_consts: list, start: list, n: int) -> list[World]:
    """A loop through a queue of worlds (see `queue`)."""
    known = [*cond_consts, *body_consts]
    own = [i for i, v in enumerate(known) if isinstance(v, World)]

    def program(closed, of: slice):
        def run(consts, carry):
            values = list(known)
            for i, x in zip(own, consts):
                values[i] = World(x)
            lanes = carry[0].shape[-1]
            outs = evaluate(closed.jaxpr, closed.consts, [*values[of], *map(World, carry)], lanes)
            return [spread(out, lanes) for out in outs]

        return run

    split = len(cond_consts)
    cond, body = program(p["cond_jaxpr"], slice(split)), program(p["body_jaxpr"], slice(split, None))
    first = [spread(v, n) for v in start]
    ends = run_queue(lambda k, c: cond(k, c)[0], body, [known[i].array for i in own], first)
    return [World(x) for x in ends]


def _before(active: Array, ndim: int) -> Array:
    """Flags [k, n] of loops that run side by side, or [n] of one, as wide as a carry of `ndim` axes and the worlds."""
    *lead, n = active.shape
    return active.reshape(*lead, *(1,) * (ndim - len(lead)), n)


def any_by_product(active):
    """Whether any world is active, as a product of matrices.

    XLA's CPU backend makes one kernel of a small loop without such products, with other roundings; whether a loop
    is small depends on the number of worlds, but the numbers of a world must not.
    """
    return lax.dot(jnp.ones((2, active.size), jnp.float32), active.reshape(-1).astype(jnp.float32))[0] > 0


@rule("scan")
def _scan(eqn, values, n):
    """Scan with carries worlds-last; scanned inputs and outputs keep their leading axis."""
    p, body = eqn.params, eqn.params["jaxpr"]
    # what is scanned has one axis more outside the body than in it
    nx, nk = (
        sum(v.aval.ndim - inside.ndim == extra for v, inside in zip(outer, avals))
        for outer, avals, extra in ((eqn.invars, body.in_avals, 1), (eqn.outvars, body.out_avals, 0))
    )
    nc = len(values) - nx - nk
    consts, carry, xs = values[:nc], values[nc : nc + nk], values[nc + nk :]
    worlds = [isinstance(x, World) for x in xs]

    def step(carry, x):
        slices = [World(a) if w else a for a, w in zip(x, worlds)]
        out = evaluate(body.jaxpr, body.consts, [*within(consts), *map(World, carry), *slices], n)
        out = [spread(o, n) for o in out]
        return out[:nk], out[nk:]

    start = [spread(c, n) for c in carry]
    arrays = [x.array if w else x for x, w in zip(xs, worlds)]
    carry, ys = lax.scan(step, start, arrays, length=p["length"], reverse=p["reverse"], unroll=p["unroll"])
    return [World(x) for x in (*carry, *ys)]


def _cond_size(eqn, batched):
    sizes = [program_size(b, batched[1:]) for b in eqn.params["branches"]]
    return None if not batched[0] or None in sizes or sum(sizes) > LARGE else sum(sizes)


def _run_if_any(flags, run, operands, nothing):
    """What a branch gives of its operands, or nothing, as a loop of one round or none: how many is not known before.

    The barrier ties the operands to the round; else XLA would compute all of it before the loop, whatever is chosen.
    """
    worlds = [isinstance(v, World) for v in operands]

    def once(state):
        rounds, arrays = lax.optimization_barrier((state[0], [v.array if w else v for v, w in zip(operands, worlds)]))
        return rounds - 1, run([World(x) if w else x for x, w in zip(arrays, worlds)])

    rounds = any_by_product(flags).astype(jnp.int32)
    return lax.while_loop(lambda s: s[0] > 0, once, (rounds, nothing))[1]


@rule("cond", size=_cond_size)
def _cond(eqn, values, n):
    """Where worlds may differ in the choice, results are selected; large branches run if any world takes them."""
    index, *operands = values
    branches = eqn.params["branches"]
    if not isinstance(index, World):
        flags = [isinstance(v, World) for v in operands]

        def branch(closed):
            def run(*xs):
                inner = [World(x) if f else x for x, f in zip(xs, flags)]
                return [spread(o, n) for o in evaluate(closed.jaxpr, closed.consts, inner, n)]

            return run

        arrays = [v.array if f else v for v, f in zip(operands, flags)]
        return [World(o) for o in lax.switch(index, [branch(b) for b in branches], *arrays)]
    chosen = index.array
    flags = [True] * len(operands)
    sizes = [program_size(b, flags) for b in branches]
    lazy = None in sizes or sum(sizes) > LARGE

    def result(number, closed):
        def run(operands):
            return [spread(o, n) for o in evaluate(closed.jaxpr, closed.consts, operands, n)]

        if not lazy:
            return run(operands)
        nothing = [jnp.zeros((*v.aval.shape, n), v.aval.dtype) for v in eqn.outvars]
        return _run_if_any((chosen == number).reshape(-1), run, operands, nothing)

    results = [result(i, b) for i, b in enumerate(branches)]
    outs = []
    for options in zip(*results):
        which = chosen.reshape((1,) * (options[0].ndim - 1) + (n,))
        out = options[0]
        for i, option in enumerate(options[1:], 1):
            out = jnp.where(which == i, option, out)
        outs.append(World(out))
    return outs


@rule("optimization_barrier")
def _barrier(eqn, values, n):
    outs = lax.optimization_barrier([v.array if isinstance(v, World) else v for v in values])
    return [World(o) if isinstance(v, World) else o for o, v in zip(outs, values)]


def _solution(eqn, values):
    """The program that solves, and its operands."""
    lengths = eqn.params["const_lengths"]
    skip = lengths.matvec + lengths.vecmat
    return eqn.params["jaxprs"].solve, [*values[skip : skip + lengths.solve], *values[sum(lengths) :]]


@rule("custom_linear_solve", size=lambda eqn, batched: program_size(*_solution(eqn, batched)))
def _custom_linear_solve(eqn, values, n):
    """The solution only: the derivative of a batch is taken outside."""
    closed, operands = _solution(eqn, values)
    return evaluate(closed.jaxpr, closed.consts, operands, n)
