"""A model and its data as the stages of `dynamics` read them, with arrays of the host."""

from types import SimpleNamespace
from typing import Any, Self, TypeAlias

import numpy as np

from jaxsim.core.fields.static import SIZES, STATIC
from jaxsim.core.topology import Topology, deduced

Array = np.ndarray
HostModel: TypeAlias = Any  # a Host with the fields of mjModel, which passes for a Model where JAX is not asked for
HostData: TypeAlias = Any  # a Host with fields of mjData
# the real-valued arrays that kinematics and centres of mass read
_REAL = """
    qpos0 body_pos body_quat body_ipos body_iquat body_mass body_inertia body_subtreemass jnt_pos jnt_axis
    geom_pos geom_quat site_pos site_quat
""".split()  # noqa: SIM905


class Host(SimpleNamespace):
    """Arrays by name; `replace` gives a copy with some of them changed."""

    def replace(self, **changes: Any) -> Self:
        """A copy with some values changed."""
        return type(self)(**vars(self) | changes)


def host_model(m: Any) -> HostModel:
    """The fields of a model (any object with mjModel's) and its topology; arrays are shared."""
    static = {name: getattr(m, name) for name in (*SIZES, *STATIC) if hasattr(m, name)}
    return Host(**vars(m) | {"topology": Topology(static | deduced(m), {})})


def with_worlds(m: HostModel, worlds: int) -> HostModel:
    """The same for several worlds at once, which are the second axis of what kinematics reads."""
    many = {k: getattr(m, k)[:, None] for k in _REAL}
    return m.replace(**{k: np.broadcast_to(x, (len(x), worlds, *x.shape[2:])) for k, x in many.items()})


def host_data(m: HostModel, qpos: Array) -> HostData:
    """Data at qpos [nq], or [nq, world]; mocap bodies are where the model has them."""
    mocap = np.flatnonzero(m.body_mocapid >= 0)
    mocap = mocap[np.argsort(m.body_mocapid[mocap])]
    mocap_pose = {"mocap_pos": m.body_pos[mocap], "mocap_quat": m.body_quat[mocap]}
    return Host(qpos=qpos, ten_length=np.zeros((0, *qpos.shape[1:])), **mocap_pose)
