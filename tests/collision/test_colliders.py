"""Every analytic collider against MuJoCo's own contacts, at random and degenerate poses."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim.collision.shape import NO_CONTACT, Shape, make_frame
from jaxsim.collision.table import ANALYTIC, COLLIDERS
from jaxsim.core.enums import GeomType as G

SIZES = {
    G.PLANE: (5, 5, 0.1),
    G.SPHERE: (0.3,),
    G.CAPSULE: (0.2, 0.4),
    G.ELLIPSOID: (0.2, 0.3, 0.4),
    G.CYLINDER: (0.3, 0.2),
    G.BOX: (0.2, 0.3, 0.4),
}
PAIRS = sorted(pair for pair in ANALYTIC if G.MESH not in pair)
IDS = [f"{G(a).name.lower()}-{G(b).name.lower()}" for a, b in PAIRS]
# MuJoCo searches for this one, to its ccd_tolerance and with its own number of steps: test_spheres.py
CLOSED = [pair for pair in PAIRS if pair != (G.SPHERE, G.ELLIPSOID)]
CLOSED_IDS = [f"{G(a).name.lower()}-{G(b).name.lower()}" for a, b in CLOSED]
POSES = 240


@pytest.fixture(autouse=True)
def strict():
    with (
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        yield


class Oracle:
    """MuJoCo's contacts between two geoms on two freely placed bodies."""

    def __init__(self, type1, type2, margin, size1=None, size2=None):
        geoms = [
            f'<geom type="{G(t).name.lower()}" size="{" ".join(map(str, size or SIZES[t]))}"/>'
            for t, size in ((type1, size1), (type2, size2))
        ]
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><worldbody>
              <body mocap="true">{geoms[0]}</body><body><freejoint/>{geoms[1]}</body>
            </worldbody></mujoco>"""
        )
        self.model.geom_margin[0] = margin
        self.data = mujoco.MjData(self.model)
        self.size = np.array([self.model.geom_size] * POSES)

    def __call__(self, pose1, pose2):
        """Geom positions and orientations, and (dist, pos, frame) of each contact, of each pose."""
        d, xpos, xmat, contacts = self.data, [], [], []
        for (p1, q1), (p2, q2) in zip(zip(*pose1), zip(*pose2)):
            d.mocap_pos[0], d.mocap_quat[0] = p1, q1
            d.qpos[:3], d.qpos[3:] = p2, q2
            mujoco.mj_kinematics(self.model, d)
            mujoco.mj_collision(self.model, d)
            xpos.append(d.geom_xpos.copy())
            xmat.append(d.geom_xmat.reshape(2, 3, 3).copy())
            contacts.append(np.column_stack([d.contact.dist, d.contact.pos, d.contact.frame]))
        return np.array(xpos), np.array(xmat), contacts


@functools.cache
def collider(type1, type2):
    """The collider over [n] pairs: contacts [n, k, 13] as rows of dist, pos and frame."""
    function, _ = COLLIDERS[type1, type2]

    def one(xpos, xmat, size, margin):
        a, b = (Shape(xpos[i], xmat[i], size[i]) for i in (0, 1))
        c = function(a, b, margin)
        frame = make_frame(c.normal, c.tangent).reshape(-1, 9)
        return jnp.concatenate([c.dist[:, None], c.pos, frame], axis=1)

    return jax.jit(jax.vmap(one, in_axes=(0, 0, 0, None)))


def run(pair, xpos, xmat, size, margin, dtype=np.float64):
    return np.asarray(collider(*pair)(*(np.asarray(x, dtype) for x in (xpos, xmat, size, margin))))


def assert_same_contacts(ours, theirs, of_position=1e-9):
    """Equal sets of contacts for each pose, in any order: distances and frames to 1e-9."""
    allowed = np.full(13, 1e-9)
    allowed[1:4] = of_position
    counts = np.sum(ours[:, :, 0] < NO_CONTACT, axis=1)
    np.testing.assert_array_equal(counts, [len(t) for t in theirs])
    for mine, reference in zip(ours, theirs):
        left = [row for row in mine if row[0] < NO_CONTACT]
        for row in reference:
            error = [(np.abs(row - x) / allowed).max() for x in left]
            best = int(np.argmin(error))
            assert error[best] < 1, f"MuJoCo has {row}\nnearest of ours {left[best]}"
            left.pop(best)


def quats(rng, n):
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def poses(rng, reach=0.8, n=POSES):
    """Random poses whose centres are up to `reach` apart."""
    away = rng.normal(size=(n, 3))
    away *= rng.uniform(0.05, reach, (n, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    base = rng.normal(size=(n, 3))
    return (base, quats(rng, n)), (base + away, quats(rng, n))


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("pair", CLOSED, ids=CLOSED_IDS)
def test_random_poses(pair, margin):
    oracle = Oracle(*pair, margin)
    xpos, xmat, contacts = oracle(*poses(np.random.default_rng(1)))
    found = run(pair, xpos, xmat, oracle.size, margin)
    assert_same_contacts(found, contacts)
    assert sum(len(c) > 0 for c in contacts) > 0.3 * POSES


# rotations that are exact in binary or nearly so: multiples of a quarter turn
QUARTER = np.array(
    [[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1], [1, -1, 1, 1]], float
)
QUARTER /= np.linalg.norm(QUARTER, axis=1, keepdims=True)


@pytest.mark.parametrize("pair", CLOSED, ids=CLOSED_IDS)
def test_axis_aligned_poses(pair):
    rng = np.random.default_rng(2)
    oracle = Oracle(*pair, 0.05)
    pose1, pose2 = poses(rng)
    pose1[1][:] = [1, 0, 0, 0]
    pose2[1][:] = QUARTER[rng.integers(len(QUARTER), size=POSES)]
    xpos, xmat, contacts = oracle(pose1, pose2)
    assert_same_contacts(run(pair, xpos, xmat, oracle.size, 0.05), contacts)


THIN = {
    (G.BOX, G.BOX): [((0.5, 0.5, 0.01), (0.1, 0.2, 0.3)), ((1, 0.02, 0.02), (0.03, 0.6, 0.03))],
    (G.CAPSULE, G.BOX): [((0.05, 0.1), (0.5, 0.5, 0.02)), ((0.02, 1), (0.03, 0.6, 0.03))],
    (G.SPHERE, G.BOX): [((0.1,), (0.5, 0.5, 0.01))],
}
SHAPES = [(pair, *sizes) for pair, choices in THIN.items() for sizes in choices]


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-5, 1e-2])
@pytest.mark.parametrize("pair, size1, size2", SHAPES)
def test_thin_shapes_nearly_aligned(pair, size1, size2, tilt):
    rng = np.random.default_rng(7)
    oracle = Oracle(*pair, 0.05, size1, size2)
    pose1, pose2 = poses(rng)
    if tilt == 0:
        pose1[1][:] = [1, 0, 0, 0]  # exactly aligned; elsewhere rounding would decide between features
    turn = np.column_stack([np.ones(POSES), rng.normal(size=(POSES, 3)) * tilt])
    for i in range(POSES):
        mujoco.mju_mulQuat(pose2[1][i], pose1[1][i], turn[i] / np.linalg.norm(turn[i]))
    xpos, xmat, contacts = oracle(pose1, pose2)
    # where a line of one shape leaves the other is a height divided by the angle, and the heights of poses a few
    # metres apart have a few roundings in them
    of_position = max(1e-9, 4 * np.finfo(float).eps / tilt) if tilt else 1e-9
    assert_same_contacts(run(pair, xpos, xmat, oracle.size, 0.05), contacts, of_position)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-6, 3e-5, 2e-4, 1e-2])
def test_nearly_parallel_capsules(angle):
    rng = np.random.default_rng(3)
    oracle = Oracle(G.CAPSULE, G.CAPSULE, 0.0, (0.2, 0.4), (0.15, 0.3))
    pose1, pose2 = poses(rng)
    turn = np.column_stack([np.ones(POSES), rng.normal(size=(POSES, 3)) * angle / 2])
    turn[::2] = turn[::2, [1, 0, 3, 2]] * [-1, 1, -1, 1]  # half of them head to tail
    for i in range(POSES):
        mujoco.mju_mulQuat(pose2[1][i], pose1[1][i], turn[i] / np.linalg.norm(turn[i]))
    xpos, xmat, contacts = oracle(pose1, pose2)
    found = run((G.CAPSULE, G.CAPSULE), xpos, xmat, oracle.size, 0.0)
    assert_same_contacts(found, contacts)


@pytest.mark.parametrize("pair", CLOSED, ids=CLOSED_IDS)
def test_coincident_centres(pair):
    rng = np.random.default_rng(4)
    oracle = Oracle(*pair, 0.0)
    base = rng.normal(size=(POSES, 3))
    xpos, xmat, contacts = oracle((base, quats(rng, POSES)), (base, quats(rng, POSES)))
    assert_same_contacts(run(pair, xpos, xmat, oracle.size, 0.0), contacts)


def degenerate_shapes(pair):
    """Coincident, touching, aligned and nearly aligned pairs: positions, orientations and sizes, float32."""
    sizes = [np.pad(SIZES[t], (0, 3 - len(SIZES[t]))) for t in pair]
    tilt = np.array([[1, 0, 0], [0, 1, -1e-5], [0, 1e-5, 1]])
    turns = [np.eye(3), np.diag([-1.0, 1, -1]), np.eye(3)[[1, 2, 0]], tilt]
    offsets = [
        (0, 0, 0),
        (0, 0, 1e-20),
        (1e-9, 0, 0),
        (0.5, 0, 0),
        (0.6, 0, 0),
        (0, 0, 0.5),
        (0, 0, 0.8),
        (0.4, 0.6, 0),
    ]
    xpos, xmat = [], []
    for turn in turns:
        for offset in offsets:
            xpos.append([np.zeros(3), offset])
            xmat.append([np.eye(3), turn])
    return tuple(np.array(x, np.float32) for x in (xpos, xmat, [sizes] * len(xpos)))


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_derivatives_are_finite(pair):
    xpos, xmat, size = degenerate_shapes(pair)
    margin = np.float32(0.05)

    def total(xpos, xmat, size):
        rows = collider(*pair)(xpos, xmat, size, margin)
        return jnp.sum(jnp.where(rows < NO_CONTACT, rows, 0)) + jnp.sum(rows * jnp.float32(1e-3))

    value = run(pair, xpos, xmat, size, margin, np.float32)
    assert value.dtype == np.float32 and np.all(np.isfinite(value))
    ones = tuple(np.ones_like(x) for x in (xpos, xmat, size))

    @jax.jit
    def derivatives(*x):
        forward = jax.jvp(lambda *y: collider(*pair)(*y, margin), x, ones)[1]
        return forward, *jax.grad(total, argnums=(0, 1, 2))(*x)

    for x in derivatives(xpos, xmat, size):
        assert x.dtype == np.float32 and np.all(np.isfinite(x))


@pytest.mark.parametrize("pair", [(G.SPHERE, G.CAPSULE), (G.CAPSULE, G.CAPSULE), (G.SPHERE, G.BOX), (G.CAPSULE, G.BOX)])
def test_derivatives_stay_moderate_where_the_normal_is_rounding_noise(pair):
    """A centre on an axis, crossing axes, a centre or an axis in a face: in single precision no 1 / rounding."""
    rng = np.random.default_rng(6)
    mat2 = np.empty((POSES, 9))
    for row, quat in zip(mat2, quats(rng, POSES)):
        mujoco.mju_quat2Mat(row, quat)
    mat2 = mat2.reshape(-1, 3, 3)
    place = rng.uniform(-0.15, 0.15, (POSES, 3))
    if pair[1] == G.BOX:
        place[:, 2] = SIZES[G.BOX][2] * np.where(place[:, 2] > 0, 1, -1)
    else:
        place[:, :2] = 0
    away = -np.einsum("nij,nj->ni", mat2, place)
    xpos = np.stack([np.zeros_like(away), away], axis=1).astype(np.float32)
    xmat = np.stack([mat2[:, :, [1, 2, 0]], mat2], axis=1).astype(np.float32)
    size = np.array([[np.pad(SIZES[t], (0, 3 - len(SIZES[t]))) for t in pair]] * POSES, np.float32)

    def total(xpos, xmat):
        rows = collider(*pair)(xpos, xmat, size, np.float32(0))
        return jnp.sum(jnp.where(rows < NO_CONTACT, rows, 0)[..., :7])

    for x in jax.jit(jax.grad(total, argnums=(0, 1)))(xpos, xmat):
        assert np.max(np.abs(x)) < 100


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_derivatives_match_differences(pair):
    """d(dist)/d(position) against central differences, where the contact does not change character."""
    rng = np.random.default_rng(5)
    oracle = Oracle(*pair, 0.2)
    xpos, xmat, _ = oracle(*poses(rng, n=60))
    size = oracle.size[:60]
    rng_direction = rng.normal(size=xpos.shape)

    def along(step):
        return collider(*pair)(xpos + step * rng_direction, xmat, size, np.float64(0.2))

    exact = jax.jvp(along, (0.0,), (1.0,))[1]
    h = 1e-6
    low, mid, high = (np.asarray(along(s)) for s in (-h, 0.0, h))
    # second differences betray a change of feature within the step
    smooth = np.abs(low - 2 * mid + high).max(axis=(1, 2)) < 1e-8
    assert smooth.mean() > 0.5
    np.testing.assert_allclose(exact[smooth], ((high - low) / (2 * h))[smooth], atol=1e-5)


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_translation_does_not_matter(pair):
    """Far from the origin, distances and frames in float32 are those at the origin bit by bit."""
    rng = np.random.default_rng(6)
    oracle = Oracle(*pair, 0.0)
    pose1, pose2 = poses(rng)
    # positions on a coarse binary grid, so that adding the shift is exact
    grid = 2.0**-10
    apart = np.round((pose2[0] - pose1[0]) / grid) * grid
    _, xmat, _ = oracle(pose1, pose2)
    near = np.stack([np.zeros_like(apart), apart], axis=1)
    far = near + np.array([1024, -2048, 512])
    ours = [run(pair, x, xmat, oracle.size, 0.0, np.float32) for x in (near, far)]
    np.testing.assert_array_equal(ours[0][:, :, 0], ours[1][:, :, 0])
    np.testing.assert_array_equal(ours[0][:, :, 4:], ours[1][:, :, 4:])


@pytest.mark.parametrize("height", [0.25, -0.25])
@pytest.mark.parametrize("turn", np.linspace(0, 1.5, 4))
def test_level_capsule_keeps_two_contacts_in_single_precision(height, turn):
    """A capsule resting across a box touches both rims whatever the sign of its rounding error."""
    c, s = np.cos(turn), np.sin(turn)
    tilts = np.linspace(-3e-7, 3e-7, 60)
    zero, one = np.zeros(60), np.ones(60)
    across = np.stack([c * one, s * one, tilts], axis=1)
    side = np.stack([-s * one, c * one, zero], axis=1)
    capsule = np.stack([side, np.cross(across, side), across], axis=2)
    xmat = np.stack([capsule, np.tile(np.eye(3), (60, 1, 1))], axis=1)
    xpos = np.stack([np.stack([zero, zero, height * one], axis=1), np.zeros((60, 3))], axis=1)
    size = np.tile([[0.1, 1, 0], [0.3, 0.3, 0.2]], (60, 1, 1))
    dist = run((G.CAPSULE, G.BOX), xpos, xmat, size, 0.0, np.float32)[:, :, 0]
    np.testing.assert_allclose(dist, -0.05, atol=1e-5)


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_single_precision_finds_the_same_depth(pair):
    oracle = Oracle(*pair, 0.0)
    xpos, xmat, _ = oracle(*poses(np.random.default_rng(8)))
    single, double = (
        run(pair, xpos, xmat, oracle.size, 0.0, dtype)[:, :, 0].min(axis=1) for dtype in (np.float32, np.float64)
    )
    clear = np.abs(double) > 1e-5  # of touching or not
    np.testing.assert_allclose(single[clear], double[clear], atol=1e-5)


# primitives that run row by row when thousands of worlds lie along the last axis
SLOW = {
    "gather",
    "scatter",
    "scatter-add",
    "dynamic_slice",
    "dynamic_update_slice",
    "sort",
    "argmin",
    "argmax",
}
SLOW |= {"while", "scan", "cond", "stack", "dot_general", "cumsum"}


def primitives(jaxpr):
    """Names of all primitives, those of inner programs included."""
    for eqn in jaxpr.eqns:
        inner = [v.jaxpr for v in eqn.params.values() if hasattr(v, "jaxpr")]
        yield from [eqn.primitive.name] if not inner else [p for j in inner for p in primitives(j)]


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_programs_are_short_and_elementwise(pair):
    function, ncon = COLLIDERS[pair]
    shape = Shape(jnp.zeros(3), jnp.eye(3), jnp.ones(3))
    program, out = jax.make_jaxpr(function, return_shape=True)(shape, shape, jnp.zeros(()))
    names = list(primitives(program.jaxpr))
    assert not SLOW & set(names)
    assert len(names) < {(G.CAPSULE, G.BOX): 450, (G.BOX, G.BOX): 650, (G.SPHERE, G.ELLIPSOID): 300}.get(pair, 170)
    assert [x.shape for x in out] == [(ncon,), (ncon, 3), (ncon, 3), (ncon, 3)]
