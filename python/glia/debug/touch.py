"""Which elements instructions of the record read and write, and which values are worth stopping for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _glia
from ..nki import dtypes
from ..nki.lower import _WRITES

_SLOTS = {i["name"]: [(s["name"], s["kind"]) for s in i["slots"]] for i in _glia.instructions()}
_TYPES = {t.code: t for t in reversed(dtypes.ALL.values()) if t.machine}


class Operand(NamedTuple):
    """A tensor that an instruction touches."""

    storage: object
    dtype: dtypes.DType
    written: bool
    read: bool
    slot: tuple
    indexed: bool  # its rows are chosen when it runs


def operands(op: tuple) -> list[Operand]:
    """Of an entry of the record; nothing for one that is no instruction."""
    if type(op[0]) is not str:
        return []
    known = _SLOTS[op[0]]
    writes = _WRITES.get(op[0], ())
    given = {known[n][0] for n, x in enumerate(op[1]) if x is not None}
    out = []
    for n, x in enumerate(op[1]):
        if type(x) is tuple and len(x) == 7:
            name, kind = known[n]
            indexed = f"{name}_index" in given
            out.append(Operand(x[0], _TYPES[x[1]], n in writes, kind not in ("out", "opt_out"), x, indexed))
    return out


def row_bytes(storage) -> int:
    return storage.row_bytes if storage.on_chip else 0


def elements(o: Operand, value) -> np.ndarray:
    """Where its elements begin, in bytes of the storage, row by row; `value(register)` is what a register holds. Of rows that an index
    chooses: all that may be meant."""
    s, _, partition, byte, partitions, dims, terms = o.slot
    size = o.dtype.itemsize
    if o.indexed:
        return np.arange(0, s.row_bytes * (s.shape[0] if s.on_chip else 1), size)
    for register, scale, is_partition in zip(terms[::3], terms[1::3], terms[2::3]):
        moved = value(register) * scale
        partition, byte = (partition + moved, byte) if is_partition else (partition, byte + moved)
    at = partition * row_bytes(s) + byte + np.arange(max(partitions, 1)) * row_bytes(s)
    for stride, count in zip(dims[::2], dims[1::2]):
        at = at[..., None] + np.arange(count) * (stride * size)
    return at.reshape(-1)


def of_view(view) -> np.ndarray:
    """The same of a view that no register moves, in its shape."""
    size = view.dtype.itemsize
    at = np.array(view.offset * size)
    for stride, count in zip(view.strides, view.shape):
        at = at[..., None] + np.arange(count) * (stride * size)
    return at


def meets(a: np.ndarray, a_size: int, b: np.ndarray, b_size: int) -> bool:
    """Whether elements of these sizes that begin there share a byte."""
    if a_size == b_size and not (a[0] - b[0]) % a_size:
        return bool(np.isin(a, b).any())
    a, b = ((x[..., None] + np.arange(n)).reshape(-1) for x, n in ((a, a_size), (b, b_size)))
    return bool(np.isin(a, b).any())


class Watch(NamedTuple):
    """A value that the run stops for: nan, inf, denormal, saturation, or one outside of a range."""

    kind: str
    lowest: float = 0
    highest: float = 0

    def __str__(self) -> str:
        return self.kind if self.kind != "range" else f"range {self.lowest:g} {self.highest:g}"

    def find(self, values: np.ndarray, dtype: dtypes.DType) -> np.ndarray:
        """Which of them are meant."""
        if self.kind == "range":
            wide = values.astype(np.float64)
            return ~((wide >= self.lowest) & (wide <= self.highest)) & ~np.isnan(wide)
        if not dtype.is_float:
            limits = np.iinfo(values.dtype)
            return (
                (values == limits.min) & (limits.min < 0) | (values == limits.max)
                if self.kind == "saturation"
                else _none(values)
            )
        wide = np.abs(values.astype(np.float64))
        if self.kind == "nan":
            return np.isnan(wide)
        if self.kind == "inf":
            return np.isinf(wide)
        limits = _limits(values.dtype)
        if self.kind == "denormal":
            return (wide > 0) & (wide < float(limits.smallest_normal))
        return wide == float(limits.max)


def _none(values: np.ndarray) -> np.ndarray:
    return np.zeros(values.shape, bool)


def _limits(dtype):
    import ml_dtypes

    return ml_dtypes.finfo(dtype)
