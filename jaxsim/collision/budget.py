"""How much room the collision stages of a world have: numbers fixed at load, by name.

    contacts        slots of the contact buffer, `model.nconmax`
    tiles           pairs of blocks of geoms that the first pass lets through, where candidate pairs are many
    sphere - box    pairs of these types that go into their collider; no entry where all pairs do
    hfield - box    prisms of height fields that are tested with boxes
    hfield cells    cells along a side, of those that are looked at under a geom

`data.peak` holds the largest demand on each so far: what would have sufficed where it is larger than the budget.
"""

from collections.abc import Mapping

import numpy as np

from jaxsim.collision.broadphase import Tiles, blocks_of, tiles
from jaxsim.collision.height_field import windows
from jaxsim.collision.pairs import FLAT, Pairs, candidate_pairs, default_nconmax, groups, heaped_linkages
from jaxsim.collision.user import Kinds, collider_of
from jaxsim.core.enums import ContactLaw, GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

CONTACTS, TILES, CELLS = "contacts", "tiles", "hfield cells"
SEVERAL = 4  # contacts of a pair
SIDES = 6  # of a heap
# of laws that look for contacts before they touch: pairs for each of the soft law's, and contacts where all that are
# within a distance count
BESIDES, FARTHER = 2.0, 1.3
# contacts at least, for the law that needs all that may touch within a step: of a humanoid that flails 26 at 0.01 s
SOONEST = 28
SPEED = 20.0  # m/s of a geom and of the fastest in its tree together, for the hard law on height fields
SMALL_GROUP = 24  # groups of this few pairs are all tested, which costs less than choosing


def group_name(kinds: Kinds) -> str:
    """How the budget of the pairs of two types is called."""
    return " - ".join(GeomType(k).name.lower() for k in kinds[:2])


@per_topology
def budgets_of(t: Topology) -> dict[str, int]:
    """The budgets of a model by name."""
    return dict(zip(t.names.get("budget", []), t.budget.tolist()))


def with_budgets(
    m: Model,
    max_contacts: int | None = None,
    chosen: Mapping[str, int] | None = None,
    expected: int = 0,
    near: Mapping[str, int] | None = None,
) -> Model:
    """The model with room for its collisions: by default chosen from the geoms; programs compile anew.

    Args:
        m: the model.
        max_contacts: slots of the contact buffer.
        chosen: other budgets by name.
        expected: contacts that will occur; a quarter more has room, if the choice is ours.
        near: by budget the pairs of geoms that will be near each other; likewise.

    Raises:
        ValueError: a name is none of the model's, or a number is less than 1.
    """
    flags, given = int(m.opt.disableflags), dict(chosen or {})
    t = m.topology.replace(geom_block=blocks_of(m))
    if max_contacts is not None:
        given[CONTACTS] = max_contacts
    law = m.opt.contact
    scale, pairs = FARTHER if law == ContactLaw.DISTANT else 1, 1 if law == ContactLaw.SOFT else BESIDES
    least = max(_with_spare(expected), SOONEST if law.rigid else 0)
    usual = default_nconmax(t, flags, int(m.opt.sdf_initpoints), _under(m), least, scale)
    contacts = int(given.get(CONTACTS, usual))
    budgets = _possible(t, flags, contacts, near or {}, pairs) | _of_fields(m, given)
    for name, value in given.items():
        if name not in budgets:
            raise ValueError(f"there is no budget called {name!r}; this model has: {', '.join(budgets) or 'none'}")
        if value < 1:
            raise ValueError(f"the budget of {name} is {value}, but must be 1 or more")
    parts = [x for x in groups(candidate_pairs(t, flags), t) if len(x[0]) == 2]
    counts = {group_name(kinds): len(index) for kinds, index in parts if kinds[0] not in FLAT}
    budgets = {k: int(given.get(k, v)) for k, v in budgets.items()}
    budgets = {k: v for k, v in budgets.items() if k not in counts or v < counts[k]}
    t = t.replace(nconmax=contacts, nbudget=len(budgets), budget=np.array(list(budgets.values()), np.int32))
    return Model(m._values, Topology(t._values, t.names | {"budget": list(budgets)}))


