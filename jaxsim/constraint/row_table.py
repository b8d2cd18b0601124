"""The one order of constraint rows: which rows a model has, family by family, and where each of them stands.

Every family of scalar rows is one entry of FAMILIES and one builder. From the table follow the Jacobians, the
solver's products, sensors of limits and loads, `nefc`, `js.constraint_rows` and `jaxsim info`: nothing else
knows an order. The engine stores rows on single dofs first, since their Jacobian is one entry +-1; MuJoCo
sorts by mjtConstraint and then by element. For a joint 0 with friction and limits and a weld 0:

    stored    friction 0 | limit 0 low, high | weld 0 (6 rows)
    MuJoCo's  weld 0 (6 rows) | friction 0 | limit 0 low, high      order = 3 4 5 6 7 8 0 1 2

Tendons that nothing can lengthen have no rows, nor do equalities of what never moves, as MuJoCo drops rows without a
Jacobian.

Contacts come last in both: one block per slot, as many rows as its condim and the friction cone ask for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxsim.collision.pairs import candidate_pairs
from jaxsim.constraint.equality import connect, joint_coupling, moving, tendon_coupling, weld
from jaxsim.constraint.friction import dof_friction, tendon_friction
from jaxsim.constraint.limits import ball_limits, scalar_limits, tendon_limits
from jaxsim.constraint.scalar import ScalarRows
from jaxsim.constraint.user import equality_rows, limit_rows, user_equalities, user_limits
from jaxsim.core.enums import Cone, ConstraintType, DisableBit, EqType, JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.coordinates import SCALAR
from jaxsim.dynamics.spatial_tendon import immobile

FRICTION = (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON)
LIMITS = (ConstraintType.LIMIT_JOINT, ConstraintType.LIMIT_TENDON)


class Family(NamedTuple):
    """One kind of scalar rows."""

    type: ConstraintType
    switch: DisableBit  # the flag that removes it
    size: int  # rows of one element
    elements: Callable[[Topology], np.ndarray]  # equalities, dofs, joints or tendons that have such rows
    build: Callable[..., ScalarRows]  # (m, d, ten_J, elements) -> rows, element by element
    # for rows on single dofs: the dof of each element, and the Jacobian's entry in each of its rows
    dof: Callable[[Topology, np.ndarray], np.ndarray] | None = None
    sign: tuple[int, ...] = ()
    equality: EqType | None = None


def _equality(kind: EqType, size: int, build: Callable[..., ScalarRows]) -> Family:
    return Family(
        ConstraintType.EQUALITY, DisableBit.EQUALITY, size,
        lambda t: np.flatnonzero((t.eq_type == kind) & moving(t)),
        build,
        equality=kind,
    )  # fmt: skip


def _limited_joints(*kinds: JointType) -> Callable[[Topology], np.ndarray]:
    return lambda t: np.flatnonzero(np.asarray(t.jnt_limited, bool) & np.isin(t.jnt_type, kinds))


_C, _D = ConstraintType, DisableBit
# in the engine's order: rows on single dofs first
FAMILIES: tuple[Family, ...] = (
    Family(
        _C.FRICTION_DOF, _D.FRICTIONLOSS, 1, lambda t: np.flatnonzero(t.dof_hasfriction), dof_friction,
        lambda t, dofs: dofs, (1,),
    ),
    Family(
        _C.LIMIT_JOINT, _D.LIMIT, 2, _limited_joints(*SCALAR), scalar_limits,
        lambda t, joints: t.jnt_dofadr[joints], (1, -1),
    ),
    _equality(EqType.CONNECT, 3, connect),
    _equality(EqType.WELD, 6, weld),
    _equality(EqType.JOINT, 1, joint_coupling),
    _equality(EqType.TENDON, 1, tendon_coupling),
    Family(
        _C.FRICTION_TENDON, _D.FRICTIONLOSS, 1, lambda t: np.flatnonzero(t.tendon_hasfriction & ~immobile(t)),
        tendon_friction,
    ),
    Family(_C.LIMIT_JOINT, _D.LIMIT, 1, _limited_joints(JointType.BALL), ball_limits),
    Family(
        _C.LIMIT_TENDON, _D.LIMIT, 2, lambda t: np.flatnonzero((np.asarray(t.tendon_limited) > 0) & ~immobile(t)),
        tendon_limits,
    ),
    Family(_C.EQUALITY, _D.EQUALITY, 1, user_equalities, equality_rows),
    Family(_C.LIMIT_JOINT, _D.LIMIT, 1, user_limits, limit_rows),
)  # fmt: skip


class Block(NamedTuple):
    """The rows of one family that a model has: rows `start` to `stop` of the engine's order."""

    family: Family
    elements: np.ndarray
    start: int

    @property
    def stop(self) -> int:
        """One past its last row."""
        return self.start + self.family.size * len(self.elements)


