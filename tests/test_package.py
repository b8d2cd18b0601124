"""The package as it is installed and imported."""

import subprocess
import sys
from importlib import metadata

import pytest

from jaxsim import _guard


def test_namesake_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: name)
    with pytest.raises(ImportError, match="two projects are imported as 'jaxsim'"):
        _guard.refuse_namesake()


def test_alone_it_is_welcome():
    _guard.refuse_namesake()


def test_loading_and_simulating_needs_no_mujoco():
    program = """
import sys
sys.modules["mujoco"] = None  # importing it fails
import jaxsim as js
from jaxsim import models
model = js.load(models.path("cart_pole"))
print(float(js.step(model, js.make_data(model)).time) > 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
