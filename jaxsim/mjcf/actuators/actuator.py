"""Actuators: transmission target, inputs, outputs and activation layout."""

from typing import Any

import numpy as np

from jaxsim.core.enums import BiasType, DynType, GainType, JointType, TrnType
from jaxsim.mjcf.actuators.inputs import INPUT_NONE, INPUTS
from jaxsim.mjcf.elements.history import check_history
from jaxsim.mjcf.elements.limits import check_limited, is_limited
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.schema import ENUMS
from jaxsim.mjcf.language.spec import Item

_TRANSMISSIONS = (
    ("joint", TrnType.JOINT, "joint"),
    ("jointinparent", TrnType.JOINTINPARENT, "joint"),
    ("tendon", TrnType.TENDON, "tendon"),
    ("cranksite", TrnType.SLIDERCRANK, "site"),
    ("site", TrnType.SITE, "site"),
    ("body", TrnType.BODY, "body"),
)
POS, VEL, FF, VOLTAGE = INPUTS["pos"], INPUTS["vel"], INPUTS["ff"], INPUTS["voltage"]


def compile_actuator(actuator: Item, index: Index) -> None:
    """Resolve an actuator: trntype, trnid, ctrlspec, ctrlnum, outnum, actnum, limits."""
    _transmission(actuator, index)
    if actuator.trntype not in (TrnType.JOINT, TrnType.JOINTINPARENT, TrnType.TENDON):
        for name in ("damping", "armature"):
            if np.any(getattr(actuator, name)):
                raise Fault(f"{name} needs a joint or tendon transmission")
    actuator.ctrlnum, actuator.outnum = 1, 1
    if actuator.gaintype == GainType.SO3 or actuator.biastype == BiasType.SO3:
        _so3(actuator)
    elif actuator.gaintype == GainType.PID:
        _pid(actuator)
    elif actuator.gaintype == GainType.DCMOTOR:
        _dcmotor(actuator)
    elif actuator.ctrlspec not in (0, POS, VEL, INPUTS["pressure"]):
        raise Fault("input: a fixed or affine actuator has one input, 'pos', 'vel' or 'pressure'")
    if actuator.dyntype == DynType.PID and actuator.gaintype != GainType.PID:
        raise Fault("dyntype 'pid' needs gaintype 'pid'")
    _inherit_range(actuator)
    _limits(actuator)
    (_activation if actuator.pidprm is None else _plugin_activation)(actuator)
    _muscle(actuator)
    check_history(actuator)
    if (actuator.delay > 0 or actuator.nsample > 0) and actuator.ctrlnum == 0:
        raise Fault("a delay or history needs an input, but input='none'")
    _input_ranges(actuator)


def _transmission(actuator: Item, index: Index) -> None:
    given = [(t, kind, getattr(actuator, name)) for name, t, kind in _TRANSMISSIONS if getattr(actuator, name, None)]
    if not given:
        raise Fault("a target is missing; expected joint, jointinparent, tendon, site, body or cranksite")
    trntype, kind, name = given[-1]
    crank = trntype == TrnType.SLIDERCRANK
    if not crank and actuator.slidersite:
        raise Fault("slidersite belongs to a slider-crank, which needs cranksite")
    if trntype != TrnType.SITE and actuator.refsite:
        raise Fault("refsite needs a site transmission")
    actuator.trntype = trntype
    actuator.target = index.find(kind, name)
    actuator.second = None
    if crank:
        if not actuator.slidersite:
            raise Fault("a slider-crank needs slidersite")
        if actuator.cranklength <= 0:
            raise Fault("cranklength must be positive")
        actuator.second = index.find("site", actuator.slidersite)
    elif actuator.refsite:
        actuator.second = index.find("site", actuator.refsite)


