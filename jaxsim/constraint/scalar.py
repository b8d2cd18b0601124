"""What the builder of a family of scalar rows gives: one row per entry, before impedance."""

from typing import NamedTuple

import jax

Array = jax.Array


class ScalarRows(NamedTuple):
    """n rows of one family, under mjData's efc names.

    `None` stands for what a family does not have, so that a model without it does not compute with zeros.
    """

    pos: Array  # [n] violation: m, rad
    margin: Array | None  # [n] distance at which the row wakes up
    active: Array  # [n] bool
    solref: Array  # [n, 2]
    solimp: Array  # [n, 5]
    diag: Array  # [n] diagApprox: the inverse weight that D is relative to
    J: Array | None = None  # [n, nv]; rows on single dofs have none, the table knows their columns
    frictionloss: Array | None = None  # [n] friction rows only: N, N m
    pos_norm: Array | None = None  # [n] what the impedance depends on where it is not pos
    bias: Array | None = None  # [n] m/s^2 subtracted from aref: the Jdot v of connect and weld
