"""Compile a mesh asset: read or generate, hull, normals, transformation to the principal frame, fitting.

MuJoCo: user_mesh.cc. What comes out is what mjModel holds of a mesh, before the addresses of several
meshes are added up. Problems are Faults; the caller knows which element of which file it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.core.enums import MINVAL, GeomType
from jaxsim.mjcf.assets import mesh_builtin
from jaxsim.mjcf.assets import sdf as mesh_sdf
from jaxsim.mjcf.assets.hull import (
    Hull,
    convex_hull,
    hull_extrema,
    hull_graph,
    newell_normals,
    polygons,
)
from jaxsim.mjcf.assets.mesh_inertia import MODES, mass_properties
from jaxsim.mjcf.assets.mesh_read import read_mesh
from jaxsim.mjcf.assets.octree import Octree
from jaxsim.mjcf.assets.raw_mesh import RawMesh
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
SHARP = 0.8  # least cosine between a vertex normal and the faces that it averages
SMALL = 1e-7  # vectors shorter than this have no direction in the computation of normals


@dataclass
class MeshData:
    """A compiled mesh; the names are MuJoCo's without their prefix (mesh_vert, mesh_graph ...).

    vert [nvert, 3], normal [nnormal, 3], texcoord [ntexcoord, 2] are float32; face, facenormal, facetexcoord
    [nface, 3] index them. pos [3], quat [4], scale [3]: the transformation from the file's frame. graph: hull
    graph, empty without a hull; polyvert: vertex ids of the hull's polygons one after the other, polyvertnum
    and polyvertadr [npoly]: their lengths and addresses, polynormal [npoly, 3]; polymap: polygons around each
    vertex, polymapnum and polymapadr [nvert]. extrema [27]: hull vertices farthest along a grid.
    octree: of its signed distance, where a geom needs it.
    volume: m^3, or m^2 for a shell; boxsz [3]: half sizes of the box of equal volume and inertia;
    aamm [6]: least and greatest coordinates of the vertices.
    """

    vert: Array
    normal: Array
    texcoord: Array
    face: Array
    facenormal: Array
    facetexcoord: Array
    pos: Array
    quat: Array
    scale: Array
    volume: float
    boxsz: Array
    aamm: Array
    graph: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    extrema: Array = field(default_factory=lambda: np.zeros(27, np.int32))
    polynormal: Array = field(default_factory=lambda: np.zeros((0, 3)))
    polyvert: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    polyvertadr: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    polyvertnum: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    polymap: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    polymapadr: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    polymapnum: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    octree: Octree | None = None

    @property
    def inertia(self) -> Array:
        """Diagonal inertia [3] for unit density, about the origin."""
        x, y, z = self.boxsz**2
        return self.volume / 3 * np.array([y + z, x + z, x + y])

    @property
    def aabb(self) -> Array:
        """Centre and half sizes [6] of the bounding box."""
        low, high = self.aamm[:3], self.aamm[3:]
        return np.concatenate([(high + low) / 2, (high - low) / 2])

    @property
    def rbound(self) -> float:
        """Radius about the origin of a sphere that contains the bounding box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.aamm[:3]), np.abs(self.aamm[3:]))))

    def fit(self, kind: int, fitscale: float = 1.0, fitaabb: bool = False) -> tuple[Array, Array]:
        """Size [3] of a primitive fitted to the mesh, and its centre [3] in the mesh's frame."""
        if fitaabb:
            size = _fit_aabb(kind, self.aabb[3:])
            return size * fitscale, self.aabb[:3]
        return _fit_box(kind, self.boxsz) * fitscale, np.zeros(3)


def compile_mesh(
    *,
    name: str,
    data: bytes | None = None,
    extension: str = "",
    vertex: Array | None = None,
    normal: Array | None = None,
    texcoord: Array | None = None,
    face: Array | None = None,
    scale: Array | Sequence[float] = (1, 1, 1),
    refpos: Array | Sequence[float] = (0, 0, 0),
    refquat: Array | Sequence[float] = (1, 0, 0, 0),
    inertia: str = "legacy",
    maxhullvert: int = -1,
    builtin: str | None = None,
    sdf: tuple[str, dict[str, str]] | None = None,
    params: Array | Sequence[float] = (),
    smoothnormal: bool = False,
    need_hull: bool = True,
) -> MeshData:
    """Compile one mesh asset; attributes are those of MJCF's <mesh>.

    Args:
        name: of the asset, for messages.
        data, extension: content of the file, and ".stl", ".obj" or ".msh".
        vertex, normal, texcoord, face: flat lists of numbers, written in the model instead of a file.
        inertia: "convex", "exact", "legacy" or "shell".
        builtin, params: kind and parameters of a mesh to generate.
        sdf: kind and attributes of a signed distance whose surface is the mesh; it keeps its frame.
        need_hull: whether the mesh collides, so that its convex hull is needed.

    Raises:
        Fault: the mesh cannot be compiled, and why.
    """
    if inertia not in MODES:
        raise Fault(f"inertia='{inertia}'; expected one of {', '.join(MODES)}")
    if -1 < maxhullvert < 4:
        raise Fault(f"maxhullvert={maxhullvert}; expected more than 3, or -1 for no limit")
    try:
        with np.errstate(all="ignore"):  # coordinates may be as large as they like; what matters is the result
            raw = read_mesh(data, extension) if data is not None else RawMesh()
            if builtin:
                raw, shell = mesh_builtin.build(builtin, np.asarray(params, float))
                inertia = "shell" if shell and inertia == "legacy" else inertia
            if sdf:
                raw = mesh_sdf.build(*sdf)
            _add_written(raw, vertex, normal, texcoord, face)
            to_scale, to_pos, to_quat = (np.asarray(v, float) for v in (scale, refpos, refquat))
            return _compile(raw, to_scale, to_pos, to_quat, inertia, maxhullvert, smoothnormal, need_hull, not sdf)
    except (Fault, OverflowError, MemoryError) as error:
        raise Fault(f"mesh '{name}': {error}") from None


