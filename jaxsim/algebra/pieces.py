"""What a large constant matrix consists of: a few whole rows, and many small blocks of few kinds.

The 0/1 matrices of a kinematic tree have an entry for every two of its parts. In a world of many trees most are
zero, and equal trees have equal blocks. With three boxes of one joint each, and the world's row in front:

    1 1 1
    1 . .        whole row 0;   block [1] at rows 1, 2, 3 and columns 0, 1, 2
    . 1 .
    . . 1
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SMALL = 1 << 16  # entries of a matrix that is multiplied by as it is
MOST_KINDS = 32  # of blocks: each is a product of its own
LEAST_SAVING = 4  # times fewer entries in the pieces than in the matrix


class Piece(NamedTuple):
    """A block [a, b] that occurs k times."""

    block: np.ndarray
    rows: np.ndarray  # [k, a]
    columns: np.ndarray  # [k, b]


def pieces(matrix: np.ndarray) -> list[Piece] | None:
    """The blocks of a matrix [m, n], which share no rows; None where it is small or has no such structure."""
    if matrix.size <= SMALL:
        return None
    m, n = matrix.shape
    row, column = np.nonzero(matrix)
    whole = np.bincount(row, minlength=m) > n // 2
    found = [Piece(matrix[whole], np.flatnonzero(whole)[None], np.arange(n)[None])] if whole.any() else []
    rest = ~whole[row]
    kinds: dict[tuple, list[tuple[np.ndarray, np.ndarray]]] = {}
    for rows, columns in _components(row[rest], column[rest], m, n):
        block = matrix[np.ix_(rows, columns)]
        kinds.setdefault((block.shape, block.tobytes()), []).append((rows, columns))
    for members in kinds.values():
        rows, columns = (np.stack(x) for x in zip(*members))
        found.append(Piece(matrix[np.ix_(rows[0], columns[0])], rows, columns))
    entries = sum(p.block.size * len(p.rows) for p in found)
    return found if LEAST_SAVING * entries <= matrix.size and len(found) <= MOST_KINDS else None


def _components(row: np.ndarray, column: np.ndarray, m: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of the blocks of a matrix [m, n] whose entries are at (row, column)."""
    graph = coo_array((np.ones(len(row), bool), (row, m + column)), shape=(m + n, m + n))
    _, label = connected_components(graph, directed=False)
    nodes = np.unique(np.concatenate([row, m + column]))
    nodes = nodes[np.argsort(label[nodes], kind="stable")]  # rows before columns in each
    parts = np.split(nodes, np.flatnonzero(np.diff(label[nodes])) + 1) if len(nodes) else []
    return [(part[part < m], part[part >= m] - m) for part in parts]
