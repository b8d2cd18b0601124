"""Parameters by name, and their identification from trajectories of MuJoCo C."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

from jaxsim.optimize import identify, linear, log, log_cholesky, parameters, windows
from jaxsim.optimize.eigen import eigh3
from jaxsim.optimize.gauss_newton import fit, linearised
from jaxsim.optimize.identification import _spread
from jaxsim.optimize.uncertainty import certainty, wider

# a driven cart with a pole, and a puck that slides on the floor
XML = """
<mujoco>
  <option timestep="0.01"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 .1" contype="1" friction=".2"/>
    <body name="cart" pos="0 0 1">
      <joint name="rail" type="slide" axis="1 0 0" damping=".4"/>
      <geom size=".1" mass="1"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0" damping=".02" armature=".02"/>
        <geom type="capsule" fromto="0 0 0 .1 0 -.6" size=".03" mass=".5"/>
      </body>
    </body>
    <body name="puck" pos="0 0 .05">
      <joint name="slide" type="slide" axis="1 0 0"/>
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom name="puck" size=".05" mass=".3" conaffinity="1" friction=".6"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="rail" gear="5"/><motor joint="slide" gear="2"/></actuator>
</mujoco>
"""
WANTED = {
    "mass:cart": log(),
    "body_mass:pole": log(0.3, 1.0),
    "damping:*e*": log(),  # of the hinge and of the slide, which has none: refused
    "armature:hinge": log(),
    "friction:puck": log(0.1, 2.0),
    "geom_friction[1]:puck": linear(0.0),
}


@functools.cache
def scene():
    mj, model = oracle.pair_of_xml(XML)
    wanted = {name: transform for name, transform in WANTED.items() if "*" not in name}
    return mj, model, parameters(model, wanted | {"damping:hinge": log(), "damping:rail": log()})


def recorded(mj, count=6, steps=30):
    """Trajectories of MuJoCo C with random controls, from random states in contact with the floor."""
    rng = np.random.default_rng(0)
    d, ctrl = mujoco.MjData(mj), rng.uniform(-1, 1, (count, steps, mj.nu))
    qpos, qvel = np.zeros((count, steps + 1, mj.nq)), np.zeros((count, steps + 1, mj.nv))
    for i in range(count):
        mujoco.mj_resetData(mj, d)
        d.qpos[:3] = rng.uniform(-1, 1, 3)
        d.qpos[3] = -1e-3  # the puck rests on the floor, well in touch
        d.qvel[:3] = rng.uniform(-2, 2, 3)
        for t in range(steps + 1):
            qpos[i, t], qvel[i, t] = d.qpos, d.qvel
            if t < steps:
                d.ctrl[:] = ctrl[i, t]
                mujoco.mj_step(mj, d)
    return {"qpos": qpos, "qvel": qvel, "ctrl": ctrl}


def test_identification_from_mujoco():
    """Without noise, with an outlier; then with noise, by the same program."""
    mj, model, wanted = scene()
    nominal = np.asarray(wanted.values(model, jnp.zeros(len(wanted.names))))
    off = np.array([1.1, 0.9, 0.9, 1.1, 1.0, 1.1, 0.9])
    wrong = wanted.apply(model, wanted.theta(model, jnp.asarray(nominal * off)))
    truth = dict(zip(wanted.names, nominal))
    records = recorded(mj)
    seen = windows(model, records, 10)
    jolted = np.asarray(seen.measured["qvel"]).copy()
    jolted[4, 5:] += 1.5
    kicked = seen._replace(measured=seen.measured | {"qvel": jnp.asarray(jolted)})
    scale = {"qpos": np.array([0.01, 0.01, 0.01, 1e-5]), "qvel": np.array([0.02, 0.02, 0.02, 1e-4])}

    found = identify(wrong, wanted, kicked, scale=scale, fit_start=True)
    assert found.converged and found.weights[4] < 1e-3 and np.delete(found.weights, 4).min() > 0
    assert found.without_effect == ("geom_friction:puck[1]",) and not found.confounded
    for name in set(truth) - set(found.without_effect):
        np.testing.assert_allclose(found.values[name], truth[name], rtol=1e-6, err_msg=name)
    assert found.values["geom_friction:puck[1]"] == truth["geom_friction:puck[1]"]
    assert found.deviations["geom_friction:puck[1]"] == np.inf
    np.testing.assert_allclose(found.model.body_inertia, model.body_inertia, rtol=1e-6)  # follows the mass
    np.testing.assert_allclose(found.model.dof_M0, model.dof_M0, rtol=1e-6)  # set_const was run

    rng = np.random.default_rng(1)
    noisy = {
        k: v + (k != "ctrl") * scale.get(k, np.zeros(1)) * rng.standard_normal(v.shape) for k, v in records.items()
    }
    cut = windows(model, noisy, 10)
    found = identify(wrong, wanted, cut, scale=scale, fit_start=True)
    again = identify(wrong, wanted, [cut, cut], scale=scale, fit_start=True, iterations=20)
    np.testing.assert_array_equal(again.history[: found.iterations], found.history)
    assert again.history[found.iterations] < 0.3 * found.history[0]  # it begins with the values found, not the starts
    with pytest.raises(ValueError, match="empty"):
        identify(wrong, wanted, [], scale=scale)
    for fitted in (found, again):
        assert 0.8 < fitted.noise < 1.2  # in units of the scale
        for name in set(truth) - set(fitted.without_effect):
            error, deviation = abs(fitted.values[name] - truth[name]), fitted.deviations[name]
            # all are searched by their logarithms, so that what is found says how far one deviation is
            assert error < 3 * deviation and deviation < 0.2 * fitted.values[name], name


def test_names():
    model = scene()[1]
    named = parameters(model, {"damping:[hr]*": log(), "gear:push": linear(), "geom_size:puck": linear()})
    sizes = tuple(f"geom_size:puck[{i}]" for i in range(3))
    assert named.names == ("damping:rail", "damping:hinge", "gear:push", *sizes)
    values = np.asarray(named.values(model, jnp.array([0.0, np.log(2), 1.0, 0.0, 0.0, 0.0])))
    np.testing.assert_allclose(values[:3], [0.4, 0.04, 6.0])
    for wanted, error, message in (
        (WANTED, ValueError, "damping:slide is 0, and log"),
        ({"masss:cart": log()}, KeyError, "short names: mass"),
        ({"mass:cat": log()}, KeyError, "closest: cart"),
        ({"mass": log()}, ValueError, "expected FIELD:ELEMENT"),
        ({"friction[3]:puck": log()}, ValueError, "3 numbers"),
        ({"mass:cart": log(), "body_mass:c*": log()}, ValueError, "given more than once"),
        ({"mass:cart": log(2.0, 3.0)}, ValueError, "outside of its bounds"),
        ({"mass:cart": log_cholesky()}, ValueError, "for inertias"),
        ({"mass:cart": log(), "inertia:cart": log_cholesky()}, ValueError, "given more than once: mass:cart"),
        ({"inertia:c*": log_cholesky(), "body_inertia[1]:cart": log()}, ValueError, "given more than once"),
        ({"mass:cart": 1.0}, TypeError, "no transform"),
    ):
        with pytest.raises(error, match=message):
            parameters(model, wanted)


@pytest.mark.parametrize("order", [("mass:pole", "inertia:pole"), ("inertia:pole", "mass:pole")])
def test_inertia_beside_mass_is_its_own(order):
    """Else it follows the mass; bounds and theta are of the numbers themselves."""
    model, transforms = scene()[1], {"mass:pole": log(0.3, 1.0), "inertia:pole": log(1e-4, 1.0)}
    named = parameters(model, {name: transforms[name] for name in order})
    low, high = named.bounds(model)
    limits = {"mass:pole": [0.3, 1.0], **{f"inertia:pole[{i}]": [1e-4, 1.0] for i in range(3)}}
    for side, theta in enumerate((low, high)):
        np.testing.assert_allclose(named.values(model, theta), [limits[name][side] for name in named.names], rtol=1e-12)
    alone = parameters(model, {"mass:pole": log(), "inertia:cart": log()})
    pole = list(model.topology.names["body"]).index("pole")
    twice = alone._set(model, jnp.array([np.log(2.0), 0, 0, 0]))
    np.testing.assert_allclose(twice.body_inertia[pole], 2 * model.body_inertia[pole], rtol=1e-12)


def test_inertia_moves_freely(rng):
    """Any theta is the inertia of points with mass; zero is the model's own; derivatives are finite at both."""
    model = scene()[1]
    wanted = parameters(model, {"inertia:pole": log_cholesky()})
    numbers = jax.jit(lambda theta: wanted.values(model, theta))
    own = np.asarray(numbers(jnp.zeros(10)))
    pole = model.body("pole").id
    np.testing.assert_allclose(own[0], model.body_mass[pole])
    np.testing.assert_allclose(own[1:4], model.body_ipos[pole], atol=1e-12)
    np.testing.assert_allclose(own[4:7].sum(), model.body_inertia[pole].sum(), rtol=2e-3)
    theta = jnp.asarray(0.5 * rng.standard_normal(10))
    slopes = np.asarray(jax.jacfwd(numbers)(theta))
    assert np.linalg.matrix_rank(slopes) == 10 and np.isfinite(jax.jacfwd(numbers)(jnp.zeros(10))).all()
    step = 1e-6 * rng.standard_normal(10)
    np.testing.assert_allclose(numbers(theta + step) - numbers(theta - step), 2 * slopes @ step, atol=1e-9)
    xx, yy, zz, xy, xz, yz = np.asarray(numbers(theta))[4:]
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert moments[0] > 0 and moments[0] + moments[1] >= moments[2]  # the triangle inequality of inertias


