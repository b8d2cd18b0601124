"""The MJCF language of MuJoCo 4.0 as one table: elements, attributes, types, defaults, enumerations.

One line declares one attribute: `name type [count default...]`.
  name      `!` marks a required attribute, `~` one that default classes do not have
  type      real float int bool text file, enum:NAME flags:NAME, @KIND declares a name, >KIND refers to one
  count     1, 3, 1-3 (missing trailing values keep the default), * (any number)
  default   values; without any, an absent attribute is None

`schema` reads the table; nothing else should. Enumerations that the engine or the compiler compute with are theirs,
in lower case; the others are written here.
"""

from enum import IntEnum

from jaxsim.core.enums import (
    BiasType,
    Cone,
    DataType,
    DisableBit,
    DynType,
    EnableBit,
    GainType,
    GeomType,
    Integrator,
    JointType,
    SleepPolicy,
    Solver,
)
from jaxsim.mjcf.language.enums import Conflict, LRMode, Stage, Tristate


def _words(text: str) -> list[str]:
    return text.split()


def _keywords(text: str, start: int = 0) -> dict[str, int]:
    return {word: i + start for i, word in enumerate(text.split())}


def _members(enum: type[IntEnum]) -> dict[str, int]:
    return {member.name.lower(): int(member) for member in enum}


def _spelt(words: str, enum: type[IntEnum]) -> dict[str, int]:
    """Members under keywords that are not all in lower case."""
    return {word: int(enum[word.upper()]) for word in words.split()}


ENUMS: dict[str, dict[str, int]] = {
    "tristate": _members(Tristate),
    "falseauto": {"false": 0, "auto": 1},
    "angle": _keywords("radian degree"),
    "coordinate": _keywords("local global"),
    "conflict": _members(Conflict),
    "passthrough": _keywords("none textures"),
    "lrmode": _members(LRMode),
    "integrator": _spelt("Euler RK4 implicit implicitfast discrete", Integrator),
    "cone": _members(Cone),
    "jacobian": _keywords("dense sparse auto"),
    "solver": _spelt("PGS CG Newton", Solver),
    "enable": _keywords("disable enable"),
    "sleep": _spelt("auto never allowed init", SleepPolicy),
    "joint": _members(JointType),
    "geom": _members(GeomType),
    "fluidshape": _keywords("none ellipsoid"),
    "camlight": _keywords("fixed track trackcom targetbody targetbodycom"),
    "projection": _keywords("perspective orthographic"),
    "camout": {"rgb": 1, "depth": 2, "distance": 4, "normal": 8, "segmentation": 16},
    "light": _keywords("spot directional point image"),
    "texture": _keywords("2d cube skybox"),
    "colorspace": _keywords("auto linear sRGB"),
    "builtin": _keywords("none gradient checker flat"),
    "mark": _keywords("none edge cross random"),
    "texrole": _keywords("rgb occlusion roughness metallic normal opacity emissive rgba orm", 1),
    "meshinertia": _keywords("convex legacy exact shell"),
    "meshbuiltin": _keywords(
        "none sphere hemisphere cone supertorus supersphere wedge plate grid box cylinder ellipsoid square disc"
    ),
    "dyn": _members(DynType),
    "gain": _members(GainType),
    "bias": _members(BiasType),
    "interp": _keywords("zoh linear cubic"),
    "chart": {"expmap": 1, "quat": 2},
    "frameobj": {"body": 1, "xbody": 2, "geom": 5, "site": 6, "camera": 7},
    "raydata": _keywords("dist dir origin point normal depth"),
    "condata": _keywords("found force torque dist pos normal tangent linvel angvel"),
    "reduce": _keywords("none mindist maxforce netforce"),
    "datatype": _members(DataType),
    "stage": _members(Stage),
    "headlight": {"false": 0, "true": 1, "auto": 2, "0": 0, "1": 1, "2": 2},
}

# mjtObj: the kinds of named things that sensors, tuples and equalities refer to by type
OBJECT_TYPES = _keywords(
    "unknown body xbody joint dof geom site camera light flex mesh skin hfield texture material pair exclude equality "
    "tendon actuator sensor numeric text tuple key"
)

