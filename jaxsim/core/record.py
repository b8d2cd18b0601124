"""Immutable records that are pytrees: the value semantics of Model, Option and Data."""

from typing import Any, ClassVar, Self

import jax
import numpy as np


class Record:
    """A fixed set of named children, and at most one static object.

    Children are read as attributes; `replace` returns a changed copy. Subclasses name their children in
    `children` and register themselves with `register`.
    """

    children: ClassVar[tuple[str, ...]] = ()

    def __init__(self, values: dict[str, Any], static: Any = None):
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_static", static)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        values = object.__getattribute__(self, "_values")
        if name in values:
            return values[name]
        return self._other(name)

    def _other(self, name: str) -> Any:
        """Attributes that are not children; subclasses may add some."""
        from difflib import get_close_matches

        close = get_close_matches(name, self.children, 3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise AttributeError(f"{type(self).__name__} has no field {name!r}{hint}")

    def __setattr__(self, name: str, value: Any):
        raise AttributeError(
            f"{type(self).__name__} is immutable: use {type(self).__name__.lower()}.replace({name}=...)"
        )

    def __dir__(self):
        return [*object.__dir__(self), *self.children]

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}: {_brief(v)}" for k, v in self._values.items())
        return f"{type(self).__name__}({inner})"

    def replace(self, **changes: Any) -> Self:
        """A copy with the given fields changed. Arrays keep their field's dtype."""
        for name in changes:
            if name not in self._values:
                self._other(name)
                raise AttributeError(f"{type(self).__name__}.{name} is fixed when the model is compiled")
        new = {k: _keep_dtype(self._values[k], v) for k, v in changes.items()}
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


def _keep_dtype(old: Any, new: Any) -> Any:
    """Cast plain numbers and weakly typed or double arrays to the dtype that the field has."""
    if not hasattr(old, "dtype") or not isinstance(
        new, (int, float, bool, np.ndarray, np.generic, list, tuple, jax.Array)
    ):
        return new
    if isinstance(new, jax.Array):
        stays = new.dtype == old.dtype and not getattr(new, "weak_type", False)
        float_to_float = new.dtype.kind == old.dtype.kind
        return new if stays or not float_to_float else jax.lax.convert_element_type(new, old.dtype)
    return jax.numpy.asarray(new, old.dtype)


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{value.dtype}{list(shape)}" if shape is not None else type(value).__name__
