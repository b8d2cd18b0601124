"""From compiled items to the arrays of mjModel: keyframes."""

from jaxsim.mjcf.assembly.columns import column, rows
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.elements.keyframes import compile_key
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.spec import Spec


def keyframes(spec: Spec, m: CompiledModel, problems: Problems) -> None:
    """Keyframes, completed from the rest of the model."""
    keys = spec.lists["key"]
    for key in keys:
        problems.attempt(key.place, compile_key, key, m)
    problems.check()
    m.set(nkey=len(keys))
    widths = {
        "qpos": m.nq,
        "qvel": m.nv,
        "act": m.na,
        "mpos": 3 * m.nmocap,
        "mquat": 4 * m.nmocap,
        "ctrl": m.nu,
        "plastic": m.nplastic,
    }
    m.set("key_", time=column(keys, "time"), **{name: rows(keys, name, width) for name, width in widths.items()})
