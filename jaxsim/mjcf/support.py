"""The part of the MJCF language that compiles, as a table for the documentation."""

from jaxsim.mjcf.schema import ATTRIBUTES, REFUSED, attributes

# elements that are checked but leave no trace in the model, and elements of which something is refused
NOTES = {
    "visual": "checked, then ignored (but for map's znear)",
    "skin": "visual: ignored",
    "skin/bone": "visual: ignored",
    "texture": "visual: only its name counts",
    "material": "visual: only its name counts",
    "material/layer": "visual: ignored",
    "frame": "scale, scaling and massscale are refused",
    "extension/plugin": "mujoco.sdf.* only",
    "plugin": "refused: meshes and geoms of engine plugins",
    "mesh": "files: STL, OBJ, MSH",
    "hfield": "files: PNG, binary",
}


def support_table() -> str:
    """Markdown table of all elements and attributes of MJCF 4.0 and how far they are supported."""
    lines = ["| element | attributes | support |", "|---|---|---|"]
    for key in ATTRIBUTES:
        note = NOTES.get("visual" if key.startswith("visual/") else key, "compiled as in MuJoCo")
        lines.append(f"| `{key}` | {' '.join(attributes(key)) or '-'} | {note} |")
    lines += [f"| `{key}` | | refused: {reason} |" for key, reason in REFUSED.items()]
    return "\n".join(lines)
