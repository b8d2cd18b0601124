"""Matrices over the dofs of many kinematic trees that couple no two of them: a small block for each tree.

Trees with as many dofs have their blocks side by side in one array, so that what is done with all of them is one
operation. With boxes of 6 dofs and a humanoid of 27:

    groups   dofs [2, 6] of the boxes, dofs [1, 27] of the humanoid
    parts    [2, 6, 6] and [1, 27, 27]
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import Index, gather_groups, take

Array = jax.Array


class Groups(NamedTuple):
    """Which dofs belong to which block: for each width w the dofs [k, w] of the k trees that have it. Static."""

    members: tuple[Index, ...]
    nv: int

    @property
    def dofs(self) -> list[np.ndarray]:
        """The dofs [k, w] of each group."""
        return [member.rows for member in self.members]

    def split(self, x: Array) -> list[Array]:
        """What is given for each dof [nv, ...], tree by tree: [k, w, ...] of each group."""
        return [take(x, dofs.ravel()).reshape(*dofs.shape, *x.shape[1:]) for dofs in self.dofs]

    def join(self, parts: list[Array]) -> Array:
        """The inverse of `split`: [nv, ...]."""
        rows = [part.reshape(-1, *part.shape[2:]) for part in parts]
        return gather_groups([(dofs.ravel(), row) for dofs, row in zip(self.dofs, rows)], self.nv)


@jax.tree_util.register_pytree_node_class
class Blocks:
    """A matrix [nv, nv] that is zero but for the blocks [k, w, w] of its groups."""

    def __init__(self, groups: Groups, parts: tuple[Array, ...]):
        self.groups, self.parts = groups, parts

    def tree_flatten(self) -> tuple[tuple[Array, ...], Groups]:
        return self.parts, self.groups

    @classmethod
    def tree_unflatten(cls, groups: Groups, parts: Any) -> "Blocks":
        return cls(groups, tuple(parts))

    def __add__(self, other: "Blocks") -> "Blocks":
        return Blocks(self.groups, tuple(a + b for a, b in zip(self.parts, other.parts)))

    def times(self, x: Array) -> Array:
        """The product with x [nv]."""
        products = [jnp.sum(A * v[:, None], axis=2) for A, v in zip(self.parts, self.groups.split(x))]
        return self.groups.join(products)

    def dense(self) -> Array:
        """[nv, nv] with all zeros."""
        rows, order = [], np.concatenate([dofs.ravel() for dofs in self.groups.dofs])
        before = 0
        for part in self.parts:
            k, w, _ = part.shape
            wide = jnp.where(np.eye(k, dtype=bool)[:, None, :, None], part[:, :, None], 0)
            after = self.groups.nv - before - k * w
            rows.append(jnp.pad(wide.reshape(k * w, k * w), ((0, 0), (before, after))))
            before += k * w
        back = np.argsort(order)
        return take(take(jnp.concatenate(rows), back), back, axis=1)

    def diagonal(self) -> Array:
        """[nv]."""
        return self.groups.join([jnp.diagonal(part, axis1=1, axis2=2) for part in self.parts])


Matrix: TypeAlias = Array | Blocks


def times(matrix: Matrix, x: Array) -> Array:
    """A matrix [nv, nv] times x [nv]."""
    return matrix.times(x) if isinstance(matrix, Blocks) else lax.dot(matrix, x, precision=lax.Precision.HIGHEST)


def dense(matrix: Matrix) -> Array:
    """[nv, nv] with all zeros."""
    return matrix.dense() if isinstance(matrix, Blocks) else matrix


def trace(matrix: Matrix) -> Array:
    """The sum of the diagonal of a matrix [nv, nv]: []."""
    return jnp.sum(matrix.diagonal()) if isinstance(matrix, Blocks) else jnp.trace(matrix)


def with_diagonal(blocks: Blocks, diagonal: Array) -> Blocks:
    """The blocks plus diag(diagonal), for a diagonal [nv]."""
    own = blocks.groups.split(diagonal)
    parts = tuple(part + eye_like(part) * x[:, :, None] for part, x in zip(blocks.parts, own))
    return Blocks(blocks.groups, parts)


def pairs_within(groups: Groups, a: Array, b: Array) -> list[Array]:
    """Inner products of rows of a [nv, c] with rows of b [nv, c], by trees: [k, w, w] of each group."""
    dims = (((2,), (2,)), ((0,), (0,)))
    return [
        lax.dot_general(x, y, dims, precision=lax.Precision.HIGHEST) for x, y in zip(groups.split(a), groups.split(b))
    ]


def eye_like(part: Array) -> Array:
    """Identities [k, w, w] like a group of blocks."""
    return jnp.broadcast_to(jnp.eye(part.shape[-1], dtype=part.dtype), part.shape)
