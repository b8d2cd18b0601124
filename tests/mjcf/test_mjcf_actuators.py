"""Actuator shortcuts and their default classes: random combinations equal MuJoCo's general actuators."""

import random
import re

import pytest
from test_mjcf_oracle import differences, oracle

from jaxsim.mjcf import MjcfError, compile_mjcf

BODY = """
  <worldbody>
    <body name="b">
      <joint name="j" range="-1 2"/><geom size="1"/><site name="s"/>
      <body><joint name="k" type="ball"/><geom size=".3"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="t" range="1 3"><joint joint="j" coef="1"/></fixed></tendon>"""

ATTRIBUTES = {
    "general": """
      gainprm="3 1 2" | biasprm="1 2 -1" | dyntype="filter" | dynprm=".3 .1" | gaintype="affine" |
      biastype="affine" | ctrlrange="-1 1" | actearly="true" | gear="2 3" | group="2" | user="1 2" |
      actrange="-1 1" dyntype="integrator" | delay=".1" nsample="3" interp="linear" | armature=".1" |
      damping="1 2" | input="pos" | gaintype="pid" biastype="affine" | dyntype="user" actdim="3" |
      inheritrange="1" biasprm="0 -1" biastype="affine" |
      gaintype="muscle" biastype="muscle" dyntype="muscle" """,
    "motor": 'gear="3" | ctrlrange="-2 2" | forcerange="-1 1"',
    "position": """
      kp="30" | kv="2" | dampratio=".7" | timeconst=".1" | inheritrange="1" | ctrlrange="-1 1" |
      timeconst="0" """,
    "velocity": 'kv="3" | forcelimited="true" forcerange="-1 1"',
    "intvelocity": 'kp="5" | kv="3" | dampratio="1" | actrange="-1 1" | inheritrange=".5"',
    "damper": 'kv="2" | ctrlrange="0 2"',
    "cylinder": 'timeconst=".3" | area="2" | diameter="3" | bias="1 2 3"',
    "muscle": """
      timeconst=".02 .03" | range=".6 1.2" | force="100" | scale="300" | lmin=".4" | lmax="1.7" | vmax="2" |
      fpmax="1.4" | fvmax="1.3" """,
    "adhesion": 'gain="3" | ctrlrange="0 2"',
    "orientation": 'kp="3" | kv="2" | dampratio="1" | input="quat"',
    "pid": """
      kp="3" | kv="1" | dampratio=".5" | ki="2" | imax="3" | slewmax="1" | input="pos vel ff" | input="vel" |
      posrange="-1 1" | velrange="-2 2" | ffrange="-3 3" | inheritrange="1" """,
    "dcmotor": """
      motorconst="1" | motorconst=".5 .6" | resistance="2" | nominal="12 1 100" | saturation="1 2 3" |
      saturation="0 2" | inductance=".01" | inductance="0 .02" | cogging="1 2 3" | controller="1 2 3 4 5 6" |
      controller="1" | thermal="1 2 0 .1 20 25" | thermal="0 2 3" | lugre="1 2 3 4 5" | input="pos vel" |
      input="none" | input="voltage" """,
}
# what an element needs to be valid, most of the time
NEEDED = {
    "muscle": {"lengthrange": "1 2"},
    "damper": {"ctrlrange": "0 1"},
    "adhesion": {"ctrlrange": "0 1"},
    "dcmotor": {"motorconst": "1", "resistance": "2"},
}
TARGETS = {"adhesion": ['body="b"'], "orientation": ['joint="k"']}


def element(rng: random.Random, tag: str, in_default: bool) -> str:
    """A random actuator element without its target."""
    choices = [choice.strip() for choice in ATTRIBUTES[tag].split("|")]
    picked = rng.sample(choices, min(len(choices), rng.choice([0, 1, 1, 2, 3])))
    values = {name: value for choice in picked for name, value in re.findall(r'(\w+)="([^"]*)"', choice)}
    if not in_default and rng.random() < 0.8:
        values = NEEDED.get(tag, {}) | values
    return f"<{tag} " + " ".join(f'{name}="{value}"' for name, value in values.items())


def random_model(rng: random.Random) -> str:
    """One actuator in a random class of a random hierarchy of default classes."""
    tag = rng.choice(list(ATTRIBUTES))

    def class_defaults() -> str:
        related = [tag, "general"] if rng.random() < 0.5 else list(ATTRIBUTES)
        tags = rng.sample(related, rng.choice([0, 1, 1, 2]))
        return "".join(element(rng, t, True) + "/>" for t in tags)

    target = rng.choice(TARGETS.get(tag, ['joint="j"', 'tendon="t"']))
    cls = rng.choice(["", 'class="a"', 'class="c"'])
    return f"""<mujoco>
      <default>{class_defaults()}
        <default class="a">{class_defaults()}<default class="c">{class_defaults()}</default></default>
      </default>{BODY}
      <actuator>{element(rng, tag, False)} {target} {cls}/></actuator>
    </mujoco>"""


@pytest.mark.parametrize("seed", range(6))
def test_random_actuators(seed):
    rng = random.Random(seed)
    compared = 0
    for _ in range(50):
        text = random_model(rng)
        try:
            expected = oracle(text)
        except ValueError:
            expected = None
        try:
            compiled = compile_mjcf(text)
        except MjcfError:
            compiled = None
        assert (compiled is None) == (expected is None), text
        if compiled is not None:
            compared += 1
            assert differences(compiled, expected) == {}, text
    assert compared > 15


def test_a_shortcut_does_not_inherit_the_parameters_of_another():
    m = compile_mjcf(f"""<mujoco>
      <default><position kp="7"/><default class="v"><velocity kv="3" ctrlrange="-1 1"/></default></default>
      {BODY}
      <actuator><motor joint="j"/><position joint="j" class="v"/><general joint="j"/></actuator>
    </mujoco>""")
    assert m.actuator_gainprm[:, 0].tolist() == [1.0, 7.0, 7.0]
    assert m.actuator_ctrllimited.tolist() == [False, True, False]


def test_a_rod_is_looked_up_by_actuator_not_by_output():
    """An orientation actuator has three outputs, so outputs and actuators are counted apart after it."""
    scene = """<mujoco><worldbody>
      <body><joint name="ball" type="ball"/><geom size=".1 .2" type="capsule"/></body>
      <body pos="1 0 0"><joint axis="0 1 0"/><geom size=".1 .3" type="capsule"/><site name="crank" pos=".1 0 .3"/></body>
      <site name="slider" pos="1 0 -1"/>
    </worldbody>
    <actuator><orientation joint="ball" kp="2"/>
      <motor cranksite="crank" slidersite="slider" cranklength="1.5"/>
      <position cranksite="crank" slidersite="slider" cranklength="1.7" kp="3" dampratio="1"/>
    </actuator></mujoco>"""
    compiled = compile_mjcf(scene)
    assert differences(compiled, oracle(scene)) == {}
    assert compiled.actuator_length0[3] != compiled.actuator_length0[4] != 0