def test_eigenvectors_of_small_matrices(rng):
    """Those of LAPACK, and their derivatives, in both dtypes; also of matrices that are diagonal already."""
    A, way = rng.standard_normal((2, 40, 3, 3))
    A, way = A + np.swapaxes(A, 1, 2), way + np.swapaxes(way, 1, 2)
    A[0], A[1] = np.diag([3.0, 1, 2]), np.eye(3)

    def projectors(find, A):
        values, vectors = find(A)
        return values, vectors[:, None] * vectors[None]

    def pushed(find):
        return jax.jit(jax.vmap(lambda A, way: jax.jvp(functools.partial(projectors, find), (A,), (way,))))

    (found, change), (wanted, expected) = pushed(eigh3)(A, way), pushed(jnp.linalg.eigh)(A, way)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-13)
    for a, b in zip((found[1], *change), (wanted[1], *expected)):
        np.testing.assert_allclose(a[2:], b[2:], rtol=1e-9, atol=1e-9)
    values, vectors = jax.jit(jax.vmap(eigh3))(A.astype(np.float32))
    assert values.dtype == jnp.float32
    values, vectors = np.asarray(values, float), np.asarray(vectors, float)
    np.testing.assert_allclose(vectors * values[:, None] @ np.swapaxes(vectors, 1, 2), A, atol=1e-5)


