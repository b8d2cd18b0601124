"""Mesh and height field assets: from items of the model to their data."""

import os
from typing import Any

import numpy as np

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.assets.hfield import HField, compile_hfield
from jaxsim.mjcf.assets.mesh import MeshData, compile_mesh
from jaxsim.mjcf.assets.octree import octree
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.files import PACKAGE
from jaxsim.mjcf.language.schema import ENUMS
from jaxsim.mjcf.language.spec import Item, Spec

_INERTIA = {number: word for word, number in ENUMS["meshinertia"].items()}
_BUILTIN = {number: word for word, number in ENUMS["meshbuiltin"].items()}
_EXTENSIONS = {"model/stl": ".stl", "model/obj": ".obj", "model/vnd.mujoco.msh": ".msh"}


def compile_assets(spec: Spec, problems: Problems) -> dict[str, dict[str, Any]]:
    """Compiled meshes and height fields by name."""
    compiled: dict[str, dict[str, Any]] = {"mesh": {}, "hfield": {}}
    colliding = _colliding_meshes(spec)
    for kind, compiler in (("mesh", _mesh), ("hfield", _hfield)):
        for item in spec.lists[kind]:
            data = problems.attempt(item.place, compiler, item, item.name in colliding)
            if data is not None:
                item.data = compiled[kind].setdefault(item.name, data)
    fields = {g.mesh for g in spec.items("geom") if g.type == GeomType.SDF and not g.sdf}
    for name in fields & compiled["mesh"].keys():
        mesh = compiled["mesh"][name]
        mesh.octree = octree(mesh.vert.astype(float), mesh.face)
    return compiled


def _colliding_meshes(spec: Spec) -> set[str]:
    """Names of meshes that need a convex hull; as in MuJoCo those of sites have one too."""
    paired = {name for pair in spec.lists["pair"] for name in (pair.geom1, pair.geom2)}
    return {site.mesh for site in spec.items("site") if site.mesh} | {
        geom.mesh
        for geom in spec.items("geom")
        if geom.mesh
        and geom.type in (GeomType.MESH, GeomType.SDF)
        and (geom.contype or geom.conaffinity or geom.name in paired)
    }


def read_file(item: Item, sought: str) -> bytes:
    """Content of the file that an asset names.

    MuJoCo looks for the name in a directory (`sought`, below the model's); if it is not there, the name is one
    in the directory of the included file that the asset is written in. Then it reads it from meshdir. For height
    fields the two directories may differ, and a file that is only in the first is read from there.
    """
    settings, name = item.settings, item.file
    used = settings.meshdir
    if settings.strippath:
        name = os.path.basename(name.replace("\\", "/"))
        return settings.files.read(os.path.join(used, name), os.path.join(sought, name))[1]
    if name.startswith(PACKAGE):
        return settings.files.read(*settings.files.packaged(name))[1]
    beside = settings.files.beside(item.place.file, name)
    places = [os.path.join(used, name), os.path.join(sought, name)]
    if not settings.files.exists(places[1]):
        places = [*beside, *(os.path.join(used, path) for path in beside), *places]
    return settings.files.read(*places)[1]


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
        data=read_file(hfield, hfield.settings.assetdir) if hfield.file else None,
        extension=os.path.splitext(hfield.file or "")[1].lower(),
    )
