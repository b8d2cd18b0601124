"""Compile an MJCF or URDF file: read, validate, resolve, assemble."""

import os
import sys
from collections.abc import Mapping

import numpy as np

from jaxsim.mjcf.assembly.actuators import actuators
from jaxsim.mjcf.assembly.assets import assemble_assets
from jaxsim.mjcf.assembly.attached import attached
from jaxsim.mjcf.assembly.bodies import bodies
from jaxsim.mjcf.assembly.bounds import check_arrays, check_items
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.assembly.finish import finish
from jaxsim.mjcf.assembly.keyframes import keyframes
from jaxsim.mjcf.assembly.objects import contacts, custom, equalities, materials
from jaxsim.mjcf.assembly.resolve import resolve
from jaxsim.mjcf.assembly.sensors import sensors
from jaxsim.mjcf.assembly.tendons import tendons
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import MjcfError, Place, Problem, Problems
from jaxsim.mjcf.language.files import Files
from jaxsim.mjcf.language.spec import IN_BODY, LISTS, Spec
from jaxsim.mjcf.language.validate import validate
from jaxsim.mjcf.reading.document import read_source
from jaxsim.mjcf.reading.model import read_spec
from jaxsim.mjcf.reading.urdf import to_mjcf

NO_MEMORY = "the model needs more memory than there is"
_RECURSION = 20_000  # deep body trees are walked recursively
_NUSER = {"jnt": "joint", "cam": "camera"}


def compile_mjcf(
    source: str | os.PathLike,
    assets: dict[str, bytes] | None = None,
    packages: Mapping[str, str | os.PathLike] | None = None,
) -> CompiledModel:
    """Compile an MJCF or URDF model to arrays under mjModel's names.

    Args:
        source: path of an .xml or .urdf file, or XML text.
        assets: content of files by name, looked up before the disk.
        packages: folders by the NAME in package://NAME/FILE.

    Returns:
        The compiled model: numpy, float64.

    Raises:
        MjcfError: lists everything that is wrong with the file.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    problems = Problems()
    try:
        with np.errstate(all="ignore"):
            root, files = read_source(source, assets, packages, problems)
            return _compile(root, files, problems)
    except MjcfError:
        raise
    except MemoryError as error:
        file = "<string>" if isinstance(source, str) and "<" in source else str(source)
        raise MjcfError([Problem(Place(file, 1, "mujoco"), f"{NO_MEMORY}: {error}")]) from None
    except Exception as bug:
        if problems.found:  # one of ours; what the user can do about the file is worth knowing all the same
            bug.add_note(f"before this the compiler had found:\n{MjcfError(problems.found)}")
        raise
    finally:
        sys.setrecursionlimit(limit)


def _compile(root: Element, files: Files, problems: Problems) -> CompiledModel:
    if root.tag == "robot":
        root = to_mjcf(root, problems)
    validate(root, problems)
    spec = read_spec(root, files, problems)
    check_items(spec, problems)
    m = CompiledModel()
    _sizes(spec, m, problems)
    resolve(spec, problems)
    check_arrays(spec, problems)
    _assemble(spec, m, problems)
    problems.warn()
    return m


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
    """From resolved items, none of which has a problem, to arrays and what derives from them."""
    bodies(spec, m)
    attached(spec, m)
    assemble_assets(spec, m)
    contacts(spec, m)
    equalities(spec, m)
    tendons(spec, m)
    actuators(spec, m)
    sensors(spec, m)
    materials(spec, m)
    custom(spec, m)
    finish(spec, m, problems)
    problems.check()
    keyframes(spec, m, problems)
    for kind in ("body", *IN_BODY, *LISTS):
        m.names[kind] = [item.name for item in spec.items(kind)]
        m.places[kind] = [item.place for item in spec.items(kind)]
    m.places |= {"option": [spec.option_place], "model": [spec.world.place]}
