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
SMALL, LEFT = 1e-5, 1e-6  # of a centred difference, and what it leaves


@functools.cache
def _scene():
    model = js.load(XML)
    data = js.make_data(model)
    return model, data.replace(qpos=jnp.array([0.0, -0.002, 0.1]), act=jnp.array([0.2]))


def _inputs(*shape: int):
    """Velocities, controls and a factor of the masses: [..., nv + nu + 1]."""
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


def _path(x, wrap=lambda f: f):
    """A loss over five steps in a scan."""
    model, data = _put(x)
    step = wrap(js.step)

    def advance(d, _):
        stepped = step(model, d)
        return stepped, jnp.sum(_result(stepped) ** 2)

    return lax.scan(advance, data, None, length=5)[1].sum()


def _differences(fun, x):
    """Centred differences of a function of a vector, [..., len(x)]."""
    change = SMALL * jnp.eye(x.size)
    ends = [(jnp.stack([fun(x + s * e) for e in change]), s) for s in (1, -1)]
    return np.moveaxis((np.asarray(ends[0][0]) - np.asarray(ends[1][0])) / (2 * SMALL), 0, -1)


def _close(a, b, tolerance=1e-10):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.isfinite(a).all()
    assert np.abs(a - b).max() < tolerance * (1 + np.abs(b).max())


def _each(fun, x):
    """fun of each row of x, one call after the other."""
    return jnp.stack([fun(row) for row in x])


# compiled once, shared by the tests
after, loss, path = jax.jit(_after), jax.jit(_loss), jax.jit(_path)
slope = jax.jit(jax.grad(_loss))
hessian = jax.jit(jax.hessian(_loss))


def test_the_scene_has_what_it_is_for():
    stepped = js.step(*_put(_inputs()))
    assert stepped.ncon == 1 and stepped.nefc == 5  # dry friction, a limit, an elliptic cone of three
    assert np.abs(hessian(_inputs())).max() > 1e-3  # not a linear map


def test_first_derivatives():
    x = _inputs()
    expected = _differences(after, x)
    assert (np.abs(expected).max(axis=0) > 1e-3).all()  # each input matters
    forward, reverse = jax.jit(jax.jacfwd(_after))(x), jax.jit(jax.jacrev(_after))(x)
    _close(forward, expected, LEFT)
    _close(reverse, forward)
    _close(slope(x), _differences(loss, x), LEFT)


def test_linearised_and_transposed():
    x = _inputs()
    matrix = np.asarray(jax.jacfwd(after)(x))
    y, tangent = jax.linearize(after, x)
    rows = jnp.eye(y.size)
    _close(y, after(x))
    _close(jax.vmap(tangent)(jnp.eye(x.size)), matrix.T)
    _close(jax.vmap(jax.linear_transpose(tangent, x))(rows)[0], matrix)
    _close(jax.vmap(jax.vjp(after, x)[1])(rows)[0], matrix)


def test_second_derivatives():
    x = _inputs()
    expected = _differences(slope, x)
    ways = {
        "forward over reverse": hessian,
        "reverse over forward": jax.jit(jax.jacrev(jax.jacfwd(_loss))),
        "reverse over reverse": jax.jit(jax.jacrev(jax.grad(_loss))),
        "forward over forward": jax.jit(jax.jacfwd(jax.jacfwd(_loss))),
    }
    for fun in ways.values():
        _close(fun(x), expected, LEFT)
        _close(fun(x), hessian(x), 1e-9)


def test_third_derivative():
    x, v = _inputs(), jnp.asarray(np.random.default_rng(1).standard_normal(6))

    def along(x):
        """The Hessian times a direction, by a product with one tangent."""
        return jax.jvp(jax.grad(_loss), (x,), (v,))[1]

    _close(jax.jit(along)(x), hessian(x) @ v, 1e-9)
    _close(jax.jit(jax.grad(lambda x: along(x) @ v))(x), _differences(lambda x: v @ hessian(x) @ v, x), LEFT)


def test_batches_of_values():
    x = _inputs(2, 3)
    expected = jnp.stack([_each(after, row) for row in x])
    _close(jax.jit(jax.vmap(jax.vmap(_after)))(x), expected)
    turned = jnp.transpose(x, (2, 1, 0))  # worlds in the last axes
    inner = jax.vmap(_after, in_axes=1, out_axes=1)
    _close(jax.jit(jax.vmap(inner, in_axes=2))(turned), jnp.swapaxes(expected, 1, 2))
    _close(jax.jit(lambda x: lax.map(jax.vmap(_after), x))(x), expected)


