"""Packing of poses: 16-bit numbers, differenced in time, byte planes apart, deflated, base64.

A position becomes `low + span * (i + 32768) / 65535` with `low` and `span` per world, body and axis, so a
walk of 20 m keeps 0.3 mm; a quaternion component becomes `i / 32767`. Successive differences (modulo 2^16)
of smooth motion are small, and with low and high bytes in separate planes deflate shrinks them well.
"""

import base64
import zlib
from typing import Any

import numpy as np


class Buffers:
    """Named binary arrays, concatenated; `index` says where each lies and of what type it is."""

    def __init__(self):
        self.index: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, array: np.ndarray) -> str:
        """Append an array, aligned to 4 bytes; returns its name."""
        raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        self.index[name] = {"offset": self._size, "dtype": array.dtype.name, "shape": list(array.shape)}
        self._parts.append(raw + b"\0" * (-len(raw) % 4))
        self._size += len(self._parts[-1])
        return name

    def packed(self) -> str:
        """Everything, deflated and in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def unpack(index: dict[str, dict[str, Any]], packed: str) -> dict[str, np.ndarray]:
    """The arrays of a `Buffers`, by name: the inverse of `Buffers.packed`."""
    raw = zlib.decompress(base64.b64decode(packed))
    return {
        name: np.frombuffer(raw, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"]).reshape(entry["shape"])
        for name, entry in index.items()
    }


def difference(values: np.ndarray) -> np.ndarray:
    """int16 [T, ...] -> uint8 [2, C, T]: differences in time modulo 2^16, low bytes then high bytes."""
    flat = values.reshape(len(values), -1).T.view(np.uint16)
    step = np.diff(flat, axis=1, prepend=np.uint16(0))
    return np.stack([(step & 0xFF).astype(np.uint8), (step >> 8).astype(np.uint8)])


def accumulate(planes: np.ndarray) -> np.ndarray:
    """The inverse of `difference`, as int16 [T, C]."""
    step = planes[0].astype(np.uint16) | (planes[1].astype(np.uint16) << 8)
    return np.cumsum(step, axis=1, dtype=np.uint16).view(np.int16).T


def quantise_positions(xpos: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[T, W, B, 3] -> int16 of the same shape, and `low`, `span` of shape [W, B, 3]. Non-finite becomes 0."""
    xpos = np.nan_to_num(xpos, nan=0.0, posinf=0.0, neginf=0.0)
    low = xpos.min(0)
    span = np.maximum(xpos.max(0) - low, np.float32(1e-9))
    levels = np.round((xpos - low).astype(np.float64) / span * 65535.0) - 32768.0
    return levels.clip(-32768, 32767).astype(np.int16), low, span


def quantise_quaternions(xquat: np.ndarray) -> np.ndarray:
    """[T, W, B, 4] -> int16; signs made continuous in time. Invalid quaternions become the identity."""
    norm = np.linalg.norm(xquat, axis=-1, keepdims=True)
    valid = np.isfinite(norm) & (norm > 1e-6)
    unit = np.where(valid, xquat / np.where(valid, norm, 1), np.array([1, 0, 0, 0], np.float32))
    turn = np.sum(unit[1:] * unit[:-1], axis=-1) < 0
    first = np.ones((1, *unit.shape[1:-1]), int)
    sign = np.cumprod(np.concatenate([first, np.where(turn, -1, 1)]), axis=0)
    return np.round(unit * sign[..., None] * 32767).astype(np.int16)


def add_poses(buffers: Buffers, xpos: np.ndarray, xquat: np.ndarray) -> None:
    """Add buffers `position`, `position_low`, `position_span` and `quaternion`."""
    levels, low, span = quantise_positions(xpos)
    buffers.add("position", difference(levels))
    buffers.add("position_low", low.astype(np.float32))
    buffers.add("position_span", span.astype(np.float32))
    buffers.add("quaternion", difference(quantise_quaternions(xquat)))


def read_poses(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """xpos [T, W, B, 3] and xquat [T, W, B, 4] from the buffers of `add_poses`, as the page reads them."""
    low, span = arrays["position_low"], arrays["position_span"]
    levels = accumulate(arrays["position"])
    xpos = low + span * ((levels.astype(np.float32) + 32768) / 65535).reshape(-1, *low.shape)
    xquat = accumulate(arrays["quaternion"]).astype(np.float32).reshape(-1, *low.shape[:2], 4) / 32767
    return xpos, xquat
