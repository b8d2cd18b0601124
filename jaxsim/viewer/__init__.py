"""Show recorded motion: `write_player` makes one self-contained HTML file of a `Trajectory`."""

from jaxsim.viewer.html import write_player
from jaxsim.viewer.trajectory import Trajectory

__all__ = ["Trajectory", "write_player"]
