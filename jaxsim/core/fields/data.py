"""State, inputs, derived quantities and contacts of one world, under mjData's and mjContact's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.core.fields.field import fields_of, flag, integer, real

if TYPE_CHECKING:  # the compiler reads these tables, without JAX
    from jax import Array


class DataState:
    """What a step starts from: the integration state, and the inputs that users set."""

    time: Array = real("", "s", "simulated time")
    qpos: Array = real("nq", "m, rad, 1", "positions of the joints")
    qvel: Array = real("nv", "m/s, rad/s", "velocities of the dofs")
    act: Array = real("na", "1", "activations of the actuators that have a state")
    plastic: Array = real("nplastic", "m, rad", "rest positions of springs that have yielded, as deflections")
    history: Array = real("nhistory", "s, and of what is kept", "late controls and readings: js.core.history says how")
    qacc_warmstart: Array = real("nv", "m/s^2, rad/s^2", "acceleration of the last step, from which the solver starts")
    tree_asleep: Array = integer("nsleep", "the next tree that sleeps with each; from -11 to -1 if it is awake")
    qpos_asleep: Array = real("nsleepq", "m, rad, 1", "where trees that sleep lie; others wake them by moving them")
    ctrl: Array = real("nu", "1", "controls, one or more of each actuator")
    qfrc_applied: Array = real("nv", "N, N m", "forces that users apply to the dofs")
    xfrc_applied: Array = real("nbody,6", "N, N m", "users' force and torque at each body's centre of mass")
    eq_active: Array = flag("neq", "whether each equality holds at present")
    mocap_pos: Array = real("nmocap,3", "m", "positions of the mocap bodies")
    mocap_quat: Array = real("nmocap,4", "1", "orientations of the mocap bodies")
    userdata: Array = real("nuserdata", "the user's", "numbers that belong to the user and that nothing here reads")


class DataDerived:
    """What a step computes and people read."""

    xpos: Array = real("nbody,3", "m", "origins of the bodies in the world")
    xquat: Array = real("nbody,4", "1", "orientations of the bodies in the world")
    xmat: Array = real("nbody,9", "1", "rotation matrices of the bodies, row by row")
    xipos: Array = real("nbody,3", "m", "centres of mass of the bodies in the world")
    ximat: Array = real("nbody,9", "1", "rotation matrices of the bodies' principal axes of inertia, row by row")
    xanchor: Array = real("njnt,3", "m", "points that the joints turn about, in the world")
    xaxis: Array = real("njnt,3", "1", "axes of the joints in the world")
    geom_xpos: Array = real("ngeom,3", "m", "centres of the geoms in the world")
    geom_xmat: Array = real("ngeom,9", "1", "rotation matrices of the geoms, row by row")
    site_xpos: Array = real("nsite,3", "m", "positions of the sites in the world")
    site_xmat: Array = real("nsite,9", "1", "rotation matrices of the sites, row by row")
    subtree_com: Array = real("nbody,3", "m", "centre of mass of each body and its descendants")
    cdof: Array = real("nv,6", "rad, m", "unit motion of each dof at its tree's centre of mass: rotation, translation")
    cinert: Array = real("nbody,10", "kg m^2, kg m, kg", "inertia at its tree's com: moments, mass times offset, mass")
    qM: Array = real("nv,nv", "kg, kg m^2", "the whole joint-space inertia matrix")
    ten_length: Array = real("ntendon", "m", "lengths of the tendons")
    ten_velocity: Array = real("ntendon", "m/s", "velocities of the tendons")
    actuator_length: Array = real("nout", "m", "lengths of the transmissions")
    actuator_velocity: Array = real("nout", "m/s", "velocities of the transmissions")
    cvel: Array = real("nbody,6", "rad/s, m/s", "velocity at the tree's centre of mass: rotation, translation")
    actuator_force: Array = real("nout", "N", "forces of the actuators along their transmissions")
    act_dot: Array = real("na", "1/s", "rates of change of the activations")
    qfrc_bias: Array = real("nv", "N, N m", "Coriolis, centrifugal and gravitational forces")
    qfrc_passive: Array = real("nv", "N, N m", "forces of springs, dampers, the fluid and gravity compensation")
    qfrc_actuator: Array = real("nv", "N, N m", "forces of the actuators on the dofs")
    qfrc_smooth: Array = real("nv", "N, N m", "all forces on the dofs but those of constraints")
    qfrc_constraint: Array = real("nv", "N, N m", "forces of all constraints on the dofs")
    qfrc_inverse: Array = real("nv", "N, N m", "forces that inverse dynamics finds for the given accelerations")
    qacc: Array = real("nv", "m/s^2, rad/s^2", "accelerations of the dofs")
    qacc_smooth: Array = real("nv", "m/s^2, rad/s^2", "accelerations without constraints")
    sensordata: Array = real("nsensordata", "of the sensor", "readings of all sensors, one sensor after the other")
    energy: Array = real("2", "J", "potential and kinetic energy, where the flag asks for them")
    solver_niter: Array = integer("", "iterations that the solver took")
    solver_converged: Array = flag("", "whether the solver stopped because it had converged, in all stages of RK4")
    solver_residual: Array = real("", "1", "gradient norm over trace(M) at the end, which the tolerance bounds")
    solver_fwdinv: Array = real("2", "N, N m", "how far inverse dynamics is off, where the flag fwdinv asks for it")
    ncon: Array = integer("", "number of active contacts")
    nefc: Array = integer("", "number of active constraint rows")
    peak: Array = integer("nbudget", "largest demand on each budget of collisions since this world was made")
    warning: Array = integer("7", "how often each mjtWarning occurred in this world since it was made")


class ContactFields:
    """The slots of the contact buffer."""

    dist: Array = real("nconmax", "m", "signed distance of the two surfaces, negative in penetration")
    pos: Array = real("nconmax,3", "m", "point midway between the two surfaces, in the world")
    frame: Array = real("nconmax,9", "1", "three rows: the normal from the first geom to the second and two tangents")
    includemargin: Array = real("nconmax", "m", "distance below which the contact exerts forces")
    friction: Array = real("nconmax,5", "1, 1, m, m, m", "friction: two for sliding, spinning, two for rolling")
    solref: Array = real("nconmax,2", "s, 1", "time constant and damping ratio along the normal")
    solreffriction: Array = real("nconmax,2", "s, 1", "the same for friction, where elliptic cones tell them apart")
    solimp: Array = real("nconmax,5", "1", "impedance: dmin, dmax, width, midpoint, power")
    dim: Array = integer("nconmax", "dimension of the contact space: 1, 3, 4 or 6")
    geom: Array = integer("nconmax,2", "ids of the two geoms")


DATA_STATE = fields_of(DataState)
DATA_DERIVED = fields_of(DataDerived)
CONTACT = fields_of(ContactFields)
