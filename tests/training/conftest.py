"""Training's tests have the promotion that optax needs."""

import jax
import pytest


@pytest.fixture(autouse=True)
def promotion_of_optax():
    """Adam raises floats to whole numbers, which strict promotion forbids."""
    with jax.numpy_dtype_promotion("standard"):
        yield
