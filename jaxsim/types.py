"""Until the compiler has moved."""

from jaxsim.core.enums import *  # noqa: F403