_SOLVER = "0.9 0.95 0.001 0.5 2"
DISABLE_BITS = {bit.name.lower(): int(bit) for bit in DisableBit}
ENABLE_BITS = {bit.name.lower(): int(bit) for bit in EnableBit}

_ORIENTATION = "quat real 4; axisangle real 4; xyaxes real 6; zaxis real 3; euler real 3;"
_ACTUATOR = """
        name @actuator; class >default; group int 1 0; nsample int 1 0; interp enum:interp zoh
        delay real 1 0; ctrlrange real 2 0 0; user real * 0
    """
_CTRLLIMITED = "ctrllimited enum:tristate auto;"
_FORCE = "forcelimited enum:tristate auto; forcerange real 2 0 0;"
_ACT = "actlimited enum:tristate auto; actrange real 2 0 0;"
_MECHANISM = """
        lengthrange~ real 2 0 0; gear real 1-6 1 0 0 0 0 0; damping real 1-3 0 0 0; armature real 1 0
        cranklength real 1 0; joint~ >joint; jointinparent~ >joint; tendon~ >tendon; slidersite~ >site
        cranksite~ >site
    """
_TRANSMISSION = _MECHANISM + "site~ >site; refsite~ >site;"
_SENSOR = """
        name @sensor; nsample int 1 0; interp enum:interp zoh; delay real 1 0; interval real 1-2 0 0
        cutoff real 1 0; noise real 1 0; user real * 0
    """
_FRAME_OBJECT = "objtype! enum:frameobj; objname! >objtype;"
_FRAME_REFERENCE = "reftype enum:frameobj; refname >reftype;"
_TWO_GEOMS = "geom1 >geom; geom2 >geom; body1 >body; body2 >body;"
_EQUALITY = f"""
        name @equality; class >default; active bool true; solref real 1-2 0.02 1; solimp real 1-5 {_SOLVER}
    """
_TENDON = f"""
        name @tendon; class >default; group int 1 0; limited enum:tristate auto
        actuatorfrclimited enum:tristate auto; range real 2 0 0; actuatorfrcrange real 2 0 0
        solreflimit real 1-2 0.02 1; solimplimit real 1-5 {_SOLVER}; solreffriction real 1-2 0.02 1
        solimpfriction real 1-5 {_SOLVER}; frictionloss real 1 0; springlength real 1-2 -1 -1
        springyield real 1 0; margin real 1 0; stiffness real 1-3 0 0 0; damping real 1-3 0 0 0
        armature real 1 0; user real * 0
    """
_SPATIAL = _TENDON + "width real 1 0.003; material >material; rgba float 4 0.5 0.5 0.5 1"
_PLUGIN = "plugin text; instance text;"
_VISUAL = {
    "global": (
        "cameraid orthographic fovy ipd azimuth elevation linewidth glow offwidth offheight realtime "
        "ellipsoidinertia bvactive"
    ),
    "quality": "shadowsize offsamples numslices numstacks numquads",
    "map": (
        "stiffness stiffnessrot force torque alpha fogstart fogend znear zfar haze shadowclip shadowscale "
        "actuatortendon"
    ),
    "scale": (
        "forcewidth contactwidth contactheight connect com camera light selectpoint jointlength jointwidth "
        "actuatorlength actuatorwidth framelength framewidth constraint slidercrank frustum"
    ),
    "rgba": (
        "fog haze force inertia joint actuator actuatornegative actuatorpositive com camera light "
        "selectpoint connect contactpoint contactforce contactfriction contacttorque contactgap "
        "rangefinder constraint slidercrank crankbroken frustum bv bvactive"
    ),
}
_VISUAL_INT = set(_words("cameraid offwidth offheight shadowsize offsamples numslices numstacks numquads"))
_VISUAL_BOOL = set(_words("orthographic ellipsoidinertia bvactive"))


def _visual(section: str) -> str:
    def kind(name: str) -> str:
        if section == "rgba":
            return "float 4"
        return "int 1" if name in _VISUAL_INT else "bool" if name in _VISUAL_BOOL else "float 1"

    return "\n".join(f"{name} {kind(name)}" for name in _VISUAL[section].split())


