"""Compile an MJCF or URDF file: read, validate, resolve, assemble."""

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsim.mjcf import assemble, assemble_objects
from jaxsim.mjcf.actuators import compile_actuator
from jaxsim.mjcf.assets import assemble_assets, compile_assets, link_assets
from jaxsim.mjcf.bodies import check_moving_masses, compile_bodies
from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.contact import compile_exclude, compile_pair
from jaxsim.mjcf.custom import compile_numeric, compile_text, compile_tuple
from jaxsim.mjcf.equality import compile_equality
from jaxsim.mjcf.errors import CONSEQUENCES, Problems
from jaxsim.mjcf.finish import finish
from jaxsim.mjcf.fuse import fuse_static
from jaxsim.mjcf.index import Index, number
from jaxsim.mjcf.keyframes import compile_key
from jaxsim.mjcf.reader import Element, Files, read_source
from jaxsim.mjcf.sensors import compile_sensor
from jaxsim.mjcf.spec import IN_BODY, LISTS, Item, Spec
from jaxsim.mjcf.tendons import compile_tendon
from jaxsim.mjcf.tree import read_spec
from jaxsim.mjcf.urdf import to_mjcf
from jaxsim.mjcf.validate import validate
from jaxsim.mjcf.visual import drop_visual, mark_visual

_RECURSION = 20_000  # deep body trees are walked recursively
_NUSER = {"jnt": "joint", "cam": "camera"}


def compile_mjcf(source: str | os.PathLike, assets: dict[str, bytes] | None = None) -> CompiledModel:
    """Compile an MJCF or URDF model to arrays under mjModel's names.

    Args:
        source: path of an .xml or .urdf file, or XML text.
        assets: content of files by name, looked up before the disk.

    Returns:
        The compiled model: numpy, float64.

    Raises:
        MjcfError: lists everything that is wrong with the file.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        with np.errstate(all="ignore"):
            return _compile(source, assets)
    finally:
        sys.setrecursionlimit(limit)


def _compile(source: str | os.PathLike, assets: dict[str, bytes] | None) -> CompiledModel:
    problems = Problems()
    root, files = read_source(source, assets, problems)
    try:
        return _resolve(root, files, problems)
    except CONSEQUENCES:
        problems.check()
        raise


def _resolve(root: Element, files: Files, problems: Problems) -> CompiledModel:
    if root.tag == "robot":
        root = to_mjcf(root, problems)
    validate(root, problems)
    spec = read_spec(root, files, problems)
    index = Index(spec, problems)
    index.check(spec, problems)
    m = CompiledModel()
    _sizes(spec, m, problems)
    if spec.settings.discardvisual:
        mark_visual(spec)
    compile_bodies(spec, compile_assets(spec, problems), problems)
    link_assets(spec, index, problems)
    if spec.settings.discardvisual:
        drop_visual(spec, problems)
    if spec.settings.fusestatic and not problems.found:
        fuse_static(spec)
    number(spec)
    _each(spec, "pair", lambda item: compile_pair(item, index), problems)
    _each(spec, "exclude", lambda item: compile_exclude(item, index), problems)
    _each(spec, "equality", lambda item: compile_equality(item, index), problems)
    _each(spec, "tendon", lambda item: compile_tendon(item, index), problems)
    _each(spec, "actuator", lambda item: compile_actuator(item, index), problems)
    _each(spec, "sensor", lambda item: compile_sensor(item, index), problems)
    _each(spec, "numeric", compile_numeric, problems)
    _each(spec, "text", compile_text, problems)
    _each(spec, "tuple", lambda item: compile_tuple(item, index), problems)
    if not problems.found:
        check_moving_masses(spec, problems)
    problems.check()
    for kind in ("pair", "exclude"):
        spec.lists[kind].sort(key=lambda item: item.signature)
    number(spec)
    _assemble(spec, m, problems)
    problems.warn()
    return m


def _each(spec: Spec, kind: str, compiler: Callable[[Item], Any], problems: Problems) -> None:
    for item in spec.lists[kind]:
        with problems.of(item.place):
            compiler(item)


def _sizes(spec: Spec, m: CompiledModel, problems: Problems) -> None:
    """The nuser sizes, given or taken from the longest user data; legacy buffer sizes."""
    for short in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"):
        items = spec.items(_NUSER.get(short, short))
        given = getattr(spec.size, f"nuser_{short}")
        setattr(m, f"nuser_{short}", max([i.user.size for i in items], default=0) if given < 0 else given)
        for item in items:
            if item.user.size > getattr(m, f"nuser_{short}"):
                problems.add(item.place, f"user has {item.user.size} values, but nuser_{short} is {given}")
    m.set(nuserdata=spec.size.nuserdata, njmax=spec.size.njmax, nconmax=spec.size.nconmax)


def _assemble(spec: Spec, m: CompiledModel, problems: Problems) -> None:
    assemble.tree(spec, m)
    assemble.attached(spec, m)
    assemble_assets(spec, m)
    assemble_objects.objects(spec, m)
    with problems.of(spec.world.place):
        finish(spec, m, problems)
    problems.check()
    _each(spec, "key", lambda item: compile_key(item, m), problems)
    problems.check()
    _keys(spec, m)
    for kind in ("body", *IN_BODY, *LISTS):
        m.names[kind] = [item.name for item in spec.items(kind)]
        m.places[kind] = [item.place for item in spec.items(kind)]
    m.places |= {"option": [spec.option_place], "model": [spec.world.place]}
    m.unsupported = spec.unsupported


def _keys(spec: Spec, m: CompiledModel) -> None:
    keys = spec.lists["key"]
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
    m.set(
        "key_",
        time=assemble.column(keys, "time"),
        **{n: assemble.rows(keys, n, w) for n, w in widths.items()},
    )
