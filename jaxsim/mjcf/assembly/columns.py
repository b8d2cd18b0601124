"""Attributes of items as the columns of arrays."""

from typing import Any

import numpy as np

from jaxsim.mjcf.language.spec import Item


def array(rows: list, columns: int | tuple[int, ...] | None = None, dtype: Any = np.float64) -> np.ndarray:
    """Stack rows, also when there are none."""
    shape = () if columns is None else (columns,) if isinstance(columns, int) else columns
    return np.array(rows, dtype).reshape(len(rows), *shape)


def column(items: list[Item], name: str, dtype: Any = np.float64) -> np.ndarray:
    """One scalar attribute of all items."""
    return np.array([getattr(item, name) for item in items], dtype).reshape(len(items))


def rows(items: list[Item], name: str, width: int, dtype: Any = np.float64) -> np.ndarray:
    """One vector attribute of all items, [n, width]."""
    return np.array([getattr(item, name) for item in items], dtype).reshape(len(items), width)


def user(items: list[Item], size: int) -> np.ndarray:
    """The user data of all items, padded to a common length."""
    table = np.zeros((len(items), size))
    for i, item in enumerate(items):
        table[i, : item.user.size] = item.user
    return table


def item_id(item: Item | None) -> int:
    """Its id, or -1 if there is none."""
    return -1 if item is None else item.id