def _sensor(attributes: str = "") -> str:
    return _SENSOR + attributes


ATTRIBUTES: dict[str, str] = {
    "mujoco": "model text",
    "compiler": """
        autolimits bool true; boundmass real 1 0; boundinertia real 1 0; settotalmass real 1 -1
        balanceinertia bool false; strippath bool false; coordinate enum:coordinate local
        angle enum:angle degree; fitaabb bool false; eulerseq text xyz; meshdir text; texturedir text
        assetdir text; discardvisual bool false; usethread bool true; fusestatic bool false
        inertiafromgeom enum:tristate auto; inertiagrouprange int 2 0 5; saveinertial bool false
        savecompiled bool true; savecanonical bool true; alignfree bool false
        conflict enum:conflict warning; passthrough enum:passthrough none
    """,
    "compiler/lengthrange": """
        mode enum:lrmode muscle; useexisting bool true; uselimit bool false; accel real 1 20
        maxforce real 1 0; timeconst real 1 1; timestep real 1 0.01; inttotal real 1 10; interval real 1 2
        tolrange real 1 0.05
    """,
    "option": f"""
        timestep real 1 0.002; impratio real 1 1; tolerance real 1 1e-8; ls_tolerance real 1 0.01
        noslip_tolerance real 1 1e-6; ccd_tolerance real 1 1e-6; sleep_tolerance real 1 1e-3
        gravity real 3 0 0 -9.81; wind real 3 0 0 0; magnetic real 3 0 -0.5 0; density real 1 0
        viscosity real 1 0; o_margin real 1 0; o_solref real 1-2 0.02 1; o_solimp real 1-5 {_SOLVER}
        o_friction real 1-5 1 1 0.005 0.0001 0.0001; integrator enum:integrator Euler
        cone enum:cone pyramidal; jacobian enum:jacobian auto; solver enum:solver Newton
        iterations int 1 100; ls_iterations int 1 50; noslip_iterations int 1 0; ccd_iterations int 1 35
        sdf_iterations int 1 10; sdf_initpoints int 1 40; actuatorgroupdisable int *
    """,
    "option/flag": "\n".join(f"{name} enum:enable" for name in (*DISABLE_BITS, *ENABLE_BITS)),
    "size": """
        memory text; njmax int 1 -1; nconmax int 1 -1; nstack int 1 -1; nuserdata int 1 0; nkey int 1 0
        nuser_body int 1 -1; nuser_jnt int 1 -1; nuser_geom int 1 -1; nuser_site int 1 -1
        nuser_cam int 1 -1; nuser_tendon int 1 -1; nuser_actuator int 1 -1; nuser_sensor int 1 -1
    """,
    "statistic": """
        meaninertia real 1; meanmass real 1; meansize real 1; extent real 1; center real 3
    """,
    "visual": "",
    "visual/global": _visual("global"),
    "visual/quality": _visual("quality"),
    "visual/headlight": "ambient float 3; diffuse float 3; specular float 3; active enum:headlight",
    "visual/map": _visual("map"),
    "visual/scale": _visual("scale"),
    "visual/rgba": _visual("rgba"),
    "default": "class @default",
    "default/equality": _EQUALITY,
    "default/tendon": _SPATIAL,
    "extension": "",
    "extension/plugin": "plugin! text",
    "extension/instance": "name! @instance",
    "config": "key! text; value! text",
    "plugin": _PLUGIN,
    "asset": "",
    "mesh": """
        name @mesh; class >default; content_type~ text; file~ file; vertex~ float *; normal~ float *
        texcoord~ float *; face~ int *; refpos~ real 3 0 0 0; refquat~ real 4 1 0 0 0; scale real 3 1 1 1
        smoothnormal~ bool false; maxhullvert int 1 -1; inertia enum:meshinertia legacy
        builtin~ enum:meshbuiltin; params~ real *; material~ >material
    """,
    "hfield": """
        name @hfield; content_type text; file file; nrow int 1 0; ncol int 1 0; size! real 4
        elevation float *
    """,
    "skin": """
        name @skin; file file; material >material; rgba float 4 0.5 0.5 0.5 1; inflate float 1 0
        vertex float *; texcoord float *; face int *; group int 1 0
    """,
    "skin/bone": """
        body! >body; bindpos! real 3; bindquat! real 4; vertid! int *; vertweight! float *
    """,
    "texture": """
        name @texture; class >default; type enum:texture cube; colorspace enum:colorspace auto
        content_type~ text; file~ file; gridsize int 2 1 1; gridlayout text; fileright~ file; fileleft~ file
        fileup~ file; filedown~ file; filefront~ file; fileback~ file; builtin enum:builtin none
        rgb1 real 3 0.8 0.8 0.8; rgb2 real 3 0.5 0.5 0.5; mark enum:mark none; markrgb real 3 0 0 0
        random real 1 0.01; width int 1 0; height int 1 0; hflip bool false; vflip bool false
        nchannel int 1 3; embed enum:tristate auto
    """,
    "material": """
        name @material; class >default; texture >texture; texrepeat float 2 1 1; texuniform bool false
        emission float 1 0; specular float 1 0.5; shininess float 1 0.5; reflectance float 1 0
        metallic float 1 -1; roughness float 1 -1; rgba float 4 1 1 1 1
    """,
    "material/layer": "texture! >texture; role! enum:texrole",
    "model": "name @model; file! file; content_type text",
    "worldbody": "",
    "body": f"""
        name @body; childclass >default; pos real 3 0 0 0; {_ORIENTATION}; mocap bool false
        gravcomp real 1 0; sleep enum:sleep auto; simple enum:falseauto auto; fuse enum:falseauto auto
        user real * 0
    """,
    "frame": f"""
        name @frame; childclass >default; pos real 3 0 0 0; {_ORIENTATION}; scale real 1-3 1 1 1
        scaling text; massscale real 1 0
    """,
    "replicate": """
        count! int 1; offset real 3 0 0 0; euler real 3 0 0 0; sep text; childclass >default
    """,
    "attach": "model >model; body text; frame text; prefix! text",
    "inertial": f"""
        pos! real 3; {_ORIENTATION}; mass! real 1; diaginertia real 3; fullinertia real 6
    """,
    "joint": f"""
        name @joint; class >default; type enum:joint hinge; group int 1 0; pos real 3 0 0 0
        axis real 3 0 0 1; springdamper real 2 0 0; limited enum:tristate auto
        actuatorfrclimited enum:tristate auto; solreflimit real 1-2 0.02 1; solimplimit real 1-5 {_SOLVER}
        solreffriction real 1-2 0.02 1; solimpfriction real 1-5 {_SOLVER}; stiffness real 1-3 0 0 0
        range real 2 0 0; actuatorfrcrange real 2 0 0; actuatorgravcomp bool false; margin real 1 0
        ref real 1 0; springref real 1 0; springyield real 1 0; armature real 1 0; damping real 1-3 0 0 0
        frictionloss real 1 0; user real * 0
    """,
    "freejoint": "name @joint; group int 1 0; align enum:tristate auto",
    "geom": f"""
        name @geom; class >default; type enum:geom sphere; contype int 1 1; conaffinity int 1 1
        condim int 1 3; group int 1 0; priority int 1 0; size real 1-3 0 0 0; material >material
        friction real 1-3 1 0.005 0.0001; mass real 1; density real 1 1000; shellinertia bool false
        solmix real 1 1; solref real 1-2 0.02 1; solimp real 1-5 {_SOLVER}; margin real 1 0; gap real 1 0
        surfacevel real 1-6 0 0 0 0 0 0; adhesion real 1 0; fromto real 6; pos real 3 0 0 0; {_ORIENTATION}
        hfield >hfield; mesh >mesh; fitscale real 1 1; rgba float 4 0.5 0.5 0.5 1
        fluidshape enum:fluidshape none; fluidcoef real 1-5 0.5 0.25 1.5 1 1; castshadow bool true
        user real * 0
    """,
    "site": f"""
        name @site; class >default; type enum:geom sphere; group int 1 0; pos real 3 0 0 0; {_ORIENTATION}
        material >material; mesh >mesh; size real 1-3 0.005 0.005 0.005; fromto real 6
        rgba float 4 0.5 0.5 0.5 1; user real * 0
    """,
    "camera": f"""
        name @camera; class >default; projection enum:projection perspective; fovy real 1 45
        ipd real 1 0.068; resolution int 2 1 1; output flags:camout rgb; pos real 3 0 0 0; {_ORIENTATION}
        mode enum:camlight fixed; target~ >body; focal float 2 0 0; focalpixel float 2 0 0
        principal float 2 0 0; principalpixel float 2 0 0; sensorsize float 2 0 0; user real * 0
    """,
    "light": """
        name @light; class >default; directional bool; type enum:light spot; castshadow bool true
        active bool true; pos real 3 0 0 0; dir real 3 0 0 -1; bulbradius float 1 0.02; intensity float 1 0
        range float 1 10; attenuation float 3 1 0 0; cutoff float 1 45; softness float 1 0.2
        exponent float 1 10; ambient float 3 0 0 0; diffuse float 3 0.7 0.7 0.7
        specular float 3 0.3 0.3 0.3; mode enum:camlight fixed; target~ >body; texture~ >texture
    """,
    "pair": f"""
        name @pair; class >default; geom1!~ >geom; geom2!~ >geom; condim int 1 3
        friction real 1-5 1 1 0.005 0.0001 0.0001; solref real 1-2 0.02 1; solreffriction real 1-2 0 0
        solimp real 1-5 {_SOLVER}; gap real 1 0; margin real 1 0; adhesion real 1 0
    """,
    "contact": "",
    "exclude": "name @exclude; body1! >body; body2! >body",
    "tendon": "",
    "spatial": _SPATIAL,
    "spatial/site": "site! >site",
    "spatial/geom": "geom! >geom; sidesite >site",
    "spatial/pulley": "divisor! real 1",
    "fixed": _TENDON,
    "fixed/joint": "joint! >joint; coef! real 1",
    "equality": "",
    "equality/connect": _EQUALITY + "body1 >body; body2 >body; anchor real 3; site1 >site; site2 >site",
    "equality/weld": _EQUALITY
    + """
        body1 >body; body2 >body; relpose real 7 0 1 0 0 0 0 0; anchor real 3 0 0 0; site1 >site
        site2 >site; torquescale real 1 1
    """,
    "equality/joint": _EQUALITY + "joint1! >joint; joint2 >joint; polycoef real 1-5 0 1 0 0 0",
    "equality/tendon": _EQUALITY + "tendon1! >tendon; tendon2 >tendon; polycoef real 1-5 0 1 0 0 0",
    "actuator": "",
    "general": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _ACT
    + _TRANSMISSION
    + """
        body~ >body; actdim int 1; input text; velrange real 2 0 0; ffrange real 2 0 0; inheritrange real 1
        dyntype enum:dyn; gaintype enum:gain; biastype enum:bias; dynprm real 1-10; gainprm real 1-10
        biasprm real 1-10; actearly bool
    """,
    "actuator/plugin": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _ACT
    + _TRANSMISSION
    + "actdim int 1; dyntype enum:dyn; dynprm real 1-10; actearly bool;"
    + _PLUGIN,
    "motor": _ACTUATOR + _CTRLLIMITED + _FORCE + _TRANSMISSION,
    "position": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _TRANSMISSION
    + "inheritrange real 1; kp real 1; kv real 1; dampratio real 1; timeconst real 1",
    "velocity": _ACTUATOR + _CTRLLIMITED + _FORCE + _TRANSMISSION + "kv real 1",
    "intvelocity": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _ACT
    + _TRANSMISSION
    + "inheritrange real 1; kp real 1; kv real 1; dampratio real 1",
    "orientation": _ACTUATOR
    + _FORCE
    + "joint~ >joint; site~ >site; refsite~ >site; kp real 1; kv real 1; dampratio real 1; input text",
    "pid": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _TRANSMISSION
    + """
        posrange real 2; velrange real 2 0 0; ffrange real 2 0 0; inheritrange real 1; kp real 1; kv real 1
        dampratio real 1; ki real 1; imax real 1; slewmax real 1; input text
    """,
    "damper": _ACTUATOR + _FORCE + _TRANSMISSION + "kv real 1",
    "cylinder": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _TRANSMISSION
    + "timeconst real 1; area real 1; diameter real 1; bias real 3",
    "muscle": _ACTUATOR
    + _CTRLLIMITED
    + _FORCE
    + _MECHANISM
    + """
        timeconst real 2; tausmooth~ real 1; range real 2; force real 1; scale real 1; lmin real 1
        lmax real 1; vmax real 1; fpmax real 1; fvmax real 1
    """,
    "adhesion": _ACTUATOR + _FORCE + "body!~ >body; gain real 1",
    "dcmotor": _ACTUATOR
    + _CTRLLIMITED
    + _TRANSMISSION
    + """
        motorconst real 1-2; resistance real 1; nominal real 1-3; saturation real 1-3; inductance real 1-2
        cogging real 1-3; controller real 1-6; thermal real 1-6; lugre real 1-5; input text
    """,
    "sensor": "",
    **{
        f"sensor/{tag}": _sensor("site! >site")
        for tag in _words("touch accelerometer velocimeter gyro force torque magnetometer")
    },
    "sensor/camprojection": _sensor("site! >site; camera! >camera"),
    "sensor/rangefinder": _sensor("site >site; camera >camera; data flags:raydata"),
    **{
        f"sensor/{tag}": _sensor("joint! >joint")
        for tag in _words(
            "jointpos jointvel jointactuatorfrc ballquat ballangvel jointlimitpos jointlimitvel jointlimitfrc"
        )
    },
    **{
        f"sensor/{tag}": _sensor("tendon! >tendon")
        for tag in _words("tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel tendonlimitfrc")
    },
    **{f"sensor/{tag}": _sensor("actuator! >actuator") for tag in _words("actuatorpos actuatorvel actuatorfrc")},
    **{
        f"sensor/{tag}": _sensor(_FRAME_OBJECT + _FRAME_REFERENCE)
        for tag in _words("framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel")
    },
    **{f"sensor/{tag}": _sensor(_FRAME_OBJECT) for tag in ["framelinacc", "frameangacc"]},
    **{f"sensor/{tag}": _sensor("body! >body") for tag in _words("subtreecom subtreelinvel subtreeangmom")},
    "sensor/insidesite": _sensor(_FRAME_OBJECT + "site! >site; enclosed bool false"),
    **{f"sensor/{tag}": _sensor(_TWO_GEOMS) for tag in _words("distance normal fromto")},
    "sensor/contact": _sensor(
        _TWO_GEOMS
        + """
        subtree1 >body; subtree2 >body; site >site; num int 1 1; data flags:condata; reduce enum:reduce none
    """
    ),
    **{f"sensor/{tag}": _sensor() for tag in _words("e_potential e_kinetic clock")},
    "sensor/tactile": """
        name @sensor; geom! >geom; mesh! >mesh; nsample int 1 0; interp enum:interp zoh; delay real 1 0
        interval real 1-2 0 0; user real * 0
    """,
    "sensor/plugin": """
        name @sensor; objtype text; objname >objtype; reftype text; refname >reftype; cutoff real 1 0
        user real * 0;
    """
    + _PLUGIN,
    "sensor/user": """
        name @sensor; objtype text; objname >objtype; datatype enum:datatype real; needstage enum:stage acc
        dim! int 1; cutoff real 1 0; noise real 1 0; user real * 0
    """,
    "custom": "",
    "numeric": "name! @numeric; size int 1; data real *",
    "text": "name! @text; data! text",
    "tuple": "name! @tuple",
    "tuple/element": "objtype! text; objname! >objtype; prm real 1 0",
    "keyframe": "",
    "key": """
        name @key; time real 1 0; qpos real *; qvel real *; act real *; mpos real *; mquat real *
        ctrl real *; plastic real *
    """,
}

