"""Reductions of tiles over free axes, over partitions, or both.

Free axes: tensor_reduce of Vector, in fp32 and in the order of docs/numerics.md. 32-bit integers are reduced exactly, by halves, on
GpSimd. Partitions: sums are a matmul with ones (fp32, partitions in order); maxima, and sums of integers, are GpSimd's
tensor_partition_reduce; minima are maxima of the negated values; products go to one partition by DMA and are reduced there.
Axis 0 stays as a dimension of size 1, and a result has at least two dimensions, as every tile.
"""

from __future__ import annotations

from builtins import min as _least  # `min` is a call of nki.language here

from .. import dtypes
from .. import trace as _t
from ..ops import OPS
from . import elementwise as E
from . import tiles as T
from .tiles import F32, GPSIMD, PSUM, VECTOR

_MATMUL = 512  # columns of one bank of PSUM in fp32


def axes_of(x, axis, call: str) -> tuple[int, ...]:
    """The axes, counted from the front, ascending."""
    rank = len(x.shape)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    try:
        axes = sorted({a.__index__() + (rank if a < 0 else 0) for a in given})
    except (AttributeError, TypeError):
        raise T.failure(f"axis of nl.{call} is {axis!r}", "give an integer or a tuple of integers") from None
    if not axes or axes[0] < 0 or axes[-1] >= rank:
        raise T.failure(f"axis of nl.{call} is {axis!r} for a tile of {rank} dimensions", f"axes are 0 to {rank - 1}")
    return tuple(axes)


