"""Options and statistics of a model, under mjOption's and mjStatistic's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.core.enums import Cone, ContactGradient, ContactLaw, EqualityLaw, Integrator, Solver
from jaxsim.core.fields.field import fields_of, integer, real

if TYPE_CHECKING:  # the compiler reads these tables, without JAX
    from jax import Array


class OptionReals:
    """Options that are traced."""

    timestep: Array = real("", "s", "duration of a step")
    impratio: Array = real("", "1", "ratio of frictional to normal impedance in elliptic cones")
    tolerance: Array = real("", "1", "scaled improvement at which the solver stops; 0 iterates to rounding")
    ls_tolerance: Array = real("", "1", "gradient, relative to the first, at which the line search stops")
    noslip_tolerance: Array = real("", "1", "improvement at which the noslip solver stops")
    ccd_tolerance: Array = real("", "m", "accuracy of convex collision")
    sleep_tolerance: Array = real("", "m/s", "speed below which a tree may be put to sleep")
    gravity: Array = real("3", "m/s^2", "acceleration of gravity")
    wind: Array = real("3", "m/s", "velocity of the medium")
    magnetic: Array = real("3", "T", "magnetic flux, which magnetometers measure")
    density: Array = real("", "kg/m^3", "density of the medium; 0 for no lift and drag")
    viscosity: Array = real("", "Pa s", "viscosity of the medium; 0 for none")
    o_margin: Array = real("", "m", "margin of all contacts under the override flag")
    o_solref: Array = real("2", "s, 1", "solref of all contacts under the override flag")
    o_solimp: Array = real("5", "1", "solimp of all contacts under the override flag")
    o_friction: Array = real("5", "1", "friction of all contacts under the override flag")


class OptionInts:
    """Options that are compiled in: to change one compiles anew."""

    integrator: Integrator = integer("", "how a step advances the state", Integrator)
    cone: Cone = integer("", "shape of the friction cones", Cone)
    jacobian: int = integer("", "storage of the Jacobian in MuJoCo C (mjtJacobian); without effect here")
    solver: Solver = integer("", "algorithm that solves for the constraint forces", Solver)
    iterations: int = integer("", "most iterations of the solver")
    ls_iterations: int = integer("", "most iterations of one line search")
    noslip_iterations: int = integer("", "most iterations of the noslip solver; 0 for none")
    ccd_iterations: int = integer("", "most iterations of convex collision")
    disableflags: int = integer("", "bits of DisableBit")
    enableflags: int = integer("", "bits of EnableBit")
    disableactuator: int = integer("", "bits of the actuator groups that are switched off")
    sdf_initpoints: int = integer("", "points from which the collision of signed distance fields starts")
    sdf_iterations: int = integer("", "most iterations of the collision of signed distance fields")


class OwnReals:
    """Options that MuJoCo does not have, traced; of the hard contact law and of the distant one."""

    kappa: Array = real("", "N s m, J", "impulse times gap, and the like of friction, that hard contacts are solved to")
    kappa_gradient: Array = real("", "N s m, J", "the same, of the step whose derivatives those of a step are")
    restitution: Array = real("", "1", "speed after an impact of hard contacts by that before it; 0 for no bounce")
    contact_reach: Array = real("", "m", "distance from which on surfaces push each other under the distant law")


class OwnInts:
    """Options that MuJoCo does not have, compiled in."""

    contact: ContactLaw = integer("", "law of contacts, limits, friction losses and equalities", ContactLaw)
    equality: EqualityLaw = integer("", "law of equalities, where contacts are hard", EqualityLaw)
    bounces: int = integer("", "whether hard contacts may bounce: with restitution set, unless to zero")
    contact_gradient: ContactGradient = integer("", "law that the derivatives of a soft step are of", ContactGradient)


class Statistics:
    """Sizes and masses typical of the model, traced."""

    meaninertia: Array = real("", "kg m^2", "mean diagonal of M at qpos0, which scales the solver's cost")
    meanmass: Array = real("", "kg", "mean mass of the bodies")
    meansize: Array = real("", "m", "mean size of the bodies")
    extent: Array = real("", "m", "size of the whole model")
    center: Array = real("3", "m", "centre of the whole model")


OPTION_REAL = fields_of(OptionReals, OwnReals)
OPTION_INT = fields_of(OptionInts, OwnInts)
# what an option of our own is unless a model is told otherwise
OPTION_OWN: dict[str, float] = {
    "kappa": 1e-6,
    "kappa_gradient": 1e-4,
    "restitution": 0.0,
    "contact_reach": 0.1,
    "bounces": 0,
    "equality": EqualityLaw.HARD,
    "contact": ContactLaw.SOFT,
    "contact_gradient": ContactGradient.OWN,
}
KAPPA_FLOAT32 = 1e-5  # with impulses times slips of 50 J the solver ended at this one, and not at 1e-6
STAT_REAL = fields_of(Statistics)
