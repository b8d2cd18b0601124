"""Another model for each world: domain randomisation by the names of fields and elements."""

import dataclasses
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.core.fields import MODEL_REAL, OPTION_REAL
from jaxsim.core.named import model_rows

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Draw:
    """How numbers are drawn for one field: from a key and what the model has there, new ones of the same shape."""

    draw: Callable[[Array, Array], Array]
    what: str  # in words

    def __call__(self, key: Array, old: Array) -> Array:
        return self.draw(key, old)

    def __repr__(self) -> str:
        return self.what


def scale(low: float, high: float, each: bool = False) -> Draw:
    """The model's numbers times one factor, drawn uniformly between `low` and `high`.

    Args:
        low: least factor.
        high: greatest factor.
        each: a factor for each number, instead of one for all that a pattern finds.
    """
    return Draw(lambda key, old: old * _uniform(key, old, low, high, each), f"scale({low}, {high}{_each(each)})")


def add(low: float, high: float, each: bool = False) -> Draw:
    """The model's numbers plus one number, drawn uniformly between `low` and `high`; `each`: one for each of them."""
    return Draw(lambda key, old: old + _uniform(key, old, low, high, each), f"add({low}, {high}{_each(each)})")


def uniform(low: float, high: float, each: bool = False) -> Draw:
    """One number in place of the model's, drawn uniformly between `low` and `high`; `each`: one for each of them."""
    return Draw(
        lambda key, old: jnp.zeros_like(old) + _uniform(key, old, low, high, each),
        f"uniform({low}, {high}{_each(each)})",
    )


def _each(each: bool) -> str:
    return ", each=True" if each else ""


def _uniform(key: Array, old: Array, low: float, high: float, each: bool) -> Array:
    shape = old.shape if each else (1,) * old.ndim
    return jax.random.uniform(key, shape, old.dtype, low, high)


def randomise(model: js.Model, changes: Mapping[str, Callable], keys: Array) -> tuple[js.Model, js.Model]:
    """A model for each world, with some numbers drawn at random.

        models, axes = envs.randomise(env.model, {
            "body_mass,body_inertia:torso": envs.scale(0.8, 1.2),  # both by one factor: another density
            "geom_friction[0]:floor": envs.uniform(0.4, 1.0),      # sliding friction alone
            "dof_damping:leg_*": envs.scale(0.5, 2.0, each=True),
            "opt.gravity": envs.scale(0.9, 1.1),
        }, jax.random.split(key, 1024))
        worlds = envs.Vector(env, models, axes)

    Constants that derive from what was changed are computed again (`js.set_const`), and only the fields whose numbers
    changed are batched.

    Args:
        model: the model that is varied.
        changes: how to draw the new numbers: `scale`, `add`, `uniform`, or a function (key [], old) -> new of the same
            shape. What is changed has the name of a real field, or several with commas; a column in brackets where
            not all are meant; and after a colon a name or pattern of elements, without which all are meant. Fields of
            dofs go by the names of joints, options are called "opt.gravity".
        keys: [B] random keys, one for each world; every entry draws its own numbers.

    Returns:
        The models, whose changed fields are [B, ...] and all others as they were; and a Model that is 0 where a leaf is
        batched and None elsewhere, for `in_axes` of `jax.vmap`.

    Raises:
        KeyError: there is no such field or element; the message names the closest ones.
        ValueError: a change that the model cannot follow, such as friction loss of a joint that had none at load.
        TypeError: under jax.jit, where it cannot be seen which fields change.
    """
    if isinstance(keys, jax.core.Tracer):
        raise TypeError("randomise looks at the numbers that it draws: call it outside of jax.jit and vmap")
    entries = [(_places(model, name), draw) for name, draw in changes.items()]
    derives = any(place.field not in FREE and place.part is None for places, _ in entries for place in places)

    part = lambda name: [p.field for places, _ in entries for p in places if p.part == name]  # noqa: E731
    own, options = sorted({*part(None), *(DERIVED if derives else ())}), part("opt")

    def world(key: Array, on: Array) -> dict[str, dict[str, Array]]:
        changed = model
        for number, (places, draw) in enumerate(entries):
            for place in places:  # those of one entry share a key, and so their factors
                old = place.taken(changed)
                new = draw(jax.random.fold_in(key, number), old)
                changed = place.put(changed, jnp.where(on, jnp.broadcast_to(new, old.shape), old))
        changed = js.set_const(changed) if derives else changed
        return {"own": {k: getattr(changed, k) for k in own}, "opt": {k: getattr(changed.opt, k) for k in options}}

    # one program with the changes and without: what it rounds is rounded alike in both, so that what differs changed
    draw_all = jax.jit(jax.vmap(world, (0, None)))
    drawn, same = draw_all(keys, jnp.array(True)), draw_all(keys, jnp.array(False))
    new = {part: {k: x for k, x in drawn[part].items() if (x != same[part][k]).any()} for part in drawn}
    axes = jax.tree.map(lambda _: None, model)
    axes = axes.replace(opt=axes.opt.replace(**dict.fromkeys(new["opt"], 0)), **dict.fromkeys(new["own"], 0))
    return model.replace(opt=model.opt.replace(**new["opt"]), **new["own"]), axes