def _add_written(raw: RawMesh, vertex: Array | None, normal, texcoord, face) -> None:
    """Take over what the model itself says about a mesh; nothing may be said twice."""
    for what, values, width, kind in (
        ("vert", vertex, 3, np.float32),
        ("normal", normal, 3, np.float32),
        ("texcoord", texcoord, 2, np.float32),
        ("face", face, 3, np.int32),
    ):
        if values is None or not np.size(values):
            continue
        if len(getattr(raw, what)):
            raise Fault(f"{what} is given twice: in the file and in the model")
        if np.size(values) % width:
            raise Fault(f"{what} has {np.size(values)} numbers; expected a multiple of {width}")
        setattr(raw, what, np.asarray(values).astype(kind).reshape(-1, width))


def _check(raw: RawMesh) -> None:
    nvert = len(raw.vert)
    if nvert < 4:
        raise Fault(f"{nvert} vertices; expected at least 4")
    if not np.all(np.isfinite(raw.vert)):
        raise Fault(f"vertex {int(np.argmin(np.isfinite(raw.vert).all(axis=1)))} is not finite")
    if len(raw.texcoord) and len(raw.texcoord) != nvert and not len(raw.facetexcoord):
        raise Fault(f"{len(raw.texcoord)} texture coordinates; expected one for each of {nvert} vertices")
    wrong = (raw.face < 0) | (raw.face >= nvert)
    if wrong.any():
        raise Fault(f"face {int(np.argmax(wrong.any(axis=1)))} has vertex {raw.face[wrong][0]} of {nvert}")


def _compile(
    raw: RawMesh,
    scale: Array,
    refpos: Array,
    refquat: Array,
    inertia: str,
    maxhullvert: int,
    smoothnormal: bool,
    need_hull: bool,
    principal: bool,
) -> MeshData:
    _check(raw)
    vert = raw.vert.astype(np.float64)
    if inertia == "exact":
        _check_orientation(vert, raw.face)
    hull = None
    if need_hull or inertia == "convex" or not len(raw.face):
        hull = convex_hull(vert, maxhullvert)
        if not len(raw.face):
            raw.face = hull.face.astype(np.int32)
    _complete_indices(raw, vert, smoothnormal)
    outlines = polygons(vert, hull) if hull else []

    if np.prod(scale) <= 0:  # a mirrored mesh
        raw.face, raw.facenormal, raw.facetexcoord = (
            f[:, [0, 2, 1]] for f in (raw.face, raw.facenormal, raw.facetexcoord)
        )
        if hull:
            hull = Hull(hull.vert, hull.face[:, [0, 2, 1]])
            outlines = [np.concatenate([o[:1], o[:0:-1]]) for o in outlines]
    turn = quaternion.to_mat(refquat / np.linalg.norm(refquat)).reshape(3, 3)
    vert = ((vert - refpos) @ turn) * scale
    normals = _unit((raw.normal.astype(np.float64) @ turn) / scale)

    mass = mass_properties(vert, raw.face, hull.face if hull else None, inertia)
    if not np.all(np.isfinite([mass.volume, *mass.pos, *mass.quat, *mass.boxsz])):
        raise Fault("its volume or inertia is not finite")
    if not principal:
        mass = mass._replace(pos=np.zeros(3), quat=np.array([1.0, 0, 0, 0]))
    axes = quaternion.to_mat(mass.quat).reshape(3, 3)
    vert = (vert - mass.pos) @ axes
    compiled = MeshData(
        vert.astype(np.float32),
        (normals @ axes).astype(np.float32),
        raw.texcoord,
        raw.face,
        raw.facenormal,
        raw.facetexcoord,
        mass.pos,
        mass.quat,
        scale,
        mass.volume,
        mass.boxsz,
        np.concatenate([vert.min(axis=0), vert.max(axis=0)]),
    )
    if hull:
        _set_hull(compiled, vert, hull, outlines)
    return compiled


