"""Where two signed distance fields overlap: descent from points spread over the overlap of their boxes (mjc_SDF).

With distances A and B, each point first goes down A + B + |max(A, B)|, which in the overlap is the lesser of the
two and so leads to a point of one surface that is deep in the other solid; then it makes one step down max(A, B),
whose value there is the contact's distance. Each step halves its length until it gains enough.

A search is for one pair of geoms, a lane beside others, and is long: a hundred distances for each of its points.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.sdf.field import Kinds, Solid
from jaxsim.core.enums import MAXVAL

Array = jax.Array

SHORTEST = 1e-4  # length of a step, in slopes, from which on it is halved no more
SHARP = 1e3  # lengths of a step over the radius of a curve from which on it is an edge
GAIN = 0.1  # of what the slope promises, that a step has to bring


class Overlap(NamedTuple):
    """Two fields in the frame of b: a point x there is at turn x + offset in the frame of a.

    Slopes and values below are of b first, as in MuJoCo, where it is geom 2.
    """

    a: Solid
    b: Solid
    turn: Array  # [3, 3]
    offset: Array  # [3] m

    def there(self, x: Array) -> Array:
        """Points [n, 3] in the frame of a."""
        return vector.matvec(self.turn[None], x) + self.offset[None]

    def values(self, kinds: Kinds, x: Array) -> tuple[Array, Array]:
        """Distances [n] of b and of a at points [n, 3]."""
        return kinds.second.value(x, self.b), kinds.first.value(self.there(x), self.a)

    def slopes(self, kinds: Kinds, x: Array) -> tuple[Array, Array, Array, Array]:
        """Distances [n] of b and of a, and their slopes [n, 3] in the frame of b."""
        first, down1 = kinds.second.slope(x, self.b)
        second, down2 = kinds.first.slope(self.there(x), self.a)
        return first, second, down1, vector.matvec_t(self.turn[None], down2)


class Path(NamedTuple):
    """Steps of a search, the latest first; zero before there are as many."""

    start: Array  # [iterations + 1, n, 3] m, point of which each was made
    length: Array  # [iterations + 1, n] in slopes, zero where none was made


class _State(NamedTuple):
    x: Array  # [n, 3] m
    dist: Array  # [n] m
    going: Array  # [n] bool
    step: Array  # [] int32
    path: Path  # of the steps so far


class _Trial(NamedTuple):
    next: Array  # [] length to try, in slopes
    length: Array  # [n] of the step taken
    value: Array  # [n] of the objective there
    open: Array  # [n] bool: none taken yet


def meet(o: Overlap) -> Array:
    """[] whether the boxes of two fields overlap."""
    low, high = _common(o)
    return jnp.all(high >= low)


def overlap_points(kinds: Kinds, o: Overlap, points: int, iterations: int) -> tuple[Array, Array, Path]:
    """Points [n, 3] (m) in the frame of b where a search ends that starts from as many, distances [n] (m) there, and
    its steps; of two fields that `meet`."""
    zero = jnp.zeros((points,), o.turn.dtype)
    shape = (iterations + 1, points)
    path = Path(jnp.zeros((*shape, 3), zero.dtype), jnp.zeros(shape, zero.dtype))
    state = _State(_starts(o, points), zero, zero == 0, jnp.zeros((), jnp.int32), path)
    state = lax.while_loop(lambda s: s.step <= iterations, lambda s: _step(kinds, o, s, iterations), state)
    return state.x, state.dist, state.path


def retraced(kinds: Kinds, o: Overlap, path: Path, moved: Overlap) -> Array:
    """How the points [n, 3] (m) of a search move with its solids, by its steps.

    A step that is long beside the radius of the curve it goes down crosses an edge, which is a feature: its direction
    is taken as fixed.
    """
    steps, points = path.length.shape

    def step(dx: Array, now: tuple[Path, Array]) -> tuple[Array, None]:
        (x, length), last = now

        def slope(x: Array, o: Overlap) -> Array:
            return _downhill(o.slopes(kinds, x), last)[2]

        def curved(direction: Array) -> Array:
            return jax.jvp(lambda x: slope(x, o), (x,), (jnp.broadcast_to(direction, x.shape),))[1]

        turns = jnp.max(jnp.abs(jax.vmap(curved)(jnp.eye(3, dtype=x.dtype))), axis=(0, 2))
        change = jax.jvp(slope, (x, o), (dx, moved))[1]
        bends = (length > 0) & (length * turns < SHARP)
        return dx - jnp.where(bends[:, None], length[:, None] * change, 0), None

    start = jax.jvp(lambda o: _starts(o, points), (o,), (moved,))[1]
    return lax.scan(step, start, (path, jnp.arange(steps) == 0), reverse=True)[0]


def _starts(o: Overlap, points: int) -> Array:
    """Points [n, 3] (m) in the frame of b, spread over what the boxes share."""
    low, high = _common(o)
    x = low[None] + (high - low)[None] * jnp.asarray(halton(points), low.dtype)
    return vector.matvec_t(o.turn[None], x - o.offset[None])


def _common(o: Overlap) -> tuple[Array, Array]:
    """The lowest and highest corner [3] of what the box of a and the one around that of b share, in the frame of a."""
    centre = vector.matvec(o.turn, o.b.aabb[:3]) + o.offset
    half = vector.matvec(jnp.abs(o.turn), o.b.aabb[3:])
    low = jnp.maximum(o.a.aabb[:3] - o.a.aabb[3:], centre - half)
    high = jnp.minimum(o.a.aabb[:3] + o.a.aabb[3:], centre + half)
    return low, high


def halton(count: int, start: int = 0, bases: tuple[int, ...] = (2, 3, 5)) -> np.ndarray:
    """Halton's sequence [count, bases] from number `start` on (mju_Halton)."""
    out = np.zeros((count, len(bases)))
    for column, base in enumerate(bases):
        left, share = np.arange(start, start + count), 1 / base
        while left.any():
            out[:, column] += share * (left % base)
            left, share = left // base, share / base
    return out


