"""Where the files that a model names are found, and mesh files of formats that MuJoCo does not read."""

import io
import json
import struct
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image
from test_mesh import CUBE, LUMPY, LUMPY_FACE, LUMPY_VERT, assert_same_geom, assert_same_mesh, reference, stl

import jaxsim as js
from jaxsim.mjcf import MjcfError, compile_mjcf
from jaxsim.mjcf.assets.mesh import compile_mesh

MESH = '<asset><mesh name="m" file="{}" scale="{} 1 1"/></asset>'
HFIELD = '<asset><hfield name="m" file="{}" size="1 1 1 1" nrow="7" elevation="1 2"/></asset>'  # the file counts
BODY = '<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody>'
GROUND = '<worldbody><geom type="hfield" hfield="m"/></worldbody>'


def png(columns: int) -> bytes:
    image = io.BytesIO()
    Image.fromarray(np.arange(3 * columns, dtype=np.uint8).reshape(3, columns)).save(image, "png")
    return image.getvalue()


def cube(size: float) -> str:
    return "".join(f"v {size * (i & 1)} {size * (i >> 1 & 1)} {size * (i >> 2)}\n" for i in range(8))


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Files below a folder; the first is the model, whose path is returned."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / next(iter(files))


@pytest.mark.parametrize("compiler", ["", 'meshdir="m"', 'assetdir="m"', 'meshdir="m" strippath="true"'])
@pytest.mark.parametrize(
    "sizes",
    [
        {"m/c.obj": 1, "sub/c.obj": 2, "c.obj": 3},
        {"sub/c.obj": 2},
        {"sub/c.obj": 2, "sub/deep/c.obj": 3, "sub/m/c.obj": 4},
        {"c.obj": 1, "m/sub/c.obj": 4},
    ],
)
@pytest.mark.parametrize("name", ["c.obj", "../sub/c.obj"])
def test_meshes_of_included_files(tmp_path, monkeypatch, compiler, sizes, name):
    """Below the model and its meshdir first, then beside the innermost included file: or in neither place."""
    for inner in ("sub/part.xml", "sub/deep/part.xml"):
        top = inner if inner.count("/") == 1 else "sub/top.xml"
        model = write(
            tmp_path / inner.replace("/", "_"),
            {
                "model.xml": f'<mujoco><compiler {compiler}/><include file="{top}"/>{BODY}</mujoco>',
                "sub/top.xml": '<mujoco><include file="deep/part.xml"/></mujoco>',
                inner: f"<mujoco>{MESH.format(name, 1)}</mujoco>",
            }
            | {path: cube(size) for path, size in sizes.items()},
        )
        monkeypatch.chdir(model.parent)
        assert_both_read(model, "body_mass")


@pytest.mark.parametrize("compiler", ["", 'meshdir="m"', 'assetdir="a"', 'meshdir="m" assetdir="a"'])
@pytest.mark.parametrize("included", [True, False])
def test_height_fields(tmp_path, compiler, included):
    """MuJoCo looks for them in assetdir and reads them from meshdir; so do we, if the file is in both."""
    part = HFIELD.format("h.png")
    text = '<include file="sub/part.xml"/>' if included else part
    files = {
        "model.xml": f"<mujoco><compiler {compiler}/>{text}{GROUND}</mujoco>",
        "sub/part.xml": f"<mujoco>{part}</mujoco>",
    }
    images = ("h.png", "m/h.png", "a/h.png", "sub/h.png")
    agreed = 0
    for chosen in range(1, 16):
        present = {name: png(3 + i) for i, name in enumerate(images) if chosen >> i & 1}
        model = write(tmp_path / str(chosen), files | present)
        try:
            expected = mujoco.MjModel.from_xml_path(str(model)).hfield_ncol
        except ValueError:
            continue  # a file that MuJoCo finds and then does not read
        np.testing.assert_array_equal(compile_mjcf(model).hfield_ncol, expected)
        agreed += 1
    assert agreed >= 4


