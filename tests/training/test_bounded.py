"""What goes back through the state of a world is bounded, and nothing else is changed."""

import jax
import jax.numpy as jnp
import numpy as np

from training.bounded import bounded

SLOPES = np.array([[3.0, 4.0], [np.nan, 1.0], [np.inf, 0.0], [1e30, 1e30], [0.0, 0.0], [0.3, 0.4]], np.float32)
WITHIN_1 = np.array([[0.6, 0.8], [0, 0], [0, 0], [0.5**0.5, 0.5**0.5], [0, 0], [0.3, 0.4]], np.float32)


def test_the_derivative_of_each_world_is_shortened(float32):
    """Over several leaves, empty ones and whole numbers among them; the norm is that of all together."""
    count = len(SLOPES)
    whole = {"number": jnp.arange(count), "empty": jnp.zeros((count, 0))}

    def value(one, other):
        tree = bounded({"one": one, "other": other, **whole}, 1.0)
        np.testing.assert_array_equal(tree["number"], np.arange(count))
        return (tree["one"] * SLOPES[:, 0]).sum() + (tree["other"] * SLOPES[:, 1]).sum()

    ones = jnp.ones(count, jnp.float32)
    found = jnp.stack(jax.grad(value, (0, 1))(ones, ones), -1)
    np.testing.assert_allclose(found, WITHIN_1, rtol=1e-6)
    tree = {"one": jnp.stack([ones, 2 * ones], -1)}
    np.testing.assert_array_equal(bounded(tree, 1.0)["one"], tree["one"])
