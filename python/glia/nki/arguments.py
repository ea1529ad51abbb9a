"""The arguments of a kernel: arrays, wherever they are in tuples, lists, dicts and NKIObjects, become input tensors; everything
else is known while the kernel is traced. What a kernel returns is taken apart here too."""

from __future__ import annotations

import enum
import functools
import inspect
import types

import numpy as np

from . import dtypes
from . import trace as _t
from .frameworks import kind_of, to_numpy
from .objects import MemoryRegion, NKIObject
from .ranks import RankAxis
from .tensor import NkiTensor, whole


@functools.lru_cache(maxsize=1024)
def _signature(function) -> inspect.Signature:
    return inspect.signature(function)


def bind(function, args, kwargs) -> dict:
    """Argument values by name, defaults included. What does not fit the function is an error at the caller's line."""
    try:
        bound = _signature(function).bind(*args, **kwargs)
    except TypeError as e:
        raise _t.failure(
            "NKI-ARGUMENT", f"{function.__name__}: {e}", f"It is {function.__name__}{_signature(function)}."
        ) from None
    bound.apply_defaults()
    return bound


class Arrays:
    """The arrays among the arguments, each once in the order of the parameters. `axis` is what they have for ranks."""

    def __init__(self, bound: inspect.BoundArguments, axis: RankAxis):
        self.axis = axis
        self.originals: list = []
        self.arrays: list[np.ndarray] = []
        self.names: list[str] = []
        self.kind = "numpy"
        self.like = None
        self.places: dict[int, int] = {}
        for name, value in bound.arguments.items():
            self._find(name, value)

    def _find(self, name: str, x) -> None:
        kind = kind_of(x)
        if kind is not None:
            array = to_numpy(x)
            try:
                dtypes.of(array.dtype)
            except TypeError:
                raise _t.failure(
                    "NKI-DTYPE",
                    f"the argument `{name}` is an array of {array.dtype}, which the machine does not have",
                    "Convert it, for example with .astype(np.float32) or .astype(np.int32).",
                ) from None
            if array.size == 0:
                raise _t.failure(
                    "NKI-SHAPE",
                    f"the argument `{name}` is an empty array",
                    "Call the kernel only where there is something to compute.",
                    value=array.shape,
                )
            if kind != "numpy":
                self.kind, self.like = kind, x
            self.axis.part(name, array.shape)
            self.places[id(x)] = len(self.arrays)
            self.originals.append(x)
            self.arrays.append(array)
            self.names.append(name)
        elif isinstance(x, (tuple, list)):
            for n, y in enumerate(x):
                self._find(f"{name}_{n}", y)
        elif isinstance(x, dict):
            for key, y in x.items():
                self._find(f"{name}_{key}", y)
        elif isinstance(x, NKIObject) and hasattr(x, "__dict__"):
            for key, y in vars(x).items():
                self._find(f"{name}_{key}", y)

    def declare(self, trace: _t.Trace, place) -> list[NkiTensor]:
        """The input tensors, in a trace."""
        out = []
        for n, (name, array) in enumerate(zip(self.names, self.arrays)):
            shape = tuple(map(int, self.axis.part(name, array.shape))) or (1,)
            s = _t.Storage(
                trace, MemoryRegion.shared_hbm, _free(trace, name), False, dtypes.of(array.dtype), shape, "input"
            )
            s.ordinal, s.place = n, place
            trace.storages.append(s)
            out.append(whole(s))
        return out

    def replace(self, x, tensors: list[NkiTensor], taken: list[int]):
        """`x` with tensors in place of arrays, containers made anew. `taken` counts the arrays met so far."""
        if kind_of(x) is not None:
            n = taken[0]
            taken[0] += 1
            return tensors[n]
        if isinstance(x, tuple):
            parts = [self.replace(y, tensors, taken) for y in x]
            return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
        if isinstance(x, list):
            return [self.replace(y, tensors, taken) for y in x]
        if isinstance(x, dict):
            return {k: self.replace(y, tensors, taken) for k, y in x.items()}
        if isinstance(x, NKIObject) and hasattr(x, "__dict__"):
            before = taken[0]
            parts = {k: self.replace(y, tensors, taken) for k, y in vars(x).items()}
            if taken[0] == before:
                return x
            copy = object.__new__(type(x))
            for k, y in parts.items():
                object.__setattr__(copy, k, y)
            return copy
        if isinstance(x, np.generic):
            return x.item()
        return x


def _free(trace: _t.Trace, name: str) -> str:
    while name in trace.names:
        name += "_"
    trace.names.add(name)
    return name


_PLAIN = (int, float, complex, str, bytes, bool, type(None), type, types.FunctionType, enum.Enum, np.dtype)


def described(x):
    """An argument without the numbers of its arrays, to be held against that of another call by `same`."""
    if kind_of(x) is not None:
        array = to_numpy(x)
        return (kind_of(x), array.shape, array.dtype)
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (tuple, list)):
        return [type(x), *map(described, x)]
    if isinstance(x, dict):
        return {k: described(y) for k, y in x.items()}
    if isinstance(x, NKIObject) and hasattr(x, "__dict__"):
        return [type(x), described(vars(x))]
    return x


def same(a, b) -> bool:
    """Whether two described arguments mean the same; not known of objects that may have changed."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return a == b
    return isinstance(a, _PLAIN) and type(a) is type(b) and a == b


def returned_tensors(value, function: str, place) -> list[NkiTensor]:
    """The tensors in what a kernel returned, in order; errors for what cannot be returned."""
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [t for x in value for t in returned_tensors(x, function, place)]
    if isinstance(value, dict):
        return [t for x in value.values() for t in returned_tensors(x, function, place)]
    if not isinstance(value, NkiTensor):
        what = f"a {type(value).__name__}"
        _t.error(
            "NKI-RETURN", f"`{function}` returns {what}", "A kernel returns tensors in nl.shared_hbm.", place=place
        )
        return []
    region = value.storage.region
    if region is not MemoryRegion.shared_hbm or value.storage.role == "constant":
        what = "a constant" if value.storage.role == "constant" else f"a tensor in {region.value}"
        _t.error(
            "NKI-RETURN",
            f"`{function}` returns {what}: `{value.name}`",
            "Copy it into an nl.ndarray with buffer=nl.shared_hbm and return that.",
            place=place,
        )
        return []
    if (
        value.offset
        or value.terms
        or value.dynamic
        or not value.is_contiguous()
        or value.size != whole(value.storage).size
    ):
        if value.dtype.itemsize * value.size != value.storage.row_bytes or not value.is_contiguous() or value.offset:
            _t.error(
                "NKI-RETURN",
                f"`{function}` returns a part of `{value.name}`",
                "A kernel returns whole tensors.",
                place=place,
            )
            return []
    return [value]


def rebuild(value, results: list):
    """What the caller gets: the structure of `value` with arrays for tensors, taken from `results` in order."""
    if isinstance(value, NkiTensor):
        return results.pop(0)
    if isinstance(value, tuple):
        return tuple(rebuild(x, results) for x in value)
    if isinstance(value, list):
        return [rebuild(x, results) for x in value]
    if isinstance(value, dict):
        return {k: rebuild(x, results) for k, x in value.items()}
    return value
