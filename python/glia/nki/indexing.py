"""`t[...]`: integers, slices with a positive step, Ellipsis, nl.ds and loop variables. A bound that is out of range is an error
(it is not clipped silently); tracing goes on with the part that exists. A slice without elements can be made, not computed with."""

from __future__ import annotations

import operator

from . import trace as _t
from .registers import VirtualRegister


class DynamicSlice:
    """What nl.ds(start, size) makes."""

    __slots__ = ("size", "start")

    def __init__(self, start, size):
        self.start, self.size = start, size

    def __repr__(self) -> str:
        return f"nl.ds({self.start}, {self.size})"


def ds(start, size) -> DynamicSlice:
    """The slice of `size` elements from `start`."""
    return DynamicSlice(start, size)


def indexed(t, key):
    if type(key) is not tuple:
        key = (key,)
    shape, strides, on_chip = t.shape, t.strides, t.storage.on_chip
    new_shape, new_strides = [], []
    offset, terms = t.offset, t.terms
    dim = 0
    for k in key:
        if k is Ellipsis:
            for _ in range(_ellipsis(t, key)):
                new_shape.append(shape[dim])
                new_strides.append(strides[dim])
                dim += 1
            continue
        if dim == len(shape):
            raise _t.failure(
                "NKI-SLICE", f"{len(key)} indices for a tensor of shape {shape}", value=len(key), limit=dim
            )
        n, stride = shape[dim], strides[dim]
        kind = type(k)
        step = 1
        if kind is slice:
            start, stop = k.start, k.stop
            if k.step is None and (start is None or type(start) is int) and (stop is None or type(stop) is int):
                start = 0 if start is None else start
                size = (n if stop is None else stop) - start
                if start < 0 or size < 1 or start + size > n:
                    start, size, step = _range(t, dim, k, n)
            else:
                start, size, step = _range(t, dim, k, n)
        elif kind is int:
            start, size = k, -1
            if not 0 <= k < n:
                start = _element(t, dim, k, n)
        elif kind is DynamicSlice:
            start, size, step = _window(t, dim, k, n)
        elif kind is VirtualRegister:
            start, size = k, -1
        else:
            start, size = _element(t, dim, _as_integer(t, k), n), -1
        if dim == 0:
            if t.index is not None and not (size == n and start == 0):
                raise _t.failure("NKI-SLICE", "the dimension that vector_offset chooses rows of is indexed again")
            if on_chip and size < 0:
                size = 1
        if type(start) is VirtualRegister:
            start, terms = _dynamic(t, start, dim, terms)
            offset += start
        else:
            offset += start * stride
        if size >= 0:  # else one element was taken
            new_shape.append(size)
            new_strides.append(stride * step)
        dim += 1
    if dim < len(shape):
        new_shape += shape[dim:]
        new_strides += strides[dim:]
    least = 2 if on_chip else 1
    while len(new_shape) < least:
        new_shape.append(1)
        new_strides.append(1)
    return _make(t, tuple(new_shape), tuple(new_strides), offset, None, terms)


def _ellipsis(t, key) -> int:
    """How many dimensions an Ellipsis stands for."""
    if sum(k is Ellipsis for k in key) > 1:
        raise _t.failure("NKI-SLICE", "an index has two Ellipsis")
    rest = len(t.shape) - len(key) + 1
    if rest < 0:
        raise _t.failure(
            "NKI-SLICE",
            f"{len(key) - 1} indices for a tensor of shape {t.shape}",
            value=len(key) - 1,
            limit=len(t.shape),
        )
    return rest


def _as_integer(t, k) -> int:
    try:
        if not isinstance(k, bool):
            return operator.index(k)
    except TypeError:
        pass
    advice = "Use integers, slices, nl.ds(start, size) or Ellipsis."
    if hasattr(k, "storage"):
        advice = "Use t.select(dim, index) or t.ap(..., scalar_offset=...) for an index that is a tensor."
    raise _t.failure("NKI-SLICE", f"`{t.storage.name}` is indexed with a {type(k).__name__}", advice)


def _outside(t, dim: int, value, limit) -> None:
    _t.error(
        "NKI-SLICE",
        f"index out of range: dimension {dim} of `{t.storage.name}` with shape {t.shape}",
        "Bounds are not clipped. Use min(...) for the last, smaller tile.",
        value=value,
        limit=limit,
    )


def _element(t, dim: int, k: int, n: int) -> int:
    if k < 0:
        k += n
    if 0 <= k < n:
        return k
    _outside(t, dim, k, f"0 to {n - 1}")
    return 0


def _bound(t, k, n: int, default: int):
    if k is None:
        return default
    if type(k) is not int:
        if type(k) is VirtualRegister:
            return k
        k = _as_integer(t, k)
    return k + n if k < 0 else k


def _range(t, dim: int, k: slice, n: int):
    """Start, size and step of a slice."""
    step = 1 if k.step is None else _as_integer(t, k.step)
    if step < 1:
        _t.error("NKI-SLICE", "the step of a slice is positive", "Views go forwards only.", value=step, limit="1")
        step = 1
    start, stop = _bound(t, k.start, n, 0), _bound(t, k.stop, n, n)
    if type(start) is VirtualRegister or type(stop) is VirtualRegister:
        length = stop - start
        if type(length) is VirtualRegister:
            raise _t.failure("NKI-SLICE", "the length of a slice depends on a register", "Use nl.ds(start, size).")
        if not 0 < length <= n:
            _outside(t, dim, f"{length} elements", f"1 to {n}")
            length = n
        return start, -(-length // step), step
    if start < 0 or stop > n or start > n:
        _outside(t, dim, f"{k.start}:{k.stop}", f"0:{n}")
        start, stop = min(max(start, 0), n - 1), min(stop, n)
    stop = max(start, stop)  # a slice without elements, as in Python
    return start, -(-(stop - start) // step), step


def _window(t, dim: int, k: DynamicSlice, n: int):
    """Start and size of nl.ds."""
    size = _as_integer(t, k.size)
    if type(k.start) is VirtualRegister:
        if not 0 < size <= n:
            _outside(t, dim, f"{size} elements", f"1 to {n}")
            size = n
        return k.start, size, 1
    start = _as_integer(t, k.start)
    return _range(t, dim, slice(start, start + size), n) if start >= 0 else _negative_window(t, dim, start, size, n)


def _negative_window(t, dim: int, start: int, size: int, n: int):
    return _range(t, dim, slice(start + n, start + n + size), n)


def _dynamic(t, start: VirtualRegister, dim: int, terms: tuple):
    constant, added = _terms_of(t, start, dim)
    return constant, terms + added[len(t.terms) :]


from .tensor import make as _make
from .tensor import terms_of as _terms_of
