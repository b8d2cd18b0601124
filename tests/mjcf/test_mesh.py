"""Meshes and height fields against MuJoCo's compiler."""

import csv
import os
import struct
import zlib
from pathlib import Path

import mujoco
import numpy as np
import pytest

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.assets.hfield import compile_hfield
from jaxsim.mjcf.assets.mesh import MeshData, compile_mesh

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
WITH_MESHES = ("menagerie_unitree_a1", "mjwarp_franka_panda", "menagerie_robotiq_2f85", "mujoco_carousel")
INERTIA = {0: "convex", 1: "exact", 2: "legacy", 3: "shell"}
TETRAHEDRON = "0 0 0  1 0 0  0 1 0  0 0 1"
CUBE = "".join(f"v {i & 1} {i >> 1 & 1} {i >> 2 & 1}\n" for i in range(8))
QUADS = "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
MODEL = """
<mujoco><compiler {compiler} balanceinertia="true" boundmass="1e-9" boundinertia="1e-9"/>
  <asset><mesh name="m" {mesh}/></asset>
  <worldbody><body><geom name="g" mesh="m" {geom}/></body></worldbody>
</mujoco>"""


def reference(mesh: str, files: dict[str, bytes] | None = None, geom: str = 'type="mesh"', compiler: str = ""):
    return mujoco.MjModel.from_xml_string(MODEL.format(mesh=mesh, geom=geom, compiler=compiler), files or {})


def rows(m: mujoco.MjModel, what: str, i: int, owner: str) -> np.ndarray:
    """The part of mesh_<what> that belongs to mesh i."""
    start = getattr(m, f"mesh_{owner}adr")[i]
    return getattr(m, f"mesh_{what}")[start : start + getattr(m, f"mesh_{owner}num")[i]]


def assert_same_hull(compiled: MeshData, m: mujoco.MjModel, i: int) -> None:
    address = m.mesh_graphadr[i]
    assert (address >= 0) == bool(len(compiled.graph))
    if address < 0:
        return
    nvert, nface = compiled.graph[:2]
    graph = m.mesh_graph[address : address + len(compiled.graph)]
    assert tuple(graph[:2]) == (nvert, nface)
    assert set(graph[2 + nvert : 2 + 2 * nvert]) == set(compiled.graph[2 + nvert : 2 + 2 * nvert])
    faces = slice(2 + 3 * nvert + 3 * nface, None)
    np.testing.assert_array_equal(compiled.graph[faces], graph[faces])
    assert edges(compiled.graph) == edges(graph)

    part = slice(m.mesh_polyadr[i], m.mesh_polyadr[i] + m.mesh_polynum[i])
    start, count = m.mesh_polyvertadr[part][0], len(compiled.polyvert)
    np.testing.assert_array_equal(compiled.polyvertadr, m.mesh_polyvertadr[part] - start)
    np.testing.assert_array_equal(compiled.polyvertnum, m.mesh_polyvertnum[part])
    np.testing.assert_array_equal(compiled.polyvert, m.mesh_polyvert[start : start + count])
    np.testing.assert_allclose(compiled.polynormal, m.mesh_polynormal[part], atol=1e-6)
    np.testing.assert_array_equal(compiled.polymapnum, rows(m, "polymapnum", i, "vert"))


def edges(graph: np.ndarray) -> set[tuple[int, int]]:
    """Edges of a hull graph, as pairs of mesh vertices."""
    n = graph[0]
    found = set()
    for i in range(n):
        k = 2 + 2 * n + graph[2 + i]
        while graph[k] >= 0:
            found.add((int(graph[2 + n + i]), int(graph[2 + n + graph[k]])))
            k += 1
    return found


def assert_same_mesh(compiled: MeshData, m: mujoco.MjModel, i: int = 0) -> None:
    extent = np.abs(compiled.vert).max()
    np.testing.assert_allclose(compiled.vert, rows(m, "vert", i, "vert"), atol=1e-6 * extent)
    np.testing.assert_allclose(compiled.pos, m.mesh_pos[i], atol=1e-6 * extent)
    np.testing.assert_allclose(compiled.quat, m.mesh_quat[i], atol=1e-6)
    np.testing.assert_allclose(compiled.scale, m.mesh_scale[i])
    np.testing.assert_allclose(compiled.normal, rows(m, "normal", i, "normal"), atol=1e-3)
    np.testing.assert_array_equal(compiled.face, rows(m, "face", i, "face"))
    np.testing.assert_array_equal(compiled.facenormal, rows(m, "facenormal", i, "face"))
    if m.mesh_texcoordadr[i] >= 0:
        np.testing.assert_allclose(compiled.texcoord, rows(m, "texcoord", i, "texcoord"), atol=1e-6)
        np.testing.assert_array_equal(compiled.facetexcoord, rows(m, "facetexcoord", i, "face"))
    else:
        assert not len(compiled.texcoord)
    assert_same_hull(compiled, m, i)


