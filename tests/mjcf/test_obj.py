"""OBJ files against MuJoCo: which object of a file is the mesh, and into which triangles polygons are cut."""

import numpy as np
import pytest
from test_mesh import CUBE, QUADS, assert_same_geom, assert_same_mesh, reference

from jaxsim.mjcf.assets.mesh import compile_mesh
from jaxsim.mjcf.language.errors import Fault

LID = "v .5 .5 2\nf -1 7 8\nf -1 8 6\nf -1 6 5\nf -1 5 7\n"  # a pyramid over the cube's upper face
NORMALS = "vn 0 0 1\nvn 0 1 0\nvt 0 0\nvt 1 1\n"


def assert_equal(text: str, inertia: str = "legacy") -> None:
    data = text.encode()
    m = reference(f'file="a.obj" inertia="{inertia}"', {"a.obj": data})
    compiled = compile_mesh(name="m", data=data, extension=".obj", inertia=inertia)
    assert_same_mesh(compiled, m)
    assert_same_geom(compiled, m)


@pytest.mark.parametrize(
    "text",
    [
        "o one\n" + CUBE + QUADS + "o two\n" + LID,
        "g one\n" + CUBE + QUADS + "g two\n" + LID,
        CUBE + QUADS + "o two\n" + LID,
        CUBE + "o one\no two\n" + QUADS + "g three\n" + LID,
        CUBE + "g lines\nl 1 2\ng two\n" + QUADS + "o three\n" + LID,  # of lines, a group makes no object
        CUBE + "o points\np 1\no two\n" + QUADS,  # points are one, without faces: the hull
        CUBE + "o short\nf 1 2\no two\n" + QUADS + "o three\n" + LID,
        CUBE + QUADS + "usemtl a\ns 1\n" + LID + "usemtl b\nmtllib c.mtl\n",  # a material begins no object
        CUBE + QUADS + "o\ng\nobject\n" + LID,  # keywords that say nothing, and another word
        CUBE + QUADS + "o \n" + LID,
        CUBE + QUADS + " \tg\ta b c\n" + LID,
        (CUBE + QUADS + "o two\n" + LID).replace(" ", "\t").replace("\n", "\r\n"),
        CUBE + QUADS + "o two\nf 1 2 99\n",  # what is not read may be wrong
        CUBE + NORMALS + "f 1/1/1 3/2/2 4/-1/-1 2//2\nf 5//1 6/1/2 8//1\nf 5//1 8//1 7//1\no two\nf 1 2 3\n",
    ],
)
def test_the_first_object_is_the_mesh(text):
    assert_equal(text, "convex")
    assert_equal(text, "shell")


def test_what_is_in_the_first_object_must_be_right():
    for text, message in (
        (CUBE + QUADS + "o two\nf 1 2 0\n", "index 0"),
        (CUBE + QUADS + "o two\nf 1 2 -9\n", "before the first vertex"),
        (CUBE + "o lines\nl 1 2\no two\n" + QUADS, "lines and no faces"),
        (CUBE + "f 1 2 3 4 5 99\n", "vertex 99; there are 8"),
        (CUBE + "f 1 2 3 99999999999999\n" + "f 1 2 2147483647\n", "vertex 2147483646 of 8"),
    ):
        with pytest.raises(ValueError, match="Error"):
            reference('file="a.obj"', {"a.obj": text.encode()})
        with pytest.raises(Fault, match=message):
            compile_mesh(name="m", data=text.encode(), extension=".obj")


def _polygon(rng: np.random.Generator, corners: int) -> np.ndarray:
    """A polygon [corners, 3]: regular, rectangular, convex, concave, self-crossing, or with repeated corners."""
    kind = rng.integers(8)
    angle = np.sort(rng.uniform(0, 2 * np.pi, corners)) if kind else np.arange(corners) * 2 * np.pi / corners
    radius = rng.uniform(0.1, 1, corners) if kind > 2 else np.ones(corners)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(corners)], axis=1)
    if corners == 4 and kind < 3:
        points = rng.uniform(0.1, 1, 3) * [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    if kind == 5:
        points = np.round(2 * points) / 2
    if kind == 6:
        rng.shuffle(points)
    if kind == 7:
        points[:, 1] = 0
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if rng.integers(3) else np.eye(3)
    return points @ turn + rng.normal(size=3) * rng.choice([0, 0.1, 10])


@pytest.mark.parametrize("seed", range(12))
def test_polygons_are_cut_as_mujoco_cuts_them(seed):
    """Also those that it does not cut up to the end."""
    rng = np.random.default_rng(seed)
    dropped = 0
    for _ in range(10):
        text, n = CUBE + QUADS, 8
        sizes = rng.integers(4, 10, 6)
        for size in sizes:
            text += "".join("v {:.7g} {:.7g} {:.7g}\n".format(*p) for p in _polygon(rng, size))
            text += "f " + " ".join(str(n + 1 + k) for k in range(size)) + "\n"
            n += size
        data = text.encode()
        m = reference('file="a.obj" inertia="shell"', {"a.obj": data})
        compiled = compile_mesh(name="m", data=data, extension=".obj", inertia="shell")
        np.testing.assert_array_equal(compiled.face, m.mesh_face)
        assert_same_geom(compiled, m)
        dropped += 12 + np.sum(sizes - 2) - m.nmeshface
    assert dropped > 0
