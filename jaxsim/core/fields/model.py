"""The real parameters of a model: traced, so they can be differentiated, batched and randomised.

Names, shapes and element order are MuJoCo 4.0's (mjmodel.h). After changes `set_const` recomputes what depends on them.
"""

from typing import Generic, TypeVar

from jaxsim.core.fields.field import fields_of, real

A = TypeVar("A")  # jax.Array in a Model; numpy.ndarray in what the compiler makes


class ModelReals(Generic[A]):
    """Real parameters of Model.

    What holds "at qpos0", body_subtreemass and dof_length follow from the others: `set_const` computes them.
    """

    qpos0: A = real("nq", "m, rad, 1", "positions of the joints in the pose in which the model is written")
    qpos_spring: A = real("nq", "m, rad, 1", "positions at which joint springs are at rest")

    body_pos: A = real("nbody,3", "m", "origin of the body in its parent's frame")
    body_quat: A = real("nbody,4", "1", "orientation of the body in its parent's frame")
    body_ipos: A = real("nbody,3", "m", "centre of mass in the body's frame")
    body_iquat: A = real("nbody,4", "1", "orientation of the principal axes of inertia in the body's frame")
    body_mass: A = real("nbody", "kg", "mass of the body alone")
    body_subtreemass: A = real("nbody", "kg", "mass of the body and all its descendants")
    body_inertia: A = real("nbody,3", "kg m^2", "principal moments of inertia about the centre of mass")
    body_invweight0: A = real("nbody,2", "1/kg, 1/(kg m^2)", "mean inverse inertia at qpos0, linear and angular")
    body_gravcomp: A = real("nbody", "1", "share of its weight that the body is relieved of: 0 none, 1 floats")
    body_margin: A = real("nbody", "m", "largest margin plus gap of the body's geoms")

    jnt_solref: A = real("njnt,2", "s, 1", "time constant and damping ratio, or -stiffness and -damping")
    jnt_solimp: A = real("njnt,5", "1", "impedance of the joint's limits: dmin, dmax, width, midpoint, power")
    jnt_pos: A = real("njnt,3", "m", "point that the joint turns about, in the body's frame")
    jnt_axis: A = real("njnt,3", "1", "direction of a slide or hinge in the body's frame, of unit length")
    jnt_stiffness: A = real("njnt", "N/m, N m/rad", "linear stiffness of the joint's spring")
    jnt_stiffnesspoly: A = real("njnt,2", "N/m^2, N/m^3", "stiffness per deflection and per its square")
    jnt_springyield: A = real("njnt", "m, rad", "deflection at which the spring yields for good; 0 at load: never")
    jnt_range: A = real("njnt,2", "m, rad", "lower and upper limit of the joint; a ball's limit is the larger one")
    jnt_actfrcrange: A = real("njnt,2", "N, N m", "least and largest total actuator force on the joint")
    jnt_margin: A = real("njnt", "m, rad", "distance before a limit at which its constraint appears")

    dof_solref: A = real("nv,2", "s, 1", "time constant and damping ratio of the dof's friction loss")
    dof_solimp: A = real("nv,5", "1", "impedance of the dof's friction loss")
    dof_frictionloss: A = real("nv", "N, N m", "dry friction that opposes the dof's motion")
    dof_armature: A = real("nv", "kg, kg m^2", "inertia added to the diagonal of M, as of a rotor behind a gear")
    dof_damping: A = real("nv", "N s/m, N m s/rad", "linear damping of the dof")
    dof_dampingpoly: A = real("nv,2", "N s^2/m^2", "damping per speed and per its square")
    dof_invweight0: A = real("nv", "1/kg, 1/(kg m^2)", "diagonal of the inverse of M at qpos0")
    dof_M0: A = real("nv", "kg, kg m^2", "diagonal of M at qpos0")
    dof_length: A = real("nv", "m, 1", "lever arm that makes its rotation a displacement; 1 for translations")

    geom_solmix: A = real("ngeom", "1", "weight of this geom's solref and solimp when those of two geoms are mixed")
    geom_solref: A = real("ngeom,2", "s, 1", "time constant and damping ratio, or -stiffness and -damping")
    geom_solimp: A = real("ngeom,5", "1", "impedance of the geom's contacts")
    geom_size: A = real("ngeom,3", "m", "by type: radius; half lengths; radius and half length of a capsule")
    geom_rbound: A = real("ngeom", "m", "radius of the sphere about its centre that holds it; 0 for planes")
    geom_pos: A = real("ngeom,3", "m", "centre of the geom in its body's frame")
    geom_quat: A = real("ngeom,4", "1", "orientation of the geom in its body's frame")
    geom_friction: A = real("ngeom,3", "1, m, m", "friction for sliding, spinning and rolling")
    geom_margin: A = real("ngeom", "m", "distance of the surfaces below which a contact exerts forces")
    geom_gap: A = real("ngeom", "m", "further distance within which a contact is listed but exerts no force")
    geom_surfacevel: A = real("ngeom,6", "m/s, rad/s", "velocity of its surface, as of a conveyor belt")
    geom_adhesion: A = real("ngeom", "N", "force with which the geom sticks to what it touches")
    geom_fluid: A = real("ngeom,12", "1", "shape and coefficients of the ellipsoid model of fluid forces")

    site_size: A = real("nsite,3", "m", "sizes by site_type")
    site_pos: A = real("nsite,3", "m", "position of the site in its body's frame")
    site_quat: A = real("nsite,4", "1", "orientation of the site in its body's frame")

    cam_pos: A = real("ncam,3", "m", "position of the camera in its body's frame")
    cam_quat: A = real("ncam,4", "1", "orientation of the camera in its body's frame; it looks along -z")
    cam_poscom0: A = real("ncam,3", "m", "position relative to the body's subtree's centre of mass at qpos0")
    cam_pos0: A = real("ncam,3", "m", "position relative to the body at qpos0, in world axes")
    cam_mat0: A = real("ncam,9", "1", "rotation matrix at qpos0, row by row")

    light_pos: A = real("nlight,3", "m", "position of the light in its body's frame")
    light_dir: A = real("nlight,3", "1", "direction of the light in its body's frame")
    light_poscom0: A = real("nlight,3", "m", "position relative to the body's subtree's centre of mass at qpos0")
    light_pos0: A = real("nlight,3", "m", "position relative to the body at qpos0, in world axes")
    light_dir0: A = real("nlight,3", "1", "direction in the world at qpos0")

    hfield_size: A = real("nhfield,4", "m", "half lengths along x and y, height of the top, depth of the base")
    hfield_data: A = real("nhfielddata", "1", "elevation of all height fields' points from 0 to 1, row by row")

    pair_solref: A = real("npair,2", "s, 1", "time constant and damping ratio along the normal")
    pair_solreffriction: A = real("npair,2", "s, 1", "the same for friction, where elliptic cones tell them apart")
    pair_solimp: A = real("npair,5", "1", "impedance of the pair's contacts")
    pair_margin: A = real("npair", "m", "distance of the surfaces below which a contact exerts forces")
    pair_gap: A = real("npair", "m", "further distance within which a contact is listed but exerts no force")
    pair_adhesion: A = real("npair", "N", "force with which the two geoms stick together")
    pair_friction: A = real("npair,5", "1, 1, m, m, m", "friction: two for sliding, spinning, two for rolling")

    eq_solref: A = real("neq,2", "s, 1", "time constant and damping ratio of the equality")
    eq_solimp: A = real("neq,5", "1", "impedance of the equality")
    eq_data: A = real("neq,12", "m, rad, 1", "by type: anchors, relative pose, polynomial")

    tendon_width: A = real("ntendon", "m", "width in which the tendon is drawn")
    tendon_solref_lim: A = real("ntendon,2", "s, 1", "time constant and damping ratio of its limits")
    tendon_solimp_lim: A = real("ntendon,5", "1", "impedance of the tendon's limits")
    tendon_solref_fri: A = real("ntendon,2", "s, 1", "time constant and damping ratio of its friction loss")
    tendon_solimp_fri: A = real("ntendon,5", "1", "impedance of the tendon's friction loss")
    tendon_range: A = real("ntendon,2", "m", "least and largest length")
    tendon_actfrcrange: A = real("ntendon,2", "N", "least and largest total actuator force on the tendon")
    tendon_margin: A = real("ntendon", "m", "distance before a limit at which its constraint appears")
    tendon_stiffness: A = real("ntendon", "N/m", "linear stiffness of the tendon's spring")
    tendon_stiffnesspoly: A = real("ntendon,2", "N/m^2, N/m^3", "stiffness per extension and per its square")
    tendon_damping: A = real("ntendon", "N s/m", "linear damping along the tendon")
    tendon_dampingpoly: A = real("ntendon,2", "N s^2/m^2", "damping per speed and per its square")
    tendon_armature: A = real("ntendon", "kg", "inertia that resists a change of length")
    tendon_frictionloss: A = real("ntendon", "N", "dry friction along the tendon")
    tendon_lengthspring: A = real("ntendon,2", "m", "lengths between which the tendon's spring exerts no force")
    tendon_springyield: A = real("ntendon", "m", "extension at which the spring yields for good; 0 at load: never")
    tendon_length0: A = real("ntendon", "m", "length at qpos0")
    tendon_invweight0: A = real("ntendon", "1/kg", "inverse inertia along the tendon at qpos0")

    wrap_prm: A = real("nwrap", "1", "by type: a joint's coefficient, a pulley's divisor, a geom's side site")

    actuator_cranklength: A = real("nactuator", "m", "length of the rod of a slider-crank")
    actuator_dynprm: A = real("nactuator,10", "by dyntype", "parameters of the activation dynamics")
    actuator_gainprm: A = real("nactuator,10", "by gaintype", "parameters of the gain")
    actuator_biasprm: A = real("nactuator,10", "by biastype", "parameters of the bias")
    actuator_pidprm: A = real("nactuator,5", "by gain", "kp, ki, kd, imax, slewmax of its mujoco.pid; -1: no bound")
    actuator_actrange: A = real("nactuator,2", "1", "least and largest activation")
    actuator_delay: A = real("nactuator", "s", "time by which the control arrives late")
    actuator_damping: A = real("nactuator", "N s/m", "damping that the actuator adds to its joint or tendon")
    actuator_dampingpoly: A = real("nactuator,2", "N s^2/m^2", "damping so added per speed and per its square")
    actuator_armature: A = real("nactuator", "kg", "inertia that the actuator adds to its joint or tendon")
    actuator_forcerange: A = real("nactuator,2", "N", "least and largest force")
    actuator_ctrlrange: A = real("nu,2", "1", "least and largest control")
    actuator_gear: A = real("nout,6", "1", "scaling of length and force; six for ball and free joints and sites")
    actuator_acc0: A = real("nout", "m/s^2", "norm of the acceleration by a unit force at qpos0")
    actuator_length0: A = real("nout", "m", "length at qpos0")
    actuator_lengthrange: A = real("nout,2", "m", "least and largest length that the actuator can reach")

    sensor_cutoff: A = real("nsensor", "of the sensor", "bound of the readings; 0 for none")
    sensor_noise: A = real("nsensor", "of the sensor", "standard deviation of the noise that users may add")
    sensor_delay: A = real("nsensor", "s", "time by which the reading is late")
    sensor_interval: A = real("nsensor,2", "s", "period and phase with which the sensor samples")

    numeric_data: A = real("nnumericdata", "1", "values of all custom numeric fields")

    key_time: A = real("nkey", "s", "time of each keyframe")
    key_qpos: A = real("nkey,nq", "m, rad, 1", "positions of each keyframe")
    key_qvel: A = real("nkey,nv", "m/s, rad/s", "velocities of each keyframe")
    key_act: A = real("nkey,na", "1", "activations of each keyframe")
    key_mpos: A = real("nkey,3*nmocap", "m", "positions of the mocap bodies in each keyframe")
    key_mquat: A = real("nkey,4*nmocap", "1", "orientations of the mocap bodies in each keyframe")
    key_ctrl: A = real("nkey,nu", "1", "controls of each keyframe")
    key_plastic: A = real("nkey,nplastic", "m, rad", "plastic deflections of each keyframe")


MODEL_REAL = fields_of(ModelReals)
MODEL_OWN = frozenset({"actuator_pidprm"})  # which mjModel has not; 0 where a source lacks them