ACTUATORS = _words(
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor"
)
_SENSORS = [key for key in ATTRIBUTES if key.startswith("sensor/")]
_TREE = "body* frame* replicate* geom* attach* site* camera* light*"

# children: element -> child elements, `?` at most one
CHILDREN: dict[str, str] = {
    "mujoco": "compiler* option* size* statistic* visual* default* extension* asset* worldbody* contact* "
    "tendon* equality* actuator* sensor* custom* keyframe*",
    "compiler": "compiler/lengthrange?",
    "option": "option/flag?",
    "visual": "visual/global? visual/quality? visual/headlight? visual/map? visual/scale? visual/rgba?",
    "default": "default* mesh? texture? material? joint? geom? site? camera? light? pair? "
    "default/equality? default/tendon? " + " ".join(f"{tag}?" for tag in ACTUATORS),
    "extension": "extension/plugin*",
    "extension/plugin": "extension/instance*",
    "extension/instance": "config*",
    "plugin": "config*",
    "asset": "mesh* hfield* skin* texture* material* model*",
    "mesh": "plugin*",
    "skin": "skin/bone*",
    "material": "material/layer*",
    "worldbody": _TREE,
    "body": _TREE + " inertial? joint* freejoint*",
    "frame": _TREE + " inertial? joint* freejoint*",
    "replicate": _TREE + " inertial? joint*",
    "geom": "plugin*",
    "contact": "pair* exclude*",
    "tendon": "spatial* fixed*",
    "spatial": "spatial/site* spatial/geom* spatial/pulley*",
    "fixed": "fixed/joint*",
    "equality": "equality/connect* equality/weld* equality/joint* equality/tendon*",
    "actuator": " ".join(f"{tag}*" for tag in ACTUATORS) + " actuator/plugin*",
    "actuator/plugin": "config*",
    "sensor/plugin": "config*",
    "sensor": " ".join(f"{key}*" for key in _SENSORS),
    "custom": "numeric* text* tuple*",
    "tuple": "tuple/element*",
    "keyframe": "key*",
}

