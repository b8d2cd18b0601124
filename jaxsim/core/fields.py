"""Every field of Model, Option and Data, declared once: name, dimensions, unit.

Names, shapes and element order are MuJoCo 4.0's (mjmodel.h, mjdata.h). From these tables follow the
allocation of `Data`, the split of `Model` into traced arrays and compiled-in topology, the shape checks
and the memory table of `jaxsim info`.
"""

from typing import NamedTuple


class Field(NamedTuple):
    """One array field: its dimensions (sizes by name like "nv" or "3*nmocap", or integers) and its unit."""

    name: str
    dims: tuple[str | int, ...]
    unit: str

    def shape(self, sizes) -> tuple[int, ...]:
        """Concrete shape, given an object whose attributes are the sizes (nq, nv, nbody ...)."""
        return tuple(d if isinstance(d, int) else _size(d, sizes) for d in self.dims)


def _size(dim: str, sizes) -> int:
    factor, _, name = dim.rpartition("*")
    return int(factor or 1) * int(getattr(sizes, name))


def _table(text: str) -> dict[str, Field]:
    """Parse lines `name dims unit`; dims is comma-separated, `-` for a scalar."""
    fields = {}
    for line in text.strip().splitlines():
        name, dims, *unit = line.split()
        parsed = () if dims == "-" else tuple(int(d) if d.isdigit() else d for d in dims.split(","))
        fields[name] = Field(name, parsed, " ".join(unit))
    return fields


# real-valued parameters of Model: traced, so they can be differentiated, batched and randomised
MODEL_REAL = _table("""
qpos0                   nq            m, rad, 1
qpos_spring             nq            m, rad, 1
body_pos                nbody,3       m
body_quat               nbody,4       1
body_ipos               nbody,3       m
body_iquat              nbody,4       1
body_mass               nbody         kg
body_subtreemass        nbody         kg
body_inertia            nbody,3       kg m^2
body_invweight0         nbody,2       1/kg, 1/(kg m^2)
body_gravcomp           nbody         1
body_margin             nbody         m
jnt_solref              njnt,2        s, 1
jnt_solimp              njnt,5        1
jnt_pos                 njnt,3        m
jnt_axis                njnt,3        1
jnt_stiffness           njnt          N/m, N m/rad
jnt_stiffnesspoly       njnt,2        N/m^2, N/m^3
jnt_springyield         njnt          N, N m
jnt_range               njnt,2        m, rad
jnt_actfrcrange         njnt,2        N, N m
jnt_margin              njnt          m, rad
dof_solref              nv,2          s, 1
dof_solimp              nv,5          1
dof_frictionloss        nv            N, N m
dof_armature            nv            kg, kg m^2
dof_damping             nv            N s/m, N m s/rad
dof_dampingpoly         nv,2          N s^2/m^2
dof_invweight0          nv            1/kg, 1/(kg m^2)
dof_M0                  nv            kg, kg m^2
dof_length              nv            m, 1
geom_solmix             ngeom         1
geom_solref             ngeom,2       s, 1
geom_solimp             ngeom,5       1
geom_size               ngeom,3       m
geom_rbound             ngeom         m
geom_pos                ngeom,3       m
geom_quat               ngeom,4       1
geom_friction           ngeom,3       1, m, m
geom_margin             ngeom         m
geom_gap                ngeom         m
geom_surfacevel         ngeom,6       m/s, rad/s
geom_adhesion           ngeom         N
geom_fluid              ngeom,12      1
site_size               nsite,3       m
site_pos                nsite,3       m
site_quat               nsite,4       1
cam_pos                 ncam,3        m
cam_quat                ncam,4        1
cam_poscom0             ncam,3        m
cam_pos0                ncam,3        m
cam_mat0                ncam,9        1
light_pos               nlight,3      m
light_dir               nlight,3      1
light_poscom0           nlight,3      m
light_pos0              nlight,3      m
light_dir0              nlight,3      1
hfield_size             nhfield,4     m
hfield_data             nhfielddata   1
pair_solref             npair,2       s, 1
pair_solreffriction     npair,2       s, 1
pair_solimp             npair,5       1
pair_margin             npair         m
pair_gap                npair         m
pair_adhesion           npair         N
pair_friction           npair,5       1, 1, m, m, m
eq_solref               neq,2         s, 1
eq_solimp               neq,5         1
eq_data                 neq,12        m, rad, 1
tendon_width            ntendon       m
tendon_solref_lim       ntendon,2     s, 1
tendon_solimp_lim       ntendon,5     1
tendon_solref_fri       ntendon,2     s, 1
tendon_solimp_fri       ntendon,5     1
tendon_range            ntendon,2     m
tendon_actfrcrange      ntendon,2     N
tendon_margin           ntendon       m
tendon_stiffness        ntendon       N/m
tendon_stiffnesspoly    ntendon,2     N/m^2, N/m^3
tendon_damping          ntendon       N s/m
tendon_dampingpoly      ntendon,2     N s^2/m^2
tendon_armature         ntendon       kg
tendon_frictionloss     ntendon       N
tendon_lengthspring     ntendon,2     m
tendon_springyield      ntendon       N
tendon_length0          ntendon       m
tendon_invweight0       ntendon       1/kg
wrap_prm                nwrap         1
actuator_cranklength    nactuator     m
actuator_dynprm         nactuator,10  by dyntype
actuator_gainprm        nactuator,10  by gaintype
actuator_biasprm        nactuator,10  by biastype
actuator_actrange       nactuator,2   1
actuator_delay          nactuator     s
actuator_damping        nactuator     N s/m
actuator_dampingpoly    nactuator,2   N s^2/m^2
actuator_armature       nactuator     kg
actuator_forcerange     nactuator,2   N
actuator_ctrlrange      nu,2          1
actuator_gear           nout,6        1
actuator_acc0           nout          m/s^2
actuator_length0        nout          m
actuator_lengthrange    nout,2        m
sensor_cutoff           nsensor       of the sensor
sensor_noise            nsensor       of the sensor
sensor_delay            nsensor       s
sensor_interval         nsensor,2     s
numeric_data            nnumericdata  1
key_time                nkey          s
key_qpos                nkey,nq       m, rad, 1
key_qvel                nkey,nv       m/s, rad/s
key_act                 nkey,na       1
key_mpos                nkey,3*nmocap m
key_mquat               nkey,4*nmocap 1
key_ctrl                nkey,nu       1
key_plastic             nkey,nplastic m, rad
""")