def _with_spare(expected: int) -> int:
    return -(-5 * expected // 4)


def _possible(t: Topology, flags: int, contacts: int, near: Mapping[str, int], scale: float) -> dict[str, int]:
    """Every budget that the model could have, with what is chosen for it by default; `scale` times as many pairs."""
    pairs, plan = candidate_pairs(t, flags), tiles(t, flags)
    if not len(pairs):
        return {CONTACTS: contacts}
    found = {CONTACTS: contacts}
    if plan is not None:
        found[TILES] = _default_tiles(t, plan, contacts)
    tangled = plan is None and len(heaped_linkages(t, flags)) > 0
    tree1, tree2 = (t.body_treeid[t.geom_bodyid[x]] for x in (pairs.geom1, pairs.geom2))
    limp = plan is not None and np.mean(tree1 == tree2) > 0.5
    for kinds, index in groups(pairs, t):
        # where the centre of a plane lies says nothing of what is near it
        if kinds[0] not in FLAT and len(kinds) == 2:
            # more room than slots, for pairs that are near and do not touch, or half as much for those with several
            # contacts if they do, two thirds of meshes, more of which are near (bones of a limp humanoid); not all near
            # pairs are of a rare kind, and where one linkage lies on another more are near than in each of them; a limp
            # dog has twice as many near itself as a heap of loose things
            share = 1.0 if plan is None else min(1.0, 2 * len(index) / len(pairs))
            # but many meshes lie loose, and fill little of their boxes: near each are twice as many as touch it
            several = collider_of(t, kinds, 0)[1] >= SEVERAL and (plan is None or GeomType.MESH not in kinds)
            flat = 1.0 if GeomType.MESH in kinds else 0.75
            room = scale * contacts * share * (flat if several else 3.5 if limp else 2.0 if tangled else 1.5)
            least = _with_spare(near.get(group_name(kinds), 0))
            if limp:
                least = max(least, 2 * SMALL_GROUP)
            if plan is not None:
                least = max(least, _around(pairs.rows(index)))
            found[group_name(kinds)] = min(len(index), max(SMALL_GROUP, int(room), least))
    return found


def _around(pairs: Pairs) -> int:
    """How many pairs there are if some large geoms are at all sides of a heap of others, as walls and a paddle are.

    Or if one of them is what they lie on, each second one at least.
    """
    few, many = sorted(len(np.unique(x)) for x in (pairs.geom1, pairs.geom2))
    return max(int(min(few, SIDES) * many ** (2 / 3)), many // 2)


def _over_fields(m: Model) -> list[tuple[Kinds, Pairs]]:
    """The pairs of height fields by the types of the two."""
    pairs = candidate_pairs(m.topology, int(m.opt.disableflags))
    return [(k, pairs.rows(index)) for k, index in groups(pairs, m.topology) if k[0] == GeomType.HFIELD]


def _under(m: Model) -> np.ndarray:
    """How many cells [ngeom] of a height field may be under each geom that meets one; 0 under the others."""
    cells = np.zeros(m.ngeom, int)
    for _, pairs in _over_fields(m):
        np.maximum.at(cells, pairs.geom2, windows(m, pairs, 0.0) ** 2)
    return cells


def _of_fields(m: Model, given: Mapping[str, int]) -> dict[str, int]:
    """The budgets of height fields: of half the geoms all that can be under them."""
    parts = _over_fields(m)
    if not parts:
        return {}
    width = int(given.get(CELLS, max(windows(m, members, _ahead(m)).max() for _, members in parts)))
    each = 2 * width * width
    return {CELLS: width} | {group_name(k): each * min(len(x), max(4, len(x) // 2)) for k, x in parts}


def _ahead(m: Model) -> float:
    """How far (m) around geoms contacts are looked for, more or less: where the law needs them before they touch."""
    if m.opt.contact == ContactLaw.HARD:
        return SPEED * float(m.opt.timestep)
    return float(m.opt.contact_reach) if m.opt.contact == ContactLaw.DISTANT else 0.0


def _default_tiles(t: Topology, plan: Tiles, contacts: int) -> int:
    """Each block that moves is near some others of its tree, and near a few more."""
    moving = len(np.unique(plan.block1))  # blocks that never move have the higher numbers
    return int(min(len(plan.block1), max(64, 8 * moving, 2 * contacts)))
