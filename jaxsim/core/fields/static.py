"""What is compiled in: sizes, integers, flags, and what only drawing and people read. Never traced.

Names, shapes and element order are MuJoCo 4.0's (mjmodel.h). Left out are its sparse storage (M and Jacobians are dense
here, or products), trees of bounding volumes, octrees, plugins, flexes, skins and textures.
"""

import numpy as np

from jaxsim.core.enums import (
    BiasType,
    DynType,
    EqType,
    GainType,
    GeomType,
    JointType,
    ObjType,
    SensorType,
    TendonType,
    TrnType,
    WrapType,
)
from jaxsim.core.fields.field import fields_of, flag, integer, real, size, text

Ints = np.ndarray
Flags = np.ndarray
Reals = np.ndarray


class Sizes:
    """How many there are of each kind of element."""

    nq: int = size("number of position coordinates, the length of qpos")
    nv: int = size("number of degrees of freedom, the length of qvel")
    nu: int = size("number of controls")
    nactuator: int = size("number of actuators")
    nout: int = size("number of forces that actuators exert: one each, several where the transmission has several")
    na: int = size("number of activations")
    nbody: int = size("number of bodies, the world included")
    njnt: int = size("number of joints")
    ntree: int = size("number of kinematic trees that move")
    ngeom: int = size("number of geoms")
    nsite: int = size("number of sites")
    ncam: int = size("number of cameras")
    nlight: int = size("number of lights")
    nflex: int = size("number of flexes, which are refused")
    nplugin: int = size("number of plugins, which are refused")
    nmesh: int = size("number of meshes")
    nmeshvert: int = size("number of vertices of all meshes")
    nmeshnormal: int = size("number of normals of all meshes")
    nmeshtexcoord: int = size("number of texture coordinates of all meshes")
    nmeshface: int = size("number of triangles of all meshes")
    nmeshgraph: int = size("number of integers that describe the convex hulls of all meshes")
    nmeshpoly: int = size("number of polygons of all convex hulls")
    nmeshpolyvert: int = size("number of corners of all those polygons")
    nmeshpolymap: int = size("number of polygons that meet at the vertices, over all vertices")
    nhfield: int = size("number of height fields")
    nhfielddata: int = size("number of points of all height fields")
    nmat: int = size("number of materials")
    npair: int = size("number of explicit contact pairs")
    nexclude: int = size("number of pairs of bodies that may not collide")
    neq: int = size("number of equalities")
    ntendon: int = size("number of tendons")
    nwrap: int = size("number of objects in the paths of all tendons")
    nsensor: int = size("number of sensors")
    nnumeric: int = size("number of custom numeric fields")
    nnumericdata: int = size("number of values of all custom numeric fields")
    ntext: int = size("number of custom texts")
    ntextdata: int = size("number of bytes of all custom texts, their final zeros included")
    ntuple: int = size("number of custom tuples")
    ntupledata: int = size("number of objects of all custom tuples")
    nkey: int = size("number of keyframes")
    nmocap: int = size("number of mocap bodies")
    nuser_body: int = size("number of user values of each body")
    nuser_jnt: int = size("number of user values of each joint")
    nuser_geom: int = size("number of user values of each geom")
    nuser_site: int = size("number of user values of each site")
    nuser_cam: int = size("number of user values of each camera")
    nuser_tendon: int = size("number of user values of each tendon")
    nuser_actuator: int = size("number of user values of each actuator")
    nuser_sensor: int = size("number of user values of each sensor")
    nplastic: int = size("number of plastic deflections")
    ngravcomp: int = size("number of bodies with gravity compensation")
    npolygonmax: int = size("most corners of a polygon of a convex hull")
    nmeshdegmax: int = size("most edges that meet at a vertex of a convex hull")
    nsensordata: int = size("number of values of all sensors")
    nconmax: int = size("slots of the contact buffer of one world, chosen at load (max_contacts)")