def assert_same_geom(compiled: MeshData, m: mujoco.MjModel) -> None:
    np.testing.assert_allclose(compiled.volume * 1000, m.body_mass[1], rtol=1e-6)
    np.testing.assert_allclose(compiled.inertia * 1000, m.body_inertia[1], rtol=1e-6)
    np.testing.assert_allclose(compiled.aabb, m.geom_aabb[0], atol=1e-6 * compiled.rbound)
    np.testing.assert_allclose(compiled.rbound, m.geom_rbound[0], rtol=1e-6)


def numbers(text: str) -> np.ndarray:
    return np.array(text.split(), float)


def stl(corners: np.ndarray) -> bytes:
    """Binary STL of triangles [n, 3, 3]."""
    record = np.zeros(len(corners), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    record["corners"] = corners
    return bytes(80) + struct.pack("<I", len(corners)) + record.tobytes()


def ascii_stl(corners: np.ndarray) -> bytes:
    facets = (
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in t)
        + "endloop\nendfacet\n"
        for t in corners
    )
    return ("solid a\n" + "".join(facets) + "endsolid a\n").encode()


def msh(vert: np.ndarray, face: np.ndarray, normal: np.ndarray, texcoord: np.ndarray) -> bytes:
    counts = struct.pack("<4i", len(vert), len(normal), len(texcoord), len(face))
    floats = b"".join(np.asarray(a, "<f4").tobytes() for a in (vert, normal, texcoord))
    return counts + floats + np.asarray(face, "<i4").tobytes()


