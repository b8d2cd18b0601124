"""Last step: options, statistics and the constants derived from the arrays."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.mjcf.assembly.columns import rows
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.assembly.simple import simple_bodies, simple_dofs
from jaxsim.mjcf.assembly.sleep import sleep_policy
from jaxsim.mjcf.derived import constants, tree
from jaxsim.mjcf.derived.length_range import LengthRangeError, length_range
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.spec import Spec

# derived arrays: name -> (dimensions, type)
_DERIVED: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "body_subtreemass": (("nbody",), float),
    "body_invweight0": (("nbody", 2), float),
    "body_sameframe": (("nbody",), np.uint8),
    "body_treeid": (("nbody",), np.int32),
    "jnt_actuatorid": (("njnt",), np.int32),
    "dof_invweight0": (("nv",), float),
    "dof_M0": (("nv",), float),
    "dof_length": (("nv",), float),
    "tree_bodyadr": (("ntree",), np.int32),
    "tree_bodynum": (("ntree",), np.int32),
    "tree_dofadr": (("ntree",), np.int32),
    "tree_dofnum": (("ntree",), np.int32),
    "geom_sameframe": (("ngeom",), np.uint8),
    "site_sameframe": (("nsite",), np.uint8),
    "cam_poscom0": (("ncam", 3), float),
    "cam_pos0": (("ncam", 3), float),
    "cam_mat0": (("ncam", 9), float),
    "light_poscom0": (("nlight", 3), float),
    "light_pos0": (("nlight", 3), float),
    "light_dir0": (("nlight", 3), float),
    "tendon_actuatorid": (("ntendon",), np.int32),
    "tendon_treenum": (("ntendon",), np.int32),
    "tendon_treeid": (("ntendon", 2), np.int32),
    "tendon_length0": (("ntendon",), float),
    "tendon_invweight0": (("ntendon",), float),
    "actuator_length0": (("nout",), float),
    "actuator_acc0": (("nout",), float),
}


def finish(spec: Spec, m: CompiledModel, problems: Problems) -> None:
    """Set `opt` and `stat`, scale masses, and compute what derives from the arrays."""
    m.opt = spec.option
    m.stat = SimpleNamespace(meaninertia=0.0, meanmass=0.0, meansize=0.0, extent=0.0, center=np.zeros(3))
    for name, (dims, dtype) in _DERIVED.items():
        setattr(m, name, np.zeros([d if isinstance(d, int) else getattr(m, d) for d in dims], dtype))
    if spec.settings.settotalmass > 0:
        _scale_mass(m, spec.settings.settotalmass)
    tree.fill(m)
    simple_bodies(spec, m)
    simple_dofs(m)
    sleep_policy(m)
    for dof in constants.compute(m):
        problems.remark(
            spec.items("joint")[m.dof_jntid[dof]].place,
            "the inertia matrix is singular at this joint: look for joints that move a body in the same way (four "
            "slides, two hinges about one axis) or for a negative armature",
        )
    constants.spring_dampers(m, rows(spec.items("joint"), "springdamper", 2))
    try:
        length_range(m, spec.length_range)
    except LengthRangeError as error:
        problems.add(spec.items("actuator")[error.actuator].place, str(error))
    if not np.all(np.isfinite([m.stat.extent, m.stat.meaninertia, *m.stat.center])):
        problems.add(spec.world.place, "the extent or the mean inertia of the model is not finite: what is so far off?")
    m.flg_gravcomp, m.flg_surfacevel, m.flg_adhesion = map(bool, (m.flg_gravcomp, m.flg_surfacevel, m.flg_adhesion))
    for name, value in vars(spec.statistic).items():
        if value is not None:
            setattr(m.stat, name, value)


def _scale_mass(m: CompiledModel, total: float) -> None:
    """Scale masses and inertias to a given total mass."""
    scale = max(1e-15, total / max(1e-15, float(np.sum(m.body_mass[1:]))))
    m.body_mass *= scale
    m.body_inertia *= scale
