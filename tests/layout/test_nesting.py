"""Derivatives and batches of `step` in every nesting: equal to differences and to worlds taken one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxsim as js

# a foot that slides on the floor with a limb on it: contact, limit, dry friction, activation, sensors
XML = """
<mujoco>
  <option timestep=".01" cone="elliptic" tolerance="0" iterations="50"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .099">
      <joint type="slide" axis="1 0 0" damping=".1"/>
      <joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size=".1" friction=".4"/>
      <body pos="0 0 .1">
        <joint name="knee" axis="0 1 0" range="-60 5" limited="true" frictionloss=".05" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .1 0 .3"/>
        <site name="tip" pos=".1 0 .3"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="knee" gear="3"/>
    <general joint="knee" dyntype="filter" dynprm=".05" gainprm="2"/>
  </actuator>
  <sensor><framepos objtype="site" objname="tip"/><accelerometer site="tip"/></sensor>
</mujoco>
"""
SMALL, LEFT = 1e-5, 1e-6  # the step of a centred difference, and the error that it leaves


@functools.cache
def _scene():
    model = js.load(XML)
    data = js.make_data(model)
    return model, data.replace(qpos=jnp.array([0.0, -0.002, 0.1]), act=jnp.array([0.2]))


def _inputs(*shape: int):
    """Velocities, controls and a factor of the masses: [..., nv + nu + 1]."""
    _scene()  # loaded here, outside of any trace
    center = np.array([0.4, -0.1, 0.3, 0.5, -0.4, 1.0])
    noise = 0.05 * np.random.default_rng(0).standard_normal((*shape, center.size))
    return jnp.asarray(noise + center.reshape((1,) * len(shape) + (-1,)))


def _put(x):
    model, data = _scene()
    nv = model.nv
    heavier = model.replace(body_mass=model.body_mass * x[-1], body_inertia=model.body_inertia * x[-1])
    return heavier, data.replace(qvel=x[:nv], ctrl=x[nv:-1])


def _result(data):
    """What a loss may read: state, sensors, poses, forces."""
    parts = (data.qpos, data.qvel, data.act, 0.1 * data.sensordata, data.site_xpos[0], 0.01 * data.qfrc_constraint)
    return jnp.concatenate(parts)


def _after(x):
    return _result(js.step(*_put(x)))


def _loss(x):
    y = _after(x)
    return jnp.sum(jnp.sin(y + jnp.linspace(0, 2, y.size)))


def _path(x, step=js.step):
    """A loss over three steps in a scan."""
    model, data = _put(x)

    def advance(d, _):
        stepped = step(model, d)
        return stepped, jnp.sum(_result(stepped) ** 2)

    return lax.scan(advance, data, None, length=3)[1].sum()


def _around(x):
    """x itself, then x moved up and down by SMALL along each axis: [1 + 2 n, *x.shape]."""
    n = x.shape[-1]
    change = SMALL * np.concatenate([np.zeros((1, n)), np.eye(n), -np.eye(n)])
    return x[None] + change.reshape(1 + 2 * n, *[1] * (x.ndim - 1), n)


def _difference(values):
    """Centred differences of what was evaluated at `_around(x)`: the axis of x comes last."""
    n = (len(values) - 1) // 2
    return np.moveaxis((values[1 : n + 1] - values[n + 1 :]) / (2 * SMALL), 0, -1)


def _each(fun, x):
    """fun of each row of x, one call after the other."""
    flat = np.stack([fun(row) for row in x.reshape(-1, x.shape[-1])])
    return flat.reshape(*x.shape[:-1], *flat.shape[1:])


def _close(a, b, tolerance=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.isfinite(a).all()
    assert np.abs(a - b).max() < tolerance * (1 + np.abs(b).max())


def _second_order(x):
    """Hessian by forward over reverse, and the gradient and value on the way."""

    def slope(x):
        value, gradient = jax.value_and_grad(_loss)(x)
        return gradient, (gradient, value)

    hessian, (gradient, value) = jax.jacfwd(slope, has_aux=True)(x)
    return hessian, gradient, value


@functools.cache
def _expected():
    """Hessians, gradients and values about two points, by two nested batches: each [1 + 2 n, 2, ...]."""
    return [np.asarray(y) for y in jax.jit(jax.vmap(jax.vmap(_second_order)))(_around(_inputs(2)))]


@functools.cache
def _matrices():
    """d _after / dx of two points, by differences of single steps."""
    return _difference(_each(_after, _around(_inputs(2))))


def test_the_scene_has_what_it_is_for():
    stepped = js.step(*_put(_inputs()))
    assert stepped.ncon == 1 and stepped.nefc == 5  # dry friction, a limit, an elliptic cone of three
    assert (np.abs(_matrices()).max(axis=(0, 1)) > 1e-3).all()  # each input matters
    assert np.abs(_expected()[0]).max() > 0.1  # and the map is not linear


def test_batch_of_batches_of_hessians():
    """Values are those of single steps, gradients differences of values, Hessians differences of gradients."""
    hessian, gradient, value = _expected()
    _close(value, _each(_loss, _around(_inputs(2))), 1e-11)
    _close(gradient[0], _difference(value), LEFT)
    _close(hessian[0], _difference(gradient), LEFT)


@pytest.mark.parametrize("inner", [jax.jacfwd, jax.grad], ids=["forward", "reverse"])
def test_hessian_by_other_ways(inner):
    """Forward and reverse over forward and reverse, of a single world."""
    outer = jax.jacfwd if inner is jax.jacfwd else jax.jacrev
    _close(jax.jit(outer(inner(_loss)))(_inputs(2)[0]), _expected()[0][0, 0])


def test_derivatives_of_a_batch():
    """The gradient of a sum over worlds, and the derivative of that gradient along one tangent."""
    hessian, gradient, _ = (y[0] for y in _expected())
    x, v = _inputs(2), jnp.asarray(np.random.default_rng(3).standard_normal((2, 6)))
    slopes = jax.grad(lambda x: jax.vmap(_loss)(x).sum())
    found, along = jax.jit(lambda x, v: jax.jvp(slopes, (x,), (v,)))(x, v)
    _close(found, gradient)
    _close(along, np.einsum("bij,bj->bi", hessian, v))


def test_what_the_worlds_of_a_batch_share():
    """One factor of all inputs: its derivative collects those of the worlds."""
    x = _inputs(2)
    shared = jax.jit(jax.grad(lambda s, x: jax.vmap(lambda row: _loss(s * row))(x).sum()))
    _close(shared(1.0, x), (_expected()[1][0] * x).sum())


def test_linearised_and_transposed():
    x, matrix = _inputs(2)[0], _matrices()[0]

    @jax.jit
    def both(x):
        y, tangent = jax.linearize(_after, x)
        back = jax.linear_transpose(tangent, x)
        return jax.vmap(tangent)(jnp.eye(x.size)), jax.vmap(back)(jnp.eye(y.size))[0]

    forward, reverse = both(x)
    _close(forward, matrix.T, LEFT)
    _close(reverse, forward.T, 1e-11)


@functools.cache
def _slopes_of_paths():
    """The gradient of `_path` at two points, by differences of steps taken one by one."""

    def path(x):
        model, data = _put(x)
        total = 0.0
        for _ in range(3):
            data = js.step(model, data)
            total += np.sum(np.square(_result(data)))
        return total

    return _difference(_each(path, _around(_inputs(2))))


@functools.cache
def _gradients_of_paths():
    """The gradient of `_path` at two points, and about the first of them: [2, n] and [1 + 2 n, n]."""
    points = jnp.concatenate([_inputs(2), _around(_inputs(2)[0])])
    return np.split(np.asarray(jax.jit(jax.vmap(jax.grad(_path)))(points)), [2])


def test_scan():
    _close(_gradients_of_paths()[0], _slopes_of_paths(), LEFT)


def test_scan_with_checkpoints():
    step = jax.checkpoint(js.step, policy=jax.checkpoint_policies.dots_saveable)
    _close(jax.jit(jax.grad(lambda x: _path(x, step)))(_inputs(2)[0]), _slopes_of_paths()[0], LEFT)


def test_scan_of_a_batch():
    """The worlds step together, as in a simulation, and the derivative goes back through the whole."""

    def together(x):
        model, _ = _scene()
        heavier, data = jax.vmap(_put)(x)
        own = {name: getattr(heavier, name) for name in ("body_mass", "body_inertia")}

        def advance(d, _):
            stepped = jax.vmap(lambda fields, d: js.step(model.replace(**fields), d))(own, d)
            return stepped, jnp.sum(jax.vmap(_result)(stepped) ** 2)

        return lax.scan(advance, data, None, length=3)[1].sum()

    _close(jax.jit(jax.grad(together))(_inputs(2)), _slopes_of_paths(), LEFT)


def test_hessian_through_a_checkpoint():
    step = jax.checkpoint(js.step)
    hessian = jax.jit(jax.hessian(lambda x: jnp.sum(jnp.sin(_result(step(*_put(x))) + jnp.linspace(0, 2, 19)))))
    _close(hessian(_inputs(2)[0]), _expected()[0][0, 0])


def test_hessian_of_a_scan():
    hessian = jax.jit(jax.hessian(_path))(_inputs(2)[0])
    _close(hessian, _difference(_gradients_of_paths()[1]), 1e-5)


def test_gradient_beside_the_whole_end_of_a_scan_of_a_batch():
    """What is returned beside the gradient is Data with fields that are empty: no plasticity, no equality."""

    def path(x):
        end, seen = lax.scan(lambda d, _: (js.step(_scene()[0], d), d.qvel), _put(x)[1], None, length=3)
        return jnp.sum(seen**2), end

    fun = jax.value_and_grad(lambda x: (lambda y, end: (y.sum(), end))(*jax.vmap(path)(x)), has_aux=True)
    (_, end), _ = jax.jit(fun)(_inputs(2))
    assert end.plastic.shape == (2, 0) and end.qpos.shape == (2, 3)


def test_models_of_their_own():
    """A batch of Models with one Data."""
    models, datas = jax.vmap(_put)(_inputs(3))
    pick = lambda tree, i: jax.tree.map(lambda leaf: leaf[i], tree)  # noqa: E731
    one = pick(datas, 0)
    expected = np.stack([_result(js.step(pick(models, i), one)) for i in range(3)])
    _close(jax.jit(jax.vmap(lambda m: _result(js.step(m, one))))(models), expected, 1e-11)
    assert np.ptp(expected, axis=0).max() > 1e-3