def test_deviations_are_those_of_repeated_fits():
    """A line through windows with independent noise; then with an offset in each, by which its residuals go together.

    There J'J alone states several times too little. What is given for a parameter is the larger of both.
    """
    count, length, repeats = 40, 25, 150
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, (count, 1)) + 0.1 * rng.standard_normal((count, length))  # each window has its own region
    offset, noise = rng.standard_normal((2, repeats, count, length))

    @jax.jit
    def linearise(theta, own, y):
        return linearised(lambda theta, _: theta[0] + jnp.tanh(theta[1]) * t - y, theta, own, True)

    def repeated(size):
        """Deviations of theta over repeated fits, and root mean squares of those of J'J and between windows [2]."""
        free, none, found = jnp.full(2, jnp.inf), jnp.zeros((count, 0)), []
        for i in range(repeats):
            y = jnp.asarray(0.3 + 0.5 * t + 0.1 * noise[i] + size * offset[i, :, :1])
            one = fit(functools.partial(linearise, y=y), jnp.zeros(2), none, -free, free, 30, 1e-10, True)
            known = certainty(one)
            found.append((np.asarray(one.theta), np.diag(known.model), np.diag(known.between)))
            np.testing.assert_allclose(np.diag(wider(known.model, known.between)), np.maximum(*found[-1][1:]))
        theta, model, between = (np.array(x) for x in zip(*found))
        return theta.std(0), np.sqrt(model.mean(0)), np.sqrt(between.mean(0))

    # 150 repetitions give a deviation to 6 %: 20 % is three of those and more
    true, model, between = repeated(0.0)
    np.testing.assert_allclose(model, true, rtol=0.2)
    np.testing.assert_allclose(between, true, rtol=0.2)
    true, model, between = repeated(0.1)
    assert (model < 0.4 * true).all()
    np.testing.assert_allclose(between, true, rtol=0.2)


