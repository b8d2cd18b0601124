"""A function of one world as a jaxpr, and the functions that follow from it: its derivative, transpose, parts.

A program's results are followed by what it *keeps* for its derivative, such as the solution of an iteration.
`replay` is the same function written for differentiation: it takes what was kept before the inputs, and finds
there what the program had to search for. What is kept counts as a constant in it: a derivative of `replay` must
be that of the program itself.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.layout.tracing import uncollected
from jaxsim.layout.unstable import ClosedJaxpr, Literal, jaxpr_as_fun, without_dead

Array = jax.Array
Mask = tuple[bool, ...]


class Tangents(NamedTuple):
    """The derivative of a program: (operands, tangents) -> tangents of some results."""

    program: "Program"
    operands: list[int]  # which of (what is kept, inputs) it reads
    moving: list[int]  # the inputs whose tangents it takes
    results: list[int]  # the results whose tangents it gives; those of others are zero


class Cotangents(NamedTuple):
    """The transpose of a program: (operands, cotangents of results) -> cotangents of linear inputs."""

    program: "Program"
    operands: list[int]
    pulled: list[int]  # the results whose cotangents it takes
    results: list[int]  # the inputs whose cotangents it gives; those of others are zero


class Program:
    """A jaxpr of one world: inputs -> results and what is kept. Compared by identity; what is derived is made once.

    Attributes:
        closed: the jaxpr.
        kept: how many of its results, the last ones, are kept for the derivative only.
        replay: makes the jaxpr (kept, inputs) -> results for differentiation, where something is kept.
        linear: how many of its inputs, the last ones, it is linear in.
    """

    def __init__(
        self, closed: ClosedJaxpr, kept: int = 0, replay: Callable[[], ClosedJaxpr] | None = None, linear: int = 0
    ):
        self.closed, self.kept, self.replay, self.linear = closed, kept, replay, linear
        self.source = self  # the program with all that its derivative needs
        self.shown = list(range(len(closed.out_avals)))  # which of the source's results are its own
        self._made: dict = {}

    @property
    def inputs(self) -> list:
        """Types of the inputs."""
        return self.closed.in_avals

    @property
    def outputs(self) -> list:
        """Types of the results, of what is kept at the end."""
        return self.closed.out_avals

    @uncollected()
    def once(self, key, make: Callable):
        """`make()`, the first time that this key is asked for."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def tangents(self, moving: Mask) -> Tangents:
        """The derivative with respect to the inputs that move."""
        return self.once(("tangents", moving), lambda: self._tangents(moving))

    def _tangents(self, moving: Mask) -> Tangents:
        closed = self.replay() if self.replay else self.closed
        chosen = [self.kept + i for i, m in enumerate(moving) if m]
        real = [i for i, t in enumerate(closed.out_avals) if jnp.issubdtype(t.dtype, jnp.inexact)]
        count = len(closed.in_avals)

        def run(*args):
            operands, dots = list(args[:count]), args[count:]

            def along(*moved):
                xs = list(operands)
                for i, x in zip(chosen, moved):
                    xs[i] = x
                outs = jaxpr_as_fun(closed)(*xs)
                return [outs[i] for i in real]

            return jax.jvp(along, tuple(operands[i] for i in chosen), tuple(dots))[1]

        derivative = jax.make_jaxpr(run)(*closed.in_avals, *[closed.in_avals[i] for i in chosen])
        depends = _depends(derivative, [False] * count + [True] * len(chosen))
        part, used = without_dead(derivative, depends)
        dots = [i - self.kept for i, u in zip(chosen, used[count:]) if u]
        operands = [i for i in range(count) if used[i]]
        return Tangents(Program(part, linear=len(dots)), operands, dots, [i for i, d in zip(real, depends) if d])

    def cotangents(self, unknown: Mask, pulled: Mask) -> Cotangents:
        """The transpose with respect to the linear inputs that are unknown, for cotangents of the pulled results."""
        return self.once(("cotangents", unknown, pulled), lambda: self._cotangents(unknown, pulled))

    def _cotangents(self, unknown: Mask, pulled: Mask) -> Cotangents:
        closed, inputs = self.closed, self.inputs
        known, free = ([i for i, u in enumerate(unknown) if u == wanted] for wanted in (False, True))
        chosen = [i for i, p in enumerate(pulled) if p]

        def run(*args):
            operands, cotangents = args[: len(known)], args[len(known) :]

            def forward(*xs):
                every = dict(zip(known, operands)) | dict(zip(free, xs))
                outs = jaxpr_as_fun(closed)(*[every[i] for i in range(len(inputs))])
                return [outs[i] for i in chosen]

            return jax.linear_transpose(forward, *[inputs[i] for i in free])(list(cotangents))

        pull = [self.outputs[i] for i in chosen]
        transpose = jax.make_jaxpr(run)(*[inputs[i] for i in known], *pull)
        depends = _depends(transpose, [False] * len(known) + [True] * len(pull))
        part, used = without_dead(transpose, depends)
        taken = [i for i, u in zip(chosen, used[len(known) :]) if u]
        operands = [i for i, u in zip(known, used) if u]
        return Cotangents(Program(part, linear=len(taken)), operands, taken, [i for i, d in zip(free, depends) if d])

    def columns(self, batched: Mask, size: int) -> "Program":
        """The program for `size` values of some linear inputs side by side, an axis before the others' own.

        What depends on none of them is computed once, and a factor serves all columns.
        """
        return self.once(("columns", batched, size), lambda: self._columns(batched, size))

    def _columns(self, batched: Mask, size: int) -> "Program":
        shapes = [((size, *t.shape) if b else t.shape, t.dtype) for t, b in zip(self.inputs, batched)]
        axes = [0 if b else None for b in batched]
        many = jax.vmap(jaxpr_as_fun(self.closed), axes, axis_size=size)
        return Program(jax.make_jaxpr(many)(*[jax.ShapeDtypeStruct(*s) for s in shapes]), linear=self.linear)

    def part(self, wanted: Mask) -> tuple["Program", Mask]:
        """The program of some of its results, and which inputs it takes."""
        return self.once(("part", wanted), lambda: self._part(wanted))

    def _part(self, wanted: Mask) -> tuple["Program", Mask]:
        if not self.source.kept:
            closed, used = without_dead(self.closed, wanted)
            return Program(closed, linear=sum(used[len(used) - self.linear :]) if self.linear else 0), used
        # a derivative finds all that is kept in `source`, and inputs in their places
        source = self.source
        shown = [i for i, w in zip(self.shown, wanted) if w]
        results = tuple(i in shown for i in range(len(source.outputs) - source.kept))
        whole, _ = without_dead(source.closed, (*results, *[True] * source.kept), True)
        replay = source.replay
        smaller = Program(whole, source.kept, lambda: without_dead(replay(), results, True)[0])
        mask = tuple(i in shown for i in range(len(source.outputs)))
        program = Program(without_dead(source.closed, mask, True)[0])
        program.source = smaller
        first = sum(results)
        kept = [i - len(results) for i in shown if i >= len(results)]
        program.shown = [*range(first), *(first + i for i in kept)]
        return program, (True,) * len(self.inputs)


def read_by(fun: Callable, *args) -> tuple:
    """The arguments of `fun` as pytrees of bools: which of their leaves its results need."""
    closed = jax.make_jaxpr(fun)(*args)
    _, used = without_dead(closed, [True] * len(closed.out_avals))
    return jax.tree.unflatten(jax.tree.structure(args), used)


def _depends(closed: ClosedJaxpr, inputs: Sequence[bool]) -> list[bool]:
    """Which results of a jaxpr depend on the marked inputs."""
    marked = {v for v, m in zip(closed.jaxpr.invars, inputs) if m}
    for eqn in closed.jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in marked for v in eqn.invars):
            marked.update(eqn.outvars)
    return [not isinstance(v, Literal) and v in marked for v in closed.jaxpr.outvars]
