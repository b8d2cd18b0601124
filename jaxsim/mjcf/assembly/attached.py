"""From compiled items to the arrays of mjModel: what is fixed to bodies."""

import numpy as np

from jaxsim.algebra.signed_distance import MOST_CONSTANTS, NAMES, PLUGINS, values_of
from jaxsim.core.enums import GeomType
from jaxsim.mjcf.assembly.columns import array, column, item_id, rows, user
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.spec import Item, Spec


def attached(spec: Spec, m: CompiledModel) -> None:
    """Everything about geoms, sites, cameras and lights."""
    _geoms(spec, m)
    _sites(spec, m)
    _cameras(spec, m)
    _lights(spec, m)


def _geoms(spec: Spec, m: CompiledModel) -> None:
    geoms = spec.items("geom")
    m.set(ngeom=len(geoms))
    m.set(
        "geom_",
        type=column(geoms, "type", int),
        contype=column(geoms, "contype", int),
        conaffinity=column(geoms, "conaffinity", int),
        condim=column(geoms, "condim", int),
        bodyid=array([g.body.id for g in geoms], dtype=int),
        dataid=array([item_id(g.data_item) for g in geoms], dtype=int),
        matid=array([item_id(g.material_item) for g in geoms], dtype=int),
        group=column(geoms, "group", int),
        priority=column(geoms, "priority", int),
        plugin=np.full(len(geoms), -1, np.int32),
        castshadow=column(geoms, "castshadow", bool),
        solmix=column(geoms, "solmix"),
        solref=rows(geoms, "solref", 2),
        solimp=rows(geoms, "solimp", 5),
        size=rows(geoms, "size", 3),
        aabb=rows(geoms, "aabb", 6),
        rbound=column(geoms, "rbound"),
        pos=rows(geoms, "pos", 3),
        quat=rows(geoms, "quat", 4),
        friction=rows(geoms, "friction", 3),
        margin=column(geoms, "margin"),
        gap=column(geoms, "gap"),
        surfacevel=rows(geoms, "surfacevel", 6),
        adhesion=column(geoms, "adhesion"),
        fluid=rows(geoms, "fluid", 12),
        user=user(geoms, m.nuser_geom),
        rgba=rows(geoms, "rgba", 4, np.float32),
    )
    _shapes(geoms, m)


def _shapes(geoms: list[Item], m: CompiledModel) -> None:
    """The plugins that give geoms their signed distance."""
    m.sdf, m.sdf_constants = np.full(len(geoms), -1, np.int32), np.zeros((len(geoms), MOST_CONSTANTS))
    for i, geom in enumerate(geoms):
        if geom.sdf and geom.type == GeomType.SDF:
            kind, config = geom.sdf
            constants = PLUGINS[kind].constants(*values_of(kind, config))
            m.sdf[i], m.sdf_constants[i, : len(constants)] = NAMES.index(kind), constants


def _sites(spec: Spec, m: CompiledModel) -> None:
    sites = spec.items("site")
    m.set(nsite=len(sites))
    m.set(
        "site_",
        type=column(sites, "type", int),
        bodyid=array([s.body.id for s in sites], dtype=int),
        dataid=array([item_id(s.data_item) for s in sites], dtype=int),
        matid=array([item_id(s.material_item) for s in sites], dtype=int),
        group=column(sites, "group", int),
        size=rows(sites, "size", 3),
        pos=rows(sites, "pos", 3),
        quat=rows(sites, "quat", 4),
        user=user(sites, m.nuser_site),
        rgba=rows(sites, "rgba", 4, np.float32),
    )


def _cameras(spec: Spec, m: CompiledModel) -> None:
    cameras = spec.items("camera")
    m.set(ncam=len(cameras))
    m.set(
        "cam_",
        mode=column(cameras, "mode", int),
        bodyid=array([c.body.id for c in cameras], dtype=int),
        targetbodyid=array([item_id(c.target_item) for c in cameras], dtype=int),
        pos=rows(cameras, "pos", 3),
        quat=rows(cameras, "quat", 4),
        projection=column(cameras, "projection", int),
        fovy=column(cameras, "fovy"),
        ipd=column(cameras, "ipd"),
        resolution=rows(cameras, "resolution", 2, int),
        output=array([_bits(c.output) for c in cameras], dtype=int),
        sensorsize=rows(cameras, "sensorsize", 2, np.float32),
        intrinsic=rows(cameras, "intrinsic", 4, np.float32),
        user=user(cameras, m.nuser_cam),
    )


def _bits(flags: int | tuple[int, ...]) -> int:
    return flags if isinstance(flags, int) else sum(flags)


def _lights(spec: Spec, m: CompiledModel) -> None:
    lights = spec.items("light")
    m.set(nlight=len(lights))
    m.set(
        "light_",
        mode=column(lights, "mode", int),
        bodyid=array([x.body.id for x in lights], dtype=int),
        targetbodyid=array([item_id(x.target_item) for x in lights], dtype=int),
        type=column(lights, "type", int),
        texid=array([item_id(x.texture_item) for x in lights], dtype=int),
        castshadow=column(lights, "castshadow", bool),
        active=column(lights, "active", bool),
        pos=rows(lights, "pos", 3),
        dir=rows(lights, "dir", 3),
        attenuation=rows(lights, "attenuation", 3, np.float32),
        ambient=rows(lights, "ambient", 3, np.float32),
        diffuse=rows(lights, "diffuse", 3, np.float32),
        specular=rows(lights, "specular", 3, np.float32),
        **{
            n: column(lights, n, np.float32)
            for n in ["bulbradius", "intensity", "range", "cutoff", "softness", "exponent"]
        },
    )
