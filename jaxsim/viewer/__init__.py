"""Show recorded motion: `write_player` makes one self-contained HTML file of a `Trajectory`."""

from jaxsim.viewer.contacts import Contacts
from jaxsim.viewer.html import write_player
from jaxsim.viewer.trajectory import Trajectory

__all__ = ["Contacts", "Trajectory", "write_player"]