# refused by name: features of MuJoCo that this compiler does not have, and why
REFUSED = {
    "flexcomp": "flexes (deformable bodies) are not supported",
    "deformable": "deformable bodies (flex) are not supported",
    "equality/flex": "flexes (deformable bodies) are not supported",
    "equality/flexstrain": "flexes (deformable bodies) are not supported",
    "equality/flexvert": "MuJoCo 4.0 removed it",
    "equality/distance": "MuJoCo 2.2.2 removed it",
    "composite": "MuJoCo 4.0 removed it",
    "body/plugin": "engine plugins are not supported",
}

# which attributes may or must appear together, per element: (rule, groups of attributes)
RULES: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "size": [("one", ("memory", "nstack")), ("one", ("memory", "njmax"))],
    "mesh": [("one", ("builtin", "file")), ("one", ("builtin", "vertex"))],
    "inertial": [("one", ("fullinertia", "quat", "axisangle", "xyaxes", "zaxis", "euler"))],
    "camera": [("one", ("fovy", "sensorsize"))],
    "light": [("one", ("directional", "type"))],
    "attach": [("one", ("body", "frame"))],
    "equality/connect": [
        ("one", ("site1+site2", "body1+body2+anchor")),
        ("some", ("site1+site2", "body1+anchor")),
        ("all", ("site1", "site2")),
    ],
    "equality/weld": [
        ("one", ("site1+site2", "body1+body2+anchor+relpose")),
        ("some", ("site1+site2", "body1")),
        ("all", ("site1", "site2")),
    ],
    "sensor/rangefinder": [("one", ("site", "camera")), ("some", ("site", "camera"))],
    **{
        f"sensor/{tag}": [
            ("one", ("geom1", "body1")),
            ("some", ("geom1", "body1")),
            ("one", ("geom2", "body2")),
            ("some", ("geom2", "body2")),
        ]
        for tag in _words("distance normal fromto")
    },
    "sensor/contact": [
        ("one", ("geom1", "body1", "subtree1", "site")),
        ("one", ("geom2", "body2", "subtree2")),
    ],
    "sensor/user": [("all", ("objtype", "objname"))],
    "sensor/plugin": [("all", ("objtype", "objname")), ("all", ("reftype", "refname"))],
    **{
        f"sensor/{tag}": [("all", ("reftype", "refname"))]
        for tag in _words("framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel")
    },
}
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
for _key in ("body", "frame", "inertial", "geom", "site", "camera"):
    RULES.setdefault(_key, []).append(("one", ORIENTATIONS))
