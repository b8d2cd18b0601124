"""The platform that a program is lowered for decides what it is made of, not the machine that lowers it."""

import functools
import re

import jax
import jax.numpy as jnp
import pytest

import jaxsim as js

# a limb with a foot on the floor: contact, limit, and both systems of equations that a step solves
XML = """
<mujoco>
  <option integrator="implicitfast"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .099">
      <joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size=".1"/>
      <body pos="0 0 .1">
        <joint name="knee" axis="0 1 0" range="-60 5" limited="true" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .1 0 .3"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="knee" gear="3"/></actuator>
</mujoco>
"""
WORLDS = 3
# small systems have a kernel of ours, but where JAX (0.11 on) has to see the GPU that it makes it for
SEEN = jax.__version_info__ < (0, 11) or jax.default_backend() == "gpu"
SYSTEMS = "__gpu$xla.gpu.triton" if SEEN else "cusolver_potrf_ffi"
ONLY_ON_CPU = ("xla_cpu_small_call", "inlineable", "lapack_")


def _height(model, data, ctrl):
    return js.rollout(model, data, ctrl)[0].qpos[0]


def _batch(fun):
    """`fun(model, data, ctrl)` of each world of a batch."""
    return jax.vmap(fun, in_axes=(None, 0, 0))


PROGRAMS = {
    "step": _batch(lambda m, d, u: js.step(m, d.replace(ctrl=u[0]))),
    "gradient": _batch(jax.value_and_grad(_height, argnums=2)),
    "jacobians": _batch(lambda m, d, u: js.transition_jacobians(m, d.replace(ctrl=u[0]))),
}


@functools.cache
def _traced(name: str):
    model = js.load(XML)
    data = js.make_data(model)
    batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (WORLDS, *x.shape)), data)
    ctrl = jnp.zeros((WORLDS, 2, model.nu))
    if name == "one world":
        return jax.jit(js.step).trace(model, data)
    return jax.jit(PROGRAMS[name]).trace(model, batch, ctrl)


@functools.cache
def _lowered(name: str, platform: str) -> str:
    """The StableHLO of a program that is traced once for all platforms."""
    return _traced(name).lower(lowering_platforms=(platform,)).as_text()


def _found(text: str) -> set[str]:
    return {word for word in ONLY_ON_CPU if word in text}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_off_a_cpu_nothing_is_left_that_only_a_cpu_reads(name, platform):
    assert _found(_lowered(name, "cpu")) == {"xla_cpu_small_call", "inlineable"}  # its systems are factored as lanes
    text = _lowered(name, platform)
    assert not _found(text)
    assert set(re.findall(r"custom_call @([\w$.]+)", text)) == ({SYSTEMS} if platform == "cuda" else set())
    # worlds first and all at once: no loop over chunks, none over columns
    assert text.count("stablehlo.while") < _lowered(name, "cpu").count("stablehlo.while")


def test_one_world_goes_to_the_library_of_its_platform():
    assert _found(_lowered("one world", "cpu")) == {"lapack_"}
    for platform in ("cuda", "tpu"):
        assert not _found(_lowered("one world", platform))


def test_a_program_exported_for_two_platforms_chooses_where_it_runs():
    traced = _traced("step")
    both = traced.lower(lowering_platforms=("cpu", "cuda")).as_text()
    assert "stablehlo.case" in both
    assert _found(both) == {"xla_cpu_small_call", "inlineable"}
    assert SYSTEMS in both
