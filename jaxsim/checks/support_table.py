"""What is supported, as Markdown: parts of the README and of MJCF.md between two markers, kept equal by a test.

They come from the tables that the engine and the compiler go by. `python -m jaxsim.checks.support_table`, in the root
of the repository, writes them into the files.
"""

from collections.abc import Iterable
from enum import Enum, IntEnum
from pathlib import Path

from jaxsim.checks.support import REFUSED_FLAGS, SIMULATED
from jaxsim.collision.table import COLLIDERS
from jaxsim.core.enums import GeomType, Integrator, SensorType, Solver
from jaxsim.mjcf.language.schema import ATTRIBUTES, REFUSED, attributes

START, END = "<!-- python -m jaxsim.checks.support_table -->", "<!-- end of the generated table -->"

# never reached: types that MuJoCo 4.0 keeps for other uses, or that REFUSED already lists
_HIDDEN = ("UNDEFINED", "NONE", "UNKNOWN", "FLEX", "FLEXVERT", "FLEXSTRAIN", "DISTANCE", "PLUGIN")

# elements that are checked but leave little in the model, and elements of which something is refused
_NOTES = {
    "visual": "checked, then ignored (but for map's znear)",
    "skin": "visual: ignored",
    "skin/bone": "visual: ignored",
    "texture": "visual: only its name counts",
    "material": "visual: name and rgba count",
    "material/layer": "visual: ignored",
    "frame": "scale, scaling and massscale are refused",
    "extension/plugin": "mujoco.sdf.*, mujoco.pid and mujoco.sensor.touch_grid only",
    "plugin": "of meshes and geoms: mujoco.sdf.* only",
    "actuator/plugin": "mujoco.pid only",
    "sensor/plugin": "mujoco.sensor.touch_grid only",
    "mesh": "files: STL, OBJ, MSH",
    "hfield": "files: PNG, binary",
}


def simulated() -> str:
    """Features that are enumerated in the model: what is simulated, and what is refused by name."""
    rows = [(f"{what} types", members, _rest(enum, members)) for enum, members, what in SIMULATED.values()]
    rows.append(("integrators", tuple(Integrator), []))
    lines = ["| | simulated | compiled, but refused by name when loaded for simulation |", "|---|---|---|"]
    lines += [f"| {what} | {_names(yes)} | {_names(no)} |" for what, yes, no in rows]
    lines += [f"| contacts of {a} | {yes} | {no} |" for a, yes, no in _collisions()]
    lines.append(f"| solvers | {_names(Solver)}, noslip after any of them | - |")
    lines.append(f"| enable flags | the others | {_names(REFUSED_FLAGS)} |")
    return "\n".join(lines)


def compiled() -> str:
    """All elements and attributes of MJCF 4.0, and how far they are compiled."""
    lines = ["| element | attributes | compiled |", "|---|---|---|"]
    for key in ATTRIBUTES:
        note = _NOTES.get("visual" if key.startswith("visual/") else key, "as in MuJoCo")
        lines.append(f"| `{key}` | {' '.join(attributes(key)) or '-'} | {note} |")
    lines += [f"| `{key}` | | refused: {reason} |" for key, reason in REFUSED.items()]
    return "\n".join(lines)


def _rest(enum: type[IntEnum], members: Iterable[IntEnum]) -> list[IntEnum]:
    return [m for m in enum if m not in members]


def _names(members: Iterable[Enum]) -> str:
    shown = [str(m.name).lower() for m in members if not (m.name in _HIDDEN and isinstance(m, SensorType))]
    return ", ".join(shown) or "-"


def _collisions() -> list[tuple[str, str, str]]:
    """Per geom type, the types of the same or a later kind that it collides with, and those it does not."""
    solid = [g for g in GeomType if g not in (GeomType.PLANE, GeomType.HFIELD)]
    rows = []
    for a in GeomType:
        partners = [b for b in solid if b >= a]
        yes = [b for b in partners if (a, b) in COLLIDERS]
        rows.append((a.name.lower(), _names(yes), _names(b for b in partners if b not in yes)))
    return rows


def insert(page: str, table: str) -> str:
    """A page with the table in place of what stood between its markers."""
    before, _, rest = page.partition(START)
    _, end, after = rest.partition(END)
    return "\n\n".join([before + START, table, end + after])


PAGES = {"README.md": simulated, "jaxsim/mjcf/MJCF.md": compiled}

if __name__ == "__main__":
    for name, table in PAGES.items():
        file = Path(name)
        file.write_text(insert(file.read_text(), table()))
