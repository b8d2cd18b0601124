"""Running a traced single-world program on a batch: one rule per primitive."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.layout.unstable import Literal
from jaxsim.layout.world import Value, World

Rule = Callable[[Any, list[Value], int], list[Value]]
Size = Callable[[Any, list[bool]], int | None]

RULES: dict[str, Rule] = {}  # by name of the primitive
APART: set[str] = set()  # primitives whose kernels stay apart from the loop that they are in
SIZES: dict[str, Size] = {}  # by name of the primitive: see `kernel_size`


def rule(*names: str, size: Size | None = None, apart: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: the rule of the primitives of these names, and how much it adds to a kernel.

    `apart` says that the rule makes a kernel of its own, which XLA must not merge with a loop around it.
    """

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        if apart:
            APART.update(names)
        if size is not None:
            SIZES.update(dict.fromkeys(names, size))
        return function

    return register


def one(eqn, batched: list[bool]) -> int:
    """The size of a rule that makes a few elementwise operations or moves numbers about."""
    return 1


class Slot:
    """A batched intermediate; its value is known once the line that makes it has run."""

    __slots__ = ("value",)

    def __init__(self, value: World | None = None):
        self.value = value


class Line(NamedTuple):
    """One equation of a flattened program, with the values or slots it reads and the slots it writes."""

    eqn: Any
    inputs: list
    outputs: list[Slot]


def evaluate(jaxpr, consts, args: list[Value], n: int) -> list[Value]:
    """Run a jaxpr on values of which some are worlds-last."""
    lines, outs = flatten(jaxpr, consts, args)
    for line in lines:
        run(line, n)
    return [value_of(x) for x in outs]


def flatten(jaxpr, consts, args: list[Value]) -> tuple[list[Line], list]:
    """The equations on batched values, inner programs inlined, and the values or slots of the results.

    Equations on unbatched values are run at once. What a derivative computes again is computed once.
    """
    lines: list[Line] = []
    known: dict = {}  # results of equations, by what they compute
    alive: list = []  # what is known by its identity

    def walk(jaxpr, consts, args):
        env: dict[Any, Any] = {}

        def read(v):
            return v.val if isinstance(v, Literal) else env[v]

        env.update(zip(jaxpr.constvars, consts))
        env.update(zip(jaxpr.invars, args))
        for eqn in jaxpr.eqns:
            eqn = _without_empty(eqn)
            inputs = [read(v) for v in eqn.invars]
            inner = INLINE.get(eqn.primitive.name)
            if eqn.primitive.name == "stop_gradient":
                env.update(zip(eqn.outvars, inputs))
                continue
            if inner is not None:
                outs = walk(*_program(eqn.params[inner]), inputs)
            elif (key := _key(eqn, inputs)) in known:
                outs = known[key]
            elif all(v.aval.size == 0 for v in eqn.outvars):
                outs = [jnp.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars]
            elif any(isinstance(x, Slot) for x in inputs):
                outs = [Slot() for _ in eqn.outvars]
                lines.append(Line(eqn, inputs, outs))
            else:
                outs = bind(eqn, inputs)
            if inner is None and key is not None:
                known[key] = outs
                alive.append(inputs)
            env.update(zip(eqn.outvars, outs))
        return [read(v) for v in jaxpr.outvars]

    outs = walk(jaxpr, consts, [Slot(x) if isinstance(x, World) else x for x in args])
    return lines, outs


def _key(eqn, inputs: list) -> Any:
    """The same for equations that compute the same; None for those that hold programs."""
    params = tuple(sorted(eqn.params.items(), key=lambda item: item[0]))
    operands = tuple(_identity(x, v.aval.dtype) for x, v in zip(inputs, eqn.invars))
    if _inner(eqn) or eqn.primitive.name in APART:
        return None
    try:
        hash(params)
    except TypeError:
        return None
    return eqn.primitive, params, operands, tuple(v.aval.dtype for v in eqn.outvars)


def _identity(x: Any, dtype: Any) -> Any:
    """The same for values that are known to be the same."""
    if _is_known(x):
        return str(dtype), np.shape(x), np.asarray(x, dtype).tobytes()
    return id(x)


def _is_known(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)  # a number of Python has none, and a random key one of JAX's own
    return not isinstance(x, (jax.core.Tracer, Slot)) and isinstance(dtype, (np.dtype, type(None)))


