"""Write a trajectory as one HTML file that plays it: no network, no library, nothing to install."""

import html
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxsim.viewer.contacts import add_contacts
from jaxsim.viewer.encode import Buffers, add_poses
from jaxsim.viewer.scene import describe_geoms, describe_sites, root_body, weight
from jaxsim.viewer.trajectory import Trajectory

_FOLDER = Path(__file__).parent
# concatenated in this order into one script
_SCRIPTS = (
    "linear.js", "shapes.js", "shaders.js", "renderer.js", "clip.js", "marks.js", "stage.js", "camera.js",
    "plots.js", "controls.js", "player.js",
)  # fmt: skip


def write_player(
    path: str | os.PathLike[str],
    model: Any,
    trajectory: Trajectory,
    *,
    title: str,
    subtitle: str = "",
    body_names: Sequence[str] = (),
    fps: float = 50.0,
) -> Path:
    """Write a self-contained player.

    Args:
        path: the HTML file to write.
        model: anything with mjModel's arrays (geom_type, geom_size, geom_pos, geom_rgba ...): a jaxsim Model
            or a mujoco.MjModel.
        trajectory: what to show.
        title: heading of the page.
        subtitle: a line below it.
        body_names: names of the bodies, for the legend; may be empty.
        fps: at most this many frames per second of simulated time are kept.

    Returns:
        The path written.
    """
    scene, packed = build_scene(model, trajectory.subsample(fps), body_names)
    scene |= {"title": title, "subtitle": subtitle}
    target = Path(path)
    target.write_text(assemble(scene, packed), encoding="utf-8")
    return target


def build_scene(model: Any, trajectory: Trajectory, body_names: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The scene description and the packed buffers of a player."""
    buffers = Buffers()
    xpos, xquat = trajectory.xpos, trajectory.xquat
    start = np.concatenate([xpos[:1, :1], xquat[:1, :1]], -1)
    varies = np.any(np.concatenate([xpos, xquat], -1) != start, axis=(0, 1, 3))
    moving = np.flatnonzero(varies) if varies.any() else np.array([len(varies) - 1])
    add_poses(buffers, xpos[:, :, moving], xquat[:, :, moving])
    buffers.add("time", (trajectory.time - trajectory.time[0]).astype(np.float32))
    for i, value in enumerate(trajectory.channels.values()):
        buffers.add(f"channel{i}", value)
    if trajectory.contacts is not None:
        add_contacts(buffers, trajectory.contacts)
    fixed = np.nan_to_num(start[0, 0].astype(float))
    names = list(body_names) or [f"body {i}" for i in range(xpos.shape[2])]
    scene = {
        "worlds": list(trajectory.world_names) or [f"World {i}" for i in range(trajectory.worlds)],
        "bodies": names,
        "moving": moving.tolist(),
        "fixed": [[float(f"{v:.6g}") for v in pose] for pose in fixed],
        "root": root_body(model, moving),
        "weight": weight(model),
        "startTime": float(trajectory.time[0]),
        "geoms": describe_geoms(model, buffers),
        "sites": describe_sites(model),
        "channels": list(trajectory.channels),
        "buffers": buffers.index,
    }
    return scene, buffers.packed()


def assemble(scene: dict[str, Any], packed: str) -> str:
    """The page with style, script and data inlined."""
    # "<" would let a name close the script element
    described = json.dumps(scene, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    script = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    parts = {
        "title": html.escape(scene["title"]),
        "subtitle": html.escape(scene["subtitle"]),
        "style": (_FOLDER / "player.css").read_text(encoding="utf-8"),
        "scene": described,
        "payload": packed,
        "script": f'"use strict";\n(() => {{\n{script}\n}})();',
    }
    page = (_FOLDER / "player.html").read_text(encoding="utf-8")
    # split once at the markers, so that no part can be mistaken for a marker
    for name in parts:
        if page.count(f"{{{{{name}}}}}") < 1:
            raise ValueError(f"player.html lacks the marker {{{{{name}}}}}")
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (p.split("}}", 1) for p in pieces[1:]))
