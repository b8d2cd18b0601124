"""Programs for one small matrix as primitives for any batch of them, without a library, whose kernels may split a batch
over threads; on an NVIDIA GPU one kernel (`tiles`), where a loop over rows would launch a hundred."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxsim.layout.evaluate import evaluate, rule
from jaxsim.layout.unstable import Primitive, rules
from jaxsim.solvers.linear import tiles

Array = jax.Array


def primitive(name: str, one: Callable[[Array], Array], kernel: Callable, jvp: Callable | None = None) -> Primitive:
    """The primitive that makes matrices [..., n, n] of matrices.

    Args:
        name: of the primitive.
        one: its program for one matrix [n, n].
        kernel: that for small ones [..., n, n] on an NVIDIA GPU.
        jvp: the rule of its derivative, if it has one.
    """
    new = Primitive(name)

    def each(A: Array) -> Array:
        inner = one
        for _ in A.shape[:-2]:
            inner = jax.vmap(inner)
        return inner(A)

    def on_cuda(A: Array) -> Array:
        small = A.size and A.shape[-1] <= tiles.INVERTED and tiles.fit(A.shape[-1])
        return kernel(A) if small else each(A)

    rules(
        new,
        abstract=lambda A: jax.core.ShapedArray(A.shape, A.dtype),
        impl=jax.jit(new.bind),
        batch=lambda args, dims: (new.bind(jnp.moveaxis(args[0], dims[0], 0)), 0),
        cpu=each,
        default=each,
        cuda=on_cuda,
        jvp=jvp,
    )

    @rule(name)
    def worlds(eqn, values, n):
        """As for one world, operation by operation."""
        closed = jax.make_jaxpr(each)(eqn.invars[0].aval)
        return evaluate(closed.jaxpr, closed.consts, values, n)

    return new
