"""The HTML player: poses survive the packing, the page needs nothing outside, and a browser draws it."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from jaxsim.viewer import Contacts, Trajectory, write_player
from jaxsim.viewer.contacts import add_contacts, read_contacts
from jaxsim.viewer.encode import Buffers, accumulate, add_poses, difference, read_poses, unpack
from jaxsim.viewer.html import build_scene

RNG = np.random.default_rng(0)


def walk(steps=120, worlds=3, bodies=4):
    """A smooth random motion; body 0 stays at the origin, as the world body does."""
    time = np.arange(steps) * 0.01
    phase = RNG.uniform(0, 6, (worlds, bodies, 3))
    xpos = np.sin(2 * time[:, None, None, None] + phase) + time[:, None, None, None] * [20.0, 0, 0]
    xquat = np.cos(3 * time[:, None, None, None] + RNG.uniform(0, 6, (worlds, bodies, 4)))
    xpos[:, :, 0], xquat[:, :, 0] = 0, [1, 0, 0, 0]
    xquat /= np.linalg.norm(xquat, axis=-1, keepdims=True)
    return Trajectory(
        time, xpos, xquat, {"energy": RNG.standard_normal((steps, worlds))}, contacts=touches(steps, worlds)
    )


def touches(steps, worlds):
    """Up to five contacts in each world and frame, three in each world of the last one."""
    count = RNG.integers(0, 6, (steps, worlds))
    count[-1] = 3
    normal = RNG.standard_normal((steps, worlds, 5, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    pos, force = RNG.standard_normal((2, steps, worlds, 5, 3))
    return Contacts(count, pos, normal, 10 * force)


def toy_model():
    """One geom of every shape, all on moving bodies but the floor and the height field."""
    shapes = [0, 2, 3, 4, 5, 6, 7, 1]
    n = len(shapes)
    size = [[0, 0, 1], [0.3, 0, 0], [0.1, 0.3, 0], [0.1, 0.2, 0.3], [0.2, 0.1, 0], [0.2, 0.1, 0.3]]
    return SimpleNamespace(
        geom_type=np.array(shapes),
        geom_bodyid=np.array([0, 1, 2, 3, 1, 2, 3, 0]),
        geom_size=np.array([*size, [0.2, 0.2, 0.2], [2, 1, 0.5]]),
        geom_pos=np.zeros((n, 3)),
        geom_quat=np.tile([1.0, 0, 0, 0], (n, 1)),
        geom_rgba=RNG.uniform(0.2, 1, (n, 4)),
        geom_group=np.array([0, 0, 1, 2, 3, 0, 0, 0]),
        geom_dataid=np.array([-1] * 6 + [1, 0]),
        # the second of two meshes is a tetrahedron
        mesh_vert=np.array([[9.0, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        mesh_face=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        mesh_vertadr=np.array([0, 1]),
        mesh_vertnum=np.array([1, 4]),
        mesh_faceadr=np.array([0, 0]),
        mesh_facenum=np.array([0, 4]),
        hfield_data=np.array([0, 0.5, 1, 0.25, 0, 0]),
        hfield_adr=np.array([0]),
        hfield_nrow=np.array([2]),
        hfield_ncol=np.array([3]),
        hfield_size=np.array([[2, 1, 0.5, 0.1]]),
    )


def test_differences_undo_exactly():
    values = RNG.integers(-32768, 32768, (50, 2, 7)).astype(np.int16)
    np.testing.assert_array_equal(accumulate(difference(values)), values.reshape(50, 14))


def test_poses_round_trip_within_the_quantum():
    clip = walk()
    buffers = Buffers()
    add_poses(buffers, clip.xpos, clip.xquat)
    xpos, xquat = read_poses(unpack(buffers.index, buffers.packed()))
    span = np.ptp(clip.xpos, axis=0).max()
    assert np.abs(xpos - clip.xpos).max() <= 0.51 * span / 65535 + 2e-6
    turn = np.abs(np.sum(xquat * clip.xquat, axis=-1))
    assert 1 - turn.min() < 1e-4
    # signs are continuous, so that the page may interpolate
    assert np.sum(xquat[1:] * xquat[:-1], axis=-1).min() > 0


def test_contacts_round_trip_within_their_quanta():
    contacts = touches(7, 2)
    contacts.pos[0, 0, 0] = np.nan  # cannot be drawn
    contacts.count[0, 0] = 2
    buffers = Buffers()
    add_contacts(buffers, contacts)
    count, pos, normal, force = read_contacts(unpack(buffers.index, buffers.packed()))
    used = np.arange(5) < contacts.count[..., None]
    used[0, 0, 0] = False
    np.testing.assert_array_equal(count, used.sum(-1))
    np.testing.assert_allclose(pos, contacts.pos[used], atol=1e-4)
    np.testing.assert_allclose(normal, contacts.normal[used], atol=0.5 / 127 + 1e-6)
    np.testing.assert_allclose(force, contacts.force[used], atol=1e-3)
    with pytest.raises(ValueError, match=r"contacts: force has shape \[7, 2, 4, 3\]; expected \[7, 2, 5, 3\]"):
        Contacts(contacts.count, contacts.pos, contacts.normal, contacts.force[:, :, 1:]).check(7, 2)


def test_invalid_poses_become_drawable():
    clip = walk()
    clip.xpos[5, 0, 1], clip.xquat[7, 1, 2] = np.nan, 0
    buffers = Buffers()
    add_poses(buffers, clip.xpos, clip.xquat)
    xpos, xquat = read_poses(unpack(buffers.index, buffers.packed()))
    assert np.isfinite(xpos).all()
    np.testing.assert_allclose(np.abs(xquat[7, 1, 2]), [1, 0, 0, 0])


def test_only_what_moves_is_stored():
    scene, packed = build_scene(toy_model(), replace(walk(), contacts=None), ["world", "a", "b", "c"])
    assert scene["moving"] == [1, 2, 3]
    assert scene["buffers"]["position"]["shape"] == [2, 3 * 3 * 3, 120]
    shapes = ["plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "mesh"]
    assert [g["shape"] for g in scene["geoms"]] == shapes
    # 7 numbers of 2 bytes each, before base64
    assert len(packed) < 1.34 * (120 * 9 * 14 + 4 * 120 * 4 + 800)


def test_a_single_frame_where_nothing_moves():
    clip = walk(steps=1, worlds=1)
    scene, packed = build_scene(toy_model(), clip)
    assert scene["moving"] == [3]
    xpos, _ = read_poses(unpack(scene["buffers"], packed))
    np.testing.assert_allclose(xpos[0, 0, 0], clip.xpos[0, 0, 3], atol=1e-6)
    np.testing.assert_allclose(scene["fixed"][1][:3], clip.xpos[0, 0, 1], atol=1e-5)


def test_meshes_and_height_fields_become_triangles():
    scene, packed = build_scene(toy_model(), walk())
    arrays = unpack(scene["buffers"], packed)

    def points(name):
        low, span = arrays[f"{name}_box"].reshape(2, 3)
        return low + span * arrays[f"{name}_vert"] / 65535

    np.testing.assert_allclose(points("mesh1"), toy_model().mesh_vert[1:], atol=1e-5)
    np.testing.assert_array_equal(arrays["mesh1_face"], toy_model().mesh_face)
    corners = [[-2, -1, 0], [0, -1, 0.25], [2, -1, 0.5], [-2, 1, 0.125], [0, 1, 0], [2, 1, 0]]
    np.testing.assert_allclose(points("hfield0"), corners, atol=1e-4)
    a, b, c = (points("hfield0")[arrays["hfield0_face"][:, k]] for k in range(3))
    assert len(a) == 4 and np.all(np.cross(b - a, c - a)[:, 2] > 0)


def test_subsampling_keeps_the_rate_and_the_end():
    clip = walk(steps=118).subsample(50)
    np.testing.assert_allclose(np.diff(clip.time)[:-1], 0.02)
    assert clip.time[-1] == pytest.approx(1.17) and clip.channels["energy"].shape == (60, 3)
    assert len(walk().subsample(1000).time) == 120


def test_shapes_are_checked():
    good = walk()
    with pytest.raises(ValueError, match=r"xquat has shape \[120, 3, 4, 3\]; expected \[120, 3, 4, 4\]"):
        Trajectory(good.time, good.xpos, good.xquat[..., :3])
    with pytest.raises(ValueError, match="increasing"):
        Trajectory(good.time[::-1], good.xpos, good.xquat)
    with pytest.raises(ValueError, match="channel 'energy' has shape"):
        Trajectory(good.time, good.xpos, good.xquat, {"energy": np.zeros(3)})


class Tags(HTMLParser):
    """Collects element names, addresses in attributes, and the text of elements with an id."""

    def __init__(self):
        super().__init__()
        self.addresses, self.text, self.names, self._open = [], {}, [], None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names.append(tag)
        self.addresses += [attrs[k] for k in ("src", "href", "action") if k in attrs]
        self._open = attrs.get("id") or tag

    def handle_data(self, data):
        self.text[self._open] = self.text.get(self._open, "") + data


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    path = tmp_path_factory.mktemp("player") / "a clip.html"
    hostile = 'walk </script><script>alert(1)</script> & "{{style}}"'
    clip = walk()
    names = ["world", "</script>", "b", "c"]
    assert write_player(path, toy_model(), clip, title=hostile, subtitle="3 < 4", body_names=names) == path
    return path, clip, hostile


def test_page_is_self_contained_and_escaped(player):
    path, _, hostile = player
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//cdn|import\s*\(|fetch\(|XMLHttpRequest|WebSocket", page)
    tags = Tags()
    tags.feed(page)
    assert tags.addresses == ["data:,"]
    assert tags.names.count("script") == 3 and "img" not in tags.names
    assert tags.text["h1"].strip() == hostile
    assert json.loads(tags.text["scene"])["bodies"][1] == "</script>"
    assert "default-src 'none'" in page


def test_every_control_has_a_name(player):
    page = player[0].read_text(encoding="utf-8")
    for button in re.findall(r"<button([^>]*)>(.*?)</button>", page):
        assert "aria-label=" in button[0] or not button[1].startswith("<svg"), button
    for field in re.findall(r"(<label[^>]*>[^<]*)?<(?:input|select)([^>]*)>", page):
        assert field[0] or "aria-label=" in field[1], field


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-background-networking", "--virtual-time-budget=20000",
)  # fmt: skip


# press keys one after the other and note what each has changed
KEYS = """
<output id="keys"></output>
<script>
const seen = [];
const get = (id) => document.getElementById(id);
function look() {
  return [
    parseFloat(get("clock").textContent), get("colouring").value, get("world").value, get("speed").value,
    document.documentElement.className, get("plots").hidden, document.body.className, get("follow").checked, get("contacts").checked,
  ];
}
function press(key) {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  seen.push(look());
}
function start() {
  if (!get("selfcheck").textContent) return setTimeout(start, 100);
  const keys = ["Home", "ArrowRight", "ArrowRight", ",", "End", "c", "2", "a", "[", "d", "p", "f", "t", " "];
  keys.forEach(press);
  get("keys").textContent = JSON.stringify(seen);
}
start();
</script>
"""


@pytest.fixture(scope="module")
def drawn(player, tmp_path_factory):
    """The elements' texts after a browser has run the self-check, and then the keys above."""
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    page.write_text(player[0].read_text(encoding="utf-8").replace("</body>", KEYS + "</body>"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "--dump-dom"]
    done = subprocess.run(
        [*command, f"{page.as_uri()}#selfcheck&theme=light&plots=1&contacts"],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    tags = Tags()
    tags.feed(done.stdout)
    return tags.text


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the path")
def test_a_browser_draws_it(player, drawn):
    clip = player[1]
    report = json.loads(drawn["selfcheck"])
    assert "error" not in report, report
    assert report["glError"] == 0
    assert (report["frames"], report["worlds"]) == (61, 3)
    # one floor for all, and of the seven solids in each world the six that are not in group 3
    assert report["instances"] == 1 + 3 * 6
    assert report["marks"] == [9, 9]  # a disc and an arrow for each of three contacts in each world
    assert min(report["colours"]) > 20, "the middle of the picture is nearly blank"
    root = json.loads(drawn["scene"])["root"]
    end = np.concatenate([clip.xpos[-1, -1, root], clip.xquat[-1, -1, root]])
    shown = np.array(report["finalRootPose"])
    shown[3:] *= np.sign(shown[3:] @ end[3:])
    np.testing.assert_allclose(shown, end, atol=1e-3)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the path")
def test_the_keyboard_works(drawn):
    home, right, second, left, end, colour, world, every, slow, dark, plots, follow, touch, play = json.loads(
        drawn["keys"]
    )
    assert [home[0], right[0], second[0], left[0], end[0]] == [0, 0.02, 0.04, 0.02, 1.19]
    assert (end[1], colour[1]) == ("model", "body")
    assert (end[2], world[2], every[2]) == ("-1", "2", "-1")
    assert (every[3], slow[3]) == ("1", "0.5")
    assert (slow[4], dark[4]) == ("", "dark")
    assert (dark[5], plots[5]) == (False, True)
    assert (plots[7], follow[7]) == (True, False)
    assert (follow[8], touch[8]) == (True, False)
    assert (follow[6], play[6]) == ("", "playing")
