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
from jax import lax

from jaxsim.layout.evaluate import Line, Slot, apply, flatten, kernel_size, run, value_of
from jaxsim.layout.world import Value, World, first, one_kernel, settled, spread

LONGEST = 300  # primitives in a region
SHORTEST = 4
MOST_REPEATED = 40  # operations for each number of a value, that XLA may do again where the value is read

# primitives that move numbers about, and those whose results XLA stores: our rules say so, or they are costly
MOVES = {
    *("broadcast_in_dim", "convert_element_type", "copy", "neg", "reshape", "rev", "slice", "split", "squeeze"),
    *("stop_gradient", "transpose", "unstack"),
}
STORED = {
    *("acos", "asin", "atan2", "concatenate", "cos", "div", "dot_general", "exp", "gather", "log", "pow", "rsqrt"),
    *("sin", "sqrt", "take_rows", "tan", "tanh"),
}


class Group(NamedTuple):
    """Lines that become one kernel, and how many primitives they are; 0 for what cannot be in a kernel."""

    lines: list[Line]
    size: int


def evaluate_in_regions(jaxpr, consts, args: list[Value], n: int) -> list[Value]:
    """As `evaluate`, for a program on a CPU."""
    lines, outs = flatten(jaxpr, consts, args)
    groups = _group(lines)
    last_use: dict[Slot, int] = {}  # the last group that reads a slot
    for i, group in enumerate(groups):
        last_use.update((x, i) for line in group.lines for x in line.inputs if isinstance(x, Slot))
    last_use.update((x, len(groups)) for x in outs if isinstance(x, Slot))
    shared = _Shared([line for group in groups if group.size >= SHORTEST for line in group.lines], args)
    for i, group in enumerate(groups):
        if group.size >= SHORTEST:
            results = [s for line in group.lines for s in line.outputs if last_use.get(s, i) > i]
            _run_region(group.lines, results, shared, n)
        else:
            for line in group.lines:
                run(line, n)
    return [value_of(x) for x in outs]


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
        end = first(batched)
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
        return lax.reshape(lax.slice(packs[dtype], (start,), (start + math.prod(shape),)), shape)


def _run_region(lines: list[Line], outputs: list[Slot], shared: _Shared, n: int) -> None:
    """Run the lines as one kernel and fill the slots that later lines read."""
    inside = {s for line in lines for s in line.outputs}
    read = dict.fromkeys(x for line in lines for x in line.inputs if isinstance(x, Slot))
    slots = [s for s in read if s not in inside]
    types = shared.used_by(lines)
    repeated = _repeated(lines, outputs)

    def region(*arrays):
        env = {s: World(x) for s, x in zip(slots, arrays)}
        packs = dict(zip(types, arrays[len(slots) :]))
        for line in lines:
            values = [env[x] if isinstance(x, Slot) else shared.read(x, packs) for x in line.inputs]
            results = apply(line.eqn, values, n)
            if any(s in repeated for s in line.outputs):
                results = [World(settled(lambda x: x)(r.array)) for r in results]
            env.update(zip(line.outputs, results))
        return [spread(env[s], n) for s in outputs]

    results = one_kernel(region)(*[spread(s.value, n) for s in slots], *[shared.packs[t] for t in types])
    for slot, result in zip(outputs, results):
        slot.value = World(result)


def _repeated(lines: list[Line], outputs: list[Slot]) -> set[Slot]:
    """What a kernel has to store so that XLA does not compute it again, and all that it follows from, at every use.

    XLA's CPU backend fuses a value into each operation that reads it, and where that broadcasts it, computes it for
    every copy: a chain of cheap operations that is read twice costs twice, and so does all that it is part of.
    """
    copies: dict[Slot, float] = dict.fromkeys(outputs, 1)
    for line in lines:
        size = max(v.aval.size for v in line.eqn.outvars)
        for x, v in zip(line.inputs, line.eqn.invars):
            if isinstance(x, Slot):
                copies[x] = copies.get(x, 0) + max(1, size / v.aval.size)
    operations: dict[Slot, float] = {}  # for a number of each value, from what is stored
    stored = set()
    for line in lines:
        count = _operations(line, operations)
        for slot in line.outputs:
            again = count * (copies.get(slot, 0) - 1)
            operations[slot] = 0 if again >= MOST_REPEATED else count
            if again >= MOST_REPEATED:
                stored.add(slot)
    return stored


def _operations(line: Line, operations: dict[Slot, float]) -> float:
    """How many operations XLA does for a number of a line's results, if it stores none of what leads to them."""
    name, eqn = line.eqn.primitive.name, line.eqn
    before = sum(operations.get(x, 0) for x in {x for x in line.inputs if isinstance(x, Slot)})
    if name in STORED:
        return 0
    if name.startswith("reduce"):
        return (before + 1) * eqn.invars[0].aval.size / eqn.outvars[0].aval.size
    return before if name in MOVES else before + 1
