"""Meshes, height fields, materials and textures, and who uses them."""

import os
from typing import Any

import numpy as np

from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.errors import Fault, Problems
from jaxsim.mjcf.hfield import HField, compile_hfield
from jaxsim.mjcf.index import Index
from jaxsim.mjcf.inertia import HFIELD, MESH, SDF
from jaxsim.mjcf.mesh import MeshData, compile_mesh
from jaxsim.mjcf.schema import ENUMS
from jaxsim.mjcf.spec import Item, Spec

_INERTIA = {number: word for word, number in ENUMS["meshinertia"].items()}
_BUILTIN = {number: word for word, number in ENUMS["meshbuiltin"].items()}
_EXTENSIONS = {"model/stl": ".stl", "model/obj": ".obj", "model/vnd.mujoco.msh": ".msh"}


def compile_assets(spec: Spec, problems: Problems) -> dict[str, dict[str, Any]]:
    """Compiled meshes and height fields by name."""
    compiled: dict[str, dict[str, Any]] = {"mesh": {}, "hfield": {}}
    colliding = _colliding_meshes(spec)
    for kind, compiler in (("mesh", _mesh), ("hfield", _hfield)):
        for item in spec.lists[kind]:
            with problems.of(item.place):
                try:
                    item.data = compiler(item, item.name in colliding)
                except (ValueError, OverflowError, MemoryError) as error:
                    raise Fault(str(error)) from None
                compiled[kind].setdefault(item.name, item.data)
    return compiled


def _colliding_meshes(spec: Spec) -> set[str]:
    """Names of meshes that need a convex hull."""
    paired = {name for pair in spec.lists["pair"] for name in (pair.geom1, pair.geom2)}
    return {
        geom.mesh
        for geom in spec.items("geom")
        if geom.mesh and geom.type in (MESH, SDF) and (geom.contype or geom.conaffinity or geom.name in paired)
    }


def read_file(item: Item, *directories: str) -> bytes:
    """Content of the file that an asset names, in the first of some directories that has it."""
    name = item.file
    if item.settings.strippath:
        name = os.path.basename(name.replace("\\", "/"))
    return item.settings.files.read(*(os.path.join(directory, name) for directory in directories))[1]


def extension(item: Item) -> str:
    """Kind of a file, from its content type or else from its name."""
    return _EXTENSIONS.get(item.content_type or "", os.path.splitext(item.file or "")[1].lower())


def _mesh(mesh: Item, need_hull: bool) -> MeshData:
    builtin = _BUILTIN[mesh.builtin] if mesh.builtin else None
    if builtin and mesh.params is None:
        raise Fault(f"attribute 'params' is missing; builtin='{builtin}' needs it")
    if mesh.sdf:
        if builtin or mesh.file or mesh.vertex is not None:
            raise Fault("a mesh made by a plugin cannot have file, vertex or builtin")
        if np.any(np.asarray(mesh.scale) != 1):
            raise Fault("a mesh made by a plugin cannot have a scale")
    elif not (builtin or mesh.file or mesh.vertex is not None):
        raise Fault("it has no vertices: expected file, vertex, builtin or a plugin")
    return compile_mesh(
        name=mesh.name,
        data=read_file(mesh, mesh.settings.meshdir) if mesh.file else None,
        extension=extension(mesh),
        vertex=mesh.vertex,
        normal=mesh.normal,
        texcoord=mesh.texcoord,
        face=mesh.face,
        scale=mesh.scale,
        refpos=mesh.refpos,
        refquat=mesh.refquat,
        inertia=_INERTIA[mesh.inertia],
        maxhullvert=mesh.maxhullvert,
        builtin=builtin,
        sdf=mesh.sdf,
        params=mesh.params if mesh.params is not None else (),
        smoothnormal=mesh.smoothnormal,
        need_hull=need_hull,
    )


def _hfield(hfield: Item, _: bool) -> HField:
    return compile_hfield(
        name=hfield.name,
        size=hfield.size if hfield.size is not None else np.zeros(0),
        nrow=hfield.nrow,
        ncol=hfield.ncol,
        elevation=hfield.elevation,
        data=read_file(hfield, hfield.settings.assetdir, hfield.settings.meshdir) if hfield.file else None,
        extension=os.path.splitext(hfield.file or "")[1].lower(),
    )


def link_assets(spec: Spec, index: Index, problems: Problems) -> None:
    """Resolve the materials, textures, meshes, height fields and target bodies that items name."""

    def named(kind: str, name: str | None) -> Item | None:
        try:
            return index.find(kind, name) if name else None
        except Fault:
            return None  # already reported

    def kept(item: Item | None) -> Item | None:
        return None if item is None or getattr(item, "discard", False) else item

    for kind in ("geom", "site", "camera", "light", "tendon"):
        for item in spec.items(kind):
            item.material_item = kept(named("material", getattr(item, "material", None)))
            item.texture_item = kept(named("texture", getattr(item, "texture", None)))
            item.target_item = named("body", getattr(item, "target", None))
            item.data_item = None
            if kind in ("geom", "site"):
                mesh = named("mesh", item.mesh)
                if item.type in (MESH, SDF):
                    item.data_item = mesh
                elif item.type == HFIELD:
                    item.data_item = named("hfield", item.hfield)
                if mesh is not None and item.material is None:
                    item.material_item = kept(named("material", mesh.material))