def _so3(actuator: Item) -> None:
    """Orientation servo: three outputs, three or four inputs."""
    if actuator.gaintype != GainType.SO3 or actuator.biastype != BiasType.SO3:
        raise Fault("gaintype and biastype must both be 'so3' or neither")
    if actuator.dyntype not in (DynType.NONE, DynType.INTEGRATOR):
        raise Fault("so3 needs dyntype 'none' or 'integrator'")
    if actuator.gainprm[0] != -actuator.biasprm[1]:
        raise Fault("so3 needs gainprm[0] equal to -biasprm[1]")
    if actuator.trntype == TrnType.SITE:
        if actuator.second is None:
            raise Fault("so3 with a site needs refsite")
    elif actuator.trntype != TrnType.JOINT or actuator.target.type != JointType.BALL:
        raise Fault("so3 needs a ball joint, or a site with refsite")
    if actuator.dyntype == DynType.INTEGRATOR:
        if actuator.actdim > 0 and actuator.actdim != 3:
            raise Fault("an so3 integrator has actdim 3")
        actuator.actdim = 3
        if actuator.actlimited == Tristate.TRUE and not np.any(actuator.actrange):
            actuator.actlimited = Tristate.FALSE
    chart = actuator.ctrlspec or ENUMS["chart"]["expmap"]
    if chart not in ENUMS["chart"].values():
        raise Fault("input of an so3 actuator is 'expmap' or 'quat'")
    if chart == ENUMS["chart"]["quat"] and actuator.dyntype != DynType.NONE:
        raise Fault("input 'quat' needs dyntype 'none'")
    if is_limited(actuator.forcelimited, actuator.forcerange) and actuator.forcerange[0] != 0:
        raise Fault("forcerange of an so3 actuator bounds the norm of the force and must start at 0")
    actuator.ctrlspec, actuator.outnum, actuator.trntype = chart, 3, TrnType.SO3
    actuator.ctrlnum = 4 if chart == ENUMS["chart"]["quat"] else 3


def _pid(actuator: Item) -> None:
    """PID servo: any of the inputs pos, vel, ff; activations for slew rate and integral."""
    if actuator.biastype != BiasType.AFFINE:
        raise Fault("pid needs biastype 'affine'")
    if actuator.dyntype not in (DynType.NONE, DynType.PID):
        raise Fault("pid needs dyntype 'none' or 'pid'")
    if actuator.dyntype == DynType.NONE and actuator.gainprm[0]:
        raise Fault("ki (gainprm[0]) needs dyntype 'pid'")
    if actuator.trntype == TrnType.BODY:
        raise Fault("pid cannot act on a body")
    actuator.ctrlspec = actuator.ctrlspec or POS | VEL
    if actuator.ctrlspec & ~(POS | VEL | FF):
        raise Fault("input of a pid actuator is some of 'pos', 'vel', 'ff'")
    if actuator.dyntype == DynType.PID:
        if actuator.dynprm[0] < 0 or actuator.dynprm[1] < 0:
            raise Fault("imax (dynprm[0]) and slewmax (dynprm[1]) must not be negative")
        slots = int(actuator.dynprm[1] > 0) + int(actuator.gainprm[0] > 0)
        if actuator.actdim > 0 and actuator.actdim != slots:
            raise Fault(f"actdim={actuator.actdim}, but the controller has {slots} states")
        actuator.actdim = slots
        if not actuator.ctrlspec & POS:
            raise Fault("an integral or slew rate needs the input 'pos'")
    actuator.ctrlnum = actuator.ctrlspec.bit_count()


def _dcmotor(actuator: Item) -> None:
    """DC motor: a voltage, or the inputs of its controller, or none."""
    spec = actuator.ctrlspec = actuator.ctrlspec or VOLTAGE
    if spec != INPUT_NONE and spec & ~(POS | VEL | FF | VOLTAGE):
        raise Fault("input of a dcmotor is 'none' or some of 'pos', 'vel', 'ff', 'voltage'")
    controller = 0 if spec == INPUT_NONE else spec & (POS | VEL | FF)
    if controller and actuator.gainprm[1] <= 0:
        raise Fault("the controller of a dcmotor needs a positive motor constant")
    if not controller and np.any(actuator.gainprm[4:7]):
        raise Fault("the gains of a dcmotor's controller need one of the inputs 'pos', 'vel', 'ff'")
    if actuator.gainprm[5] > 0 and not spec & POS:
        raise Fault("the integral gain of a dcmotor needs the input 'pos'")
    if not controller and actuator.dynprm[7] > 0:
        raise Fault("a slew rate needs one of the inputs 'pos', 'vel', 'ff'")
    actuator.ctrlnum = (spec & (POS | VEL | FF | VOLTAGE)).bit_count()