@dataclass(frozen=True, eq=False)
class RowTable:
    """The n scalar rows of a model in the engine's order, of which the first nd are on single dofs; static."""

    blocks: tuple[Block, ...]
    type: np.ndarray  # [n] ConstraintType
    id: np.ndarray  # [n] equality, dof, joint or tendon
    dof: np.ndarray  # [nd] column of the Jacobian
    sign: np.ndarray  # [nd] its entry there, +1 or -1
    order: np.ndarray  # [n] the row that stands at each place of MuJoCo's order
    contact_dim: int  # the largest condim of any candidate pair, 0 without candidates
    cone: Cone

    @property
    def equality(self) -> np.ndarray:
        """[n] bool: rows that push and pull."""
        return self.type == ConstraintType.EQUALITY

    @property
    def friction(self) -> np.ndarray:
        """[n] bool: rows whose force is bounded by their frictionloss."""
        return np.isin(self.type, FRICTION)

    @property
    def collides(self) -> np.ndarray:
        """[n] bool: rows that only push, and when something has been reached."""
        return np.isin(self.type, LIMITS)

    @property
    def contact_size(self) -> int:
        """Most rows of one contact."""
        return int(self.rows_of_contact(np.array(self.contact_dim)))

    def rows_of(self, kind: ConstraintType, element: int) -> np.ndarray:
        """The rows [k] of an element, in the order in which it has them."""
        return np.flatnonzero((self.type == kind) & (self.id == element))

    def rows_of_contact(self, condim):
        """How many rows contacts of the given condim [...] have (numpy or traced): axes, or edges of the pyramid."""
        if self.cone == Cone.ELLIPTIC:
            return condim
        # 2 (condim - 1) edges, but one row for one dimension
        xp = np if isinstance(condim, np.ndarray) else jnp
        return condim + xp.maximum(condim - 2, 0)

    def counts(self) -> dict[ConstraintType, int]:
        """Number of scalar rows of each type that the model has."""
        return {kind: int(np.sum(self.type == kind)) for kind in ConstraintType if np.any(self.type == kind)}


def row_table(m: Model) -> RowTable:
    """The rows of a model with its disable flags and friction cone."""
    return _row_table(m.topology, int(m.opt.disableflags), m.opt.cone)


@per_topology
def _row_table(t: Topology, disableflags: int, cone: Cone) -> RowTable:
    blocks: list[Block] = []
    for family in FAMILIES:
        elements = family.elements(t)
        if len(elements) and not disableflags & (family.switch | DisableBit.CONSTRAINT):
            blocks.append(Block(family, elements.astype(int), blocks[-1].stop if blocks else 0))
    single = [b for b in blocks if b.family.dof is not None]
    kind = _joined([np.full(b.stop - b.start, b.family.type) for b in blocks])
    element = _joined([np.repeat(b.elements, b.family.size) for b in blocks])
    condim = candidate_pairs(t, disableflags).condim
    return RowTable(
        blocks=tuple(blocks),
        type=kind,
        id=element,
        dof=_joined([np.repeat(b.family.dof(t, b.elements), b.family.size) for b in single]),
        sign=_joined([np.tile(b.family.sign, len(b.elements)) for b in single]),
        order=np.lexsort((np.arange(len(kind)), element, kind)),
        contact_dim=int(condim.max()) if len(condim) else 0,
        cone=cone,
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, int), *parts]).astype(int)
