"""From compiled items to the arrays of mjModel: pairs, equalities, materials and custom fields."""

import numpy as np

from jaxsim.core.enums import EqType
from jaxsim.mjcf.assembly.columns import array, column, item_id, rows
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.schema import OBJECT_TYPES
from jaxsim.mjcf.language.spec import Spec


def contacts(spec: Spec, m: CompiledModel) -> None:
    """Explicit pairs and excluded pairs of bodies."""
    pairs = spec.lists["pair"]
    m.set(npair=len(pairs), nexclude=len(spec.lists["exclude"]))
    m.set(
        "pair_",
        dim=column(pairs, "condim", int),
        geom1=array([p.first.id for p in pairs], dtype=int),
        geom2=array([p.second.id for p in pairs], dtype=int),
        signature=column(pairs, "signature", int),
        solref=rows(pairs, "solref", 2),
        solreffriction=rows(pairs, "solreffriction", 2),
        solimp=rows(pairs, "solimp", 5),
        margin=column(pairs, "margin"),
        gap=column(pairs, "gap"),
        adhesion=column(pairs, "adhesion"),
        friction=rows(pairs, "friction", 5),
    )
    m.set(exclude_signature=column(spec.lists["exclude"], "signature", int))


def equalities(spec: Spec, m: CompiledModel) -> None:
    """Equality constraints."""
    items = spec.lists["equality"]
    world = [OBJECT_TYPES["body"] == e.objtype and e.objects[1] is None for e in items]
    m.set(neq=len(items))
    m.set(
        "eq_",
        type=column(items, "type", int),
        obj1id=array([item_id(e.objects[0]) for e in items], dtype=int),
        obj2id=array([0 if w else item_id(e.objects[1]) for e, w in zip(items, world)], dtype=int),
        objtype=column(items, "objtype", int),
        active0=column(items, "active", bool),
        solref=rows(items, "solref", 2),
        solimp=rows(items, "solimp", 5),
        data=rows(items, "data", 12),
    )
    m.set(nemax=sum({EqType.CONNECT: 3, EqType.WELD: 7}.get(e.type, 1) for e in items))


def materials(spec: Spec, m: CompiledModel) -> None:
    """Colours of materials: the viewer shows them, and rays pass through what is invisible."""
    materials = spec.lists["material"]
    m.set(nmat=len(materials), mat_rgba=rows(materials, "rgba", 4, np.float32))


def custom(spec: Spec, m: CompiledModel) -> None:
    """Numeric, text and tuple fields."""
    for kind in ("numeric", "text", "tuple"):
        setattr(m, f"n{kind}", len(spec.lists[kind]))
    numerics, tuples = spec.lists["numeric"], spec.lists["tuple"]
    size = column(numerics, "length", int)
    data = np.concatenate([np.zeros(0), *(n.values for n in numerics)])
    m.set(numeric_adr=np.cumsum(size) - size, numeric_size=size, numeric_data=data, nnumericdata=data.size)
    texts = [t.data.encode() + b"\0" for t in spec.lists["text"]]
    size = array([len(t) for t in texts], dtype=int)
    m.set(text_adr=np.cumsum(size) - size, text_size=size, text_data=b"".join(texts), ntextdata=int(size.sum()))
    size = array([len(t.parts) for t in tuples], dtype=int)
    parts = [part for t in tuples for part in t.resolved]
    m.set(tuple_adr=np.cumsum(size) - size, tuple_size=size, ntupledata=len(parts))
    m.set(
        tuple_objtype=array([p[0] for p in parts], dtype=int),
        tuple_objid=array([p[1].id for p in parts], dtype=int),
    )
    m.set(tuple_objprm=array([p[2] for p in parts]))
