"""Meshes of signed distance plugins: their surfaces, and the models that hold them, equal MuJoCo's."""

import numpy as np
import pytest

from jaxsim.mjcf import MjcfError, compile_mjcf
from jaxsim.mjcf.assets.marching_cubes import marching_cubes

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

CASES = {
    "torus": {"radius1": ".3", "radius2": ""},
    "bowl": {"height": ".5"},
    "bolt": {},
    "nut": {"radius": ".24"},
    "gear": {"alpha": "15", "teeth": "20", "innerdiameter": ".5"},
}


def model(
    kind, config="", geom='<geom type="sdf" mesh="m"><plugin instance="i"/></geom>', mesh='<plugin instance="i"/>'
):
    return f"""<mujoco>
  <extension><plugin plugin="mujoco.sdf.{kind}"><instance name="i">{config}</instance></plugin></extension>
  <asset><mesh name="m">{mesh}</mesh></asset>
  <worldbody><body pos="1 2 3"><freejoint/>{geom}</body></worldbody>
</mujoco>"""


def written(config):
    return "".join(f'<config key="{key}" value="{value}"/>' for key, value in config.items())


@pytest.mark.parametrize("kind", CASES)
def test_mesh_and_body_are_those_of_mujoco(kind):
    text = model(kind, written(CASES[kind]))
    ours, theirs = compile_mjcf(text), mujoco.MjModel.from_xml_string(text)
    for name in ("mesh_vert", "mesh_face", "mesh_pos", "mesh_quat", "geom_type", "geom_dataid", "geom_quat"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat", "geom_size", "geom_rbound", "geom_pos"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), 1e-9, 1e-12, err_msg=name)


def test_plugin_without_instance():
    geom = '<geom type="mesh" mesh="m"/>'
    text = model("torus", "", geom, f'<plugin plugin="mujoco.sdf.torus">{written({"radius2": ".1"})}</plugin>')
    ours, theirs = compile_mjcf(text), mujoco.MjModel.from_xml_string(text)
    np.testing.assert_array_equal(ours.mesh_vert, theirs.mesh_vert)
    np.testing.assert_allclose(ours.body_inertia, theirs.body_inertia, 1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (model("torus", written({"radius": "1"})), "unknown key 'radius'; expected one of radius1, radius2"),
        (model("torus", written({"radius1": ".3abc"})), "radius1='.3abc' is not a number"),
        (model("torus", written({"radius1": "1"}) * 2), "the key 'radius1' is repeated"),
        (model("torus", '<config key="radius1"/>'), "attribute 'value' is missing"),
        (model("torus", mesh='<plugin instance="j"/>'), "no plugin instance is called 'j'"),
        (model("torus", mesh='<plugin plugin="mujoco.sdf.bowl"/>'), "'mujoco.sdf.bowl' is not declared"),
        (model("torus", mesh="<plugin/>"), "one of these must be given: plugin, instance"),
        (model("torus", written({"radius2": "-1"})), "0 vertices; expected at least 4"),
        (model("dough"), "engine plugin 'mujoco.sdf.dough' is not supported"),
    ],
)
def test_errors(text, expected):
    with pytest.raises(ValueError, match=r"\w"):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(MjcfError) as error:
        compile_mjcf(text)
    assert expected in str(error.value)


def test_surface_of_a_ball_is_closed_and_faces_outward():
    grid = np.stack(np.meshgrid(*[np.arange(14.0)] * 3, indexing="ij"))
    vert, normal, face = marching_cubes(np.linalg.norm(grid - 6.3, axis=0) - 4.1)
    np.testing.assert_allclose(np.linalg.norm(vert - 6.3, axis=1), 4.1, atol=0.05)  # linear between grid points
    edge = np.sort(np.concatenate([face[:, [0, 1]], face[:, [1, 2]], face[:, [2, 0]]]), axis=1)
    assert np.all(np.unique(edge, axis=0, return_counts=True)[1] == 2)
    assert np.all(np.sum(normal * (vert - 6.3), axis=1) > 0)
