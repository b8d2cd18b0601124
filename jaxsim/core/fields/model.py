"""The real parameters of a model: traced, so they can be differentiated, batched and randomised.

Names, shapes and element order are MuJoCo 4.0's (mjmodel.h). After changes `set_const` recomputes what depends on them.
"""

import jax

from jaxsim.core.fields.field import fields_of, real

Array = jax.Array


class ModelReals:
    """Real parameters of Model.

    What holds "at qpos0", body_subtreemass and dof_length follow from the others: `set_const` computes them.
    """

    qpos0: Array = real("nq", "m, rad, 1", "positions of the joints in the pose in which the model is written")
    qpos_spring: Array = real("nq", "m, rad, 1", "positions at which joint springs are at rest")

    body_pos: Array = real("nbody,3", "m", "origin of the body in its parent's frame")
    body_quat: Array = real("nbody,4", "1", "orientation of the body in its parent's frame")
    body_ipos: Array = real("nbody,3", "m", "centre of mass in the body's frame")
    body_iquat: Array = real("nbody,4", "1", "orientation of the principal axes of inertia in the body's frame")
    body_mass: Array = real("nbody", "kg", "mass of the body alone")
    body_subtreemass: Array = real("nbody", "kg", "mass of the body and all its descendants")
    body_inertia: Array = real("nbody,3", "kg m^2", "principal moments of inertia about the centre of mass")
    body_invweight0: Array = real("nbody,2", "1/kg, 1/(kg m^2)", "mean inverse inertia at qpos0, linear and angular")
    body_gravcomp: Array = real("nbody", "1", "share of its weight that the body is relieved of: 0 none, 1 floats")
    body_margin: Array = real("nbody", "m", "largest margin plus gap of the body's geoms")

    jnt_solref: Array = real("njnt,2", "s, 1", "time constant and damping ratio, or -stiffness and -damping")
    jnt_solimp: Array = real("njnt,5", "1", "impedance of the joint's limits: dmin, dmax, width, midpoint, power")
    jnt_pos: Array = real("njnt,3", "m", "point that the joint turns about, in the body's frame")
    jnt_axis: Array = real("njnt,3", "1", "direction of a slide or hinge in the body's frame, of unit length")
    jnt_stiffness: Array = real("njnt", "N/m, N m/rad", "linear stiffness of the joint's spring")
    jnt_stiffnesspoly: Array = real("njnt,2", "N/m^2, N/m^3", "stiffness per deflection and per its square")
    jnt_springyield: Array = real("njnt", "N, N m", "force at which the spring yields for good; 0 or inf: never")
    jnt_range: Array = real("njnt,2", "m, rad", "lower and upper limit of the joint; a ball's limit is the larger one")
    jnt_actfrcrange: Array = real("njnt,2", "N, N m", "least and largest total actuator force on the joint")
    jnt_margin: Array = real("njnt", "m, rad", "distance before a limit at which its constraint appears")

    dof_solref: Array = real("nv,2", "s, 1", "time constant and damping ratio of the dof's friction loss")
    dof_solimp: Array = real("nv,5", "1", "impedance of the dof's friction loss")
    dof_frictionloss: Array = real("nv", "N, N m", "dry friction that opposes the dof's motion")
    dof_armature: Array = real("nv", "kg, kg m^2", "inertia added to the diagonal of M, as of a rotor behind a gear")
    dof_damping: Array = real("nv", "N s/m, N m s/rad", "linear damping of the dof")
    dof_dampingpoly: Array = real("nv,2", "N s^2/m^2", "damping per speed and per its square")
    dof_invweight0: Array = real("nv", "1/kg, 1/(kg m^2)", "diagonal of the inverse of M at qpos0")
    dof_M0: Array = real("nv", "kg, kg m^2", "diagonal of M at qpos0")
    dof_length: Array = real("nv", "m, 1", "lever arm that makes its rotation a displacement; 1 for translations")

    geom_solmix: Array = real("ngeom", "1", "weight of this geom's solref and solimp when those of two geoms are mixed")
    geom_solref: Array = real("ngeom,2", "s, 1", "time constant and damping ratio, or -stiffness and -damping")
    geom_solimp: Array = real("ngeom,5", "1", "impedance of the geom's contacts")
    geom_size: Array = real("ngeom,3", "m", "by type: radius; half lengths; radius and half length of a capsule")
    geom_rbound: Array = real("ngeom", "m", "radius of the sphere about its centre that holds it; 0 for planes")
    geom_pos: Array = real("ngeom,3", "m", "centre of the geom in its body's frame")
    geom_quat: Array = real("ngeom,4", "1", "orientation of the geom in its body's frame")
    geom_friction: Array = real("ngeom,3", "1, m, m", "friction for sliding, spinning and rolling")
    geom_margin: Array = real("ngeom", "m", "distance of the surfaces below which a contact exerts forces")
    geom_gap: Array = real("ngeom", "m", "further distance within which a contact is listed but exerts no force")
    geom_surfacevel: Array = real("ngeom,6", "m/s, rad/s", "velocity of its surface, as of a conveyor belt")
    geom_adhesion: Array = real("ngeom", "N", "force with which the geom sticks to what it touches")
    geom_fluid: Array = real("ngeom,12", "1", "shape and coefficients of the ellipsoid model of fluid forces")

    site_size: Array = real("nsite,3", "m", "sizes by site_type")
    site_pos: Array = real("nsite,3", "m", "position of the site in its body's frame")
    site_quat: Array = real("nsite,4", "1", "orientation of the site in its body's frame")

    cam_pos: Array = real("ncam,3", "m", "position of the camera in its body's frame")
    cam_quat: Array = real("ncam,4", "1", "orientation of the camera in its body's frame; it looks along -z")
    cam_poscom0: Array = real("ncam,3", "m", "position relative to the body's subtree's centre of mass at qpos0")
    cam_pos0: Array = real("ncam,3", "m", "position relative to the body at qpos0, in world axes")
    cam_mat0: Array = real("ncam,9", "1", "rotation matrix at qpos0, row by row")

    light_pos: Array = real("nlight,3", "m", "position of the light in its body's frame")
    light_dir: Array = real("nlight,3", "1", "direction of the light in its body's frame")
    light_poscom0: Array = real("nlight,3", "m", "position relative to the body's subtree's centre of mass at qpos0")
    light_pos0: Array = real("nlight,3", "m", "position relative to the body at qpos0, in world axes")
    light_dir0: Array = real("nlight,3", "1", "direction in the world at qpos0")

    hfield_size: Array = real("nhfield,4", "m", "half lengths along x and y, height of the top, depth of the base")
    hfield_data: Array = real("nhfielddata", "1", "elevation of all height fields' points from 0 to 1, row by row")

    pair_solref: Array = real("npair,2", "s, 1", "time constant and damping ratio along the normal")
    pair_solreffriction: Array = real("npair,2", "s, 1", "the same for friction, where elliptic cones tell them apart")
    pair_solimp: Array = real("npair,5", "1", "impedance of the pair's contacts")
    pair_margin: Array = real("npair", "m", "distance of the surfaces below which a contact exerts forces")
    pair_gap: Array = real("npair", "m", "further distance within which a contact is listed but exerts no force")
    pair_adhesion: Array = real("npair", "N", "force with which the two geoms stick together")
    pair_friction: Array = real("npair,5", "1, 1, m, m, m", "friction: two for sliding, spinning, two for rolling")

    eq_solref: Array = real("neq,2", "s, 1", "time constant and damping ratio of the equality")
    eq_solimp: Array = real("neq,5", "1", "impedance of the equality")
    eq_data: Array = real("neq,12", "m, rad, 1", "by type: anchors, relative pose, polynomial")

    tendon_width: Array = real("ntendon", "m", "width in which the tendon is drawn")
    tendon_solref_lim: Array = real("ntendon,2", "s, 1", "time constant and damping ratio of its limits")
    tendon_solimp_lim: Array = real("ntendon,5", "1", "impedance of the tendon's limits")
    tendon_solref_fri: Array = real("ntendon,2", "s, 1", "time constant and damping ratio of its friction loss")
    tendon_solimp_fri: Array = real("ntendon,5", "1", "impedance of the tendon's friction loss")
    tendon_range: Array = real("ntendon,2", "m", "least and largest length")
    tendon_actfrcrange: Array = real("ntendon,2", "N", "least and largest total actuator force on the tendon")
    tendon_margin: Array = real("ntendon", "m", "distance before a limit at which its constraint appears")
    tendon_stiffness: Array = real("ntendon", "N/m", "linear stiffness of the tendon's spring")
    tendon_stiffnesspoly: Array = real("ntendon,2", "N/m^2, N/m^3", "stiffness per extension and per its square")
    tendon_damping: Array = real("ntendon", "N s/m", "linear damping along the tendon")
    tendon_dampingpoly: Array = real("ntendon,2", "N s^2/m^2", "damping per speed and per its square")
    tendon_armature: Array = real("ntendon", "kg", "inertia that resists a change of length")
    tendon_frictionloss: Array = real("ntendon", "N", "dry friction along the tendon")
    tendon_lengthspring: Array = real("ntendon,2", "m", "lengths between which the tendon's spring exerts no force")
    tendon_springyield: Array = real("ntendon", "N", "force at which the spring yields for good; 0 or inf: never")
    tendon_length0: Array = real("ntendon", "m", "length at qpos0")
    tendon_invweight0: Array = real("ntendon", "1/kg", "inverse inertia along the tendon at qpos0")

    wrap_prm: Array = real("nwrap", "1", "by type: a joint's coefficient, a pulley's divisor, a geom's side site")

    actuator_cranklength: Array = real("nactuator", "m", "length of the rod of a slider-crank")
    actuator_dynprm: Array = real("nactuator,10", "by dyntype", "parameters of the activation dynamics")
    actuator_gainprm: Array = real("nactuator,10", "by gaintype", "parameters of the gain")
    actuator_biasprm: Array = real("nactuator,10", "by biastype", "parameters of the bias")
    actuator_actrange: Array = real("nactuator,2", "1", "least and largest activation")
    actuator_delay: Array = real("nactuator", "s", "time by which the control arrives late")
    actuator_damping: Array = real("nactuator", "N s/m", "damping that the actuator adds to its joint or tendon")
    actuator_dampingpoly: Array = real("nactuator,2", "N s^2/m^2", "damping so added per speed and per its square")
    actuator_armature: Array = real("nactuator", "kg", "inertia that the actuator adds to its joint or tendon")
    actuator_forcerange: Array = real("nactuator,2", "N", "least and largest force")
    actuator_ctrlrange: Array = real("nu,2", "1", "least and largest control")
    actuator_gear: Array = real("nout,6", "1", "scaling of length and force; six for ball and free joints and sites")
    actuator_acc0: Array = real("nout", "m/s^2", "norm of the acceleration by a unit force at qpos0")
    actuator_length0: Array = real("nout", "m", "length at qpos0")
    actuator_lengthrange: Array = real("nout,2", "m", "least and largest length that the actuator can reach")

    sensor_cutoff: Array = real("nsensor", "of the sensor", "bound of the readings; 0 for none")
    sensor_noise: Array = real("nsensor", "of the sensor", "standard deviation of the noise that users may add")
    sensor_delay: Array = real("nsensor", "s", "time by which the reading is late")
    sensor_interval: Array = real("nsensor,2", "s", "period and phase with which the sensor samples")

    numeric_data: Array = real("nnumericdata", "1", "values of all custom numeric fields")

    key_time: Array = real("nkey", "s", "time of each keyframe")
    key_qpos: Array = real("nkey,nq", "m, rad, 1", "positions of each keyframe")
    key_qvel: Array = real("nkey,nv", "m/s, rad/s", "velocities of each keyframe")
    key_act: Array = real("nkey,na", "1", "activations of each keyframe")
    key_mpos: Array = real("nkey,3*nmocap", "m", "positions of the mocap bodies in each keyframe")
    key_mquat: Array = real("nkey,4*nmocap", "1", "orientations of the mocap bodies in each keyframe")
    key_ctrl: Array = real("nkey,nu", "1", "controls of each keyframe")
    key_plastic: Array = real("nkey,nplastic", "m, rad", "plastic deflections of each keyframe")


MODEL_REAL = fields_of(ModelReals)
