"""Small random models in MJCF: every kind of joint, tendon, actuator, sensor, equality, contact and option by chance."""

import numpy as np

SHAPES = {"sphere": 1, "capsule": 2, "box": 3, "ellipsoid": 3, "cylinder": 2}
COLLIDING = ("sphere", "capsule", "box")  # with closed forms, which agree to rounding
FLAGS = ("frictionloss", "limit", "equality", "spring", "damper", "gravity", "clampctrl", "filterparent", "refsafe")
FLAGS += ("eulerdamp", "contact", "actuation")
FRAME = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel")
AT_SITE = ("touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "rangefinder")
OF_JOINT = ("jointpos", "jointvel", "jointactuatorfrc")
OF_TENDON = ("tendonpos", "tendonvel", "tendonactuatorfrc")
OF_LIMIT = ("limitpos", "limitvel", "limitfrc")
OF_ACTUATOR = ("actuatorpos", "actuatorvel", "actuatorfrc")
OF_BODY = ("subtreecom", "subtreelinvel", "subtreeangmom")


class Writer:
    """One model: what was named so far, and the random numbers."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.bodies: list[str] = []
        self.joints: dict[str, str] = {}  # name: type
        self.geoms: list[str] = []
        self.round: list[str] = []  # geoms that tendons wrap around
        self.sites: list[str] = []
        self.tendons: list[str] = []
        self.wrapping: set[str] = set()
        self.limited: list[tuple[str, str]] = []  # joint or tendon, and its name
        self.actuators: list[str] = []

    def maybe(self, probability: float) -> bool:
        """True by chance."""
        return bool(self.rng.random() < probability)

    def pick(self, values):
        """One of the values."""
        values = list(values)
        return values[int(self.rng.integers(len(values)))]

    def numbers(self, low: float, high: float, count: int = 1) -> str:
        """Numbers between bounds, as an attribute's text."""
        return " ".join(f"{x:.4g}" for x in self.rng.uniform(low, high, count))

    def unit(self) -> str:
        """A direction in space."""
        x = self.rng.standard_normal(3)
        return " ".join(f"{a:.4g}" for a in x / np.linalg.norm(x))

    def some(self, *attributes: tuple[float, str, str]) -> str:
        """Attributes (probability, name, value) by chance."""
        return "".join(f' {name}="{value}"' for p, name, value in attributes if self.maybe(p))

    def solver(self, suffix: str = "") -> str:
        """solref and solimp, in both formats of solref."""
        ref = f"{self.numbers(0.01, 0.1)} {self.numbers(0.3, 1.5)}" if self.maybe(0.7) else self.numbers(-500, -20, 2)
        imp = f"{self.numbers(0.5, 0.9)} {self.numbers(0.9, 0.98)} {self.numbers(0.001, 0.1)} .4 {self.pick((1, 2, 3))}"
        return self.some((0.3, f"solref{suffix}", ref), (0.3, f"solimp{suffix}", imp))

    def span(self, size: float) -> str:
        """A range about zero."""
        return f"{self.numbers(-size, -0.05 * size)} {self.numbers(0.05 * size, size)}"

    def poly(self, size: float) -> str:
        """Coefficients of a spring or damper, of which the higher ones are often absent."""
        return self.numbers(0.1 * size, size, self.pick((1, 1, 2, 3)))

    # the tree

    def joint(self, kind: str) -> str:
        """A joint of a type."""
        name = f"j{len(self.joints)}"
        self.joints[name] = kind
        common = self.some((0.4, "armature", self.numbers(0.01, 0.3)), (0.4, "damping", self.poly(0.5)))
        common += self.some((0.3, "frictionloss", self.numbers(0.05, 0.5)), (0.4, "stiffness", self.poly(5)))
        common += self.solver("friction")
        if kind != "free" and self.maybe(0.5):
            common += f' range="{f"0 {self.numbers(0.2, 1)}" if kind == "ball" else self.span(0.4)}"'
            self.limited.append(("joint", name))
        if kind == "free":
            return f'<joint name="{name}" type="free"{common}/>'
        if kind != "ball":
            common += self.some((0.3, "ref", self.numbers(-0.2, 0.2)))
            common += self.some((0.3, "springref", self.numbers(-0.3, 0.3)), (0.1, "actuatorgravcomp", "true"))
            common += self.some((0.1, "springdamper", f".1 {self.numbers(0.5, 2)}"))
            common += self.some((0.15, "actuatorfrcrange", self.span(2)), (0.1, "springyield", self.numbers(0.1, 1)))
        common += self.solver("limit") + self.some((0.3, "margin", self.numbers(0.01, 0.3)))
        place = f'pos="{self.numbers(-0.1, 0.1, 3)}" axis="{self.unit()}"'
        return f'<joint name="{name}" type="{kind}" {place}{common}/>'

    def geom(self, fluid: bool) -> str:
        """A geom of any shape; those without a closed form against all others touch nothing."""
        name, shape = f"g{len(self.geoms)}", self.pick(SHAPES)
        self.geoms.append(name)
        if shape in ("sphere", "cylinder"):
            self.round.append(name)
        touch = 'contype="0" conaffinity="0"' if shape not in COLLIDING or self.maybe(0.3) else ""
        size = self.numbers(0.04, 0.12, SHAPES[shape])
        more = self.some((0.4, "condim", self.pick((1, 3, 4, 6))), (0.3, "friction", ".5 .02 .01"))
        more += self.solver() + self.some((0.2, "margin", ".02"), (0.2, "gap", ".01"), (0.1, "priority", "1"))
        more += self.some((0.1, "adhesion", "3"), (0.1, "surfacevel", self.numbers(-1, 1, 3)))
        if fluid and self.maybe(0.5):
            more += ' fluidshape="ellipsoid"' + self.some((0.5, "fluidcoef", self.numbers(0.2, 1.5, 5)))
        pose = f'pos="{self.numbers(-0.15, 0.15, 3)}" euler="{self.numbers(-90, 90, 3)}"'
        return f'<geom name="{name}" type="{shape}" size="{size}" {touch} {pose}{more}/>'

    def site(self) -> str:
        """A site on a body."""
        name = f"s{len(self.sites)}"
        self.sites.append(name)
        return (
            f'<site name="{name}" size=".05" pos="{self.numbers(-0.25, 0.25, 3)}" euler="{self.numbers(-90, 90, 3)}"/>'
        )

    def body(self, depth: int, fluid: bool) -> str:
        """A body with joints, geoms, sites, and perhaps children."""
        name = f"b{len(self.bodies)}"
        self.bodies.append(name)
        free = depth == 0 and self.maybe(0.35)
        kinds = ["free"] if free else [self.pick(("hinge", "slide", "ball")) for _ in range(self.pick((0, 1, 1, 1, 2)))]
        if "ball" in kinds:  # after which no rotation may follow
            kinds = ["slide"] * kinds.count("slide") + ["ball"]
        at = self.numbers(-0.3, 0.3, 2) + " " + self.numbers(0.05, 0.3)
        parts = [self.joint(kind) for kind in kinds]
        parts += [self.geom(fluid) for _ in range(self.pick((1, 1, 2)))]
        parts += [self.site() for _ in range(self.pick((1, 1, 2)))]
        while depth < 3 and len(self.bodies) < 5 and self.maybe(0.45):
            parts.append(self.body(depth + 1, fluid))
        more = self.some((0.2, "gravcomp", self.numbers(0.1, 1)), (0.5, "euler", self.numbers(-90, 90, 3)))
        return f'<body name="{name}" pos="{at}"{more}>{"".join(parts)}</body>'

    # what refers to the tree

    def scalar(self) -> list[str]:
        """Hinges and slides."""
        return [name for name, kind in self.joints.items() if kind in ("hinge", "slide")]

    def tendon(self) -> str:
        """A fixed or a spatial tendon."""
        name = f"t{len(self.tendons)}"
        fixed = len(self.scalar()) > 0 and self.maybe(0.35)
        path = self.coupling() if fixed else self.path(name)
        self.tendons.append(name)
        more = self.some((0.4, "stiffness", self.poly(5)), (0.4, "damping", self.poly(0.5)))
        more += self.some((0.3, "frictionloss", self.numbers(0.05, 0.5)))
        more += self.some((0.3, "springlength", self.pick((".1", ".1 .3", "0"))), (0.1, "springyield", ".5"))
        low = self.numbers(-0.3, -0.1) if fixed else self.numbers(0.05, 0.3)
        if self.maybe(0.4):
            more += f' range="{low} {self.numbers(0.35, 0.7)}"' + self.some((0.3, "margin", ".1"))
            self.limited.append(("tendon", name))
        more += self.some((0.15, "actuatorfrcrange", self.span(1))) + self.solver("limit") + self.solver("friction")
        if name not in self.wrapping:
            more += self.some((0.3, "armature", self.numbers(0.01, 0.3)))
        kind = "fixed" if fixed else "spatial"
        return f'<{kind} name="{name}"{more}>{path}</{kind}>'

    def coupling(self) -> str:
        """Joints of a fixed tendon."""
        chosen = self.rng.permutation(self.scalar())[: self.pick((1, 2, 3))]
        return "".join(f'<joint joint="{j}" coef="{self.numbers(-1, 1)}"/>' for j in chosen)

    def path(self, name: str) -> str:
        """Sites, geoms and pulleys of a spatial tendon."""
        sites = [str(s) for s in self.rng.permutation(self.sites)]
        parts = [f'<site site="{sites.pop()}"/>']
        for _ in range(self.pick((1, 1, 2, 3))):
            if len(sites) < 2:
                break
            if self.round and self.maybe(0.6):
                self.wrapping.add(name)
                side = self.some((0.5, "sidesite", self.pick(self.sites)))
                parts.append(f'<geom geom="{self.pick(self.round)}"{side}/>')
            elif len(sites) > 2 and self.maybe(0.3):
                parts.append(f'<site site="{sites.pop()}"/><pulley divisor="2"/><site site="{sites.pop()}"/>')
            parts.append(f'<site site="{sites.pop()}"/>')
        if len(parts) == 1:
            parts.append(f'<site site="{self.sites[0]}"/><site site="{self.sites[-1]}"/>')
        return "".join(parts)

    def target(self, kinds=("joint", "tendon", "site", "crank")) -> str:
        """What an actuator drives."""
        kind, gear = self.pick(kinds), f' gear="{self.numbers(-2, 2)}"'
        full = f' gear="{self.numbers(-1, 1, 6)}"'
        if kind == "tendon" and self.tendons:
            return f'tendon="{self.pick(self.tendons)}"{gear}'
        if kind == "site":
            return f'site="{self.pick(self.sites)}"{full}' + self.some((0.5, "refsite", self.pick(self.sites)))
        if kind == "crank" and len(self.sites) > 1:
            a, b = self.rng.choice(self.sites, 2, replace=False)
            return f'cranksite="{a}" slidersite="{b}" cranklength="{self.numbers(0.3, 1)}"{gear}'
        if not self.joints:
            return f'site="{self.pick(self.sites)}"{full}'
        name = self.pick(self.joints)
        many = self.joints[name] in ("ball", "free")
        return f'{self.pick(("joint", "jointinparent"))}="{name}"{full if many else gear}'

    def actuator(self) -> str:
        """An actuator of any kind."""
        name = f"a{len(self.actuators)}"
        self.actuators.append(name)
        more = f'name="{name}"' + self.some((0.3, "ctrlrange", self.span(1)))
        drive = self.some((0.3, "forcerange", self.span(2)))
        kind = self.pick(("motor", "position", "velocity", "intvelocity", "cylinder", "muscle", "damper", "dcmotor", "pid",
                          "general", "general", "adhesion", "orientation"))  # fmt: skip
        if kind == "adhesion":
            return (
                f'<adhesion name="{name}" body="{self.pick(self.bodies)}" ctrlrange="0 1" gain="{self.numbers(1, 9)}"/>'
            )
        balls = [j for j, k in self.joints.items() if k == "ball"]
        if kind == "orientation" and balls:
            return f'<orientation name="{name}" joint="{self.pick(balls)}" kp="{self.numbers(1, 9)}" kv=".2"/>'
        simple = self.scalar()
        if kind == "general" or (kind == "orientation" and not balls):
            return self.general(more + drive, self.target())
        if not (simple or self.tendons) and kind in ("muscle", "dcmotor", "pid", "intvelocity"):
            kind = "motor"
        servo = f'kp="{self.numbers(1, 9)}"' + self.some((0.5, "kv", self.numbers(0.1, 2)))
        if kind == "position":
            return f"<position {more}{drive} {self.target(('joint', 'tendon', 'crank'))} {servo}/>"
        if kind in ("motor", "velocity", "damper", "cylinder"):
            return self._driven(kind, name, drive)
        along = self.pick([f'joint="{j}"' for j in simple] + [f'tendon="{x}"' for x in self.tendons])
        along += f' gear="{self.numbers(0.3, 2)}"' + self.some((0.3, "damping", self.poly(0.3)))
        along += self.some((0.2, "armature", ".1")) if along.startswith("joint") else ""
        if kind == "muscle":
            prm = self.some((0.3, "tausmooth", ".1"), (0.3, "force", "30"), (0.3, "vmax", "2"), (0.3, "scale", "90"))
            return f'<muscle {more}{drive} {along} lengthrange="{self.numbers(-0.3, 0)} {self.numbers(0.3, 1)}"{prm}/>'
        if kind == "dcmotor":
            prm = self.some(
                (0.4, "inductance", "0 .01"), (0.4, "lugre", "30 .4 .2 .3 .05"), (0.3, "cogging", ".2 6 .3")
            )
            prm += self.some((0.4, "thermal", "3 .5 0 .004 20 25"))
            return f'<dcmotor {more} {along} motorconst=".3" resistance="2"{prm}/>'
        if kind == "pid":
            return (
                f'<pid {more}{drive} {along} {servo} ki=".5"{self.some((0.5, "imax", ".1"), (0.5, "slewmax", "2"))}/>'
            )
        return f'<intvelocity {more}{drive} {along} {servo} actrange="{self.span(1)}"/>'

    def _driven(self, kind: str, name: str, more: str) -> str:
        """An actuator that drives anything."""
        own = {
            "motor": "",
            "velocity": f' kv="{self.numbers(0.1, 2)}"',
            "damper": f' kv="{self.numbers(0.1, 2)}" ctrlrange="0 1"',
            "cylinder": f' timeconst=".1" area="{self.numbers(0.5, 2)}" bias="{self.numbers(-1, 1, 3)}"',
        }[kind]
        return f'<{kind} name="{name}"{more} {self.target()}{own}/>'

    def general(self, more: str, target: str) -> str:
        """An actuator put together of dynamics, gain and bias."""
        dyn = self.pick(("none", "integrator", "filter", "filterexact"))
        own = f' dyntype="{dyn}" dynprm=".1"' if dyn != "none" else ""
        own += self.some((0.4, "actearly", "true"), (0.3, "actrange", self.span(0.5))) if dyn != "none" else ""
        own += self.some((0.5, "gaintype", "affine")) + f' gainprm="{self.numbers(-1, 1, 3)}"'
        own += f' biastype="affine" biasprm="{self.numbers(-1, 1, 3)}"' if self.maybe(0.5) else ""
        return f"<general {more} {target}{own}/>"

    def equality(self) -> str:
        """An equality between what there is."""
        kind, common = self.pick(("connect", "weld", "joint", "tendon")), self.solver()
        poly = f'polycoef="{self.numbers(-0.3, 0.3, 5)}"'
        if kind in ("joint", "tendon"):
            names = self.scalar() if kind == "joint" else self.tendons
            chosen = [str(x) for x in self.rng.permutation(names)[:2]]
            if not chosen:
                return ""
            pair = " ".join(f'{kind}{i + 1}="{x}"' for i, x in enumerate(chosen))
            return f"<{kind} {pair} {poly}{common}/>"
        if len(self.sites) > 1 and self.maybe(0.4):
            a, b = self.rng.choice(self.sites, 2, replace=False)
            return f'<{kind} site1="{a}" site2="{b}"{common}/>'
        chosen = [str(x) for x in self.rng.permutation(self.bodies)[: self.pick((1, 2))]]
        pair = " ".join(f'body{i + 1}="{x}"' for i, x in enumerate(chosen))
        more = self.some((0.5, "torquescale", ".5")) if kind == "weld" else ""
        return f'<{kind} {pair} anchor="{self.numbers(-0.2, 0.2, 3)}"{more}{common}/>'

    def sensor(self) -> str:
        """A sensor of any kind that fits."""
        cut = self.some((0.15, "cutoff", self.numbers(0.05, 1)))
        family = self.pick(
            ("site", "joint", "tendon", "actuator", "frame", "frame", "body", "world", "contact", "ball", "limit")
        )
        if family == "limit" and self.limited:
            of, name = self.pick(self.limited)
            return f'<{of}{self.pick(OF_LIMIT)} {of}="{name}"{cut}/>'
        if family == "joint" and self.scalar():
            return f'<{self.pick(OF_JOINT)} joint="{self.pick(self.scalar())}"{cut}/>'
        if family == "tendon" and self.tendons:
            return f'<{self.pick(OF_TENDON)} tendon="{self.pick(self.tendons)}"{cut}/>'
        if family == "actuator" and self.actuators:
            return f'<{self.pick(OF_ACTUATOR)} actuator="{self.pick(self.actuators)}"{cut}/>'
        balls = [j for j, k in self.joints.items() if k == "ball"]
        if family == "ball" and balls:
            return f'<{self.pick(("ballquat", "ballangvel"))} joint="{self.pick(balls)}"/>'
        if family == "body":
            return f'<{self.pick(OF_BODY)} body="{self.pick(self.bodies)}"{cut}/>'
        if family == "world":
            return f"<{self.pick(('clock', 'e_potential', 'e_kinetic'))}/>"
        if family == "contact":
            return f'<contact geom1="{self.pick(self.geoms)}" data="found force dist" reduce="netforce"/>'
        if family == "frame":
            tag, object_ = self.pick((*FRAME, "framelinacc", "frameangacc")), self.named_frame("obj")
            other = self.named_frame("ref") if tag in FRAME and self.maybe(0.5) else ""
            return f"<{tag} {object_} {other}/>"
        return f'<{self.pick(AT_SITE)} site="{self.pick(self.sites)}"{cut}/>'

    def named_frame(self, role: str) -> str:
        """The object or the reference of a frame sensor."""
        kind = self.pick(("body", "xbody", "geom", "site"))
        name = self.pick({"geom": self.geoms, "site": self.sites}.get(kind, self.bodies))
        return f'{role}type="{kind}" {role}name="{name}"'

    def model(self) -> str:
        """The whole file."""
        fluid = self.maybe(0.25)
        option = f'timestep="{self.pick((".002", ".005"))}" integrator="{self.pick(("Euler", "RK4", "implicit", "implicitfast", "discrete"))}"'
        option += f' cone="{self.pick(("pyramidal", "elliptic"))}" gravity="{self.numbers(-9, 9, 3)}"'
        option += self.some((0.3, "impratio", self.numbers(0.5, 5)), (0.3, "magnetic", self.numbers(-1, 1, 3)))
        if fluid:
            option += f' density="{self.numbers(10, 500)}" viscosity="{self.numbers(0.01, 0.5)}" wind="{self.numbers(-1, 1, 3)}"'
        flags = self.some(*((0.04, flag, "disable") for flag in FLAGS)) + ' energy="enable"'
        world = '<geom name="floor" type="plane" size="3 3 .1"/>' + self.site() if self.maybe(0.8) else self.site()
        while len(self.bodies) < 3 or (len(self.bodies) < 5 and self.maybe(0.4)):
            world += self.body(0, fluid)
        parts = {
            "tendon": [self.tendon() for _ in range(self.pick((0, 1, 2, 3)))],
            "actuator": [self.actuator() for _ in range(self.pick((0, 2, 4, 6)))],
            "equality": [self.equality() for _ in range(self.pick((0, 0, 1, 2)))],
            "sensor": [self.sensor() for _ in range(self.pick((4, 8, 12)))],
        }
        sections = "".join(f"<{tag}>{''.join(lines)}</{tag}>" for tag, lines in parts.items())
        return f"<mujoco><option {option}><flag{flags}/></option><worldbody>{world}</worldbody>{sections}</mujoco>"


def random_model(seed: int) -> str:
    """The MJCF of a random model; the same for the same seed."""
    return Writer(seed).model()