def _inherit_range(actuator: Item) -> None:
    """Take the control (or activation) range of a position servo from its joint or tendon."""
    servo = actuator.gaintype == GainType.FIXED and actuator.gainprm[0] == -actuator.biasprm[1]
    if (
        not (servo or actuator.gaintype == GainType.PID)
        or actuator.biastype != BiasType.AFFINE
        or actuator.inheritrange <= 0
    ):
        return
    ranges = {
        DynType.NONE: "ctrlrange",
        DynType.FILTEREXACT: "ctrlrange",
        DynType.PID: "ctrlrange",
        DynType.INTEGRATOR: "actrange",
    }
    if actuator.dyntype not in ranges:
        raise Fault("inheritrange is for position, pid and intvelocity actuators")
    scalar = (JointType.SLIDE, JointType.HINGE)
    if actuator.trntype == TrnType.JOINT:
        if actuator.target.type not in scalar:
            raise Fault("inheritrange needs a slide or hinge joint")
    elif actuator.trntype != TrnType.TENDON:
        raise Fault("inheritrange needs a joint or tendon transmission")
    low, high = actuator.target.range
    if low == high:
        raise Fault(f"inheritrange: {actuator.target.kind} {actuator.target.name!r} has no range")
    mean, radius = 0.5 * (high + low), 0.5 * (high - low) * actuator.inheritrange
    setattr(actuator, ranges[actuator.dyntype], np.array([mean - radius, mean + radius]))


def _limits(actuator: Item) -> None:
    actuator.is_forcelimited = check_limited(actuator, "forcelimited", "forcerange")
    actuator.is_ctrllimited = check_limited(actuator, "ctrllimited", "ctrlrange")
    actuator.is_actlimited = check_limited(actuator, "actlimited", "actrange")
    if actuator.is_actlimited and actuator.dyntype == DynType.NONE:
        raise Fault("actrange is given, but dyntype 'none' has no activation")


def _activation(actuator: Item) -> None:
    dyn, dim = actuator.dyntype, actuator.actdim
    if dim > 1 and dyn not in (DynType.USER, DynType.DCMOTOR, DynType.PID) and actuator.trntype != TrnType.SO3:
        raise Fault(f"actdim={dim}; more than 1 is only possible for dyntype 'user' and 'dcmotor'")
    if dim == 1 and dyn == DynType.NONE:
        raise Fault("actdim=1, but dyntype 'none' has no activation")
    if dim == 0 and dyn not in (DynType.NONE, DynType.DCMOTOR):
        raise Fault("actdim=0, but this dyntype has an activation")
    if dyn == DynType.DCMOTOR and not actuator.actearly:
        raise Fault("actearly cannot be false for a dcmotor")
    actuator.actnum = dim if dim >= 0 else int(dyn not in (DynType.NONE, DynType.DCMOTOR))


def _plugin_activation(actuator: Item) -> None:
    """Activations of the plugin mujoco.pid: its integral, its last setpoint, and what a setpoint is integrated to."""
    follows = actuator.dyntype in (DynType.INTEGRATOR, DynType.FILTER, DynType.FILTEREXACT)
    if not follows and actuator.dyntype != DynType.NONE:
        raise Fault("the plugin mujoco.pid needs dyntype 'none', 'integrator', 'filter' or 'filterexact'")
    if actuator.gaintype not in (GainType.FIXED, GainType.AFFINE):
        raise Fault("the plugin mujoco.pid needs a default class with gaintype 'fixed' or 'affine'")
    own = int(actuator.pidprm[1] != 0) + int(actuator.pidprm[4] >= 0)
    actuator.actnum = actuator.actdim if actuator.actdim >= 0 else int(follows)
    if actuator.actnum != own + follows:
        raise Fault(
            f'actdim={actuator.actnum}, but the controller has {own + follows} states: actdim="{own + follows}"'
        )


def _muscle(actuator: Item) -> None:
    for is_muscle, prm in (
        (actuator.gaintype == GainType.MUSCLE, actuator.gainprm),
        (actuator.biastype == BiasType.MUSCLE, actuator.biasprm),
    ):
        if not is_muscle:
            continue
        if prm[0] >= prm[1]:
            raise Fault("muscle: the first value of range must be below the second")
        if prm[4] >= 1 or prm[5] <= 1:
            raise Fault("muscle: lmin must be below 1 and lmax above")
        if prm[3] <= 0 or np.any(prm[6:9] <= 0):
            raise Fault("muscle: scale, vmax, fpmax and fvmax must be positive")


def _input_ranges(actuator: Item) -> None:
    """Range and limit of every input: `ctrlrange` for all, but a pid's vel and ff have their own."""
    rows: list[tuple[Any, bool]] = [(actuator.ctrlrange, actuator.is_ctrllimited)] * actuator.ctrlnum
    if actuator.gaintype == GainType.PID:
        rows = [(actuator.ctrlrange, actuator.is_ctrllimited)] if actuator.ctrlspec & POS else []
        for bit, own in ((VEL, actuator.velrange), (FF, actuator.ffrange)):
            if actuator.ctrlspec & bit:
                rows.append((own, is_limited(Tristate.AUTO, own)))
    actuator.inputs = rows
