"""Loading models from MJCF or URDF: files, text, and the bundled ones by name."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from jaxsim import models
from jaxsim.checks.support import admit
from jaxsim.core.model import Model, from_fields
from jaxsim.mjcf import MjcfError, Problem, compile_mjcf
from jaxsim.mjcf.assembly.compile import NO_MEMORY
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.errors import Place


def load(
    source: str | os.PathLike,
    *,
    max_contacts: int | None = None,
    budgets: Mapping[str, int] | None = None,
    assets: Mapping[str, bytes] | None = None,
    packages: Mapping[str, str | os.PathLike] | None = None,
    sdf: Mapping[str, Callable] | None = None,
    colliders: Mapping[tuple[str, str], Callable] | None = None,
    compile_only: bool = False,
    contact: str | None = None,
) -> Model:
    """Compile an MJCF or URDF model.

    Args:
        source: path of an .xml or .urdf file, XML text, or the name of a bundled model (`js.models()`).
        max_contacts: slots of the contact buffer of one world; by default chosen from the geoms.
        budgets: other room for the collisions of one world, by the names that `js.budgets` gives; likewise.
        assets: contents of files by name, looked up before the disk.
        packages: folders by the NAME in package://NAME/FILE, as URDFs refer to files; by default the nearest
            folder of that name among those that the model is in and those beside them.
        sdf: signed distances of geoms of type sdf, by name: JAX functions of a point [3] (m) in the geom's frame
            that give one number (m), negative inside, in place of the plugin or mesh, which still gives inertia and
            bounds.
        colliders: functions that find contacts in place of ours, by two types of geoms ("sphere", "box", ...) or by
            two names of geoms: of two shapes and a distance [] (m), giving Candidates (jaxsim.collision.shape).
        compile_only: return the Model even if some of its features cannot be simulated yet.

        contact: law of contacts, "soft" (MuJoCo's, the default), "hard" (Dojo's), "exact" (that at kappa = 0) or
            "distant" (the soft one with weak forces before surfaces touch): `opt.contact`, which no file has.

    Returns:
        The Model, on the default device, reals in the default float type. Nothing is compiled by XLA.

    Raises:
        MjcfError: lists with file and line everything that is wrong or cannot be simulated; also what is too large:
            250,000 bodies, joints, geoms, sites, cameras and lights are possible, as many items of each other
            kind, 15,000 degrees of freedom, 134 million numbers in one array, and sizes of 1e18 m
            (jaxsim.mjcf.language.bounds).
        UnknownModelError: a KeyError: a name, neither a path nor text, that no bundled model has.
        KeyError: `sdf` or `colliders` name no geom.
        ValueError: the model has no budget of a name, or `contact` is no law; the message lists them. Or `sdf` has a
            function for a geom of another type, or one that does not give one number, or `colliders` one that gives
            no Candidates.
    """
    compiled = compile_mjcf(_found(source), dict(assets) if assets else None, packages)
    try:
        model = from_fields(compiled, compiled.names)
        if contact is not None:
            model = model.replace(opt=model.opt.replace(contact=contact))
        place = lambda kind, index: _place(compiled, kind, index)  # noqa: E731
        return admit(model, max_contacts, compile_only, place, budgets, sdf, colliders)
    except MemoryError as error:
        raise MjcfError([Problem(_place(compiled, "model", 0), f"{NO_MEMORY}: {error}")]) from None


def _found(source: str | os.PathLike) -> str | os.PathLike:
    """The source itself, or the file of the bundled model that it names."""
    if not isinstance(source, str) or not source.isidentifier() or Path(source).is_file():
        return source
    return models.path(source)


def _place(compiled: CompiledModel, kind: str, index: int) -> Place:
    """Where an element was written."""
    places = getattr(compiled, "places", {}).get(kind, [])
    return places[index] if index < len(places) else Place(getattr(compiled, "file", "model"), 0, kind)
