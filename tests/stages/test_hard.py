"""The hard contact law: closed forms, invariants, and derivatives against differences."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js

# everything that pushes: a box that slides and spins, a chain with limits, friction loss, a motor, and a coupling
MIXED = """
<mujoco><option timestep="0.01"/><default><geom friction="0.5 0.02 0.001"/></default><worldbody>
<geom type="plane" size="5 5 .1" condim="4"/>
<body name="box" pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .12 .1" mass="1"/></body>
<body pos="1 0 .6"><joint name="a" axis="0 1 0" range="-20 1" limited="true" damping=".2" frictionloss=".3"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/>
<body name="tip" pos=".3 0 0"><joint name="b" axis="0 1 0" frictionloss=".1" damping=".05"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".3" condim="1"/></body></body>
<body name="hung" pos="1.6 0 .6"><joint name="c" axis="0 1 0" pos="0 0 .3"/><joint axis="1 0 0" pos="0 0 .3"/><geom size=".04" mass=".2"/></body>
</worldbody><equality><joint joint1="b" joint2="c" polycoef="0 .5 0 0 0"/></equality>
<actuator><motor joint="a"/></actuator></mujoco>
"""
STATE = (0.6, -0.2, 0.0, 0.1, -0.05, 0.3, 1.0, -2.0, -0.5, 0.0)


def _mixed(**options):
    model = js.load(MIXED, contact="hard")
    model = model.replace(opt=model.opt.replace(tolerance=1e-11, **options))
    return model, js.make_data(model).replace(qvel=jnp.array(STATE), ctrl=jnp.array([2.0]))


def test_derivatives_are_those_of_the_step_at_their_kappa():
    """Both modes, with respect to all that a step depends on, against central differences of the step itself."""
    model, data = _mixed(kappa=1e-4, kappa_gradient=1e-4)
    box = model.geom("box").id

    def outcome(x):
        qvel, qpos, ctrl, timestep, friction, size, mass = jnp.split(x, np.cumsum([10, 2, 1, 1, 1, 1]))
        m = model.replace(
            opt=model.opt.replace(timestep=timestep[0]),
            geom_friction=model.geom_friction * friction[0],
            geom_size=model.geom_size.at[box].multiply(size[0]),
            body_mass=model.body_mass * mass[0],
        )
        d = data.replace(qvel=qvel, ctrl=ctrl, qpos=data.qpos.at[jnp.array([2, 7])].set(qpos))
        d = js.step(m, d)
        return jnp.concatenate([d.qvel, d.qpos]), (d.solver_converged, d.solver_niter, d.qfrc_constraint)

    x = jnp.concatenate([data.qvel, jnp.array([0.1001, 0.012]), data.ctrl, jnp.array([0.01, 1.0, 1.0, 1.0])])
    forward, (converged, niter, pushed) = jax.jit(jax.jacfwd(outcome, has_aux=True))(x)
    assert converged and niter <= 15 and np.abs(pushed).max() > 5
    backward, _ = jax.jit(jax.jacrev(outcome, has_aux=True))(x)
    np.testing.assert_allclose(backward, forward, atol=1e-9)
    eps = 1e-6
    moved = x + eps * jnp.concatenate([jnp.eye(x.size), -jnp.eye(x.size)])
    end, (converged, *_) = jax.jit(jax.vmap(outcome))(moved)
    assert converged.all()
    differences = (end[: x.size] - end[x.size :]).T / (2 * eps)
    scale = 1 + np.abs(differences)
    np.testing.assert_allclose(forward / scale, differences / scale, atol=1e-6)
    alone, _ = jax.jit(outcome)(moved[3])
    np.testing.assert_allclose(end[3], alone, atol=1e-12)
