"""How a batch of worlds is laid out: single-world code, run with the world axis last.

Stage code is written for one world. `jax.vmap` would put the world axis first, [B, n, 3], where every
small vector operation is strided. Here the traced single-world program is run again with each batched
array's world axis last, [n, 3, B]: elementwise work is contiguous over worlds, taking rows copies runs of
B numbers, a constant matrix acts on all worlds in one product, and small positive definite systems are solved
side by side. A primitive without a rule here goes through the world-first rule of `jax.vmap`.

`batched(fun)` is `fun` as one equation of a program: see `worlds` for its rules. On a CPU the worlds go through in
chunks, so that temporaries stay in cache and a chunk waits for its own slowest world only, and short operations
are compiled together as single kernels. On other platforms a batch is `jax.vmap`, which gains nothing from this.

`where_asked(fun)` is a function of one lane, such as a pair of geoms, for many lanes of which few are asked for: those
of all worlds are put one after the other and run as worlds do.

This package knows no physics and imports nothing else of jaxsim. A module with a primitive of its own registers the
primitive's rule with `rule`.
"""

from jaxsim.layout import control, elementwise, products  # noqa: F401  (they register their rules)
from jaxsim.layout.program import read_by
from jaxsim.layout.queue import queued
from jaxsim.layout.worlds import batched, where_asked

__all__ = ["batched", "queued", "read_by", "where_asked"]