def test_windows_that_fail_leave_the_rest_as_it_is(rng):
    """Residuals that are not numbers, and derivatives that are not, are as if their windows were not there."""
    t = rng.standard_normal((12, 8))
    y = 0.3 + 0.5 * t + 0.1 * rng.standard_normal(t.shape)
    y[5] += 3.0  # one that does not fit, and loses its weight among either number of others
    broken, kept = [2, 7, 9], np.delete(np.arange(12), [2, 7, 9])
    seen = y.copy()
    seen[2, 3], seen[7] = np.nan, np.inf
    steep = jnp.zeros((12, 1)).at[9].set(1.0)  # the square root of zero has no derivative

    def line(theta, own, t, y, steep):
        slip = jnp.where(steep > 0, jnp.sqrt(0 * theta[0]), 0)
        return theta[0] + theta[1] * t + slip - y

    def one(t, y, steep):
        free = jnp.full(2, jnp.inf)
        at = jax.jit(lambda theta, own: linearised(lambda a, b: line(a, b, t, y, steep), theta, own, True))
        found = fit(at, jnp.zeros(2), jnp.zeros((len(t), 1)), -free, free, 30, 1e-10, True)
        return found, certainty(found)

    (with_them, known), (without, expected) = one(t, seen, steep), one(t[kept], y[kept], steep[kept])
    assert with_them.converged and (np.asarray(with_them.system.weights)[broken] == 0).all()
    np.testing.assert_allclose(with_them.theta, without.theta, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(with_them.system.weights)[kept], without.system.weights, rtol=1e-9)
    for a, b in zip(known[2:], expected[2:]):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    assert without.system.weights[4] < 1e-2 < 0.5 < np.delete(np.asarray(without.system.weights), 4).min()


def test_records_with_gaps():
    """What was not measured counts nowhere: neither in the fit nor in the scale of its noise."""
    mj, model, _ = scene()
    records = recorded(mj, count=4, steps=20)
    gaps = {k: v.copy() for k, v in records.items()}
    whole = windows(model, records, 5)
    cut = windows(model, gaps, 5)
    keep = np.arange(5) % 4 == 2  # not the first
    for name in ("qpos", "qvel"):
        cut.measured[name] = jnp.where(keep[None, :, None], cut.measured[name], jnp.nan)
    cut.measured["qvel"] = cut.measured["qvel"].at[:, :, 2].set(jnp.nan)
    for name, spread in _spread(model, cut).items():
        seen = np.asarray(whole.measured[name])[:, 2]
        expected = np.maximum(seen.std(0), 1e-3 * seen.std(0).max())
        if name == "qvel":
            expected[2] = 1  # never measured
        np.testing.assert_allclose(spread, expected, rtol=1e-12)
    wrong = model.set("body_mass", "cart", 1.1)
    found = identify(wrong, {"mass:cart": log()}, cut)
    assert found.values["mass:cart"] == pytest.approx(1.0, abs=1e-9) and found.converged
    nowhere = cut._replace(start=cut.start.replace(qvel=jnp.full_like(cut.start.qvel, jnp.nan)))
    with pytest.raises(ValueError, match="in none of the windows"):
        identify(wrong, {"mass:cart": log()}, nowhere)
    with pytest.raises(ValueError, match="scale has qposs; expected some of qpos, qvel, sensordata"):
        identify(wrong, {"mass:cart": log()}, cut, scale={"qposs": np.ones(4)})
