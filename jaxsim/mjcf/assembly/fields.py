"""What mjModel has besides the fields that the engine keeps: MuJoCo's sparse storage, buffers and plugins.

All other fields of a compiled model are declared in jaxsim.core.fields, with their dimensions, units and meanings.
"""

import numpy as np

from jaxsim.core.fields import MODEL_REAL, SIZES, STATIC
from jaxsim.core.fields.field import fields_of, flag, integer, size

Ints = np.ndarray


class CompilerFields:
    """Fields that only comparison with mjModel and the compiler itself read."""

    njmax: int = size("most constraint rows, as the file asks; -1 for no bound")
    nemax: int = size("most rows of all equalities together")
    nM: int = size("number of entries of M that MuJoCo stores: each dof with itself and those above it")
    nD: int = size("number of entries of M without regard to symmetry")
    nC: int = size("number of entries of M that are left when simple dofs have their diagonal only")
    flg_gravcomp: bool = flag("", "whether a body is relieved of its weight")
    flg_surfacevel: bool = flag("", "whether a geom's surface moves")
    flg_adhesion: bool = flag("", "whether a geom or a pair adheres")

    body_plugin: Ints = integer("nbody", "plugin of the body; -1 for none")
    geom_plugin: Ints = integer("ngeom", "plugin of the geom; -1 for none")
    sensor_plugin: Ints = integer("nsensor", "plugin of the sensor; -1 for none")
    dof_Madr: Ints = integer("nv", "where the dof's entries of M start")
    light_texid: Ints = integer("nlight", "texture of an image light; -1 for none")


COMPILER = fields_of(CompilerFields)
FIELDS = SIZES | STATIC | MODEL_REAL | COMPILER
