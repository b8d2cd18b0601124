"""The `limited` attributes: true, false, or automatic from the range."""

from typing import Any

import numpy as np

from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault


def is_limited(limited: int, bounds: np.ndarray) -> bool:
    """Whether a limit is active: on request, or by a proper range when automatic."""
    return limited == Tristate.TRUE or (limited == Tristate.AUTO and bool(bounds[0] < bounds[1]))


def check_automatic(item: Any, limited: str, bounds: str) -> None:
    """Raise a Fault if a range is given without its limit, while `autolimits` is off."""
    if not item.settings.autolimits and getattr(item, limited) == Tristate.AUTO and np.any(getattr(item, bounds)):
        raise Fault(f"{bounds} is given but {limited} is not, and autolimits is off; write {limited}='true'")


def check_limited(item: Any, limited: str, bounds: str) -> bool:
    """Whether the limit given by two attributes of an item is active.

    Raises:
        Fault: the range is empty, or given without a limit while `autolimits` is off.
    """
    check_automatic(item, limited, bounds)
    values = getattr(item, bounds)
    active = is_limited(getattr(item, limited), values)
    if active and not values[0] < values[1]:
        raise Fault(f"{bounds}='{values[0]:g} {values[1]:g}' is limited, so the first must be below the second")
    return active