def test_model_assets_of_included_files(tmp_path, monkeypatch):
    part = '<mujoco><worldbody><body name="b"><geom size="{}"/></body></worldbody></mujoco>'
    model = write(
        tmp_path,
        {
            "model.xml": '<mujoco><include file="sub/part.xml"/>'
            '<worldbody><attach model="p" body="b" prefix="x"/></worldbody></mujoco>',
            "sub/part.xml": '<mujoco><asset><model name="p" file="piece.xml"/></asset></mujoco>',
            "sub/piece.xml": part.format(1),
        },
    )
    monkeypatch.chdir(model.parent)
    assert_both_read(model, "body_mass")


def assert_both_read(model: Path, field: str) -> None:
    """A field of a compiled file equals MuJoCo's, or both say that a file is not there.

    MuJoCo may find what it does not find otherwise if the path is relative to the working directory.
    """
    for path in (str(model), model.name):
        try:
            expected = getattr(mujoco.MjModel.from_xml_path(path), field)
        except ValueError as error:
            assert "Error opening file" in str(error)
        else:
            np.testing.assert_allclose(getattr(compile_mjcf(model), field), expected, rtol=1e-6)
            return
    with pytest.raises(MjcfError, match="file not found: tried"):
        compile_mjcf(model)


ROBOT = """
<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""


def _vertex(model: js.Model) -> float:
    """Greatest extent of the only mesh."""
    return float(np.ptp(np.asarray(model.mesh_vert), axis=0).max())


def test_packages(tmp_path):
    file = "package://arm_description/meshes/c.obj"
    layout = {
        "ws/arm_description/urdf/arm.urdf": ROBOT.format(file),
        "ws/arm_description/meshes/c.obj": cube(1),
        "ws/other/urdf/arm.urdf": ROBOT.format(file),
        "elsewhere/meshes/c.obj": cube(2),
        "alone/arm.urdf": ROBOT.format(file),
        "alone/flat.urdf": ROBOT.format(file).replace("<link", '<mujoco><compiler strippath="true"/></mujoco><link', 1),
        "alone/c.obj": cube(4),
    }
    inside = write(tmp_path, layout)
    given = {"arm_description": tmp_path / "elsewhere"}

    def loaded(path: Path | str, **options) -> float:
        return _vertex(js.load(path, compile_only=True, **options))

    np.testing.assert_allclose(loaded(inside), 1)
    np.testing.assert_allclose(loaded(tmp_path / "ws/other/urdf/arm.urdf"), 1)
    np.testing.assert_allclose(loaded(inside, packages=given), 2)
    np.testing.assert_allclose(loaded(ROBOT.format(file), packages=given), 2)
    np.testing.assert_allclose(loaded(ROBOT.format(file), assets={file: cube(3).encode()}), 3)
    np.testing.assert_allclose(loaded(tmp_path / "alone/flat.urdf"), 4)


def test_packages_that_are_not_found(tmp_path):
    robot = ROBOT.format("package://arm_description/c.obj")
    model = write(tmp_path, {"arm.urdf": robot})
    with pytest.raises(MjcfError, match=r"arm.urdf:3: <mesh>: .*no folder 'arm_description' is found above the model"):
        js.load(model)
    with pytest.raises(MjcfError, match="nearest: 'arm_descriptions'"):
        js.load(model, packages={"arm_descriptions": tmp_path})
    with pytest.raises(MjcfError, match=r"file not found: tried 'package://arm_description/c\.obj', "):
        js.load(model, packages={"arm_description": tmp_path / "arm"})


def off(vert: np.ndarray, face: np.ndarray) -> bytes:
    lines = [f"OFF\n{len(vert)} {len(face)} 0", *("{:.9g} {:.9g} {:.9g}".format(*v) for v in vert)]
    return "\n".join([*lines, *("3 {} {} {}".format(*f) for f in face)]).encode()


def ply(vert: np.ndarray, face: np.ndarray, binary: bool) -> bytes:
    header = (
        f"ply\nformat {'binary_little_endian' if binary else 'ascii'} 1.0\nelement vertex {len(vert)}\n"
        "property float x\nproperty float y\nproperty float z\n"
    )
    if len(face):
        header += f"element face {len(face)}\nproperty list uchar int vertex_indices\n"
    header += "end_header\n"
    if binary:
        return header.encode() + vert.astype("<f4").tobytes() + b"".join(struct.pack("<B3i", 3, *f) for f in face)
    rows = ["{:.9g} {:.9g} {:.9g}".format(*v) for v in vert] + ["3 {} {} {}".format(*f) for f in face]
    return (header + "\n".join(rows) + "\n").encode()


def glb(vert: np.ndarray, face: np.ndarray) -> bytes:
    """One mesh, placed twice: as it is, and moved by 3 along x."""
    points, indices = vert.astype("<f4").tobytes(), face.astype("<u4").tobytes()
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"mesh": 0, "translation": [3, 0, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(points + indices)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(points)},
            {"buffer": 0, "byteOffset": len(points), "byteLength": len(indices)},
        ],
        "accessors": [
            {
                "bufferView": 0,
                "componentType": 5126,
                "count": len(vert),
                "type": "VEC3",
                "min": vert.min(axis=0).tolist(),
                "max": vert.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": 5125, "count": face.size, "type": "SCALAR"},
        ],
    }
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(points + indices), b"BIN\0") + points + indices
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def dae(vert: np.ndarray, face: np.ndarray, unit: float) -> bytes:
    """One mesh, placed twice: as it is, and moved by 3 along x, in a unit of its own."""
    place = '<node>{}<instance_geometry url="#g"/></node>'
    numbers = " ".join(f"{x:.9g}" for x in vert.ravel())
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="{unit}"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="{vert.size}">{numbers}</float_array><technique_common>
      <accessor source="#a" count="{len(vert)}" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="{len(face)}"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>{" ".join(map(str, face.ravel()))}</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s">
    {place.format("")}{place.format("<translate>3 0 0</translate>")}
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>""".encode()