# real-valued options, traced
OPTION_REAL = _table("""
timestep          - s
impratio          - 1
tolerance         - 1
ls_tolerance      - 1
noslip_tolerance  - 1
ccd_tolerance     - m
sleep_tolerance   - m/s
gravity           3 m/s^2
wind              3 m/s
magnetic          3 T
density           - kg/m^3
viscosity         - Pa s
o_margin          - m
o_solref          2 s, 1
o_solimp          5 1
o_friction        5 1
""")

OPTION_INT = [
    "integrator",
    "cone",
    "jacobian",
    "solver",
    "iterations",
    "ls_iterations",
    "noslip_iterations",
    "ccd_iterations",
    "disableflags",
    "enableflags",
    "disableactuator",
    "sdf_initpoints",
    "sdf_iterations",
]

# statistics of the model, traced
STAT_REAL = _table("""
meaninertia  - kg m^2
meanmass     - kg
meansize     - m
extent       - m
center       3 m
""")

# what a step starts from: the integration state, and the inputs that users set
DATA_STATE = _table("""
time             -          s
qpos             nq         m, rad, 1
qvel             nv         m/s, rad/s
act              na         1
plastic          nplastic   m, rad
qacc_warmstart   nv         m/s^2, rad/s^2
ctrl             nu         1
qfrc_applied     nv         N, N m
xfrc_applied     nbody,6    N, N m
eq_active        neq        bool
mocap_pos        nmocap,3   m
mocap_quat       nmocap,4   1
""")

# what a step computes and people read
DATA_DERIVED = _table("""
xpos             nbody,3    m
xquat            nbody,4    1
xmat             nbody,9    1
xipos            nbody,3    m
ximat            nbody,9    1
xanchor          njnt,3     m
xaxis            njnt,3     1
geom_xpos        ngeom,3    m
geom_xmat        ngeom,9    1
site_xpos        nsite,3    m
site_xmat        nsite,9    1
subtree_com      nbody,3    m
cdof             nv,6       rad, m
cinert           nbody,10   kg m^2, kg m, kg
qM               nv,nv      kg, kg m^2
ten_length       ntendon    m
ten_velocity     ntendon    m/s
actuator_length  nout       m
actuator_velocity nout      m/s
cvel             nbody,6    rad/s, m/s
actuator_force   nout       N
act_dot          na         1/s
qfrc_bias        nv         N, N m
qfrc_passive     nv         N, N m
qfrc_actuator    nv         N, N m
qfrc_smooth      nv         N, N m
qfrc_constraint  nv         N, N m
qfrc_inverse     nv         N, N m
qacc             nv         m/s^2, rad/s^2
qacc_smooth      nv         m/s^2, rad/s^2
sensordata       nsensordata of the sensor
energy           2          J
solver_niter     -          int
solver_converged -          bool
solver_residual  -          1
ncon             -          int
nefc             -          int
warning          7          int
""")

# one slot of the contact buffer
CONTACT = _table("""
dist             nconmax    m
pos              nconmax,3  m
frame            nconmax,9  1
includemargin    nconmax    m
friction         nconmax,5  1, 1, m, m, m
solref           nconmax,2  s, 1
solreffriction   nconmax,2  s, 1
solimp           nconmax,5  1
dim              nconmax    int
geom             nconmax,2  int
""")