def _set_hull(compiled: MeshData, vert: Array, hull: Hull, outlines: list[Array]) -> None:
    nvert = len(vert)
    compiled.graph = hull_graph(hull)
    compiled.extrema = hull_extrema(vert, hull)
    compiled.polynormal = newell_normals(vert, outlines)
    length = np.array([len(o) for o in outlines], np.int32)
    compiled.polyvertnum, compiled.polyvertadr = length, np.cumsum(length) - length
    compiled.polyvert = np.concatenate(outlines).astype(np.int32) if outlines else compiled.polyvert
    around = np.bincount(compiled.polyvert, minlength=nvert).astype(np.int32)
    compiled.polymapnum, compiled.polymapadr = around, np.cumsum(around) - around
    order = np.argsort(compiled.polyvert, kind="stable")
    compiled.polymap = np.repeat(np.arange(len(length)), length)[order].astype(np.int32)


def _check_orientation(vert: Array, face: Array) -> None:
    """Raise if two triangles go along the same edge in the same direction."""
    corner = vert[face]
    area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    face = face[area > np.sqrt(MINVAL)]
    edge = np.concatenate([face[:, [0, 1]], face[:, [1, 2]], face[:, [2, 0]]])
    edges, count = np.unique(edge, axis=0, return_counts=True)
    if np.any(count > 1):
        a, b = edges[np.argmax(count > 1)]
        raise Fault(f"faces have inconsistent orientation around the edge between vertices {a} and {b}")


def _complete_indices(raw: RawMesh, vert: Array, smoothnormal: bool) -> None:
    """Normals if there are none, and indices of normals and texture coordinates where faces have none."""
    if not len(raw.normal):
        raw.normal = _vertex_normals(vert, raw.face, smoothnormal)
        raw.facenormal = raw.face
    if len(raw.facenormal) not in (0, len(raw.face)):
        raise Fault(f"{len(raw.facenormal)} faces with normals; expected {len(raw.face)}")
    if not len(raw.facenormal):
        raw.facenormal = len(raw.normal) // len(vert) * raw.face
    if len(raw.texcoord) and not len(raw.facetexcoord):
        raw.facetexcoord = raw.face


def _unit(vec: Array) -> Array:
    """Unit vectors [n, 3]; the z axis for what has no length."""
    length = np.linalg.norm(vec, axis=1, keepdims=True)
    short = ~(length > MINVAL)
    return np.where(short, np.array([0, 0, 1.0]), vec / np.where(short, 1.0, length))


def _vertex_normals(vert: Array, face: Array, smooth: bool) -> Array:
    """Normals [nvert, 3]: area-weighted averages over faces, unless smooth without those at sharp edges."""
    corner = vert[face]
    doubled = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    doubled[np.linalg.norm(doubled, axis=1) < SMALL] = 0
    ids = face.ravel()

    def summed(values: Array) -> Array:
        return np.stack([np.bincount(ids, values[:, k], len(vert)) for k in range(3)], axis=1)

    contribution = np.repeat(doubled, 3, axis=0)
    normal = summed(contribution)
    if not smooth:
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        average = np.where(length < SMALL, normal, normal / np.maximum(length, SMALL))
        sharp = np.sum(_unit(contribution) * average[ids], axis=1) < SHARP
        normal = normal - summed(np.where(sharp[:, None], contribution, 0.0))
    return _unit(normal)


def _fit_box(kind: int, boxsz: Array) -> Array:
    """Size of the primitive with about the inertia of a box."""
    across = (boxsz[0] + boxsz[1]) / 2
    match kind:
        case GeomType.SPHERE:
            return np.array([boxsz.mean(), 0, 0])
        case GeomType.CAPSULE:
            return np.array([across, max(0.0, boxsz[2] - across / 2), 0])
        case GeomType.CYLINDER:
            return np.array([across, boxsz[2], 0])
        case GeomType.ELLIPSOID | GeomType.BOX:
            return boxsz.copy()
    raise Fault("only a sphere, capsule, cylinder, ellipsoid or box can be fitted to a mesh")


def _fit_aabb(kind: int, half: Array) -> Array:
    """Size of the smallest primitive whose bounding box contains a box with these half sizes."""
    across = max(half[0], half[1])
    match kind:
        case GeomType.SPHERE:
            return np.array([half.max(), 0, 0])
        case GeomType.CAPSULE:
            return np.array([across, half[2] - across, 0])
        case GeomType.CYLINDER:
            return np.array([across, half[2], 0])
        case GeomType.ELLIPSOID | GeomType.BOX:
            return half.copy()
    raise Fault("only a sphere, capsule, cylinder, ellipsoid or box can be fitted to a mesh")
