"""Contacts of a recorded motion, and how the page gets them.

Only the contacts that exist are written, frame by frame and world by world: `contact_count` says how many there are.
Positions are 16-bit fractions of their bounding box, normals bytes, and forces 16-bit fractions of the largest.
"""

from dataclasses import dataclass

import numpy as np

from jaxsim.viewer.encode import Buffers


@dataclass(frozen=True)
class Contacts:
    """Contacts of W worlds at T instants, K places for each world.

    Attributes:
        count: how many places are in use, the first ones, [T, W].
        pos: where they are [m], [T, W, K, 3].
        normal: unit vectors from the first geom to the second, [T, W, K, 3].
        force: on the body of the second geom, in the world's frame [N], [T, W, K, 3]; None if not known.
    """

    count: np.ndarray
    pos: np.ndarray
    normal: np.ndarray
    force: np.ndarray | None = None

    def check(self, steps: int, worlds: int) -> None:
        """Raise ValueError if shapes do not fit a trajectory."""
        if np.shape(self.count) != (steps, worlds):
            raise ValueError(f"contacts: count has shape {list(np.shape(self.count))}; expected {[steps, worlds]}")
        places = np.shape(self.pos)[2] if np.ndim(self.pos) == 4 else 0
        for name in ("pos", "normal", "force"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != (steps, worlds, places, 3):
                expected = [steps, worlds, places or "K", 3]
                raise ValueError(f"contacts: {name} has shape {list(np.shape(value))}; expected {expected}")
        if np.max(self.count, initial=0) > places:
            raise ValueError(f"contacts: count is up to {np.max(self.count)}, and there are {places} places")

    def at(self, keep: np.ndarray) -> "Contacts":
        """Those of the chosen instants."""
        force = None if self.force is None else self.force[keep]
        return Contacts(self.count[keep], self.pos[keep], self.normal[keep], force)


def add_contacts(buffers: Buffers, contacts: Contacts) -> None:
    """Add the buffers `contact_count`, `contact_pos`, `contact_box`, `contact_normal` and, if known, forces."""
    used = np.arange(contacts.pos.shape[2]) < contacts.count[..., None]
    finite = np.isfinite(contacts.pos).all(-1) & np.isfinite(contacts.normal).all(-1)
    used &= finite if contacts.force is None else finite & np.isfinite(contacts.force).all(-1)
    pos = contacts.pos[used].astype(np.float64)  # [N, 3]
    low = pos.min(0, initial=np.inf) if len(pos) else np.zeros(3)
    span = np.maximum(pos.max(0) - low, 1e-9) if len(pos) else np.ones(3)
    buffers.add("contact_count", used.sum(-1).astype(np.uint16))
    buffers.add("contact_box", np.concatenate([low, span]).astype(np.float32))
    buffers.add("contact_pos", np.round((pos - low) / span * 65535).astype(np.uint16))
    buffers.add("contact_normal", np.round(contacts.normal[used] * 127 + 128).clip(0, 255).astype(np.uint8))
    if contacts.force is not None:
        force = contacts.force[used]
        largest = max(float(np.abs(force).max(initial=0)), 1e-9)
        buffers.add("contact_force", np.round(force / largest * 32767 + 32768).astype(np.uint16))
        buffers.add("contact_force_span", np.array([largest], np.float32))


def read_contacts(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Counts [T, W], and of all contacts in a row pos, normal and force [N, 3], as the page reads them."""
    low, span = arrays["contact_box"].reshape(2, 3)
    pos = low + span * (arrays["contact_pos"] / 65535)
    normal = (arrays["contact_normal"] - 128.0) / 127
    force = arrays.get("contact_force")
    if force is not None:
        force = (force - 32768.0) / 32767 * arrays["contact_force_span"]
    return arrays["contact_count"], pos, normal, force
