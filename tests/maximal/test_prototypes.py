"""All sixteen pairs of free translations and free rotations: Dojo's invariants at its tolerances (dojo.md 1.3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import maximal

SLIDES = ['<joint type="slide" axis="1 0 0" {d}/>', '<joint type="slide" axis="0 1 0" {d}/>']
SLIDES += ['<joint type="slide" axis="0 0 1" {d}/>']
TURNS = {1: '<joint axis="0 1 0" pos="0 0 .1" {d}/>', 3: '<joint type="ball" pos="0 0 .1" {d}/>'}
TURNS |= {0: "", 2: TURNS[1] + '<joint axis="1 0 0" pos="0 .05 .1" {d}/>'}
PAIR = """<body pos="{i} 0 0"><freejoint/><geom type="box" size=".1 .2 .15" mass="1"/>
<body pos=".3 .1 0" euler="20 0 10">{joints}<geom type="box" size=".1 .05 .08" pos=".1 0 0" mass=".5"/>
<body pos=".2 0 0"><geom size=".05" mass=".1"/></body></body></body>"""
KINDS = [(t, r) for t in range(4) for r in range(4)]


@pytest.fixture(scope="module")
def mechanism() -> maximal.Mechanism:
    pairs = ""
    for i, (t, r) in enumerate(KINDS):
        joints = ("".join(SLIDES[:t]) + TURNS[r]).format(d='damping=".05" stiffness="2" armature=".01"')
        pairs += PAIR.format(i=i, joints=joints)
    text = '<mujoco><option timestep="0.01" gravity="0 0 0"/><default><geom contype="0"/></default>'
    model = js.load(f"{text}<worldbody>{pairs}</worldbody></mujoco>")
    return jax.jit(maximal.from_model)(model)


@pytest.fixture(scope="module")
def start(mechanism) -> maximal.State:
    """Somewhere in motion, every coordinate away from zero."""
    rng, m = np.random.default_rng(0), mechanism.model
    qpos = js.integrate_pos(m, m.qpos0, jnp.asarray(rng.normal(size=m.nv)), 0.3)
    return jax.jit(maximal.to_maximal)(mechanism, qpos, jnp.asarray(rng.normal(size=m.nv)))


def test_every_pair_is_a_joint(mechanism):
    s = mechanism.structure
    held = [link for link in range(s.n) if not s.floating[link]]
    found = [maximal.prototype(mechanism.model.topology, link) for link in held]
    assert found == KINDS[1:]  # of the first pair, (0, 0), both bodies are one link
    assert s.n == 31


def test_momentum_is_kept_and_joints_hold(mechanism, start):
    """2000 steps, the first 100 with random forces along all joints: linear and angular momentum to 1e-8."""
    free = np.concatenate([np.arange(a, a + 6) for a in mechanism.model.jnt_dofadr[mechanism.model.jnt_type == 0]])

    def advance(state, applied):
        state, _, how = maximal.stepped(mechanism, state, applied=applied)
        worst = jnp.max(jnp.abs(maximal.violation(mechanism, state)))
        return state, (maximal.momentum(mechanism, state), worst, how.iterations)

    force = np.random.default_rng(1).normal(size=(2000, mechanism.model.nv)) * (np.arange(2000) < 100)[:, None]
    force[:, free] = 0
    end, (momentum, worst, iterations) = jax.jit(lambda s, f: jax.lax.scan(advance, s, f))(start, jnp.asarray(force))
    first = maximal.momentum(mechanism, start)
    assert np.abs(first).min() > 0.1
    assert np.abs(momentum - first[None]).max() < 1e-8
    assert worst.max() < 1e-10
    assert iterations.max() < 10
    assert np.abs(end.qpos - start.qpos).max() > 1


def test_minimal_and_maximal_round_trip(mechanism, start):
    """1e-10 both ways, and the Jacobians of both ways by differences."""
    m = mechanism.model
    qpos, qvel = jax.jit(maximal.to_minimal)(mechanism, start)
    assert np.abs(qpos - start.qpos).max() < 1e-10 and np.abs(qvel - start.qvel).max() < 1e-10
    again = jax.jit(maximal.to_maximal)(mechanism, qpos, qvel)
    for a, b in zip(start[:4], again[:4]):
        assert np.abs(a - b).max() < 1e-10

    @jax.jit
    def there_and_back(x, dx):
        def through(x):
            state = maximal.to_maximal(mechanism, js.integrate_pos(m, start.qpos, x[0], 1.0), start.qvel + x[1])
            q, v = maximal.to_minimal(mechanism, state._replace(qpos=start.qpos, qvel=start.qvel))
            return js.differentiate_pos(m, 1.0, start.qpos, q), v - start.qvel, *state[:4]

        return jax.jvp(through, (x,), (dx,))

    rng = np.random.default_rng(2)
    zero, direction = jnp.zeros((2, m.nv)), jnp.asarray(rng.normal(size=(2, m.nv)))
    (_, _, *_), (q, v, *slopes) = there_and_back(zero, direction)
    assert np.abs(q - direction[0]).max() < 1e-8 and np.abs(v - direction[1]).max() < 1e-8
    step = 1e-6
    high, low = (there_and_back(sign * step * direction, direction)[0][2:] for sign in (1.0, -1.0))
    for slope, up, down in zip(slopes, high, low):
        assert np.abs(slope - (up - down) / (2 * step)).max() < 1e-5
