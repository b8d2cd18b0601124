"""From compiled meshes and height fields to the arrays of mjModel."""

from typing import Any

import numpy as np

from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.assets.hfield import HField
from jaxsim.mjcf.assets.mesh import MeshData
from jaxsim.mjcf.language.spec import Spec


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
    _assemble_octrees(meshes, m)


def _assemble_octrees(meshes: list[MeshData], m: CompiledModel) -> None:
    """Octrees of the meshes that serve as signed distances; -1 is the address of the others."""
    counts = [0 if mesh.octree is None else len(mesh.octree.child) for mesh in meshes]
    trees = [mesh.octree for mesh in meshes if mesh.octree is not None]
    address = np.where(np.array(counts, int) > 0, _addresses(counts), -1).astype(np.int32)
    m.set("mesh_", octadr=address, octnum=np.array(counts, np.int32))
    m.set(
        "oct_",
        child=_stack([tree.child for tree in trees], 8, np.int32),
        aabb=_stack([tree.aabb for tree in trees], 6, float),
        coeff=_stack([tree.coeff for tree in trees], 8, float),
    )
    m.set(noct=sum(counts))


def _assemble_polygons(meshes: list[MeshData], m: CompiledModel) -> None:
    """Polygons of the hulls; a mesh without a hull has none, and its vertices belong to none."""
    counts = [len(mesh.polyvertnum) for mesh in meshes]
    verts, maps = [len(mesh.polyvert) for mesh in meshes], [len(mesh.polymap) for mesh in meshes]
    around = [mesh.polymapnum if len(mesh.polymapnum) else np.zeros(len(mesh.vert), np.int32) for mesh in meshes]
    map_adr = [
        start + (mesh.polymapadr if len(mesh.polymapadr) else np.zeros(len(mesh.vert), np.int32))
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
