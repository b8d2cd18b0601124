"""The scene description that the page draws: geoms, sites, meshes and bodies under short JSON keys."""

from typing import Any

import numpy as np

from jaxsim.viewer.encode import Buffers

# mjtGeom values to the names the page knows; a signed distance field is shown as its mesh
SHAPES = {
    0: "plane",
    1: "mesh",
    2: "sphere",
    3: "capsule",
    4: "ellipsoid",
    5: "cylinder",
    6: "box",
    7: "mesh",
    8: "mesh",
}
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)


def _array(model: Any, name: str) -> np.ndarray | None:
    value = getattr(model, name, None)
    return None if value is None else np.asarray(value)


def _arrays(model: Any, names: list[str]) -> list[np.ndarray]:
    """All of these arrays, or none if the model lacks one."""
    found = [_array(model, name) for name in names]
    return [] if any(a is None for a in found) else [a for a in found if a is not None]


def _numbers(values: np.ndarray) -> list[float]:
    return [float(f"{v:.6g}") for v in np.asarray(values, float).reshape(-1)]


def describe_geoms(model: Any, buffers: Buffers) -> list[dict[str, Any]]:
    """One entry per geom that can be drawn; mesh and height-field vertices go to `buffers`."""
    colours = _colours(model, "geom")
    dataid = _array(model, "geom_dataid")
    geoms = []
    for i, kind in enumerate(np.asarray(model.geom_type)):
        shape = SHAPES.get(int(kind))
        if shape is None:
            continue
        entry = _entry(model, "geom", i, shape, colours[i])
        if shape == "mesh":
            index = -1 if dataid is None else int(dataid[i])
            name = (_add_height_field if kind == 1 else _add_mesh)(model, index, buffers)
            if name is None:
                continue
            entry["mesh"] = name
        geoms.append(entry)
    return geoms


def describe_sites(model: Any) -> list[dict[str, Any]]:
    """One entry per site; hidden in the page until asked for."""
    positions = _array(model, "site_pos")
    if positions is None:
        return []
    types = np.asarray(getattr(model, "site_type", np.full(len(positions), 2)))
    colours = _colours(model, "site")
    return [_entry(model, "site", i, SHAPES.get(int(t), "sphere"), colours[i]) for i, t in enumerate(types)]


def _entry(model: Any, kind: str, i: int, shape: str, rgba: np.ndarray) -> dict[str, Any]:
    group = _array(model, f"{kind}_group")
    return {
        "shape": shape,
        "body": int(np.asarray(getattr(model, f"{kind}_bodyid"))[i]),
        "size": _numbers(np.asarray(getattr(model, f"{kind}_size"))[i]),
        "pos": _numbers(np.asarray(getattr(model, f"{kind}_pos"))[i]),
        "quat": _numbers(np.asarray(getattr(model, f"{kind}_quat"))[i]),
        "rgba": _numbers(rgba),
        "group": 0 if group is None else int(group[i]),
    }


def _colours(model: Any, kind: str) -> np.ndarray:
    """rgba of each element; where it is MuJoCo's default grey, that of its material."""
    count = len(np.asarray(getattr(model, f"{kind}_pos")))
    own = _array(model, f"{kind}_rgba")
    rgba = np.tile(_DEFAULT_RGBA, (count, 1)) if own is None else own.astype(float).copy()
    material, palette = _array(model, f"{kind}_matid"), _array(model, "mat_rgba")
    if material is not None and palette is not None and len(palette):
        plain = np.all(np.isclose(rgba, _DEFAULT_RGBA), axis=1) & (material >= 0)
        rgba[plain] = palette[material[plain]]
    return rgba


def _add_mesh(model: Any, index: int, buffers: Buffers) -> str | None:
    name = f"mesh{index}"
    keys = ("vert", "face", "vertadr", "vertnum", "faceadr", "facenum")
    arrays = _arrays(model, [f"mesh_{k}" for k in keys])
    if index < 0 or not arrays:
        return None
    if f"{name}_vert" not in buffers.index:
        vert, face, vertadr, vertnum, faceadr, facenum = arrays
        _add_triangles(
            buffers, name, vert[vertadr[index] :][: vertnum[index]], face[faceadr[index] :][: facenum[index]]
        )
    return name


def _add_height_field(model: Any, index: int, buffers: Buffers) -> str | None:
    name = f"hfield{index}"
    arrays = _arrays(model, [f"hfield_{k}" for k in ("data", "adr", "nrow", "ncol", "size")])
    if index < 0 or not arrays:
        return None
    if f"{name}_vert" not in buffers.index:
        data, adr, nrow, ncol, size = (a if i == 0 else a[index] for i, a in enumerate(arrays))
        x, y = np.meshgrid(np.linspace(-size[0], size[0], ncol), np.linspace(-size[1], size[1], nrow))
        z = data[adr : adr + nrow * ncol].reshape(nrow, ncol) * size[2]
        corner = (np.arange(int(nrow) - 1)[:, None] * ncol + np.arange(int(ncol) - 1)).reshape(-1)
        lower = np.stack([corner, corner + 1, corner + ncol], 1)
        upper = np.stack([corner + 1, corner + ncol + 1, corner + ncol], 1)
        _add_triangles(buffers, name, np.stack([x, y, z], -1).reshape(-1, 3), np.concatenate([lower, upper]))
    return name


def _add_triangles(buffers: Buffers, name: str, vert: np.ndarray, face: np.ndarray) -> None:
    """Vertices as 16-bit fractions of their bounding box, and triangles."""
    low = vert.min(0)
    span = np.maximum(vert.max(0) - low, 1e-9)
    buffers.add(f"{name}_box", np.concatenate([low, span]).astype(np.float32))
    buffers.add(f"{name}_vert", np.round((vert - low) / span * 65535).astype(np.uint16))
    buffers.add(f"{name}_face", face.astype(np.uint16 if len(vert) < 65536 else np.uint32))


def root_body(model: Any, moving: np.ndarray) -> int:
    """The body for the camera to follow: the first moving body of the heaviest moving tree."""
    root, mass = _array(model, "body_rootid"), _array(model, "body_mass")
    if not len(moving) or root is None or mass is None:
        return int(moving[0]) if len(moving) else 0
    trees = root[moving]
    weights = {tree: mass[(root == tree)].sum() for tree in np.unique(trees)}
    heaviest = max(weights, key=lambda tree: (weights[tree], -tree))
    return int(moving[trees == heaviest][0])


def weight(model: Any) -> float:
    """Weight [N] of all bodies, or 1 where there is none: the force that is drawn as long as the model is wide."""
    mass, opt = _array(model, "body_mass"), getattr(model, "opt", None)
    if mass is None or opt is None:
        return 1.0
    return float(mass.sum() * np.linalg.norm(np.asarray(opt.gravity))) or 1.0
