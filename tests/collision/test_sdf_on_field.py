"""Signed distance fields on height fields, which MuJoCo leaves out: a ball that is one has the contacts of its sphere."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js

RADIUS, ROWS = 0.2, 9
HEIGHT = np.random.default_rng(3).uniform(0, 1, (ROWS, ROWS)).round(2)
CORNERS = RADIUS * np.stack(np.meshgrid(*[(-1, 1)] * 3), axis=-1).reshape(8, 3)  # of a box around it
SPHERE, FIELD = f'type="sphere" size="{RADIUS}"', 'type="sdf" mesh="ball"'
POSES = 24


def scene(geom):
    return f"""<mujoco><option ccd_tolerance="1e-12"/><asset>
      <mesh name="ball" vertex="{" ".join(map(str, CORNERS.ravel()))}"/>
      <hfield name="ground" nrow="{ROWS}" ncol="{ROWS}" size="1 1 .2 .1" elevation="{" ".join(map(str, HEIGHT.ravel()))}"/>
    </asset><worldbody>
      <geom type="hfield" hfield="ground" pos=".1 .2 .3" euler="10 20 30" margin=".01"/>
      <body><freejoint/><geom name="ball" {geom}/></body>
    </worldbody></mujoco>"""


def ball(point):
    return jnp.linalg.norm(point) - RADIUS


def test_a_ball_has_the_contacts_of_a_sphere():
    mj, model = mujoco.MjModel.from_xml_string(scene(SPHERE)), js.load(scene(FIELD), sdf={"ball": ball})
    d, data = mujoco.MjData(mj), js.make_data(model)
    mujoco.mj_forward(mj, d)
    rng = np.random.default_rng(0)
    place = rng.uniform([-0.6, -0.6, 0.25], [0.6, 0.6, 0.36], (POSES, 3)) @ d.geom_xmat[0].reshape(3, 3).T
    qpos = np.concatenate([place + d.geom_xpos[0], np.tile([1.0, 0, 0, 0], (POSES, 1))], axis=1)

    def rows(place, rest):
        found = js.forward(model, data.replace(qpos=jnp.concatenate([place, rest]))).contact
        return jnp.concatenate([found.dist[:, None], found.pos, found.frame.reshape(-1, 9)[:, :3]], axis=1)

    forward = jax.jit(
        jax.vmap(lambda place, rest: js.forward(model, data.replace(qpos=jnp.concatenate([place, rest]))))
    )
    measured = jax.jit(jax.vmap(rows))
    along = rng.normal(size=(POSES, 3))

    @jax.jit
    @jax.vmap
    def slopes(place, rest, along, weight):
        exact = jax.jvp(lambda x: rows(x, rest), (place,), (along,))[1]
        back = jax.grad(lambda x: jnp.sum(weight * rows(x, rest)))(place)
        return exact, jnp.sum(back * along), jnp.sum(weight * exact)

    place, rest = qpos[:, :3], qpos[:, 3:]
    found, ours = np.asarray(forward(place, rest).ncon), np.asarray(measured(place, rest))
    real = np.arange(ours.shape[1]) < found[:, None]
    weight = np.where(real[..., None], rng.normal(size=ours.shape), 0)
    exact, back, forth = map(np.asarray, slopes(place, rest, along, weight))
    ahead, behind = (np.asarray(measured(place + h * along, rest)) for h in (1e-6, -1e-6))

    touched = 0
    for pose, ncon, mine in zip(qpos, found, ours):
        d.qpos[:] = pose
        mujoco.mj_forward(mj, d)
        theirs = np.column_stack([d.contact.dist, d.contact.pos, d.contact.frame[:, :3]])
        assert ncon == len(theirs)
        touched += ncon
        for row in theirs:
            error = np.abs(mine[:ncon] - row).max(1)
            assert error.min() < 1e-6  # m of positions, after the ten steps of the search
    assert touched > 3 * POSES
    # a ball comes nearer along the normal, and what touches it moves along
    nearer = np.sum(ours[..., 4:] * along[:, None], axis=2)
    np.testing.assert_allclose(exact[real][:, 0], nearer[real], rtol=0, atol=2e-6)  # as the search
    np.testing.assert_allclose(back, forth, rtol=0, atol=1e-9)
    bent = np.abs(ahead + behind - 2 * ours).max(2) / 1e-6
    error = np.abs(exact - (ahead - behind) / 2e-6).max(2)
    # where a triangle's edge lies between them, they are on either side
    assert np.all(error <= 0.6 * bent + 1e-5, where=real)
    assert np.median(error[real]) < 1e-8 and np.mean(bent[real] < 2e-3) > 0.8
