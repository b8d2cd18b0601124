"""Trajectory: the body poses of a few worlds over time, as the player shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from jaxsim.viewer.contacts import Contacts


@dataclass(frozen=True)
class Trajectory:
    """Recorded poses of W worlds at T instants.

    Attributes:
        time: instants [s], shape [T], increasing.
        xpos: body positions [m], shape [T, W, nbody, 3].
        xquat: body orientations (w, x, y, z), shape [T, W, nbody, 4].
        channels: scalars to plot by name (reward, energy ...), each [T, W].
        world_names: what to call each world; numbered if empty.
        contacts: what touches, to be shown on demand; None if that was not recorded.
    """

    time: np.ndarray
    xpos: np.ndarray
    xquat: np.ndarray
    channels: Mapping[str, np.ndarray] = field(default_factory=dict)
    world_names: Sequence[str] = ()
    contacts: Contacts | None = None

    def __post_init__(self):
        object.__setattr__(self, "time", np.asarray(self.time, np.float64))
        object.__setattr__(self, "xpos", np.asarray(self.xpos, np.float32))
        object.__setattr__(self, "xquat", np.asarray(self.xquat, np.float32))
        steps, worlds, bodies = self.xpos.shape[:3] if self.xpos.ndim == 4 else (0, 0, 0)
        if not steps or not worlds or self.xpos.shape[3] != 3:
            raise ValueError(f"xpos has shape {list(self.xpos.shape)}; expected [T, W, nbody, 3], none of them 0")
        if self.xquat.shape != (steps, worlds, bodies, 4):
            raise ValueError(f"xquat has shape {list(self.xquat.shape)}; expected {[steps, worlds, bodies, 4]}")
        if self.time.shape != (steps,) or np.any(np.diff(self.time) <= 0):
            raise ValueError(f"time has shape {list(self.time.shape)}; expected {steps} increasing instants")
        channels = {name: np.asarray(value, np.float32) for name, value in self.channels.items()}
        for name, value in channels.items():
            if value.shape != (steps, worlds):
                raise ValueError(f"channel {name!r} has shape {list(value.shape)}; expected {[steps, worlds]}")
        object.__setattr__(self, "channels", channels)
        if self.contacts is not None:
            self.contacts.check(steps, worlds)
        if self.world_names and len(self.world_names) != worlds:
            raise ValueError(f"{len(self.world_names)} world_names for {worlds} worlds")

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.xpos.shape[1]

    def subsample(self, fps: float) -> "Trajectory":
        """At most `fps` instants per second: the first of each frame period, and always the last."""
        frame = np.floor((self.time - self.time[0]) * fps + 1e-3)
        keep = np.flatnonzero(np.diff(frame, prepend=-1.0) > 0)
        if keep[-1] != len(self.time) - 1:
            keep = np.append(keep, len(self.time) - 1)
        return replace(
            self,
            time=self.time[keep],
            xpos=self.xpos[keep],
            xquat=self.xquat[keep],
            channels={name: value[keep] for name, value in self.channels.items()},
            contacts=self.contacts and self.contacts.at(keep),
        )
