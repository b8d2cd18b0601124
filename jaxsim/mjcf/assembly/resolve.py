"""Resolve the items of a Spec: names become references, attributes become quantities in the frame of the body."""

from collections.abc import Callable
from typing import Any

from jaxsim.mjcf.actuators.actuator import compile_actuator
from jaxsim.mjcf.assets.assets import compile_assets
from jaxsim.mjcf.assets.link import link_assets
from jaxsim.mjcf.elements.bodies import compile_bodies
from jaxsim.mjcf.elements.body_inertia import check_moving_masses
from jaxsim.mjcf.elements.contact_pairs import compile_exclude, compile_pair
from jaxsim.mjcf.elements.custom import compile_numeric, compile_text, compile_tuple
from jaxsim.mjcf.elements.discard_visual import drop_visual, mark_visual
from jaxsim.mjcf.elements.equality import compile_equality
from jaxsim.mjcf.elements.fuse_static import fuse_static
from jaxsim.mjcf.elements.joints import check_free_joints
from jaxsim.mjcf.elements.sensors import compile_sensor
from jaxsim.mjcf.elements.tendons import compile_tendon
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.names import Index, number
from jaxsim.mjcf.language.spec import Spec


def resolve(spec: Spec, problems: Problems) -> None:
    """Resolve everything but keyframes, which need the arrays.

    Raises:
        MjcfError: anything is wrong with the model.
    """
    index = Index(spec, problems)
    index.check(spec)
    if spec.settings.discardvisual:
        mark_visual(spec)
    compile_bodies(spec, compile_assets(spec, problems), problems)
    link_assets(spec, index)
    if spec.settings.discardvisual:
        drop_visual(spec, problems)
    if spec.settings.fusestatic and not problems.found:
        fuse_static(spec)
    if not (spec.settings.fusestatic and problems.found):
        check_free_joints(spec, problems)
    number(spec)
    _outside_the_tree(spec, index, problems)
    if not problems.found:
        check_moving_masses(spec, problems)
    problems.check()
    for kind in ("pair", "exclude"):
        spec.lists[kind].sort(key=lambda item: item.signature)
    number(spec)


def _outside_the_tree(spec: Spec, index: Index, problems: Problems) -> None:
    """Resolve what lives outside bodies, in the order in which one kind may refer to another."""
    compilers: tuple[tuple[str, Callable[..., None], tuple[Any, ...]], ...] = (
        ("pair", compile_pair, (index,)),
        ("exclude", compile_exclude, (index,)),
        ("equality", compile_equality, (index,)),
        ("tendon", compile_tendon, (index,)),
        ("actuator", compile_actuator, (index,)),
        ("sensor", compile_sensor, (index,)),
        ("numeric", compile_numeric, ()),
        ("text", compile_text, ()),
        ("tuple", compile_tuple, (index,)),
    )
    for kind, compiler, context in compilers:
        for item in spec.lists[kind]:
            problems.attempt(item.place, compiler, item, *context)