def lumpy(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A closed surface that is not convex: vertices and outward triangles."""
    rng = np.random.default_rng(seed)
    ball = compile_mesh(name="ball", builtin="sphere", params=[2])
    vert = ball.vert * rng.uniform(0.6, 1.4, (len(ball.vert), 1)) * [0.3, 0.2, 0.5] + [0.1, -0.2, 0.3]
    return vert.astype(np.float32), ball.face


LUMPY_VERT, LUMPY_FACE = lumpy()
LUMPY = LUMPY_VERT[LUMPY_FACE]
WORDS = {"vertex": " ".join(map(str, LUMPY_VERT.ravel())), "face": " ".join(map(str, LUMPY_FACE.ravel()))}


@pytest.mark.parametrize(
    ("extension", "data"),
    [
        (".stl", stl(LUMPY)),
        (".obj", (CUBE + QUADS).encode()),
        (".obj", CUBE.encode()),
        (".obj", b"# c\no a\n" + CUBE.encode() + b"g b\ns off\nusemtl c\n" + QUADS.encode() + b"l 1 2\nf 1 2\nf 9\n"),
        (".obj", (CUBE + "f -8 -6 -5 -7\n" + QUADS[10:]).encode()),
        (
            ".obj",
            (CUBE + "vn 0 0 1\nvn 0 1 0\n" + "f 1//1 2//2 3//1\n" * 2 + "f 1//2 4//1 3//2 8//1\n").encode(),
        ),
        (".obj", (CUBE + "vt 0 .25\nvt 1 .75\n" + "f 1/1 2/2 3/1\nf 8/1 5/2 6/2\nf 1/1 7/1 8/1\n").encode()),
        (".obj", (CUBE + "vt 0 0\nvn 1 0 0\nf 1/1/1 2/1/1 3/1/1\nf 1/1/1 2/1/1 4/1/1 8/1/1\n").encode()),
        (".obj", b"v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nv 1 1 1\nf 1 2 3 4 5\nf 1 2 6\nf 3 4 6\n"),
        (".msh", msh(LUMPY_VERT, LUMPY_FACE, LUMPY_VERT, LUMPY_VERT[:, :2])),
        (".msh", msh(LUMPY_VERT, LUMPY_FACE[:0], LUMPY_VERT[:0], LUMPY_VERT[:0, :2])),
    ],
)
def test_files(extension, data):
    m = reference(f'file="a{extension}"', {f"a{extension}": data})
    compiled = compile_mesh(name="m", data=data, extension=extension)
    assert_same_mesh(compiled, m)
    assert_same_geom(compiled, m)


def test_ascii_stl_equals_binary():
    binary = compile_mesh(name="m", data=stl(LUMPY), extension=".stl")
    text = compile_mesh(name="m", data=ascii_stl(LUMPY), extension=".STL")
    np.testing.assert_array_equal(text.vert, binary.vert)
    np.testing.assert_array_equal(text.face, binary.face)


@pytest.mark.parametrize("inertia", ["convex", "exact", "legacy", "shell"])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scale": "1 2 .5", "refpos": ".1 .2 .3"},
        {"scale": "-1 2 .5", "refquat": "1 2 3 4", "smoothnormal": "true"},
        {"maxhullvert": "12"},
    ],
)
def test_attributes(inertia, attributes):
    text = " ".join(f'{k}="{v}"' for k, v in {**WORDS, **attributes, "inertia": inertia}.items())
    m = reference(text)
    values = {k: numbers(v) for k, v in attributes.items() if k in ("scale", "refpos", "refquat")}
    compiled = compile_mesh(
        name="m",
        vertex=LUMPY_VERT,
        face=LUMPY_FACE,
        inertia=inertia,
        maxhullvert=int(attributes.get("maxhullvert", -1)),
        smoothnormal="smoothnormal" in attributes,
        **values,
    )
    assert_same_mesh(compiled, m)
    assert_same_geom(compiled, m)


@pytest.mark.parametrize("collides", [True, False])
@pytest.mark.parametrize(
    ("builtin", "params"),
    [
        ("sphere", "2"),
        ("sphere", "0"),
        ("hemisphere", "3"),
        ("hemisphere", "0"),
        ("cone", "5 0"),
        ("cone", "5 .5"),
        ("supersphere", "8 .5 .7"),
        ("supertorus", "8 .3 .5 .7"),
        ("wedge", "3 4 60 40 .5"),
        ("plate", "4 4"),
        ("grid", "3 2 4 .1 .2 .3"),
        ("grid", "4 4 1 .1 .1 .1 2"),
        ("box", "3 3 3 .1 .2 .3"),
        ("box", "3 4 5 .1 .2 .3 2"),
        ("cylinder", "4 4 4 .1 .2 .3"),
        ("cylinder", "4 5 3 .1 .2 .3 2"),
        ("ellipsoid", "4 4 4 .1 .2 .3"),
        ("ellipsoid", "4 5 4 .1 .2 .3 2"),
        ("square", "4 4 1 .1 .1 .3"),
        ("disc", "5 5 1 .1 .1 .3"),
    ],
)
def test_builtin(builtin, params, collides):
    flat = builtin in ("plate", "square", "disc") or params.endswith(".1 2")
    if flat and collides:
        with pytest.raises(ValueError, match="in a plane"):
            compile_mesh(name="m", builtin=builtin, params=numbers(params))
        return
    geom = 'type="mesh"' if collides else 'type="mesh" contype="0" conaffinity="0"'
    m = reference(f'builtin="{builtin}" params="{params}"', geom=geom)
    compiled = compile_mesh(name="m", builtin=builtin, params=numbers(params), need_hull=collides)
    assert_same_mesh(compiled, m)
    if not flat:  # of flat ones MuJoCo's body inertia has been balanced
        assert_same_geom(compiled, m)


@pytest.mark.parametrize("fitaabb", [False, True])
@pytest.mark.parametrize("shape", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_fit(shape, fitaabb):
    text = " ".join(f'{k}="{v}"' for k, v in WORDS.items())
    m = reference(text, geom=f'type="{shape}" fitscale="1.3"', compiler=f'fitaabb="{str(fitaabb).lower()}"')
    compiled = compile_mesh(name="m", vertex=LUMPY_VERT, face=LUMPY_FACE, need_hull=False)
    size, centre = compiled.fit(GeomType[shape.upper()], 1.3, fitaabb)
    np.testing.assert_allclose(size, m.geom_size[0], rtol=1e-6)
    mat = np.zeros(9)
    mujoco.mju_quat2Mat(mat, compiled.quat)
    np.testing.assert_allclose(compiled.pos + mat.reshape(3, 3) @ centre, m.geom_pos[0], atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": b"", "extension": ".stl"}, "empty"),
        ({"data": b"x" * 50, "extension": ".stl"}, "header"),
        ({"data": b"x" * 500, "extension": ".stl"}, "bytes"),
        ({"data": stl(LUMPY)[:-1], "extension": ".stl"}, "bytes"),
        ({"data": stl(LUMPY * 1e30), "extension": ".stl"}, "finite"),
        ({"data": b"solid x" + b" " * 99, "extension": ".stl"}, "ASCII"),
        ({"data": b"\0" * 20, "extension": ".msh"}, "MSH"),
        ({"data": b"\0", "extension": ".msh"}, "header"),
        ({"data": b"hello", "extension": ".obj"}, "at least 4"),
        ({"data": (CUBE + "f 1 2 9").encode(), "extension": ".obj"}, "vertex 8 of 8"),
        ({"data": (CUBE + "f 1 2 0").encode(), "extension": ".obj"}, "index 0"),
        ({"data": (CUBE + "f 1 2 x").encode(), "extension": ".obj"}, "indices"),
        ({"data": (CUBE + "v a b c\nf 1 2 3").encode(), "extension": ".obj"}, "not a number"),
        ({"data": (CUBE + "v nan 0 0\nf 1 2 3").encode(), "extension": ".obj"}, "not finite"),
        ({"data": (CUBE + "vn 0 0 1\nf 1 2 3").encode(), "extension": ".obj"}, "normals"),
        ({"data": b"fbx", "extension": ".fbx"}, "unknown mesh file type"),
        ({"data": (CUBE + QUADS).encode(), "extension": ".obj", "vertex": numbers(TETRAHEDRON)}, "twice"),
        ({"vertex": numbers(TETRAHEDRON)[:9]}, "at least 4"),
        ({"vertex": numbers(TETRAHEDRON)[:10]}, "multiple of 3"),
        ({"vertex": np.zeros(12)}, "coincide"),
        ({"vertex": np.arange(12) // 3}, "on a line"),
        ({"vertex": numbers("0 0 0 1 0 0 0 1 0 1 1 0")}, "in a plane"),
        ({"vertex": numbers(TETRAHEDRON), "texcoord": np.zeros(6)}, "texture coordinates"),
        ({"vertex": numbers(TETRAHEDRON), "scale": [1, 0, 1]}, "volume"),
        ({"vertex": LUMPY_VERT, "face": LUMPY_FACE[:, ::-1], "inertia": "exact"}, "inside out"),
        ({"vertex": LUMPY_VERT, "face": [[0, 1, 2], [0, 1, 3]], "inertia": "exact"}, "orientation"),
        ({"vertex": numbers(TETRAHEDRON), "inertia": "solid"}, "expected one of"),
        ({"vertex": numbers(TETRAHEDRON), "maxhullvert": 3}, "maxhullvert"),
        ({"builtin": "teapot", "params": [1]}, "expected one of"),
        ({"builtin": "sphere", "params": [9]}, "from 0 to 4"),
        ({"builtin": "sphere", "params": [1, 2]}, "2 numbers"),
    ],
)
def test_errors_are_sentences(arguments, message):
    with pytest.raises(ValueError, match=message):
        compile_mesh(name="m", **arguments)


@pytest.mark.parametrize("name", WITH_MESHES)
def test_corpus(name):
    if not CORPUS.is_dir():
        pytest.skip("the corpus of models is not here")
    with open(CORPUS / "MANIFEST.csv") as table:
        path = next(CORPUS / row["entry_xml"] for row in csv.DictReader(table) if row["name"] == name)
    spec = mujoco.MjSpec.from_file(str(path))
    m = spec.compile()
    assets = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
    for i in range(m.nmesh):
        mesh = assets[m.mesh(i).name]
        start = m.mesh_pathadr[i]
        stored = m.paths[start : m.paths.index(b"\0", start)].decode() if start >= 0 else ""
        compiled = compile_mesh(
            name=mesh.name,
            data=Path(stored).read_bytes() if mesh.file else None,
            extension=os.path.splitext(mesh.file)[1],
            vertex=np.array(mesh.uservert),
            normal=np.array(mesh.usernormal),
            texcoord=np.array(mesh.usertexcoord),
            face=np.array(mesh.userface),
            scale=mesh.scale,
            refpos=mesh.refpos,
            refquat=mesh.refquat,
            inertia=INERTIA[int(mesh.inertia)],
            maxhullvert=mesh.maxhullvert,
            smoothnormal=bool(mesh.smoothnormal),
            need_hull=m.mesh_graphadr[i] >= 0,
        )
        assert_same_mesh(compiled, m, i)


def png(pixels: np.ndarray, depth: int, colour: int, filtering: int, palette: np.ndarray | None = None) -> bytes:
    """PNG of pixels [h, w, channels]; filter number 5 uses all of them in turn."""
    channels = pixels.shape[2]
    bpp, above, stream = max(1, channels * depth // 8), 0, b""
    for y, line in enumerate(pixels):
        if depth == 16:
            raw = np.frombuffer(line.astype(">u2").tobytes(), np.uint8).astype(int)
        else:
            bits = (line.ravel()[:, None] >> np.arange(depth - 1, -1, -1)) & 1
            raw = np.packbits(bits.ravel().astype(np.uint8)).astype(int)
        above = np.broadcast_to(above, raw.shape)
        left, corner = (np.concatenate([np.zeros(bpp, int), v])[: len(raw)] for v in (raw, above))
        a, b, c = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
        kind = y % 5 if filtering == 5 else filtering
        predicted = (0, left, above, (left + above) // 2, paeth)[kind]
        stream += bytes([kind]) + ((raw - predicted) % 256).astype(np.uint8).tobytes()
        above = raw

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], depth, colour, 0, 0, 0)
    colours = chunk(b"PLTE", palette.astype(np.uint8).tobytes()) if palette is not None else b""
    pixels = chunk(b"IDAT", zlib.compress(stream))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + colours + pixels + chunk(b"IEND", b"")


def reference_hfield(attributes: str, files: dict[str, bytes] | None = None) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="h" size="1 2 3 4" {attributes}/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>',
        files or {},
    )


def assert_same_hfield(compiled, m: mujoco.MjModel) -> None:
    assert (compiled.nrow, compiled.ncol) == (m.hfield_nrow[0], m.hfield_ncol[0])
    np.testing.assert_array_equal(compiled.data, m.hfield_data)
    np.testing.assert_array_equal(compiled.size, m.hfield_size[0])


@pytest.mark.parametrize("filtering", range(6))
@pytest.mark.parametrize(
    ("colour", "depth"), [(0, 1), (0, 4), (0, 8), (0, 16), (2, 8), (3, 2), (3, 8), (4, 8), (6, 8), (6, 16)]
)
def test_png(colour, depth, filtering):
    rng = np.random.default_rng(0)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    pixels = rng.integers(0, 2**depth, (9, 13, channels))
    data = png(pixels, depth, colour, filtering, rng.integers(0, 256, (256, 3)) if colour == 3 else None)
    compiled = compile_hfield(name="h", size=[1, 2, 3, 4], data=data, extension=".png")
    assert_same_hfield(compiled, reference_hfield('file="a.png"', {"a.png": data}))


def with_chunk(data: bytes, before: bytes, kind: bytes, content: bytes) -> bytes:
    """A PNG with one more chunk before the first of some kind."""
    at = data.index(before) - 4
    check = struct.pack(">I", zlib.crc32(kind + content))
    return data[:at] + struct.pack(">I", len(content)) + kind + content + check + data[at:]


def interlaced(pixels: np.ndarray) -> bytes:
    """PNG of grey pixels [h, w] in the seven passes of Adam7."""
    passes = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    lines = [line for r, c, dr, dc in passes for line in pixels[r::dr, c::dc]]
    stream = b"".join(b"\0" + line.astype(np.uint8).tobytes() for line in lines if line.size)
    whole = png(pixels[:, :, None], 8, 0, 0)
    head = whole[: whole.index(b"IHDR") - 4]
    for kind, content in (
        (b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 1)),
        (b"IDAT", zlib.compress(stream)),
        (b"IEND", b""),
    ):
        head += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return head


GREY, DEEP = (png(np.random.default_rng(0).integers(0, 2**d, (6, 7, 1)), d, 0, 5) for d in (8, 16))
RGB = png(np.random.default_rng(0).integers(0, 256, (6, 7, 3)), 8, 2, 5)
PALETTE = png(
    np.random.default_rng(0).integers(0, 16, (6, 7, 1)), 4, 3, 5, np.random.default_rng(1).integers(0, 256, (16, 3))
)


@pytest.mark.parametrize(
    "data",
    [
        interlaced(np.random.default_rng(0).integers(0, 256, (9, 13))),
        with_chunk(GREY, b"IDAT", b"gAMA", struct.pack(">I", 45455)),
        with_chunk(GREY, b"IDAT", b"sBIT", b"\5"),
        with_chunk(GREY, b"IDAT", b"tRNS", struct.pack(">H", 3)),
        with_chunk(DEEP, b"IDAT", b"tRNS", struct.pack(">H", 300)),
        with_chunk(RGB, b"IDAT", b"tRNS", struct.pack(">HHH", 3, 4, 5)),
        with_chunk(PALETTE, b"IDAT", b"tRNS", b"\0\x7f"),
        png(np.arange(16).reshape(4, 4, 1), 4, 3, 0, np.random.default_rng(1).integers(0, 256, (5, 3))),  # too short
        GREY + b"what follows the image",
    ],
    ids=["interlaced", "gamma", "sbit", "clear grey", "clear 16", "clear rgb", "clear palette", "palette", "tail"],
)
def test_png_chunks_and_coding(data):
    compiled = compile_hfield(name="h", size=[1, 2, 3, 4], data=data, extension=".png")
    assert_same_hfield(compiled, reference_hfield('file="a.png"', {"a.png": data}))


def test_damaged_png_is_refused_as_by_mujoco():
    """Images cut anywhere, or with a wrong byte in their header or pixels."""
    spoilt = [GREY[:n] for n in (8, 20, 33, 45, len(GREY) - 20, len(GREY) - 12, len(GREY) - 3)]
    for at in (18, 24, 25, 26, 30, 45, 60, len(GREY) - 14):
        spoilt.append(GREY[:at] + bytes([GREY[at] ^ 5]) + GREY[at + 1 :])
    for data in spoilt:
        with pytest.raises(ValueError, match="decoding PNG"):
            reference_hfield('file="a.png"', {"a.png": data})
        with pytest.raises(ValueError, match="the PNG image is damaged"):
            compile_hfield(name="h", size=[1, 2, 3, 4], data=data, extension=".png")


def test_a_png_that_announces_too_many_pixels_is_not_decoded():
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0)
    huge = GREY[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + GREY[33:]
    with pytest.raises(ValueError, match="too large: 20000 by 20000 pixels"):
        compile_hfield(name="h", size=[1, 2, 3, 4], data=huge, extension=".png")


def test_hfield_from_numbers():
    compiled = compile_hfield(name="h", size=[1, 2, 3, 4], nrow=2, ncol=3, elevation=[1, 2, 3, 4, 5, 7])
    assert_same_hfield(compiled, reference_hfield('nrow="2" ncol="3" elevation="1 2 3 4 5 7"'))
    flat = compile_hfield(name="h", size=[1, 2, 3, 4], nrow=2, ncol=3)
    assert_same_hfield(flat, reference_hfield('nrow="2" ncol="3"'))


def test_hfield_from_binary():
    data = struct.pack("<2i", 3, 4) + np.random.default_rng(0).normal(size=12).astype("<f4").tobytes()
    compiled = compile_hfield(name="h", size=[1, 2, 3, 4], data=data, extension=".bin")
    assert_same_hfield(compiled, reference_hfield('file="a.bin"', {"a.bin": data}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": [1, 1, 0, 1], "nrow": 2, "ncol": 2}, "size"),
        ({"nrow": 1, "ncol": 5}, "at least 2"),
        ({"nrow": 2, "ncol": 2, "elevation": [1, 2, 3]}, "need 4"),
        ({"nrow": 2, "ncol": 2, "data": b""}, "ends before"),
        ({"data": b"\1\0\0\0\1\0", "extension": ".bin"}, "header"),
        ({"data": struct.pack("<2i", 3, 4), "extension": ".bin"}, "bytes"),
        ({"data": struct.pack("<2i", -1, 4), "extension": ".bin"}, "rows"),
        ({"data": b"GIF", "extension": ".png"}, "not a PNG"),
        ({"data": png(np.zeros((2, 2, 1), int), 8, 0, 0)[:-20], "extension": ".png"}, "damaged"),
        ({"nrow": 2, "ncol": 2, "elevation": [1, 2, np.nan, 3]}, "finite"),
    ],
)
def test_hfield_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        compile_hfield(**{"name": "h", "size": [1, 2, 3, 4], **arguments})
