"""Derivatives of kinematics that follow the bodies, beside those of its operations."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.dynamics.kinematics import _frames, kinematics, poses_of

# every joint type, two joints in a body, a free body, a mocap body with a child; joints off the bodies' origins
SCENE = """
<mujoco>
  <worldbody>
    <body pos="0 .1 .5" quat="1 .2 0 .3"><freejoint/><geom size=".1" pos=".1 .2 0"/><site name="s" pos="0 .1 .1"/>
      <body pos="0 0 .3"><joint type="ball" pos=".1 0 .05"/><joint type="slide" axis="1 1 0" pos="0 .1 0"/>
        <geom type="box" size=".1 .2 .1" pos="0 0 .2" euler="10 20 30"/>
        <body pos="0 0 .3" euler="0 40 0"><joint axis="1 2 0" pos="0 .05 .1"/><joint axis="0 0 1" pos=".1 0 0"/>
          <geom size=".1" pos="0 0 .2"/><site pos=".3 0 0"/></body></body></body>
    <body mocap="true" pos="1 0 0"><geom size=".1"/></body>
    <body pos="0 2 0"><joint type="slide" axis="0 1 1"/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""


def test_derivatives_are_those_of_the_operations():
    model = js.load(SCENE)
    data, rng = js.make_data(model), np.random.default_rng(0)
    qpos, dot = jnp.asarray(data.qpos + 0.4 * rng.normal(size=model.nq)), jnp.asarray(rng.normal(size=model.nq))

    def follow(qpos, known=None, model=model):
        d = kinematics(model, data.replace(qpos=qpos), known)
        return {name: getattr(d, name) for name in _frames(model, data)}

    def operate(qpos, model=model):
        return _frames(model, data.replace(qpos=qpos))

    def total(fun):  # every entry counts differently, and its second derivative does not vanish
        return lambda q: sum(jnp.sum(jnp.sin(x * jnp.linspace(1, 2, x.size).reshape(x.shape))) for x in fun(q).values())

    @jax.jit
    def both(qpos, dot):
        known = poses_of(kinematics(model, data.replace(qpos=qpos)))
        ways = follow, lambda q: follow(q, known), operate
        first = [jax.jvp(f, (qpos,), (dot,)) for f in ways]
        second = [jax.jvp(jax.grad(total(f)), (qpos,), (dot,)) for f in ways]
        ones = jnp.ones_like(model.jnt_pos)
        moved = [lambda x, f=f: f(qpos, model=model.replace(jnt_pos=x)) for f in (follow, operate)]
        third = [jax.jvp(f, (model.jnt_pos,), (ones,)) for f in moved]
        return first, second, third

    for *some, expected in both(qpos, dot):
        for result in some:
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11), result, expected)


def test_derivatives_are_finite_where_a_quaternion_is_zero():
    model = js.load(SCENE)
    data = js.make_data(model).replace(qpos=jnp.zeros(model.nq))
    slope = jax.jit(jax.jacfwd(lambda q: kinematics(model, data.replace(qpos=q)).geom_xpos))(data.qpos)
    assert np.isfinite(slope).all() and np.any(slope)
