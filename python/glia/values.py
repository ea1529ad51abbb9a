"""Questions about the numbers in an array of any type that the machine has."""

from __future__ import annotations

import numpy as np

_INFINITY = {"bfloat16": (np.uint16, 0x7FFF, 0x7F80), "float16": (np.uint16, 0x7FFF, 0x7C00)}


def has_nan(array: np.ndarray) -> bool:
    if array.size == 0 or array.dtype.kind in "iub":
        return False
    if array.dtype.name in ("float32", "float64"):
        return bool(np.isnan(array.min()))  # NumPy carries a NaN through, and makes no second array
    if array.dtype.name in _INFINITY:
        kind, mask, infinity = _INFINITY[array.dtype.name]
        return bool(((np.ascontiguousarray(array).view(kind) & mask) > infinity).any())
    return bool(np.isnan(array if array.dtype.kind == "c" else array.astype(np.float32)).any())
