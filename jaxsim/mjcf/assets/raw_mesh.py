"""A mesh as a file, the model or a generator gives it, before it is compiled."""

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray


def _no_vectors() -> Array:
    return np.zeros((0, 3), np.float32)


def _no_pairs() -> Array:
    return np.zeros((0, 2), np.float32)


def _no_faces() -> Array:
    return np.zeros((0, 3), np.int32)


@dataclass
class RawMesh:
    """A mesh as written: anything but the vertices may be absent, with no rows.

    vert [nvert, 3], normal [nnormal, 3], texcoord [ntexcoord, 2]; face, facenormal, facetexcoord [nface, 3]
    index them.
    """

    vert: Array = field(default_factory=_no_vectors)
    normal: Array = field(default_factory=_no_vectors)
    texcoord: Array = field(default_factory=_no_pairs)
    face: Array = field(default_factory=_no_faces)
    facenormal: Array = field(default_factory=_no_faces)
    facetexcoord: Array = field(default_factory=_no_faces)


def merged(corners: Array) -> RawMesh:
    """Triangles from their corners [3*nface, 3], with repeated vertices merged in order of first appearance."""
    first, label = _unique_rows(corners)
    return RawMesh(vert=corners[first], face=label.reshape(-1, 3).astype(np.int32))


def _unique_rows(rows: Array) -> tuple[Array, Array]:
    """Index of the first occurrence of each distinct row [n, 3], in order; for each row, its number there."""
    bits = (np.ascontiguousarray(rows, np.float32) + 0.0).view(np.uint32).astype(np.uint64)  # + 0: no -0
    odd = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
    key = (bits * odd).sum(axis=1, dtype=np.uint64)
    key ^= key >> np.uint64(29)
    _, first, label = np.unique(key, return_index=True, return_inverse=True)
    if not np.array_equal(bits[first[label]], bits):  # two rows share a key
        _, first, label = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[label]
