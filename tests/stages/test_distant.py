"""The distant contact law, and derivatives that are its while the step is the soft one's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js

# balls over the floor: near, nearer and touching; the last two next to each other
XML = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 .17"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
    <body pos="1 0 .12"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="2"/></body>
    <body pos="1 .23 .0993"><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>
    <body pos="3 0 .5"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def test_derivatives_are_those_of_the_distant_law():
    """Values are the soft law's; derivatives are differences of the distant law's step, in both modes."""
    soft = js.load(XML)
    soft = soft.replace(opt=soft.opt.replace(tolerance=0.0))  # for differences
    distant = soft.replace(opt=soft.opt.replace(contact="distant"))
    seeing = soft.replace(opt=soft.opt.replace(contact_gradient="distant"))
    data = js.make_data(soft)
    x = jnp.concatenate([data.qpos, jnp.array([-0.3, 0.1, 0.2, 0.1, 0.3])])

    def after(x, model):
        end = js.step(model, data.replace(qpos=x[:5], qvel=x[5:]))
        state = jnp.concatenate([end.qpos, end.qvel])
        return state, state

    forward, value = jax.jit(jax.jacfwd(after, has_aux=True))(x, seeing)
    backward, _ = jax.jit(jax.jacrev(after, has_aux=True))(x, seeing)
    np.testing.assert_allclose(backward, forward, atol=1e-12)
    eps = 1e-6
    moved = x[None] + eps * jnp.concatenate([jnp.eye(10), -jnp.eye(10), jnp.zeros((1, 10))])
    of_distant, of_soft = (jax.jit(jax.vmap(after, (0, None)))(moved, m)[0] for m in (distant, soft))
    np.testing.assert_allclose(value, of_soft[20], atol=1e-14)
    assert np.abs(of_distant - of_soft).max() > 1e-4
    theirs, own = ((ends[:10] - ends[10:20]).T / (2 * eps) for ends in (of_distant, of_soft))
    np.testing.assert_allclose(forward, theirs, rtol=1e-6, atol=1e-7)
    push, none = np.asarray(forward)[5:, :5], np.asarray(own)[5:, :5]
    assert push[0, 0] < -1e-4 and none[0, 0] == 0  # the nearer to the floor, the more it is pushed up
    assert push[1, 1] < 2 * push[0, 0]
    assert abs(push[1, 2]) > 1e-5 and none[1, 2] == 0  # the one beside it pushes it
    assert push[4, 4] == 0  # far from everything


def test_what_is_refused():
    opt = js.load(XML).opt
    with pytest.raises(ValueError, match=r"see contacts ahead by opt\.kappa_gradient already"):
        opt.replace(contact="hard", contact_gradient="distant")
    with pytest.raises(ValueError, match=r"opt\.contact_reach is 0\.0: it has to be positive"):
        opt.replace(contact_reach=0.0)
    with pytest.raises(ValueError, match="expected one of 'own', 'distant'"):
        opt.replace(contact_gradient="far")
