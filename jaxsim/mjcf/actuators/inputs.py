"""The inputs of an actuator: which setpoints its controls are, and in which order."""

from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.schema import ENUMS

INPUTS = {"pos": 1, "vel": 2, "ff": 4, "voltage": 8, "pressure": 32}
INPUT_NONE = 16


def read_input(text: str) -> int:
    """The control signature that an `input` attribute stands for."""
    if text in ENUMS["chart"]:
        return ENUMS["chart"][text]
    if text == "none":
        return INPUT_NONE
    bits = []
    for word in text.split():
        if word not in INPUTS:
            raise Fault(f"input={text!r}: expected 'none', 'expmap', 'quat', or some of {', '.join(INPUTS)}")
        bits.append(INPUTS[word])
    if bits != sorted(set(bits)):
        raise Fault(f"input={text!r}: inputs are given once each, in the order {', '.join(INPUTS)}")
    return sum(bits)