def _reduce_emit(dst, data, alu: str) -> None:
    """dst[P, kept] = data[P, kept, n] reduced over n; pieces that fit one instruction."""
    kept, n = data.shape[1], data.shape[2]
    limit = 65535 if data.storage.region is not PSUM else int(_t.target().value("memory.max_free_elements_psum"))
    if kept * n <= limit:
        _t.emit("tensor_reduce", (dst.operand(), data.operand(), alu, 0), VECTOR)
        return
    if n <= limit:
        step = limit // n
        for i in range(0, kept, step):
            end = _least(i + step, kept)
            _t.emit("tensor_reduce", (dst[:, i:end].operand(), data[:, i:end, :].operand(), alu, 0), VECTOR)
        return
    parts = -(-n // limit)
    partial = T.new((data.shape[0], kept, parts), F32)
    for k in range(kept):
        for j in range(parts):
            piece = data[:, k : k + 1, j * limit : _least((j + 1) * limit, n)]
            _t.emit("tensor_reduce", (partial[:, k : k + 1, j : j + 1].operand(), piece.operand(), alu, 0), VECTOR)
    _reduce_emit(dst, partial, alu)


def _grouped(x, axes):
    """`x` as [P, kept, n] with the reduced axes last; None if no view has that form."""
    free = range(1, len(x.shape))
    kept, red = [d for d in free if d not in axes], [d for d in free if d in axes]
    order = (0, *kept, *red)
    view = x if order == tuple(range(len(x.shape))) else x.permute(order)
    return view, tuple(x.shape[d] for d in kept), tuple(x.shape[d] for d in red)


def _flat(view, kept: int, n: int):
    """[P, kept, n], in place if the layout allows it, else a copy."""
    shape = (view.shape[0], kept, n)
    if view.shape == shape:
        return view
    dims = list(view.shape)
    out = T.new(dims, view.dtype)
    T.copy_into(out, view)
    return out.reshape(shape)


def _free(alu: str, x, axes, dtype):
    """A tile [P, kept] with `x` reduced over free axes."""
    view, kept_shape, red_shape = _grouped(x, axes)
    kept, n = 1, 1
    for s in kept_shape:
        kept *= s
    for s in red_shape:
        n *= s
    out = T.new((x.shape[0], kept), dtype)
    if T.wide(x.dtype) and T.wide(dtype) and alu in E._EXACT:
        _halves(alu, out, _flat(view, kept, n))
        return out
    if kept * n <= 65535 and not (x.storage.region is PSUM and kept * n > 4096):
        _t.emit("tensor_reduce", (out.operand(), view.operand(), alu, 0), VECTOR)
    else:
        _reduce_emit(out, _flat(view, kept, n), alu)
    return out


def _halves(alu: str, out, data) -> None:
    """Exact reduction of integers: the second half is combined with the first until one element is left."""
    data = T.in_sbuf(data)
    p, kept, n = data.shape
    result = out.reshape((p, kept, 1))
    if n == 1:
        if alu.startswith("logical"):
            E._tensor_tensor(result, data, data, "logical_and", GPSIMD)
        else:
            T.copy_into(result, data)
        return
    while n > 1:
        half = n // 2
        rest = n - half
        dst = result if rest == 1 else T.new((p, kept, rest), out.dtype)
        E._tensor_tensor(dst[:, :, 0:half], data[:, :, 0:half], data[:, :, rest:n], alu, GPSIMD)
        if rest > half:
            T.copy_into(dst[:, :, half:rest], data[:, :, half:rest])
        data, n = dst, rest


# ---- partitions --------------------------------------------------------------------------------------------------------------


def _sum_partitions(x, dtype):
    """[1, N] = the sum of the partitions of [P, N] as a matmul with a column of ones."""
    x = T.cast(T.in_sbuf(x), F32)
    p, n = x.shape
    out = T.new((1, n), dtype)
    ones = T.constant(p, 1.0)
    for i in range(0, n, _MATMUL):
        end = _least(i + _MATMUL, n)
        bank = T.new((1, end - i), F32, PSUM)
        _t.emit("nc_matmul", (bank.operand(), ones.operand(), x[:, i:end].operand(), 0), 0)
        T.copy_into(out[:, i:end], bank)
    return out


def _gpsimd_partitions(op: str, x, dtype):
    x = T.in_sbuf(x)
    out = T.new((1, x.shape[1]), dtype)
    for i in range(0, x.shape[1], 32768):
        end = _least(i + 32768, x.shape[1])
        slots = (out[:, i:end].operand(), x[:, i:end].operand(), op)
        _t.emit("tensor_partition_reduce", slots, GPSIMD)
    return out


def _partitions(alu: str, x, dtype):
    """[1, N] from [P, N]."""
    exact = T.wide(x.dtype) and T.wide(dtype)
    if alu == "add":
        return _gpsimd_partitions("add", x, dtype) if exact else _sum_partitions(x, dtype)
    if alu == "max":
        return _gpsimd_partitions("max", x, dtype)
    if alu == "min":
        if exact:  # changing every bit reverses the order of integers
            return E.invert(_gpsimd_partitions("max", E.invert(x), dtype))
        return E.negative(_gpsimd_partitions("max", E.negative(T.cast(x, F32)), F32), dtype)
    # All elements of a column in one partition, one after the other.
    x = T.in_sbuf(x)
    p, n = x.shape
    row = T.new((1, n, p), x.dtype)
    _t.emit("dma_copy", (row.permute((0, 2, 1)).operand(), x.operand()))
    out = T.new((1, n), dtype)
    if exact:
        _halves(alu, out, row)
    else:
        _reduce_emit(out, row, alu)
    return out


# ---- the calls -----------------------------------------------------------------------------------------------------------------


def shaped(out, x, axes, keepdims: bool):
    """The result [P or 1, kept] with the shape that the caller expects."""
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    if not keepdims:
        shape = [n for d, n in enumerate(shape) if d == 0 or d not in axes]
        if len(shape) < 2:
            shape.append(1)
    return out.reshape(tuple(shape))


def reduced(call: str, alu: str, x, axis, dtype=None, keepdims=False):
    x = T.tile(x, call, "x")
    result = T.chosen(dtype, x.dtype)
    axes = axes_of(x, axis, call)
    exact = T.wide(x.dtype) and T.wide(result)
    middle = x.dtype if exact else F32
    if 0 not in axes:
        return shaped(_free(alu, x, axes, result), x, axes, keepdims)
    free = tuple(a for a in axes if a)
    if free:
        rows = _free(alu, x, free, middle)
    else:
        n = T.free_size(x.shape)
        rows = x if len(x.shape) == 2 else _flat(x, 1, n).reshape((x.shape[0], n))
    return shaped(_partitions(alu, rows, result), x, axes, keepdims)


def sum(x, axis, dtype=None, keepdims=False):
    """The sum over the axes."""
    return reduced("sum", "add", x, axis, dtype, keepdims)


def prod(x, axis, dtype=None, keepdims=False):
    """The product over the axes."""
    return reduced("prod", "multiply", x, axis, dtype, keepdims)


def max(x, axis, dtype=None, keepdims=False):
    """The largest element over the axes."""
    return reduced("max", "max", x, axis, dtype, keepdims)


def min(x, axis, dtype=None, keepdims=False):
    """The smallest element over the axes."""
    return reduced("min", "min", x, axis, dtype, keepdims)


def _count(x, axes) -> int:
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def mean(x, axis, dtype=None, keepdims=False):
    """The mean over the axes: the fp32 sum times 1 / n."""
    x = T.tile(x, "mean", "x")
    total = reduced("mean", "add", x, axis, F32, keepdims)
    out = T.new(total.shape, T.chosen(dtype, x.dtype))
    E._tensor_scalar(out, total, "multiply", 1.0 / _count(x, axes_of(x, axis, "mean")))
    return out


def var(x, axis, dtype=None, keepdims=False):
    """The variance over the axes (divided by n), from the differences to the mean. The axes always stay, as size 1."""
    x = T.tile(x, "var", "x")
    center = mean(x, axis, F32, True)
    apart = E.binary("var", "subtract", x, center, F32)
    return mean(E.binary("var", "multiply", apart, apart), axis, T.chosen(dtype, x.dtype), True)


def all(x, axis, dtype=None):
    """1 where every element over the axes is not 0, else 0."""
    x = T.tile(x, "all", "x")
    result = T.chosen(dtype, x.dtype)
    zeros = E.binary("all", "equal", x, 0, dtypes.float32)
    return E.binary("all", "equal", reduced("all", "max", zeros, axis, F32), 0.0, result)


for _name, _fn in (("max", max), ("min", min)):
    E._bind(OPS[_name], _fn, _fn.__doc__)
