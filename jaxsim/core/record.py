"""Immutable records that are pytrees: the value semantics of Model, Option and Data."""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np

from jaxsim.core.fields.field import Child, Field


class Record:
    """A fixed set of named children, and at most one static object.

    Children are declared as attributes (see `fields.field`), named in `children`, and registered with `register`.
    They are read as attributes; `replace` returns a changed copy.
    """

    children: ClassVar[tuple[str, ...]] = ()

    def __init__(self, values: dict[str, Any], static: Any = None):
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_static", static)

    _values: dict[str, Any]
    _static: Any

    def _read(self, name: str) -> Any:
        """The value of a declared attribute; subclasses look further than the children."""
        return self._values[name]

    if not TYPE_CHECKING:  # mypy is to see the declared attributes only

        def __getattr__(self, name: str) -> Any:  # only for what is not declared
            if name.startswith("_"):
                raise AttributeError(name)
            close = get_close_matches(name, declared(type(self)), 3)
            hint = f"; did you mean {', '.join(close)}?" if close else ""
            raise AttributeError(f"{type(self).__name__} has no field {name!r}{hint}")

    def __setattr__(self, name: str, value: Any):
        raise AttributeError(
            f"{type(self).__name__} is immutable: use {type(self).__name__.lower()}.replace({name}=...)"
        )

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}: {_brief(v)}" for k, v in self._values.items())
        return f"{type(self).__name__}({inner})"

    def replace(self, **changes: Any) -> Self:
        """A copy with the given fields changed.

        Args:
            changes: new values by field. Batch axes may come before the field's own: `data.replace(qpos=[B, nq])`.
                Arrays are converted to the field's dtype.

        Raises:
            AttributeError: there is no such field, or it is compiled in.
            ValueError: a value does not end in the field's shape.
            TypeError: real values for a field of integers or truth values.
        """
        new = {}
        for name, value in changes.items():
            if name not in self._values:
                getattr(self, name)
                raise AttributeError(f"{type(self).__name__}.{name} is fixed when the model is compiled")
            new[name] = _fit(getattr(type(self), name), self._values[name], value)
        return type(self)({**self._values, **new}, self._static)

    def tree_flatten_with_keys(self):
        keys = [(jax.tree_util.GetAttrKey(k), self._values[k]) for k in self.children]
        return keys, self._static

    def tree_flatten(self):
        return [self._values[k] for k in self.children], self._static

    @classmethod
    def tree_unflatten(cls, static, leaves):
        return cls(dict(zip(cls.children, leaves, strict=True)), static)


def register(cls):
    """Class decorator: make a Record subclass a pytree."""
    return jax.tree_util.register_pytree_with_keys_class(cls)


def declared(cls: type) -> list[str]:
    """Names of all attributes that a class and its bases declare."""
    return [name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, Child)]


def _fit(field: Child, old: Any, new: Any) -> Any:
    """A new value in the dtype of the old one, if it has its shape but for batch axes."""
    if not isinstance(field, Field) or not hasattr(old, "dtype") or not _is_array(new):
        return new  # a record, or a leaf of another tree of the same form: an axis, a sharding, a tangent
    shape = np.shape(new)
    own = len(field.dims)
    expected = old.shape[len(old.shape) - own :]
    if len(shape) < own or shape[len(shape) - own :] != expected:
        raise ValueError(f"{field.name} has shape {shape}, expected {expected} (batch axes may come before it)")
    return _cast(field, old.dtype, new)


def _is_array(value: Any) -> bool:
    return isinstance(value, (int, float, bool, np.ndarray, np.generic, list, tuple, jax.Array))


def _cast(field: Field, dtype: Any, new: Any) -> Any:
    if dtype == jax.dtypes.float0:
        return new
    given = new.dtype if hasattr(new, "dtype") else np.asarray(new).dtype
    if field.dtype and given.kind == "f":
        raise TypeError(f"{field.name} holds {field.unit} values, not {given}")
    if not isinstance(new, jax.Array):
        return jax.numpy.asarray(new, dtype)
    stays = given == dtype and not getattr(new, "weak_type", False)
    return new if stays else jax.lax.convert_element_type(new, dtype)


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{value.dtype}{list(shape)}" if shape is not None else type(value).__name__
