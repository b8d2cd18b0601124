"""Mass and inertial frame of a body: written, or inferred from its geoms."""

from typing import Any

import numpy as np

from jaxsim.core.enums import MINVAL
from jaxsim.mjcf.algebra.conventions import EPS, IDENTITY
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.algebra.principal import principal_axes
from jaxsim.mjcf.elements import inertia
from jaxsim.mjcf.elements.orientation import orientation
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.spec import Item, Spec


def counts(body: Item, geom: Item) -> bool:
    """Whether a geom may give mass to its body, so that it needs a mass itself."""
    infers = body.inertial is None or body.settings.inertiafromgeom == Tristate.TRUE
    return body.parent is not None and infers and _in_groups(body, geom)


def _in_groups(body: Item, geom: Item) -> bool:
    low, high = body.settings.inertiagrouprange
    return bool(low <= geom.group <= high)


def _infers(body: Item) -> bool:
    """Whether geoms are asked for the inertia of a body."""
    wanted = body.settings.inertiafromgeom
    return body.parent is not None and (wanted == Tristate.TRUE or (body.inertial is None and wanted != Tristate.FALSE))


def compile_inertia(body: Item, problems: Problems) -> None:
    """Set mass, ipos, iquat and inertia of a body whose geoms are resolved.

    Raises:
        Fault: the inertia is not physical.
        Refused: a geom or a frame that it depends on is known to be wrong.
    """
    body.mass, body.ipos, body.iquat, body.inertia, body.adjusted = 0.0, None, IDENTITY, np.zeros(3), False
    written = body.inertial
    if written is not None:
        problems.require(written.frame)
        body.mass, body.ipos = written.mass, written.pos
        body.iquat, body.inertia = _written_inertia(written)
        if written.frame is not None:
            body.ipos, body.iquat = compose(written.frame.pos, written.frame.quat, body.ipos, body.iquat)
    if _infers(body):
        _infer(body, problems)
    if body.ipos is None:
        body.ipos, body.iquat = body.pos, body.quat
    if body.parent is not None:
        _bound_inertia(body)


def _infer(body: Item, problems: Problems) -> None:
    """Take mass and inertia from the geoms that count, if any has mass."""
    geoms = [geom for geom in body.contents["geom"] if _in_groups(body, geom)]
    problems.require(*geoms)
    parts = [inertia.Body(g.mass, g.pos, g.quat, g.inertia) for g in geoms if g.mass > EPS]
    if len(parts) == 1:
        body.mass, body.ipos, body.iquat, body.inertia = parts[0]
    elif parts:
        body.mass, body.ipos, full = inertia.combine(parts)
        body.iquat, body.inertia = _principal(full, body.settings)


def _written_inertia(written: Item) -> tuple[np.ndarray, np.ndarray]:
    if written.fullinertia is not None:
        if written.diaginertia is not None and np.any(written.diaginertia):
            raise Fault("fullinertia and diaginertia are both given; one of them is enough")
        return _principal(written.fullinertia, written.settings)
    diagonal = written.diaginertia if written.diaginertia is not None else np.zeros(3)
    return orientation(written, written.settings), diagonal


def _principal(full: np.ndarray, settings: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        return inertia.principal(full)
    except Fault:
        if settings.boundinertia <= 0:
            raise
        return principal_axes(full)


def _bound_inertia(body: Item) -> None:
    settings = body.settings
    before = (body.mass, *body.inertia)
    body.mass = max(body.mass, settings.boundmass)
    body.inertia = np.maximum(body.inertia, settings.boundinertia)
    if body.mass < 0 or np.any(body.inertia < 0):
        raise Fault("mass and inertia must not be negative")
    if not np.all(np.isfinite([body.mass, *body.inertia])):
        raise Fault(f"its mass {body.mass:g} kg or its inertia is too large")
    a, b, c = body.inertia
    if a + b < c or a + c < b or b + c < a:
        if not settings.balanceinertia:
            raise Fault(
                f"inertia '{a:g} {b:g} {c:g}' is not physical: none may exceed the sum of the others; "
                "balanceinertia='true' in <compiler> fixes this"
            )
        body.inertia = np.full(3, (a + b + c) / 3)
    body.adjusted = before != (body.mass, *body.inertia)


def check_moving_masses(spec: Spec, problems: Problems) -> None:
    """Bodies that move need mass and inertia, their own or that of a child welded to them."""
    for body in spec.bodies()[1:]:
        if body.contents["joint"] and not _has_inertia(body):
            message = "a moving body needs mass and inertia: give it a geom with mass, or <inertial>"
            problems.add(body.place, message)


def _has_inertia(body: Item) -> bool:
    # bodies welded to this one may carry the mass
    if body.mass >= MINVAL and np.all(body.inertia >= MINVAL):
        return True
    return any(not child.contents["joint"] and _has_inertia(child) for child in body.contents["body"])