# fields of Model that set_const computes, and those that it does not read
DERIVED = (
    "actuator_acc0", "actuator_length0", "body_invweight0", "body_margin", "body_subtreemass", "cam_mat0", "cam_pos0",
    "cam_poscom0", "dof_M0", "dof_invweight0", "dof_length", "eq_data", "geom_rbound", "geom_size", "light_dir0",
    "light_pos0", "light_poscom0", "tendon_invweight0", "tendon_length0",
)  # fmt: skip
FREE = frozenset({
    "geom_friction", "geom_solmix", "geom_solref", "geom_solimp", "dof_damping", "dof_dampingpoly",
    "dof_frictionloss", "dof_solref", "dof_solimp", "jnt_stiffness", "jnt_stiffnesspoly", "jnt_range", "jnt_solref",
    "jnt_solimp", "jnt_margin", "jnt_actfrcrange", "qpos_spring", "actuator_gainprm", "actuator_biasprm",
    "actuator_dynprm", "actuator_ctrlrange", "actuator_forcerange", "actuator_actrange", "actuator_damping",
    "body_gravcomp", "pair_friction", "pair_solref", "pair_solimp", "pair_margin", "pair_gap", "tendon_stiffness",
    "tendon_damping", "tendon_range", "sensor_noise",
})  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Place:
    """Some numbers of a model: of a field of Model or of its options, rows and a column, or all of them."""

    part: str | None
    field: str
    rows: np.ndarray | None
    column: int | None

    def taken(self, model: js.Model) -> Array:
        """The numbers [rows, ...]."""
        return self._whole(model)[self._where()]

    def put(self, model: js.Model, new: Array) -> js.Model:
        """A copy with other numbers."""
        changed = {self.field: self._whole(model).at[self._where()].set(new)}
        return model.replace(**{self.part: getattr(model, self.part).replace(**changed)} if self.part else changed)

    def _whole(self, model: js.Model) -> Array:
        return getattr(getattr(model, self.part) if self.part else model, self.field)

    def _where(self) -> Any:
        if self.column is None:
            return ... if self.rows is None else self.rows
        return (slice(None) if self.rows is None else self.rows, self.column)


def _places(model: js.Model, name: str) -> list[_Place]:
    """What an entry such as "body_mass,body_inertia:torso" or "opt.gravity" names."""
    fields, _, pattern = name.partition(":")
    return [_place(model, field.strip(), pattern.strip()) for field in fields.split(",")]


def check_names(model: js.Model, name: str) -> None:
    """Raise KeyError unless an entry of that name, such as "body_mass:torso", finds something in the model."""
    _places(model, name)


def _place(model: js.Model, field: str, pattern: str) -> _Place:
    field, bracket, column = field.rstrip("]").partition("[")
    part, dot, inner = field.partition(".")
    known = OPTION_REAL if dot else MODEL_REAL
    if (dot and part != "opt") or (inner if dot else field) not in known:
        names = [*MODEL_REAL, *(f"opt.{option}" for option in OPTION_REAL)]
        close = get_close_matches(field, names, 3)
        raise KeyError(
            f"no real field of Model is called {field!r}" + (f"; closest: {', '.join(close)}" if close else "")
        )
    rows = model_rows(model.topology, field, pattern) if pattern else None
    place = _Place("opt" if dot else None, inner if dot else field, rows, int(column) if bracket else None)
    shape = place._whole(model).shape
    if bracket and (len(shape) != 2 or not column.isdigit() or int(column) >= shape[1]):
        raise KeyError(f"{field}[{column}]: {field} has shape {shape}, so that there is no such column")
    return place
