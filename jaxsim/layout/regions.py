"""Running a traced program on a chunk in regions: runs of short operations, each one kernel on a CPU.

XLA's CPU backend compiles every operation it does not fuse to a kernel of its own, in 7 ms, and starts it anew
for every chunk. A region is compiled as one kernel. Regions end at loops, where a library is called, at
products of matrices, and where they get long, so that XLA's compiler threads share the work. The solver's loops
are left out because XLA rounds in them differently for different numbers of worlds if they are one kernel.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core

from jaxsim.layout.evaluate import INLINE, NAMED, apply, bind, kernel_size
from jaxsim.layout.world import Value, World, one_kernel, spread

LONGEST = 300  # primitives in a region
SHORTEST = 4


class Slot:
    """A batched intermediate; its value is known once the line that makes it has run."""

    __slots__ = ("uses", "value")

    def __init__(self, value: World | None = None):
        self.value = value
        self.uses: set[int] = set()


class Line(NamedTuple):
    """One equation of the flattened program, with the values or slots it reads and the slots it writes."""

    eqn: Any
    inputs: list
    outputs: list[Slot]


class Group(NamedTuple):
    """Lines that become one kernel, and how many primitives they are; 0 for what cannot be in a kernel."""

    lines: list[Line]
    size: int


def evaluate_in_regions(jaxpr, consts, args: list[Value], n: int) -> list[Value]:
    """As `evaluate`, for a program on a CPU."""
    lines: list[Line] = []
    outs = _flatten(jaxpr, consts, [Slot(a) if isinstance(a, World) else a for a in args], lines)
    groups = _group(lines)
    for i, group in enumerate(groups):
        for x in (x for line in group.lines for x in line.inputs if isinstance(x, Slot)):
            x.uses.add(i)
    for x in outs:
        if isinstance(x, Slot):
            x.uses.add(len(groups))
    shared = _Shared([line for group in groups if group.size >= SHORTEST for line in group.lines], args)
    for i, group in enumerate(groups):
        if group.size >= SHORTEST:
            _run_region(group.lines, [s for line in group.lines for s in line.outputs if s.uses - {i}], shared, n)
            continue
        for line in group.lines:
            for slot, result in zip(line.outputs, apply(line.eqn, [_value(x) for x in line.inputs], n)):
                slot.value = result
    return [_value(x) for x in outs]


def _value(x: Any) -> Value:
    return x.value if isinstance(x, Slot) else x


def _flatten(jaxpr, consts, args: list, lines: list[Line]) -> list:
    """Append the equations on batched values, inner programs inlined; others are run at once."""
    env: dict[Any, Any] = {}

    def read(v):
        return v.val if isinstance(v, core.Literal) else env[v]

    env.update(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        inputs = [read(v) for v in eqn.invars]
        inner = INLINE.get(eqn.primitive.name)
        if inner is not None and eqn.params.get("name", "") not in NAMED:
            closed = eqn.params[inner]
            outs = _flatten(closed.jaxpr, closed.consts, inputs, lines)
        elif any(isinstance(x, Slot) for x in inputs):
            outs = [Slot() for _ in eqn.outvars]
            lines.append(Line(eqn, inputs, outs))
        else:
            outs = bind(eqn, inputs)
        env.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


def _group(lines: list[Line]) -> list[Group]:
    """Runs of lines that may share a kernel; every other line by itself, with size 0."""
    groups: list[Group] = []
    for line in lines:
        size = kernel_size(line.eqn, [isinstance(x, Slot) for x in line.inputs])
        if size and groups and groups[-1].size and groups[-1].size + size <= LONGEST:
            groups[-1] = Group([*groups[-1].lines, line], groups[-1].size + size)
        else:
            groups.append(Group([line], size or 0))
    return groups


class _Shared:
    """What regions read that is the same in all worlds, packed in one array for each type.

    XLA moves constants into a kernel and then finds nothing that reads their argument; so they go in together
    with a number of the first world, which is not constant.
    """

    def __init__(self, lines: list[Line], args: list[Value]):
        arrays = {id(x): x for line in lines for x in line.inputs if isinstance(x, jax.core.Tracer)}
        batched = next(x.array for x in args if isinstance(x, World) and x.array.size)
        self.place: dict[int, tuple[Any, int, tuple]] = {}
        parts: dict[Any, list] = {}
        for key, x in arrays.items():
            before = parts.setdefault(x.dtype, [])
            self.place[key] = (x.dtype, sum(p.size for p in before), x.shape)
            before.append(x.reshape(-1))
        end = batched[(0,) * batched.ndim]
        self.packs = {d: jnp.concatenate([*p, end.astype(d)[None]]) for d, p in parts.items()}
        self.arrays = arrays  # kept, so that no other object gets the id of one of them

    def used_by(self, lines: list[Line]) -> list:
        """The types whose packs some line reads."""
        return sorted({x.dtype for line in lines for x in line.inputs if id(x) in self.place}, key=str)

    def read(self, x: Any, packs: dict) -> Any:
        """x itself, or where it lies in the packs."""
        if id(x) not in self.place:
            return x
        dtype, start, shape = self.place[id(x)]
        return packs[dtype][start : start + math.prod(shape)].reshape(shape)


def _run_region(lines: list[Line], outputs: list[Slot], shared: _Shared, n: int) -> None:
    """Run the lines as one kernel and fill the slots that later lines read."""
    inside = {s for line in lines for s in line.outputs}
    read = dict.fromkeys(x for line in lines for x in line.inputs if isinstance(x, Slot))
    slots = [s for s in read if s not in inside]
    types = shared.used_by(lines)

    def region(*arrays):
        env = {s: World(x) for s, x in zip(slots, arrays)}
        packs = dict(zip(types, arrays[len(slots) :]))
        for line in lines:
            values = [env[x] if isinstance(x, Slot) else shared.read(x, packs) for x in line.inputs]
            env.update(zip(line.outputs, apply(line.eqn, values, n)))
        return [spread(env[s], n) for s in outputs]

    results = one_kernel(region)(*[spread(s.value, n) for s in slots], *[shared.packs[t] for t in types])
    for slot, result in zip(outputs, results):
        slot.value = World(result)