def assemble_assets(spec: Spec, m: CompiledModel) -> None:
    """Arrays of meshes and height fields."""
    _assemble_meshes([item.data for item in spec.lists["mesh"]], m)
    _assemble_hfields([item.data for item in spec.lists["hfield"]], m)


def _stack(parts: list[np.ndarray], width: int | None, dtype: Any) -> np.ndarray:
    empty = np.zeros(0 if width is None else (0, width), dtype)
    return np.concatenate([empty, *parts]).astype(dtype)


def _addresses(lengths: list[int]) -> np.ndarray:
    return (np.cumsum(lengths) - lengths).astype(np.int32) if lengths else np.zeros(0, np.int32)


def _assemble_meshes(meshes: list[MeshData], m: CompiledModel) -> None:
    """mesh_*: the arrays of all meshes one after the other, and where each begins."""
    m.set(nmesh=len(meshes))
    for name, width, dtype in (
        ("vert", 3, np.float32),
        ("normal", 3, np.float32),
        ("texcoord", 2, np.float32),
        ("face", 3, np.int32),
        ("graph", None, np.int32),
    ):
        parts = [getattr(mesh, name) for mesh in meshes]
        lengths = [len(part) for part in parts]
        address = _addresses(lengths)
        if name in ("texcoord", "graph"):
            address = np.where(np.array(lengths, int) > 0, address, -1).astype(np.int32)
        m.set("mesh_", **{name: _stack(parts, width, dtype), f"{name}adr": address})
        if name != "graph":
            m.set("mesh_", **{f"{name}num": np.array(lengths, np.int32)})
        setattr(m, f"nmesh{name}", sum(lengths))
    faces = [mesh.face for mesh in meshes]
    textured = [t.facetexcoord if len(t.facetexcoord) else np.zeros_like(f) for t, f in zip(meshes, faces)]
    m.set(
        "mesh_",
        facenormal=_stack([mesh.facenormal for mesh in meshes], 3, np.int32),
        facetexcoord=_stack(textured, 3, np.int32),
        extrema=_stack([mesh.extrema.reshape(1, 27) for mesh in meshes], 27, np.int32),
        scale=_stack([np.reshape(mesh.scale, (1, 3)) for mesh in meshes], 3, float),
        pos=_stack([mesh.pos.reshape(1, 3) for mesh in meshes], 3, float),
        quat=_stack([mesh.quat.reshape(1, 4) for mesh in meshes], 4, float),
    )
    _assemble_polygons(meshes, m)


def _assemble_polygons(meshes: list[MeshData], m: CompiledModel) -> None:
    """Polygons of the hulls; a mesh without a hull has none, and its vertices belong to none."""
    counts = [len(mesh.polyvertnum) for mesh in meshes]
    verts, maps = [len(mesh.polyvert) for mesh in meshes], [len(mesh.polymap) for mesh in meshes]
    around = [mesh.polymapnum if len(mesh.polymapnum) else np.zeros(len(mesh.vert), np.int32) for mesh in meshes]
    map_adr = [
        mesh.polymapadr + start if len(mesh.polymapadr) else np.zeros(len(mesh.vert), np.int32)
        for mesh, start in zip(meshes, _addresses(maps))
    ]
    m.set(
        "mesh_",
        polynum=np.array(counts, np.int32),
        polyadr=_addresses(counts),
        polynormal=_stack([mesh.polynormal for mesh in meshes], 3, float),
        polyvertadr=_stack(
            [mesh.polyvertadr + start for mesh, start in zip(meshes, _addresses(verts))], None, np.int32
        ),
        polyvertnum=_stack([mesh.polyvertnum for mesh in meshes], None, np.int32),
        polyvert=_stack([mesh.polyvert for mesh in meshes], None, np.int32),
        polymapadr=_stack(map_adr, None, np.int32),
        polymapnum=_stack(around, None, np.int32),
        polymap=_stack([mesh.polymap for mesh in meshes], None, np.int32),
    )
    m.set(nmeshpoly=sum(counts), nmeshpolyvert=sum(verts), nmeshpolymap=sum(maps))
    m.set(npolygonmax=int(m.mesh_polyvertnum.max(initial=0)), nmeshdegmax=int(m.mesh_polymapnum.max(initial=0)))


def _assemble_hfields(hfields: list[HField], m: CompiledModel) -> None:
    data = [np.ravel(h.data) for h in hfields]
    m.set(nhfield=len(hfields), nhfielddata=sum(d.size for d in data))
    m.set(
        "hfield_",
        size=_stack([np.reshape(h.size, (1, 4)) for h in hfields], 4, float),
        nrow=np.array([h.nrow for h in hfields], np.int32),
        ncol=np.array([h.ncol for h in hfields], np.int32),
        adr=_addresses([d.size for d in data]),
        data=_stack(data, None, np.float32),
    )
