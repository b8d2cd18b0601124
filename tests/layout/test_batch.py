"""Batches: the same numbers whatever the batch, faults that stay in their world, and the layout's rules."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxsim as js
from jaxsim import models as bundled
from jaxsim.collision.compact import gather
from jaxsim.collision.shape import make_frame
from jaxsim.layout import batched
from jaxsim.solvers.linear.solve import solve

WORLDS = 130  # more than one chunk, and not a multiple of anything


@functools.cache
def _worlds(precision: str):
    model = js.load(bundled.path("hopper"))
    data = js.make_data(model)
    keys = jax.random.split(jax.random.key(0), WORLDS)
    batch = jax.vmap(lambda k: data.replace(qvel=data.qvel + 0.3 * jax.random.normal(k, data.qvel.shape)))(keys)
    return model, batch, _run(model, batch)


@jax.jit
def _run(model, batch):
    advance = jax.vmap(js.step, in_axes=(None, 0))
    return lax.scan(lambda d, _: (advance(model, d), None), batch, None, length=5)[0]


def _same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))


@pytest.mark.usefixtures("float32", "optimized")
def test_a_world_is_the_same_alone_and_anywhere_in_any_batch():
    model, batch, out = _worlds("float32")
    order = np.random.default_rng(0).permutation(WORLDS)
    assert _same(_run(model, jax.tree.map(lambda x: x[order], batch)), jax.tree.map(lambda x: x[order], out))
    for one in (0, WORLDS - 1):
        alone = _run(model, jax.tree.map(lambda x, i=one: x[i : i + 1], batch))
        assert _same(alone, jax.tree.map(lambda x, i=one: x[i : i + 1], out))


@pytest.mark.usefixtures("float32", "optimized")
@pytest.mark.parametrize("worlds", [32, 48, 128])
def test_rows_at_indices_are_rounded_alike_in_every_lane(worlds, rng):
    """In a chunk of 32 the frames of chosen rows were rounded otherwise in its last world."""
    table, rank = rng.normal(size=(372, 3)).astype(np.float32), rng.normal(size=372).astype(np.float32)

    def frames(table, rank):
        chosen = jnp.argsort(rank)[:126].astype(jnp.int32)
        return make_frame(gather(table, chosen), 0 * gather(table[::-1], chosen))

    same = [jnp.broadcast_to(x, (worlds, *x.shape)) for x in (table, rank)]
    out = np.asarray(jax.jit(jax.vmap(batched(frames)))(*same))
    np.testing.assert_array_equal(out, np.broadcast_to(out[:1], out.shape))


@pytest.mark.usefixtures("float32", "optimized")
def test_a_bad_world_is_reset_and_the_others_do_not_notice():
    model, batch, out = _worlds("float32")
    bad = _run(model, batch.replace(qvel=batch.qvel.at[7].set(jnp.nan)))
    others = np.arange(WORLDS) != 7
    assert _same(*(jax.tree.map(lambda x: x[others], d) for d in (bad, out)))
    assert np.isfinite(bad.qpos[7]).all()
    assert js.warnings_of(bad) == {"BADQVEL": 1}


def test_a_batch_steps_as_its_worlds_do_one_by_one():
    model = js.load(bundled.path("ant"))
    data = js.make_data(model)
    rng = np.random.default_rng(0)
    batch = jax.vmap(lambda v: data.replace(qvel=v))(jnp.asarray(rng.standard_normal((3, model.nv))))
    together = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))(model, batch)
    for i in range(3):
        one = js.step(model, jax.tree.map(lambda x, i=i: x[i], batch))
        for name in ("qpos", "qvel", "qacc", "qfrc_constraint", "sensordata", "xpos"):
            np.testing.assert_allclose(getattr(together, name)[i], getattr(one, name), rtol=1e-9, atol=1e-10)


def test_worlds_may_differ_in_their_model():
    model = js.load(bundled.path("cart_pole"))
    data = js.make_data(model).replace(ctrl=jnp.ones(model.nu))
    masses = model.body_mass[None] * jnp.array([[1.0], [2.0], [3.0]])
    together = jax.jit(jax.vmap(lambda mass: js.step(model.replace(body_mass=mass), data)))(masses)
    for i in range(3):
        one = js.step(model.replace(body_mass=masses[i]), data)
        np.testing.assert_allclose(together.qacc[i], one.qacc, rtol=1e-12)


# single-world programs on x [3, 4] and an index k [], one per rule of the layout
PROGRAMS = {
    "elementwise": lambda x, k: jnp.sin(x) * 2 + x[:, :1],
    "select": lambda x, k: jnp.where(x > 0, x, -x),
    "sum": lambda x, k: x.sum(0),
    "max": lambda x, k: x.max(1),
    "argmax": lambda x, k: jnp.argmax(x, axis=1),
    "any": lambda x, k: jnp.any(x > 1, axis=0),
    "product": lambda x, k: jnp.prod(x, axis=0),
    "long sum": lambda x, k: jnp.tile(x, (50, 1)).sum(0),
    "long max": lambda x, k: jnp.tile(x, (50, 1)).max(0),
    "nothing": lambda x, k: jnp.concatenate([x[:0] * 2, jnp.sin(x), jnp.zeros((0, 4))]).sum(0) + x[:0].sum(),
    "constants": lambda x, k: jnp.where(np.arange(4)[None] > jnp.arange(3)[:, None], x * np.float64(2), jnp.cos(x)),
    "unused": lambda x, k: (jnp.sin(x) * 0 + x[k][None] * (k * 0).astype(x.dtype), jnp.cumsum(x, axis=0) + jnp.exp(x))[
        0
    ],
    "long": lambda x, k: functools.reduce(lambda y, i: 0.5 * jnp.sin(y) + 0.1 * x[i % 3][None] * y, range(80), x),
    "loops": lambda x, k: lax.fori_loop(
        0, 3, lambda i, y: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[1] @ s[1].T @ x), (0 * k, y))[1], x
    ),
    "system": lambda x, k: solve(x @ x.T + jnp.eye(3), x[:, 0], jnp.arange(3.0)),
    "cumsum": lambda x, k: jnp.cumsum(x, axis=1),
    "sort": lambda x, k: jnp.sort(x, axis=0),
    "transpose": lambda x, k: x.T @ jnp.arange(3.0),
    "constant matrix": lambda x, k: lax.dot(jnp.arange(6.0).reshape(2, 3), x),
    "matrix product": lambda x, k: x @ x.T,
    "outer": lambda x, k: x[:, None] * x[None],
    "reshape": lambda x, k: x.reshape(2, 6),
    "concatenate": lambda x, k: jnp.concatenate([x, x[:1], jnp.ones((1, 4))]),
    "stack": lambda x, k: jnp.stack([x, x + 1], axis=1),
    "pad": lambda x, k: jnp.pad(x, 1),
    "slice": lambda x, k: x[1:, ::2],
    "reverse": lambda x, k: x[::-1],
    "rows": lambda x, k: x[np.array([2, 0, 0])],
    "own row": lambda x, k: x[k],
    "own rows of a constant": lambda x, k: jnp.arange(12.0).reshape(3, 4)[jnp.stack([k, 2 - k])],
    "dynamic slice": lambda x, k: lax.dynamic_slice(x, (k, 0), (1, 2)),
    "dynamic update": lambda x, k: lax.dynamic_update_slice(x, jnp.ones((1, 1)), (k, 1)),
    "scatter": lambda x, k: x.at[np.array([0, 2])].set(7.0),
    "scatter add": lambda x, k: x.at[np.array([0, 0])].add(x[1:]),
    "own scatter": lambda x, k: x.at[k].add(1.0),
    "cond": lambda x, k: lax.cond(k > 0, lambda y: y * 2, lambda y: y - 1, x),
    "while": lambda x, k: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[1] * 2), (0 * k, x))[1],
    "scan": lambda x, k: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(4), x),
    "own rows within a scan and after it": lambda x, k: (
        lax.scan(lambda c, row: (c + row * x[k], c), x[0], x)[0] + x[2 - k]
    ),
    "fori": lambda x, k: lax.fori_loop(0, 3, lambda i, y: y + x[i], jnp.zeros(4)),
    "inverse": lambda x, k: jnp.linalg.inv(x[:, :3] @ x[:, :3].T + jnp.eye(3)),
    "split": lambda x, k: lax.split(x, (1, 3), axis=1)[1],
    "iota": lambda x, k: x + jnp.arange(4.0)[None] * k.astype(x.dtype),
    "signed zeros": lambda x, k: [jnp.arctan2(jnp.where(k > 5, x, zero), -1 - x * x) for zero in (0.0, -0.0)],
    "checkpoint": lambda x, k: jax.checkpoint(lambda y: jnp.sin(y) * x)(x + 1),
    "nested vmap": lambda x, k: jax.vmap(lambda row: row @ row)(x),
}


AXES = ((0, 0), (0, None), (None, 0), (1, 0))  # over all arguments, or over one of them


@pytest.mark.parametrize("name", PROGRAMS)
def test_layout_rule(name, rng):
    """The same values as plain vmap."""
    x, k = rng.standard_normal((5, 3, 4)), np.array([0, 1, 2, 1, 0])
    batches = ((x, k), (x, k[1]), (x[0], k), (np.swapaxes(x[:3], 0, 1), k[:3]))

    @functools.partial(jax.jit, static_argnums=0)
    def run(fun, batches):
        return [jax.vmap(fun, axes)(*args) for axes, args in zip(AXES, batches)]

    expected, got = run(PROGRAMS[name], batches), run(batched(PROGRAMS[name]), batches)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), got, expected)


# those without loops that reverse mode cannot follow, and with real results
DIFFERENTIABLE = sorted(set(PROGRAMS) - {"while", "loops", "fori", "any", "argmax"})


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_of_a_layout_rule(name, rng):
    """Tangents, and cotangents, of a batch are those of its worlds, in columns too."""
    fun, x = PROGRAMS[name], jnp.asarray(rng.standard_normal((3, 3, 4)))
    k, dot = jnp.asarray([0, 1, 2]), jnp.asarray(rng.standard_normal((3, 3, 4)))

    def pulls(run):
        def both(x, k, dot):
            out, tangents = jax.jvp(lambda x: run(x, k), (x,), (dot,))
            return tangents, jax.vjp(lambda x: run(x, k), x)[1](jax.tree.map(jnp.cos, out))

        return jax.jit(jax.vmap(both))

    expected, got = pulls(fun)(x, k, dot), pulls(batched(fun))(x, k, dot)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10), got, expected)