class Static:
    """Arrays that are compiled in."""

    body_parentid: Ints = integer("nbody", "the body that this one is attached to; 0 for the world itself")
    body_rootid: Ints = integer("nbody", "the first body below the world on the way to this one")
    body_weldid: Ints = integer("nbody", "the nearest body at or above this one that moves against its parent")
    body_mocapid: Ints = integer("nbody", "index of the mocap pose; -1 for none")
    body_jntnum: Ints = integer("nbody", "number of joints between the body and its parent")
    body_jntadr: Ints = integer("nbody", "first of these joints; -1 for none")
    body_dofnum: Ints = integer("nbody", "number of dofs of these joints")
    body_dofadr: Ints = integer("nbody", "first of these dofs; -1 for none")
    body_treeid: Ints = integer("nbody", "kinematic tree that the body belongs to; -1 if it never moves")
    body_geomnum: Ints = integer("nbody", "number of geoms of the body")
    body_geomadr: Ints = integer("nbody", "first of these geoms; -1 for none")
    body_simple: Ints = integer("nbody", "1 where its block of M is diagonal, 2 if besides it only slides, else 0")
    body_sameframe: Ints = integer("nbody", "how the inertial frame coincides with the body's (mjtSameFrame)")
    body_user: Reals = real("nbody,nuser_body", "any", "user values")
    body_contype: Ints = integer("nbody", "contype bits of all its geoms together")
    body_conaffinity: Ints = integer("nbody", "conaffinity bits of all its geoms together")

    jnt_type: Ints = integer("njnt", "type of joint", JointType)
    jnt_qposadr: Ints = integer("njnt", "where the joint's coordinates start in qpos")
    jnt_dofadr: Ints = integer("njnt", "where the joint's velocities start in qvel")
    jnt_bodyid: Ints = integer("njnt", "body that the joint moves")
    jnt_actuatorid: Ints = integer("njnt", "actuator that adds armature and damping; -1 for none")
    jnt_group: Ints = integer("njnt", "group by which viewers show and hide")
    jnt_plasticadr: Ints = integer("njnt", "where the joint's plastic deflection starts; -1 for none")
    jnt_limited: Flags = flag("njnt", "whether jnt_range limits the joint")
    jnt_actfrclimited: Flags = flag("njnt", "whether jnt_actfrcrange limits the total actuator force")
    jnt_actgravcomp: Flags = flag("njnt", "whether gravity compensation counts as actuator force")
    jnt_user: Reals = real("njnt,nuser_jnt", "any", "user values")

    dof_bodyid: Ints = integer("nv", "body that the dof moves")
    dof_jntid: Ints = integer("nv", "joint that the dof belongs to")
    dof_parentid: Ints = integer("nv", "the dof before this one on the way to the root; -1 for none")
    dof_treeid: Ints = integer("nv", "kinematic tree that the dof belongs to")
    dof_simplenum: Ints = integer("nv", "number of dofs from this one on whose rows of M are diagonal")

    tree_bodyadr: Ints = integer("ntree", "first body of the tree")
    tree_bodynum: Ints = integer("ntree", "number of bodies of the tree")
    tree_dofadr: Ints = integer("ntree", "first dof of the tree")
    tree_dofnum: Ints = integer("ntree", "number of dofs of the tree")

    geom_type: Ints = integer("ngeom", "type of shape", GeomType)
    geom_contype: Ints = integer("ngeom", "bits that are met by the other geom's conaffinity where the two may collide")
    geom_conaffinity: Ints = integer("ngeom", "bits that are met by the other geom's contype where the two may collide")
    geom_condim: Ints = integer("ngeom", "dimension of its contacts: 1 no friction, 3 sliding, 4 spinning, 6 rolling")
    geom_bodyid: Ints = integer("ngeom", "body that carries the geom")
    geom_dataid: Ints = integer("ngeom", "its mesh or height field; -1 for none")
    geom_matid: Ints = integer("ngeom", "material; -1 for none")
    geom_group: Ints = integer("ngeom", "group by which viewers show and hide")
    geom_priority: Ints = integer("ngeom", "the geom of higher priority decides the parameters of a contact")
    geom_sameframe: Ints = integer("ngeom", "how the geom's frame coincides with the body's (mjtSameFrame)")
    geom_castshadow: Flags = flag("ngeom", "whether the geom casts a shadow")
    geom_aabb: Reals = real("ngeom,6", "m", "centre and half lengths of the box around the geom, in the geom's frame")
    geom_user: Reals = real("ngeom,nuser_geom", "any", "user values")
    geom_rgba: Reals = real("ngeom,4", "1", "colour where there is no material")

    site_type: Ints = integer("nsite", "type of shape", GeomType)
    site_bodyid: Ints = integer("nsite", "body that carries the site")
    site_dataid: Ints = integer("nsite", "its mesh; -1 for none")
    site_matid: Ints = integer("nsite", "material; -1 for none")
    site_group: Ints = integer("nsite", "group by which viewers show and hide")
    site_sameframe: Ints = integer("nsite", "how the site's frame coincides with the body's (mjtSameFrame)")
    site_user: Reals = real("nsite,nuser_site", "any", "user values")
    site_rgba: Reals = real("nsite,4", "1", "colour where there is no material")

    cam_mode: Ints = integer("ncam", "how the camera follows: fixed, track, trackcom, targetbody ... (mjtCamLight)")
    cam_bodyid: Ints = integer("ncam", "body that carries the camera")
    cam_targetbodyid: Ints = integer("ncam", "body that the camera looks at; -1 for none")
    cam_projection: Ints = integer("ncam", "perspective or orthographic (mjtProjection)")
    cam_fovy: Reals = real("ncam", "deg, m", "vertical field of view: an angle, or the height seen if orthographic")
    cam_ipd: Reals = real("ncam", "m", "distance between the pupils of a stereo pair")
    cam_resolution: Ints = integer("ncam,2", "width and height of the image in pixels")
    cam_output: Ints = integer("ncam", "kinds of image that the camera is meant for (mjtCamOut)")
    cam_sensorsize: Reals = real("ncam,2", "m", "width and height of the sensor chip; 0 where fovy is given")
    cam_intrinsic: Reals = real("ncam,4", "m", "focal lengths along x and y, and offset of the principal point")
    cam_user: Reals = real("ncam,nuser_cam", "any", "user values")

    light_mode: Ints = integer("nlight", "how the light follows: fixed, track, trackcom, targetbody ... (mjtCamLight)")
    light_bodyid: Ints = integer("nlight", "body that carries the light")
    light_targetbodyid: Ints = integer("nlight", "body that the light points at; -1 for none")
    light_type: Ints = integer("nlight", "spot, directional, point or image (mjtLightType)")
    light_castshadow: Flags = flag("nlight", "whether the light casts shadows")
    light_bulbradius: Reals = real("nlight", "m", "radius of the bulb, which softens shadows")
    light_intensity: Reals = real("nlight", "cd", "intensity, for physically based rendering")
    light_range: Reals = real("nlight", "m", "distance that the light reaches")
    light_active: Flags = flag("nlight", "whether the light is on")
    light_attenuation: Reals = real("nlight,3", "1, 1/m, 1/m^2", "coefficients of the loss with distance")
    light_cutoff: Reals = real("nlight", "deg", "half angle of a spotlight's cone")
    light_softness: Reals = real("nlight", "1", "width of a spotlight's soft edge")
    light_exponent: Reals = real("nlight", "1", "how much a spotlight is focused")
    light_ambient: Reals = real("nlight,3", "1", "ambient colour")
    light_diffuse: Reals = real("nlight,3", "1", "diffuse colour")
    light_specular: Reals = real("nlight,3", "1", "specular colour")

    mesh_vertadr: Ints = integer("nmesh", "first vertex in mesh_vert")
    mesh_vertnum: Ints = integer("nmesh", "number of vertices")
    mesh_faceadr: Ints = integer("nmesh", "first triangle in mesh_face")
    mesh_facenum: Ints = integer("nmesh", "number of triangles")
    mesh_normaladr: Ints = integer("nmesh", "first normal in mesh_normal")
    mesh_normalnum: Ints = integer("nmesh", "number of normals")
    mesh_texcoordadr: Ints = integer("nmesh", "first entry in mesh_texcoord; -1 for none")
    mesh_texcoordnum: Ints = integer("nmesh", "number of texture coordinates")
    mesh_graphadr: Ints = integer("nmesh", "where the convex hull starts in mesh_graph; -1 for none")
    mesh_extrema: Ints = integer("nmesh,27", "vertex that is farthest in each of the directions of a 3 x 3 x 3 grid")
    mesh_vert: Reals = real("nmeshvert,3", "m", "vertices of all meshes, each in its mesh's frame")
    mesh_normal: Reals = real("nmeshnormal,3", "1", "normals of all meshes")
    mesh_texcoord: Reals = real("nmeshtexcoord,2", "1", "texture coordinates of all meshes")
    mesh_face: Ints = integer("nmeshface,3", "vertices of each triangle, counted within its mesh")
    mesh_facenormal: Ints = integer("nmeshface,3", "normals at each triangle's corners, counted within its mesh")
    mesh_facetexcoord: Ints = integer("nmeshface,3", "texture coordinates at its corners, counted within its mesh")
    mesh_graph: Ints = integer("nmeshgraph", "convex hulls: counts, vertices, their neighbours, and triangles")
    mesh_scale: Reals = real("nmesh,3", "1", "scaling of the vertices as the file had them")
    mesh_pos: Reals = real("nmesh,3", "m", "translation that brought the mesh to its centre of mass")
    mesh_quat: Reals = real("nmesh,4", "1", "rotation that brought the mesh to its principal axes")
    mesh_polynum: Ints = integer("nmesh", "number of polygons of the convex hull")
    mesh_polyadr: Ints = integer("nmesh", "first of these polygons")
    mesh_polynormal: Reals = real("nmeshpoly,3", "1", "normals of the polygons")
    mesh_polyvertadr: Ints = integer("nmeshpoly", "first corner of the polygon in mesh_polyvert")
    mesh_polyvertnum: Ints = integer("nmeshpoly", "number of corners of the polygon")
    mesh_polyvert: Ints = integer("nmeshpolyvert", "corners of all polygons: vertices counted within their mesh")
    mesh_polymapadr: Ints = integer("nmeshvert", "where the vertex's polygons start in mesh_polymap")
    mesh_polymapnum: Ints = integer("nmeshvert", "number of polygons that meet at the vertex")
    mesh_polymap: Ints = integer("nmeshpolymap", "polygons that meet at each vertex")

    hfield_nrow: Ints = integer("nhfield", "number of rows, along y")
    hfield_ncol: Ints = integer("nhfield", "number of columns, along x")
    hfield_adr: Ints = integer("nhfield", "first point in hfield_data")

    mat_rgba: Reals = real("nmat,4", "1", "colour of the material")

    pair_dim: Ints = integer("npair", "dimension of the pair's contacts: 1, 3, 4 or 6")
    pair_geom1: Ints = integer("npair", "first geom")
    pair_geom2: Ints = integer("npair", "second geom")

    exclude_signature: Ints = integer("nexclude", "the two bodies: the lower id times 2^16, plus the other")

    eq_type: Ints = integer("neq", "type of equality", EqType)
    eq_obj1id: Ints = integer("neq", "first object")
    eq_obj2id: Ints = integer("neq", "second object; -1 for none")
    eq_objtype: Ints = integer("neq", "what the objects are", ObjType)
    eq_active0: Flags = flag("neq", "whether the equality holds at the start")

    tendon_type: Ints = integer("ntendon", "a sum of joints or a path through space", TendonType)
    tendon_adr: Ints = integer("ntendon", "first object of the path in wrap_type")
    tendon_num: Ints = integer("ntendon", "number of objects of the path")
    tendon_matid: Ints = integer("ntendon", "material; -1 for none")
    tendon_actuatorid: Ints = integer("ntendon", "actuator that adds armature and damping; -1 for none")
    tendon_group: Ints = integer("ntendon", "group by which viewers show and hide")
    tendon_plasticadr: Ints = integer("ntendon", "where the tendon's plastic deflection starts; -1 for none")
    tendon_treenum: Ints = integer("ntendon", "number of kinematic trees that the path touches")
    tendon_treeid: Ints = integer("ntendon,2", "the first two of them; -1 for none")
    tendon_limited: Flags = flag("ntendon", "whether tendon_range limits the length")
    tendon_actfrclimited: Flags = flag("ntendon", "whether tendon_actfrcrange limits the total actuator force")
    tendon_user: Reals = real("ntendon,nuser_tendon", "any", "user values")
    tendon_rgba: Reals = real("ntendon,4", "1", "colour where there is no material")

    wrap_type: Ints = integer("nwrap", "type of the object in a tendon's path", WrapType)
    wrap_objid: Ints = integer("nwrap", "the joint, site or geom; -1 for a pulley")

    actuator_trntype: Ints = integer("nactuator", "what the actuator acts on", TrnType)
    actuator_dyntype: Ints = integer("nactuator", "dynamics of its activation", DynType)
    actuator_gaintype: Ints = integer("nactuator", "how force depends on the input", GainType)
    actuator_biastype: Ints = integer("nactuator", "force without input", BiasType)
    actuator_ctrladr: Ints = integer("nactuator", "first control")
    actuator_ctrlnum: Ints = integer("nactuator", "number of controls")
    actuator_ctrlspec: Ints = integer("nactuator", "what its controls mean, by gain type")
    actuator_outadr: Ints = integer("nactuator", "first force")
    actuator_outnum: Ints = integer("nactuator", "number of forces")
    actuator_actadr: Ints = integer("nactuator", "first activation; -1 for none")
    actuator_actnum: Ints = integer("nactuator", "number of activations")
    actuator_trnid: Ints = integer("nactuator,2", "what it acts on: joint, tendon, site or body, and a second; -1 none")
    actuator_actlimited: Flags = flag("nactuator", "whether actuator_actrange limits the activation")
    actuator_actearly: Flags = flag("nactuator", "whether the force uses the activation after the step")
    actuator_history: Ints = integer("nactuator,2", "samples kept of the control, and how they are interpolated")
    actuator_group: Ints = integer("nactuator", "group by which disableactuator switches off")
    actuator_user: Reals = real("nactuator,nuser_actuator", "any", "user values")
    actuator_forcelimited: Flags = flag("nactuator", "whether actuator_forcerange limits the force")
    actuator_ctrllimited: Flags = flag("nu", "whether actuator_ctrlrange limits the control")

    sensor_type: Ints = integer("nsensor", "what is measured", SensorType)
    sensor_datatype: Ints = integer("nsensor", "kind of value: real, positive, axis or quaternion (mjtDataType)")
    sensor_needstage: Ints = integer("nsensor", "stage that it needs: position, velocity or acceleration (mjtStage)")
    sensor_objtype: Ints = integer("nsensor", "what the sensor is attached to (mjtObj)")
    sensor_objid: Ints = integer("nsensor", "the element that it is attached to")
    sensor_reftype: Ints = integer("nsensor", "what it measures against (mjtObj)")
    sensor_refid: Ints = integer("nsensor", "the element that it measures against; -1 for the world")
    sensor_intprm: Ints = integer("nsensor,3", "further integers of the type, such as a contact sensor's data")
    sensor_dim: Ints = integer("nsensor", "number of its values")
    sensor_adr: Ints = integer("nsensor", "first of its values in sensordata")
    sensor_history: Ints = integer("nsensor,2", "samples kept of the reading, and how they are interpolated")
    sensor_user: Reals = real("nsensor,nuser_sensor", "any", "user values")

    numeric_adr: Ints = integer("nnumeric", "first value in numeric_data")
    numeric_size: Ints = integer("nnumeric", "number of values")
    text_adr: Ints = integer("ntext", "first byte in text_data")
    text_size: Ints = integer("ntext", "number of bytes, the final zero included")
    text_data: bytes = text("ntextdata", "all custom texts, each ended by a zero")
    tuple_adr: Ints = integer("ntuple", "first object in tuple_objtype")
    tuple_size: Ints = integer("ntuple", "number of objects")
    tuple_objtype: Ints = integer("ntupledata", "type of each object (mjtObj)")
    tuple_objid: Ints = integer("ntupledata", "id of each object")
    tuple_objprm: Reals = real("ntupledata", "any", "parameter of each object")


class Deduced:
    """What is decided at load from the reals."""

    dof_hasfriction: Flags = flag("nv", "whether the dof has a friction row: its frictionloss was not zero at load")
    tendon_hasfriction: Flags = flag("ntendon", "whether the tendon has a friction row, likewise")


SIZES = fields_of(Sizes)
STATIC = fields_of(Static)
DEDUCED = fields_of(Deduced)
