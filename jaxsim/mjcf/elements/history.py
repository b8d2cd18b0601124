"""History buffers of actuators and sensors."""

from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item

MAX_SAMPLES = 2**24


def check_history(item: Item) -> None:
    """A delay needs a history buffer of reasonable size."""
    if item.delay > 0 and item.nsample <= 0:
        raise Fault("a delay needs a history buffer: give nsample")
    if item.nsample > MAX_SAMPLES:
        raise Fault(f"nsample={item.nsample}; at most {MAX_SAMPLES} are possible")
