"""Four of many corners of a convex polygon: MuJoCo's walk towards the largest quadrilateral (polygonQuad).

Corner d moves on while that enlarges the quadrilateral, and after each such step c and then b do; where none
does, a moves on. The walk does not always find the largest, and its result depends on the first corner: it is
made step by step as there, so that each step moves one corner:

    state   moves   then, if the area grew     if it did not
    TRY_D   d       TRY_C                      SHIFT_A, or SHIFT_B first where b stands on a
    TRY_C   c       TRY_C                      TRY_B
    TRY_B   b       TRY_B                      TRY_D
    SHIFT_B b, whatever the area; SHIFT_C where c stands there now, and SHIFT_D likewise; then SHIFT_A
    SHIFT_A a, whatever the area; TRY_D
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector

Array = jax.Array

# state s moves corner s % 4 of a, b, c, d; those from SHIFT_A on do so whatever the area
TRY_B, TRY_C, TRY_D, SHIFT_A, SHIFT_B, SHIFT_C, SHIFT_D = 1, 2, 3, 4, 5, 6, 7
FIRST = np.arange(4, dtype=np.int32)


def largest_quadrilateral(
    point: Callable[[Array], Array],
    count: Array,
    steps: int,
    dtype,
    with_first: bool = False,
    level: Array | None = None,
) -> Array:
    """Which corners [4] of a polygon of `count` [] corners to keep; the first four if there are no more.

    Args:
        point: gives the places [k, 3] of corners [k].
        steps: at most this many are made.
        dtype: of the places.
        with_first: the first corner is kept, the walk ends where a would move on.
        level: whether [] a corner moves on where the area stays as it is, too. In a regular polygon that leads to a
            square, and the walk without it to less; MuJoCo's rounding does the one or the other.
    """
    last = 1 if with_first else count
    tie = 1e-12 if dtype == jnp.float64 else 1e-5
    more = 1 + tie if level is None else jnp.where(level, 1 - tie, 1 + tie).astype(dtype)

    def unfinished(state):
        step, corner = state[:2]
        return (corner[0] < last) & (step < steps)

    def move(state):
        step, corner, place, what, best, kept = state
        moves = (what & 3) == FIRST
        old = jnp.sum(jnp.where(moves, corner, 0), dtype=jnp.int32)
        new = jnp.where((old + 1 >= count) & (what != SHIFT_A), 0, old + 1)
        trial = jnp.where(moves, new, corner)
        there = jnp.where(moves[:, None], point(jnp.minimum(new, count - 1)[None]), place)
        found = _area(there)
        forced = what >= SHIFT_A
        better = ~forced & (found > best * more)
        moved = better | forced
        follows = _after(what, better, corner, trial)
        corner, place = jnp.where(moved, trial, corner), jnp.where(moved, there, place)
        return step + 1, corner, place, follows, jnp.where(better, found, best), jnp.where(better, trial, kept)

    first = jnp.asarray(FIRST)
    place = point(first)
    start = jnp.where(count > 4, first, count)  # nothing to do for up to four
    zero = jnp.zeros((), jnp.int32)
    return lax.while_loop(unfinished, move, (zero, start, place, zero + TRY_D, _area(place), first))[5]


def _area(place: Array) -> Array:
    """Twice the area of a quadrilateral [4, 3], which may not be quite flat, from its diagonals."""
    diagonal = place[2:] - place[:2]
    return vector.norm(vector.cross(diagonal[0], diagonal[1]))


def _after(what: Array, better: Array, corner: Array, moved: Array) -> Array:
    """The next state; `corner` and `moved` [4] are the corners before and after this step."""
    rises = jnp.where(better, jnp.minimum(what, TRY_C), jnp.where(what == TRY_D, SHIFT_A, (what + 2) & 3 | 1))
    on_a = (what == TRY_D) & ~better & (corner[1] == corner[0])
    # b, c or d has been shifted: so is the next where it stands there now
    meets = jnp.stack([corner[2:3] == moved[1:2], corner[3:4] == moved[2:3]])[:, 0]
    meets = jnp.where(what == SHIFT_B, meets[0], (what == SHIFT_C) & meets[1])
    shifts = jnp.where(what == SHIFT_A, TRY_D, jnp.where(meets, what + 1, SHIFT_A))
    return jnp.where(what >= SHIFT_A, shifts, jnp.where(on_a, SHIFT_B, rises)).astype(jnp.int32)
