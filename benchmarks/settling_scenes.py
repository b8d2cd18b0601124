"""MJCF of scenes that come to rest: a stack, piles in a bin, crossed capsules, a height field, a nut on a bolt."""

import numpy as np

GROUND = '<geom type="plane" size="3 3 .1"/>'
DAMPING = 0.02  # N s/m and N m s/rad: what rolls comes to rest
BIN = 0.25  # m, half the width inside
WALL = '<geom type="box" size="{x} {y} .3" pos="{at} .3"/>'


FIRM = 'cone="elliptic" impratio="10"'  # contacts that creep little under load, with HARD
HARD = 'solimp=".98 .99 .001"'


def scene(
    bodies: str, assets: str = "", option: str = "", before: str = "", geom: str = "", roll: float = 0.002
) -> str:
    """A model of some bodies under gravity."""
    return f"""<mujoco><option timestep="0.002" {option}/>{before}<asset>{assets}</asset>
      <default><geom condim="6" friction=".8 .005 {roll}" {geom}/></default>
      <worldbody>{bodies}</worldbody></mujoco>"""


def body(geom: str, pos: tuple, quat: tuple = (1, 0, 0, 0)) -> str:
    """A free body of one geom."""
    at, turn = (" ".join(f"{x:.6f}" for x in v) for v in (pos, quat))
    return f'<body pos="{at}" quat="{turn}"><joint type="free" damping="{DAMPING}"/><geom {geom}/></body>'


def stack(count: int = 10) -> str:
    """Boxes of 0.1 m on each other, each turned a little more than the one below."""
    half = 0.05
    turned = [(np.cos(0.1 * i), 0, 0, np.sin(0.1 * i)) for i in range(count)]
    box = f'type="box" size="{half} {half} {half}"'
    return scene(GROUND + "".join(body(box, (0, 0, half * (2 * i + 1)), quat) for i, quat in enumerate(turned)))


def pile(geoms: list[str], assets: str = "") -> str:
    """Bodies dropped into a bin at random attitudes, four in a layer."""
    rng, side = np.random.default_rng(0), BIN + 0.05
    walls = [((0.05, side), (s * side, 0)) for s in (-1, 1)] + [((side, 0.05), (0, s * side)) for s in (-1, 1)]
    fixed = "".join(WALL.format(x=x, y=y, at=f"{a} {b}") for (x, y), (a, b) in walls)
    quat = rng.normal(size=(len(geoms), 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    place = [(-0.5 + i % 2, -0.5 + i // 2 % 2, 0.6 + i // 4) for i in range(len(geoms))]
    place = 0.22 * np.array(place) + rng.uniform(-0.01, 0.01, (len(geoms), 3))
    bodies = "".join(body(g, tuple(p), tuple(q)) for g, p, q in zip(geoms, place, quat))
    return scene(GROUND + fixed + bodies, assets, FIRM, geom=HARD)


def meshes(count: int = 20) -> str:
    """Convex stones of four shapes, each the hull of 16 points."""
    rng, assets = np.random.default_rng(1), ""
    for k in range(4):
        points = rng.normal(size=(16, 3))
        points *= [0.09, 0.08, 0.06] / np.linalg.norm(points, axis=1, keepdims=True)
        assets += f'<mesh name="stone{k}" vertex="{" ".join(f"{x:.4f}" for x in points.ravel())}"/>'
    return pile([f'type="mesh" mesh="stone{i % 4}"' for i in range(count)], assets)


def cylinders(count: int = 20) -> str:
    """Discs, cans and rods."""
    sizes = (".08 .03", ".06 .06", ".035 .08")
    return pile([f'type="cylinder" size="{sizes[i % 3]}"' for i in range(count)])


def ellipsoids(count: int = 20) -> str:
    """Pebbles of three shapes."""
    sizes = (".09 .08 .05", ".06 .06 .09", ".08 .06 .06")
    return pile([f'type="ellipsoid" size="{sizes[i % 3]}"' for i in range(count)])


def jenga(layers: int = 8) -> str:
    """Layers of three capsules, each across the one below; with less rolling friction they walk, in MuJoCo C too."""
    radius, bodies = 0.03, ""
    s = np.sqrt(0.5)
    for i in range(layers):
        for k in (-1, 0, 1):
            away = 2.2 * radius * k
            pos, quat = ((away, 0), (s, s, 0, 0)) if i % 2 else ((0, away), (s, 0, s, 0))
            bodies += body(f'type="capsule" size="{radius} .09"', (*pos, radius * (2 * i + 1)), quat)
    return scene(GROUND + bodies, geom=HARD, roll=0.01)


def field() -> str:
    """A ball and a box that come to rest in the hollow of a height field; the box falls almost flat."""
    x, y = np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21))
    height = 0.5 * (x**2 + y**2) + 0.05 * np.cos(7 * x) * np.cos(6 * y)
    height = (height - height.min()) / np.ptp(height)
    values = " ".join(f"{v:.4f}" for v in height.ravel())
    asset = f'<hfield name="hollow" nrow="21" ncol="21" size="1 1 .4 .1" elevation="{values}"/>'
    ball = body('type="sphere" size=".1"', (-0.3, 0.1, 0.4))
    box = body('type="box" size=".1 .08 .06"', (0.3, 0.05, 0.4), (1, 0.05, 0, 0.3))
    return scene('<geom type="hfield" hfield="hollow"/>' + ball + box, asset, FIRM, geom=HARD)


def nut() -> str:
    """A nut that friction holds on the thread of a bolt."""
    plugins, meshes = "", ""
    for name, radius in (("nut", 0.26), ("bolt", 0.255)):
        plugins += f"""<plugin plugin="mujoco.sdf.{name}"><instance name="{name}">
          <config key="radius" value="{radius}"/></instance></plugin>"""
        meshes += f'<mesh name="{name}"><plugin instance="{name}"/></mesh>'
    geom = '<geom type="sdf" mesh="{0}" solref=".01 1"><plugin instance="{0}"/></geom>'
    bodies = f"""<body pos="0 0 .83" quat="0 1 0 0"><joint type="free" damping="1"/>{geom.format("nut")}</body>
      <body quat="0 1 0 0">{geom.format("bolt")}</body>"""
    return scene(bodies, meshes, 'sdf_iterations="10" sdf_initpoints="20"', f"<extension>{plugins}</extension>")


SCENES = {
    "stack of 10 boxes": stack,
    "20 meshes": meshes,
    "20 cylinders": cylinders,
    "20 ellipsoids": ellipsoids,
    "capsule Jenga": jenga,
    "ball and box on a height field": field,
    "nut on bolt": nut,
}
