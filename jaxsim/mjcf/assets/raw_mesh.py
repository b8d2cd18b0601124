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
