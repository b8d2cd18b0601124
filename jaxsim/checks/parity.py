"""How far a model, its forward dynamics and a rollout are from MuJoCo C, field by field.

MuJoCo C is asked for converged solutions (dense Jacobian, tolerance 0, no islands). Errors of arrays are
max |ours - theirs| / (1 + max |theirs|), those of model fields max |ours - theirs| / (1e-3 + |theirs|). Model
fields are compared by their declarations, all but those that `NOT_COMPARED` lists.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.data import ASLEEP, INPUTS, INTEGRATION_STATE, Data, make_data
from jaxsim.core.fields import MODEL_REAL, OPTION_INT, OPTION_OWN, OPTION_REAL, SIZES, STAT_REAL, STATIC, field_of
from jaxsim.core.model import Model
from jaxsim.step import forward, step

STAGES = (
    "xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat",
    "site_xpos", "site_xmat", "subtree_com", "cdof", "cinert", "ten_length", "ten_velocity",
    "actuator_length", "actuator_velocity", "cvel", "qfrc_bias", "qfrc_passive", "actuator_force",
    "qfrc_actuator", "act_dot", "qfrc_smooth", "qacc_smooth", "qfrc_constraint", "qacc",
    "sensordata",
)  # fmt: skip

_ORDER = "the same hull, whose vertices are numbered in the order in which the search met them there"
_OCTREES = "made here for geoms of type sdf that have no plugin, there for all of that type"
# fields that are not compared, and why
NOT_COMPARED = {
    "nconmax": "the slots of a world's contact buffer; MuJoCo's is what a legacy attribute asked for",
    "mesh_normal": "only drawn, and summed in single precision: where facets nearly cancel, rounding decides",
    "nplugin": "signed distance fields are plugins there and meshes here, and controllers parameters of actuators",
    "actuator_plugin": "counts the controllers mujoco.pid alone; there all instances of plugins",
    "actuator_pidprm": "ours alone: the text of the plugin's attributes there",
    **dict.fromkeys(("noct", "mesh_octadr", "mesh_octnum", "oct_child", "oct_aabb", "oct_coeff"), _OCTREES),
    **dict.fromkeys(("mesh_extrema", "mesh_graph"), _ORDER),
    "mesh_polynormal": "of polygons thinner than single precision, rounding decides",
    **{f"opt.{name}": "ours alone: MuJoCo has no hard contacts" for name in OPTION_OWN},
}
STEPS_BETWEEN = (0, 40, 80)


@contextmanager
def double_precision() -> Iterator[None]:
    """Compute in float64 within the block, on the CPU."""
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        yield


def field_errors(model: Model, mj: Any) -> dict[str, float | str]:
    """Relative error of every declared field of the model, or a sentence where it differs otherwise or is missing.

    Args:
        model: the model, in float64.
        mj: the mjModel of the same file.
    """
    owners = (
        ("", model, mj, [n for n in (*SIZES, *STATIC, *MODEL_REAL) if n not in NOT_COMPARED]),
        ("opt.", model.opt, mj.opt, [n for n in (*OPTION_REAL, *OPTION_INT) if f"opt.{n}" not in NOT_COMPARED]),
        ("stat.", model.stat, mj.stat, [*STAT_REAL]),
    )
    return {
        prefix + name: _field_error(getattr(ours, name), getattr(theirs, name, None))
        for prefix, ours, theirs, names in owners
        for name in names
    }


def _field_error(ours: Any, theirs: Any) -> float | str:
    if theirs is None:
        return "missing there"
    if isinstance(ours, bytes):
        return 0.0 if ours == bytes(theirs) else "differs"
    a, b = np.asarray(theirs, np.float64), np.asarray(ours, np.float64)
    if a.size == b.size <= 1:
        a, b = a.reshape(-1), b.reshape(-1)
    if a.shape != b.shape:
        return f"shape {list(b.shape)}, expected {list(a.shape)}"
    return float(np.max(np.abs(a - b) / (1e-3 + np.abs(a)), initial=0.0))


def converged(model: Model, mj: Any) -> Model:
    """Ask both for converged solutions; `mj` is changed in place."""
    import mujoco

    mj.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    if not model.nsleep:  # without islands nothing falls asleep
        mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    mj.opt.tolerance, mj.opt.iterations = 0, max(100, mj.opt.iterations)
    mj.opt.ls_iterations = max(50, mj.opt.ls_iterations)
    opt = model.opt.replace(iterations=mj.opt.iterations, ls_iterations=mj.opt.ls_iterations, tolerance=0.0)
    return model.replace(opt=opt)


class Comparison:
    """One model in both engines, side by side."""

    def __init__(self, model: Model, mj: Any, seed: int = 1):
        import mujoco

        self._mujoco = mujoco
        self.model, self.mj = converged(model, mj), mj
        self.theirs = mujoco.MjData(mj)
        if mj.nkey:
            mujoco.mj_resetDataKeyframe(mj, self.theirs, 0)
        self._rng = np.random.default_rng(seed)

    def control(self) -> np.ndarray:
        """Random controls [nu] in the middle of their range."""
        mj = self.mj
        low, high = mj.actuator_ctrlrange.reshape(-1, 2).T
        limited = mj.actuator_ctrllimited.astype(bool)
        low, high = np.where(limited, low, -1), np.where(limited, high, 1)
        return low + (high - low) * self._rng.uniform(0.3, 0.7, mj.nu)

    def ours(self) -> Data:
        """Our Data in the state of theirs."""
        data = make_data(self.model)
        values = {}
        sleeps = ("tree_asleep",) if self.model.nsleep else ()
        for name in (*(n for n in (*INTEGRATION_STATE, *INPUTS) if n not in ASLEEP), *sleeps):
            like = getattr(data, name)
            # a copy: a jax array on the CPU may share the memory, which the next step overwrites
            values[name] = jnp.asarray(np.array(getattr(self.theirs, name)).reshape(like.shape), like.dtype)
        return data.replace(**values, **({"qpos_asleep": values["qpos"]} if sleeps else {}))

    def diverged(self) -> bool:
        """Whether MuJoCo C itself left all bounds, so that nothing can be compared."""
        d = self.theirs
        return not np.isfinite(d.qpos).all() or float(np.abs(d.qvel).max(initial=0)) > 1e6

    def stage_errors(self) -> dict[str, float | str]:
        """Largest error of every forward quantity over three states of a random motion."""
        worst: dict[str, float | str] = {}
        for steps in STEPS_BETWEEN:
            for _ in range(steps):
                self.theirs.ctrl[:] = self.control()
                self._mujoco.mj_step(self.mj, self.theirs)
            if self.diverged():
                break
            self.theirs.ctrl[:] = self.control()
            self._mujoco.mj_forward(self.mj, self.theirs)
            ours = forward(self.model, self.ours())
            for name, error in self._errors_now(ours).items():
                worst[name] = _worse(worst.get(name, 0.0), error)
        return worst

    def _errors_now(self, ours: Data) -> dict[str, float | str]:
        inertia = np.zeros((self.mj.nv, self.mj.nv))
        self._mujoco.mj_fullM(self.mj, self.theirs, inertia)
        errors: dict[str, float | str] = {"qM": array_error(ours.qM, inertia)}
        for name in STAGES:
            theirs, found = getattr(self.theirs, name), getattr(ours, name, None)
            if found is not None and self.model.nsleep and field_of(name).dims == ("nv",):
                awake = self.theirs.tree_asleep[self.mj.dof_treeid] < 0  # MuJoCo leaves those of the others stale
                theirs, found = theirs[awake], np.asarray(found)[awake]
            if np.size(theirs):
                errors[name] = array_error(found, theirs)
        errors["ncon"] = float(abs(int(ours.ncon) - self.theirs.ncon))
        return errors

    def rollout_errors(self, steps: int) -> list[float]:
        """Largest error of qpos after each step from the current state, with the same controls."""
        ours, errors = self.ours(), []
        for _ in range(steps):
            control = self.control()
            self.theirs.ctrl[:] = control
            self._mujoco.mj_step(self.mj, self.theirs)
            ours = step(self.model, ours.replace(ctrl=jnp.asarray(control)))
            errors.append(float(np.abs(np.asarray(ours.qpos) - self.theirs.qpos).max(initial=0)))
        return errors


def _worse(a: float | str, b: float | str) -> float | str:
    """The larger of two errors; a sentence is worse than any number."""
    if isinstance(a, str) or isinstance(b, str):
        return a if isinstance(a, str) else b
    return max(a, b)


def array_error(ours: Any, theirs: np.ndarray) -> float | str:
    """max |ours - theirs| / (1 + max |theirs|) of arrays [...], or a sentence where there is no such number."""
    if ours is None:
        return "missing here"
    a, b = np.asarray(theirs, np.float64), np.asarray(ours, np.float64)
    if a.size != b.size:
        return f"shape {list(b.shape)}, expected {list(a.shape)}"
    if not np.isfinite(b).all():
        return "not finite"
    return float(np.abs(a - b.reshape(a.shape)).max(initial=0) / (1 + np.abs(a).max(initial=0)))
