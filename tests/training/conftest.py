"""`training` is run from a clone and not installed: its folder is found here, however the tests are started."""

import sys
from pathlib import Path

import jax
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


@pytest.fixture(autouse=True)
def promotion_of_optax():
    """Adam raises floats to whole numbers, which strict promotion forbids."""
    with jax.numpy_dtype_promotion("standard"):
        yield