def test_batches_of_derivatives():
    x = _inputs(2, 3)
    flat = x.reshape(6, -1)
    matrices, slopes = _each(jax.jit(jax.jacfwd(_after)), flat), _each(slope, flat)
    _close(jax.jit(jax.vmap(jax.jacfwd(_after)))(flat), matrices)
    _close(jax.jit(jax.vmap(jax.jacrev(_after)))(flat), matrices)
    _close(jax.jit(jax.vmap(jax.vmap(jax.grad(_loss))))(x), slopes.reshape(x.shape))
    _close(jax.jit(jax.vmap(jax.hessian(_loss)))(flat[:3]), _each(hessian, flat[:3]), 1e-9)


def test_derivatives_of_batches():
    x = _inputs(2, 3)
    flat = x.reshape(6, -1)
    slopes, matrices = _each(slope, flat), _each(jax.jit(jax.jacfwd(_after)), flat)
    _close(jax.jit(jax.grad(lambda x: jax.vmap(_loss)(x).sum()))(flat), slopes)
    _close(jax.jit(jax.grad(lambda x: jax.vmap(jax.vmap(_loss))(x).sum()))(x), slopes.reshape(x.shape))
    v = jnp.asarray(np.random.default_rng(2).standard_normal(flat.shape))
    tangent = jax.jit(lambda x, v: jax.jvp(jax.vmap(_after), (x,), (v,))[1])(flat, v)
    _close(tangent, jnp.einsum("bij,bj->bi", matrices, v))
    # what all worlds share
    shared = jax.jit(jax.grad(lambda s, x: jax.vmap(lambda row: _loss(s * row))(x).sum()))(1.0, flat)
    _close(shared, (slopes * flat).sum())


def test_second_derivatives_of_batches():
    x = _inputs(3)
    v = jnp.asarray(np.random.default_rng(3).standard_normal(x.shape))
    slopes = jax.grad(lambda x: jax.vmap(_loss)(x).sum())
    along = jax.jit(lambda x, v: jax.jvp(slopes, (x,), (v,))[1])(x, v)
    _close(along, jnp.einsum("bij,bj->bi", _each(hessian, x), v), 1e-9)
    full = jax.jit(jax.jacfwd(slopes))(x)
    blocks = np.asarray(full)[np.arange(3), :, np.arange(3)]
    _close(blocks, _each(hessian, x), 1e-9)
    assert np.abs(np.asarray(full)[0, :, 1]).max() == 0  # worlds do not touch


def test_scans():
    x = _inputs()
    expected = jax.jit(jax.grad(_path))(x)
    _close(expected, _differences(path, x), LEFT)
    _close(jax.jit(jax.jacfwd(_path))(x), expected)
    batch = _inputs(3)
    slopes = _each(jax.jit(jax.grad(_path)), batch)
    _close(jax.jit(jax.vmap(jax.grad(_path)))(batch), slopes)
    _close(jax.jit(jax.grad(lambda x: jax.vmap(_path)(x).sum()))(batch), slopes)


def test_a_scan_of_a_batch():
    """The worlds step together, as in a simulation, and the derivative goes through the whole."""
    batch = _inputs(3)
    slopes = _each(jax.jit(jax.grad(_path)), batch)

    def together(x):
        model, _ = _scene()
        masses, data = jax.vmap(lambda row: (_put(row)[0].body_mass, _put(row)[1]))(x)
        inertias = jax.vmap(lambda row: _put(row)[0].body_inertia)(x)

        def advance(d, _):
            own = jax.vmap(lambda m, i, d: js.step(model.replace(body_mass=m, body_inertia=i), d))
            stepped = own(masses, inertias, d)
            return stepped, jnp.sum(jax.vmap(_result)(stepped) ** 2)

        return lax.scan(advance, data, None, length=5)[1].sum()

    _close(jax.jit(jax.grad(together))(batch), slopes)


@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.dots_saveable], ids=["nothing", "dots"])
def test_checkpoints(policy):
    x, batch = _inputs(), _inputs(3)

    def lean(x):
        return _path(x, functools.partial(jax.checkpoint, policy=policy))

    slopes = jax.jit(jax.grad(lean))
    _close(slopes(x), jax.jit(jax.grad(_path))(x))
    _close(jax.jit(jax.vmap(jax.grad(lean)))(batch), _each(slopes, batch))


def test_hessian_of_a_scan_with_checkpoints():
    x = _inputs()

    def lean(x):
        return _path(x, jax.checkpoint)

    _close(jax.jit(jax.hessian(lean))(x), _differences(jax.jit(jax.grad(_path)), x), 1e-5)


def test_models_of_their_own():
    """A batch of Models with one Data, and a batch of both."""
    x = _inputs(3)
    models, datas = jax.vmap(_put)(x)
    expected = _each(after, x)
    _close(jax.jit(jax.vmap(lambda m, d: _result(js.step(m, d))))(models, datas), expected)
    one = jax.tree.map(lambda leaf: leaf[0], datas)
    alone = jnp.stack([_result(js.step(jax.tree.map(lambda leaf, i=i: leaf[i], models), one)) for i in range(3)])
    _close(jax.jit(jax.vmap(lambda m: _result(js.step(m, one))))(models), alone)