def _step(kinds: Kinds, o: Overlap, s: _State, iterations: int) -> _State:
    """One step of all points that are still going; the last is down max(A, B), and all make it."""
    last = s.step == iterations
    first, second, slope = _downhill(o.slopes(kinds, s.x), last)
    usable = jnp.all(jnp.isfinite(slope) & (jnp.abs(slope) <= MAXVAL), axis=1)
    before = _objective(last, first, second)
    least = GAIN * jnp.sum(slope * slope, axis=1)

    def shorter(t: _Trial) -> _Trial:
        value = _objective(last, *o.values(kinds, s.x - t.next * slope))
        short = value - before > -t.next * least
        enough = t.open & ~(short & (t.next > SHORTEST))
        length, there = jnp.where(enough, t.next, t.length), jnp.where(enough, value, t.value)
        return _Trial(0.5 * t.next, length, there, t.open & ~enough)

    open_ = usable & (s.going | last)
    t = _Trial(jnp.ones((), before.dtype), jnp.zeros_like(before), before, open_)
    t = lax.while_loop(lambda t: jnp.any(t.open), shorter, t)
    better = usable & ~(before < t.value)
    moved = better & (s.going | last)
    x = jnp.where(moved[:, None], s.x - t.length[:, None] * slope, s.x)
    now = Path(s.x, jnp.where(moved, t.length, 0))
    path = jax.tree.map(lambda now, before: jnp.concatenate([now[None], before[:-1]]), now, s.path)
    dist = jnp.where(usable, jnp.minimum(before, t.value), MAXVAL)
    going = s.going & better
    # where no point goes on, only the last step is left
    following = jnp.where(jnp.any(going), s.step + 1, jnp.maximum(s.step + 1, iterations))
    return _State(x, dist, going, following, path)


def _downhill(slopes: tuple[Array, Array, Array, Array], last: Array) -> tuple[Array, Array, Array]:
    """Distances [n] and [n] and the slope [n, 3] of what a step, which may be the last [], goes down."""
    first, second, down1, down2 = slopes
    deeper = jnp.where((first > second)[:, None], down1, down2)
    outside = jnp.where(jnp.maximum(first, second) > 0, 1, -1).astype(deeper.dtype)
    return first, second, jnp.where(last, deeper, down1 + down2 + outside[:, None] * deeper)


def _objective(last: Array, first: Array, second: Array) -> Array:
    most = jnp.maximum(first, second)
    return jnp.where(last, most, first + second + jnp.abs(most))
