"""No program may contain a batched LAPACK call that JAX splits over threads: two of them wait for each other for ever.

Seen with jaxlib 0.10.2 on two threads: `jit(vmap(transition_jacobians))` of a quadruped stopped after one to three calls.
"""

import math
import re
import subprocess
import sys

import compilation
import jax
import jax.numpy as jnp
import pytest

import jaxsim as js
from jaxsim import maximal
from jaxsim import models as bundled
from jaxsim.solvers.linear.spd_solve import PIECE_WORK

WORLDS = 50

# quaternions, contacts, and a free body on its own, whose gyroscopic block is not symmetric
FREE = """
<mujoco><option integrator="implicitfast"/><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 .3"><freejoint/><geom size=".1" mass="1"/></body>
<body pos="1 0 1"><joint name="j" axis="0 1 0" damping=".1"/><geom type="capsule" size=".05 .2"/></body>
</worldbody><actuator><velocity joint="j" kv="1"/></actuator></mujoco>
"""


# of calls, without the letter of their type: JAX's count for one matrix
COSTS = {
    "potrf": lambda n, columns: n**3 // 3,
    "trsm_": lambda n, columns: n * n * columns,
    "getrf": lambda n, columns: n * columns * min(n, columns),
    "syevd": lambda n, columns: 5 * n**3,
}


def splitting_calls(text: str) -> list[str]:
    """LAPACK calls of a lowered program on batches that are large enough to be split: XLA adds none to them."""
    found = []
    for line in text.splitlines():
        called = re.search(r"custom_call @(lapack_\w+)", line)
        if called is None:
            continue
        shapes = [[int(n) for n in x.split("x")] for x in re.findall(r"tensor<([\dx]+)xf(?:32|64)>", line)]
        *batch, n, columns = max(shapes, key=math.prod)
        count, each = math.prod(batch), COSTS[called[1][8:13]](n, columns)
        if count > 1 and count * each >= PIECE_WORK and -(-PIECE_WORK // each) < count:
            found.append(f"{called[1]} on {shapes}")
    return found


def _programs(name: str):
    model = js.load(FREE) if name == "free" else js.load(bundled.path(name))
    data = js.make_data(model)
    batch = jax.vmap(lambda v: data.replace(qvel=v))(jnp.ones((WORLDS, model.nv)) * 0.1)

    def loss(d):
        end, _ = js.rollout(model, d, jnp.zeros((3, model.nu)))
        return jnp.sum(end.qpos**2) + jnp.sum(end.site_xpos) + jnp.sum(end.qacc)

    yield "step", jax.vmap(js.step, (None, 0)), (model, batch)
    yield "transition_jacobians", jax.vmap(lambda d: js.transition_jacobians(model, d)), (batch,)
    yield "gradient", jax.vmap(jax.grad(lambda v, d: loss(d.replace(qvel=v)))), (batch.qvel, batch)
    yield (
        "gradient of the batch",
        jax.grad(lambda v: jnp.sum(jax.vmap(lambda v: loss(data.replace(qvel=v)))(v))),
        (batch.qvel,),
    )
    yield (
        "set_const",
        jax.vmap(lambda s: js.set_const(model.replace(body_mass=model.body_mass * s))),
        (jnp.ones(WORLDS),),
    )


@pytest.mark.parametrize("name, chosen", [("quadruped", ("gradient",)), ("free", ())])
@pytest.mark.usefixtures("float32")
def test_no_program_has_a_library_call_that_may_split(name, chosen):
    for what, fun, args in _programs(name):
        if chosen and what not in chosen:  # each takes ten seconds to trace
            continue
        calls = splitting_calls(jax.jit(fun).lower(*args).as_text())
        assert not calls, f"{what}: {calls}"


@pytest.mark.usefixtures("float32")
def test_maximal_coordinates_have_no_library_call_that_may_split():
    """Of a step and of its conversion, with a thousand worlds, where a link's matrix would be large enough."""
    mechanism = maximal.from_model(js.load(FREE, contact="hard"), without=("contact",))

    def loss(qpos):
        state = maximal.to_maximal(mechanism, qpos, jnp.zeros(mechanism.model.nv))
        return sum(jnp.sum(x) for x in maximal.to_minimal(mechanism, maximal.step(mechanism, state)))

    qpos = jnp.broadcast_to(mechanism.model.qpos0, (1000, mechanism.model.nq))
    calls = splitting_calls(jax.jit(jax.vmap(jax.grad(loss))).lower(qpos).as_text())
    assert not calls, calls


@pytest.mark.usefixtures("float32")
def test_the_search_finds_such_calls():
    H = jnp.broadcast_to(jnp.eye(20), (5000, 20, 20))
    lowered = jax.jit(jnp.linalg.cholesky).lower(H)
    assert splitting_calls(lowered.as_text())
    assert called(lowered.compile().as_text(), 'custom_call_target="') == called(lowered.as_text(), "custom_call @")


def called(text: str, before: str) -> list[str]:
    return re.findall(rf"{before}(lapack_\w+)", text)


REPEATS = """
import jax, jax.numpy as jnp, jaxsim as js
from jaxsim import models
model = js.load(models.path("quadruped"))
data = js.make_data(model, 0)
batch = jax.vmap(lambda v: data.replace(qvel=v))(0.1 * jax.random.normal(jax.random.key(0), (50, model.nv)))
lowered = jax.jit(jax.vmap(js.transition_jacobians, in_axes=(None, 0))).lower(model, batch)
run = lowered.compile()
for _ in range(20):
    result = jax.block_until_ready(run(model, batch))
print(lowered.as_text())
print("finite", all(bool(jnp.isfinite(x).all()) for x in result))
"""


def test_twenty_batches_of_jacobians_come_back():
    """In a process of its own with a limit of time, because what fails here waits for ever: after three calls at most.

    Its kernels are not those of users, see compilation.py; the calls and what waits for them are.
    """
    run, env = [sys.executable, "-c", REPEATS], compilation.environment()
    done = subprocess.run(run, capture_output=True, text=True, timeout=600, env=env)
    assert done.stdout.strip().endswith("finite True"), done.stderr[-2000:]
    assert "stablehlo" in done.stdout and not splitting_calls(done.stdout)
