"""Describe a model: sizes, features, constraint rows, and the memory of a world.

Models that cannot be simulated yet are described too; `jaxsim check` says why they cannot.
"""

import argparse
from collections import Counter
from enum import IntFlag
from typing import Any

import jax
import numpy as np

from jaxsim.checks.room import budgets
from jaxsim.checks.support import unsupported
from jaxsim.collision.pairs import candidate_pairs, groups
from jaxsim.commands.output import print_json, print_table, size
from jaxsim.commands.source import positive, resolve
from jaxsim.constraint.row_table import row_table
from jaxsim.core.data import make_data
from jaxsim.core.enums import (
    ConstraintType,
    DisableBit,
    EnableBit,
    EqType,
    GeomType,
    JointType,
    SensorType,
    TrnType,
)
from jaxsim.core.fields import SIZES, TABLES
from jaxsim.core.model import Model
from jaxsim.load import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--worlds", type=positive, default=1, help="worlds to give the total memory for")
    parser.add_argument(
        "--fields", nargs="?", const="", metavar="WORD", help="list the fields that mention WORD: shape, unit, meaning"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    path = resolve(args.model)
    model = load(path, compile_only=True)
    record: dict[str, Any] = {"model": str(path), "name": path.stem}
    record |= describe(model, args.worlds) if args.fields is None else {"fields": fields(model, args.fields)}
    if args.json:
        print_json(record)
    elif args.fields is None:
        _print(record, args.worlds)
    else:
        _print_fields(record)
    return 0


def fields(model: Model, word: str = "") -> list[dict[str, Any]]:
    """The declared fields of model and data whose name, unit or meaning mentions a word."""
    return [
        {"name": f"{owner}.{name}", "shape": field.shape(model), "unit": field.unit, "meaning": field.doc}
        for owner, table in TABLES.items()
        for name, field in table.items()
        if word.lower() in f"{owner}.{name} {field.unit} {field.doc}".lower()
    ]


def describe(model: Model, worlds: int = 1) -> dict[str, Any]:
    """Sizes, options, features, constraint rows and bytes of a model."""
    used = data_bytes(model)
    return {
        "sizes": {name: int(getattr(model, name)) for name in SIZES},
        "options": options(model),
        "features": features(model),
        "pairs": pairs(model),
        "budgets": {name: room.size for name, room in budgets(model).items()},
        "rows": rows(model),
        "unsupported": sorted({text for _, _, text in unsupported(model)}),
        "bytes": {
            "model": int(sum(leaf.nbytes for leaf in jax.tree.leaves(model))),
            "world": int(sum(used.values())),
            "worlds": worlds * int(sum(used.values())),
            "fields": used,
        },
    }


def options(model: Model) -> dict[str, Any]:
    """What governs the physics of the whole model."""
    opt = model.opt
    return {
        "timestep": float(opt.timestep),
        "integrator": opt.integrator.name.lower(),
        "solver": opt.solver.name.lower(),
        "iterations": int(opt.iterations),
        "tolerance": float(opt.tolerance),
        "cone": opt.cone.name.lower(),
        "impratio": float(opt.impratio),
        "disabled": _flags(DisableBit, opt.disableflags),
        "enabled": _flags(EnableBit, opt.enableflags),
    }


def features(model: Model) -> dict[str, dict[str, int]]:
    """How many elements there are of each type."""
    kinds = {
        "joints": (JointType, model.jnt_type),
        "geoms": (GeomType, model.geom_type),
        "equalities": (EqType, model.eq_type),
        "transmissions": (TrnType, model.actuator_trntype),
        "sensors": (SensorType, model.sensor_type),
    }
    return {kind: _count(enum, values) for kind, (enum, values) in kinds.items()}


def pairs(model: Model) -> dict[str, int]:
    """Candidate geom pairs by the types that meet."""
    table = candidate_pairs(model.topology, int(model.opt.disableflags))
    name = {member.value: member.name.lower() for member in GeomType}
    counts: dict[str, int] = {}
    for kinds, index in groups(table, model.topology):
        label = " - ".join(name[k] for k in kinds[:2])
        counts[label] = counts.get(label, 0) + len(index)
    return counts


def rows(model: Model) -> dict[str, int]:
    """The largest number of constraint rows of each family."""
    table = row_table(model)
    scalar = table.counts()
    families = {
        "equality": (ConstraintType.EQUALITY,),
        "friction loss": (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON),
        "limit": (ConstraintType.LIMIT_JOINT, ConstraintType.LIMIT_TENDON),
    }
    counts = {name: sum(scalar.get(kind, 0) for kind in kinds) for name, kinds in families.items()}
    return counts | {"contact": int(model.nconmax) * table.contact_size}


def data_bytes(model: Model) -> dict[str, int]:
    """Bytes of each field of one world's Data, the largest first."""
    shapes = jax.eval_shape(lambda: make_data(model))
    fields = {
        name: sum(int(leaf.size) * leaf.dtype.itemsize for leaf in jax.tree.leaves(getattr(shapes, name)))
        for name in shapes.children
    }
    return dict(sorted(fields.items(), key=lambda item: -item[1]))


def _flags(enum: type[IntFlag], value: int) -> list[str]:
    return [str(bit.name).lower() for bit in enum if value & bit]


def _count(enum: Any, values: Any) -> dict[str, int]:
    counted = Counter(np.asarray(values).tolist())
    known = {member.value: member.name.lower() for member in enum}
    return {known.get(value, str(value)): n for value, n in counted.most_common()}


def _print_fields(record: dict[str, Any]) -> None:
    rows = [(f["name"], str(list(f["shape"])), f["unit"], f["meaning"]) for f in record["fields"]]
    print_table(f"{record['name']}: fields", ["", "shape", "unit", "meaning"], rows, "left")


def _print(record: dict[str, Any], worlds: int) -> None:
    print_table(f"{record['name']}: sizes", ["", "count"], [(k, v) for k, v in record["sizes"].items() if v])
    chosen = {k: ", ".join(v) if isinstance(v, list) else v for k, v in record["options"].items() if v != []}
    print_table("options", ["", "value"], chosen.items())
    listed = [
        (kind, ", ".join(f"{n} {name}" for name, n in counts.items()))
        for kind, counts in {**record["features"], "candidate pairs": record["pairs"]}.items()
        if counts
    ]
    print_table("features", ["", "types"], listed, "left")
    room = record["budgets"].items()
    print_table("budgets of collisions, set by js.load(budgets={...})", ["", "room in a world"], room)
    print_table("constraint rows, at most", ["family", "rows"], [(k, v) for k, v in record["rows"].items() if v])
    used = record["bytes"]
    largest = [(name, size(n)) for name, n in list(used["fields"].items())[:6]]
    total = [("one world", size(used["world"]))]
    if worlds > 1:
        total.append((f"{worlds:,} worlds", size(used["worlds"])))
    total.append(("model", size(used["model"])))
    print_table("memory of Data", ["", "bytes"], [*total, *((f"  {name}", n) for name, n in largest)])
    if record["unsupported"]:
        print("cannot be simulated yet:")
        for text in record["unsupported"]:
            print(f"  {text}")