MOVED = (LUMPY.astype(float) + np.array([3.0, 0, 0])).astype(np.float32)
TWICE = np.concatenate([LUMPY, MOVED])


@pytest.mark.parametrize(
    ("extension", "data", "triangles"),
    [
        (".off", off(LUMPY_VERT, LUMPY_FACE), LUMPY),
        (".ply", ply(LUMPY_VERT, LUMPY_FACE, binary=False), LUMPY),
        (".PLY", ply(LUMPY_VERT, LUMPY_FACE, binary=True), LUMPY),
        (".glb", glb(LUMPY_VERT, LUMPY_FACE), np.concatenate([MOVED, LUMPY])),
        (".dae", dae(LUMPY_VERT, LUMPY_FACE, 1), TWICE),
        (".dae", dae(LUMPY_VERT, LUMPY_FACE, 0.5), TWICE / 2),
    ],
)
def test_other_mesh_files_equal_an_stl_file(extension, data, triangles):
    """The reference is MuJoCo's reading of the same triangles as STL."""
    m = reference('file="a.stl"', {"a.stl": stl(triangles)})
    compiled = compile_mesh(name="m", data=data, extension=extension)
    assert_same_mesh(compiled, m)
    assert_same_geom(compiled, m)


def test_points_stand_for_their_hull():
    points = ply(LUMPY_VERT, LUMPY_FACE[:0], binary=True)
    compiled = compile_mesh(name="m", data=points, extension=".ply")
    expected = compile_mesh(name="m", vertex=LUMPY_VERT)
    np.testing.assert_allclose(compiled.vert, expected.vert, atol=1e-7)
    np.testing.assert_allclose(compiled.boxsz, expected.boxsz, rtol=1e-6)


@pytest.mark.parametrize("extension", [".dae", ".glb", ".off", ".ply"])
@pytest.mark.parametrize(
    "data", [b"x", b"\0" * 100, b"ply\nelement vertex 2000000000\n", b"<COLLADA/>", b"OFF\n9 9 9\n1"]
)
def test_damaged_files_give_a_sentence(extension, data):
    text = '<mujoco><asset><mesh name="m" file="m{0}"/></asset>' + BODY + "</mujoco>"
    with pytest.raises(MjcfError, match=r"<string>:1: <mesh>: mesh 'm': (the ... file cannot be read|0 vertices)"):
        compile_mjcf(text.format(extension), assets={f"m{extension}": data})


def test_trimesh_is_not_loaded_without_such_a_file():
    text = "<mujoco><asset><mesh name='m' file='m.obj'/></asset><worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>"
    code = (
        f"import sys; from jaxsim.mjcf import compile_mjcf; compile_mjcf({text!r}, {{'m.obj': {CUBE.encode()!r}}}); "
        "assert not {'trimesh', 'collada'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