def _without_empty(eqn):
    """A concatenation without operands that are empty, which no kernel can take."""
    if eqn.primitive.name != "concatenate":
        return eqn
    full = [v for v in eqn.invars if v.aval.size]
    return eqn if len(full) in (0, len(eqn.invars)) else eqn.replace(invars=full)


def run(line: Line, n: int) -> None:
    """Run a line whose inputs are known, and fill its slots."""
    for slot, result in zip(line.outputs, apply(line.eqn, [value_of(x) for x in line.inputs], n)):
        slot.value = result


def value_of(x: Any) -> Value:
    """The value in a slot; anything else is its own."""
    return x.value if isinstance(x, Slot) else x


def apply(eqn, values: list[Value], n: int) -> list[Value]:
    """Run one equation of which some operand is batched."""
    return RULES.get(eqn.primitive.name, fallback)(eqn, values, n)


def bind(eqn, values: list[Any]) -> list[Any]:
    """Run one equation of which no operand is batched; a constant of another type is known at once."""
    if eqn.primitive.name == "convert_element_type" and _is_known(values[0]) and np.ndim(values[0]) == 0:
        return [np.asarray(values[0], eqn.params["new_dtype"])]
    outs = eqn.primitive.bind(*values, **eqn.params)
    return outs if eqn.primitive.multiple_results else [outs]


def kernel_size(eqn, batched: list[bool]) -> int | None:
    """How many operations an equation adds to a kernel; None if it cannot be part of one.

    Args:
        batched: for each operand, whether it is batched.
    """
    inner = INLINE.get(eqn.primitive.name)
    if any(v.aval.size == 0 for v in (*eqn.invars, *eqn.outvars)):
        return None  # XLA gives nothing that is empty an address
    if inner is None:
        size = SIZES.get(eqn.primitive.name)
        return size(eqn, batched) if size else None
    return program_size(eqn.params[inner], batched)


def program_size(closed, batched: list[bool]) -> int | None:
    """The same for a whole program."""
    jaxpr, _ = _program(closed)
    env = dict.fromkeys(jaxpr.constvars, False)
    env.update(zip(jaxpr.invars, batched))
    total = 0
    for eqn in jaxpr.eqns:
        flags = [not isinstance(v, Literal) and env[v] for v in eqn.invars]
        size = kernel_size(eqn, flags)
        if size is None:
            return None
        total += size
        env.update(dict.fromkeys(eqn.outvars, any(flags)))
    return total


def live_bytes(closed) -> int:
    """The most that a program holds at a time of what it computes, if every result is stored."""
    jaxpr, _ = _program(closed)
    last = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if not isinstance(v, Literal)}
    last.update((v, len(jaxpr.eqns)) for v in jaxpr.outvars if not isinstance(v, Literal))
    size: dict = {}
    now = most = 0
    for i, eqn in enumerate(jaxpr.eqns):
        size.update((v, v.aval.size * v.aval.dtype.itemsize) for v in eqn.outvars)
        most = max(most, now + max(map(live_bytes, _inner(eqn)), default=0))
        now += sum(size[v] for v in eqn.outvars)
        most = max(most, now)
        read = {v for v in (*eqn.invars, *eqn.outvars) if not isinstance(v, Literal) and v in size}
        now -= sum(size.pop(v) for v in read if last.get(v, i) <= i)
    return most


def _inner(eqn) -> list:
    """The programs that an equation has as parameters."""
    values = (x for p in eqn.params.values() for x in (p if isinstance(p, (list, tuple)) else [p]))
    return [x for x in values if hasattr(x, "eqns") or hasattr(x, "jaxpr")]


def _program(program) -> tuple[Any, Any]:
    """The jaxpr and the constants of a parameter, which holds them together, or has no constants."""
    return (program.jaxpr, program.consts) if hasattr(program, "consts") else (program, ())


# primitives that only wrap another program
INLINE = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}


def fallback(eqn, values: list[Value], n: int) -> list[Value]:
    """World-first, through the primitive's own batching rule; results moved back to worlds-last."""
    moved = [v.first if isinstance(v, World) else v for v in values]
    axes = [0 if isinstance(v, World) else None for v in values]

    def call(*xs):
        out = eqn.primitive.bind(*xs, **eqn.params)
        return out if eqn.primitive.multiple_results else [out]

    outs = jax.vmap(call, in_axes=axes, axis_size=n)(*moved)
    return [World(first=x) for x in outs]
