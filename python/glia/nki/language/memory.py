"""Moving tiles: load, store, copy, assignment, broadcasts, reshapes across partitions, gathers, selections."""

from __future__ import annotations

import math

from .. import dtypes
from .. import trace as _t
from ..ops import OPS
from ..tensor import NkiTensor
from . import elementwise as E
from . import tiles as T
from .tiles import GPSIMD, PSUM, VECTOR

U32 = dtypes.uint32


def _tensor(x, call: str, what: str) -> NkiTensor:
    if type(x) is not NkiTensor:
        raise T.failure(f"{what} of nl.{call} is a {type(x).__name__} and must be a tensor")
    return x


def _dma(dst, src) -> None:
    from ..isa import dma_copy

    dma_copy(dst, src)


def load(src, dtype=None):
    """A new tile in SBUF with the contents of a tensor in HBM; another type is cast by the DMA, through fp32."""
    src = _tensor(src, "load", "src")
    out = T.new(src.shape, T.chosen(dtype, src.dtype))
    if src.storage.on_chip and src.storage.region is PSUM:
        T.copy_into(out, src)
    else:
        _dma(out, src)
    return out


def store(dst, value):
    """A tensor in HBM gets the contents of a tile, or a number."""
    dst = _tensor(dst, "store", "dst")
    if dst.storage.on_chip:
        swapped = type(value) is NkiTensor and not value.storage.on_chip
        T.error(
            f"dst of nl.store is on chip: `{dst.storage.name}`",
            "it is nl.store(dst, value), and the tensor in HBM comes first"
            if swapped
            else "nl.store writes to HBM; use nl.copy or nisa.tensor_copy on chip",
        )
        return
    if type(value) is not NkiTensor:
        assign(dst, value)
        return
    if value.size != dst.size:
        T.error(
            f"nl.store of a tile {value.shape} to a tensor {dst.shape}",
            "both have the same number of elements; slice the larger one",
        )
        return
    _dma(dst, T.in_sbuf(value))


def copy(x, dtype=None):
    """A new tile in SBUF with the contents of a tile; bit by bit unless the type changes."""
    x = T.tile(x, "copy", "x")
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    T.copy_into(out, x)
    return out


def expand_dims(x, axis):
    """A view with one dimension more, of size 1."""
    return _tensor(x, "expand_dims", "x").expand_dim(axis)


def broadcast_to(x, shape, dtype=None):
    """A tile of `shape` with the values of `x` repeated; `x` itself if it has that shape and type."""
    x = T.tile(x, "broadcast_to", "x")
    shape = tuple(int(n) for n in shape)
    if len(shape) != len(x.shape) or T.common_shape("broadcast_to", x.shape, shape) != shape:
        raise T.failure(f"a tile {x.shape} does not broadcast to {shape}", "dimensions are equal, or 1 in the tile")
    result = T.chosen(dtype, x.dtype)
    if x.shape == shape and x.dtype is result:
        return x
    view = T.broadcast(x, shape, "broadcast_to")
    if view.dtype is result and 0 not in view.strides:
        return view  # a new tile already
    out = T.new(shape, result)
    T.copy_into(out, view)
    return out


def reshaped(x, shape):
    """A new tile of another shape with the elements in the same order, when partitions change: DMA from SBUF to SBUF."""
    x = T.in_sbuf(x)
    out = T.new(shape, x.dtype)
    _t.emit("dma_copy", (out.operand(), x.operand()))
    return out


# ---- t[...] = value ----------------------------------------------------------------------------------------------------------


def assign(view, value) -> None:
    """`t[...] = value`: a copy, cast to the type of the tensor and broadcast to the shape of the view."""
    if view.storage.moved:
        raise _t.failure(
            "NKI-SHAPE",
            "a reshape that changes the number of partitions is assigned to: it is a copy of the tile",
            "Assign to the tile itself.",
        )
    if type(value) is not NkiTensor:
        try:
            float(value)
        except (TypeError, ValueError):
            made = isinstance(value, _t.NkiInstruction)
            raise T.failure(
                f"a {type(value).__name__} is assigned to a tensor",
                "nisa calls return an instruction; what it writes is in its dst"
                if made
                else "assign a number or a tensor",
            ) from None
        _assign_number(view, value)
        return
    if not view.storage.on_chip or not value.storage.on_chip:
        if value.size != view.size:
            if value.storage.on_chip and value.shape[0] == 1 and len(view.shape) == len(value.shape):
                value = broadcast_to(value, view.shape)
            else:
                T.error(f"a tensor {value.shape} is assigned to {view.shape}", "both have the same number of elements")
                return
        _dma(view, T.in_sbuf(value))
        return
    source = value
    if source.shape != view.shape:
        if source.shape[0] != view.shape[0] or source.size != view.size:
            source = T.broadcast(T.startable(source), view.shape, "assign")
        else:
            source = source.reshape(view.shape)
    source = T.startable(source)
    if source.storage is view.storage and source.operand() != view.operand():
        source = copy(source)  # the two may overlap
    dst = view.operand()
    first = dst[2] + (view.storage.address[0] if view.storage.address else 0)
    if T._may_start(first, dst[4]) or view.storage.region is PSUM:
        T.copy_into(view, source)
    else:
        _dma(view, T.in_sbuf(source) if 0 not in source.strides else copy(source))


def _assign_number(view, value) -> None:
    if view.storage.on_chip:
        dst = view.operand()
        first = dst[2] + (view.storage.address[0] if view.storage.address else 0)
        if T._may_start(first, dst[4]):
            T.fill(view, value)
            return
        tile = T.new(view.shape, view.dtype)
        T.fill(tile, value)
        _dma(view, tile)
        return
    fill_hbm(view, value)


def fill_hbm(view, value) -> None:
    """Every element of a tensor in HBM = value: one tile, copied as often as it takes."""
    inner = math.prod(view.shape[1:])
    rows = view.shape[0]
    if inner * view.dtype.itemsize > 65536:  # too long for one partition: cut along the next dimension
        if len(view.shape) == 1:
            raise T.failure("this tensor cannot be filled", "assign to slices of it")
        for i in range(rows):
            part = view[i : i + 1]
            rest = part.reshape(part.shape[1:]) if part.is_contiguous() else part.squeeze_dim(0)
            fill_hbm(rest, value)
        return
    count = min(rows, 128)
    tile = T.new((count, inner), view.dtype)
    T.fill(tile, value)
    for i in range(0, rows, count):
        end = min(i + count, rows)
        _dma(view[i:end], tile[0 : end - i])


# ---- choices -----------------------------------------------------------------------------------------------------------------


def where(condition, x, y, dtype=None):
    """x where the condition is not 0, else y; both copied, cast to the type of the result."""
    condition = T.tile(condition, "where", "condition")
    tiles = [v for v in (x, y) if T.is_tile(v)]
    shape = T.common_shape("where", condition.shape, *(v.shape for v in tiles))
    kinds = [v.dtype for v in tiles]
    kind = condition.dtype if not kinds else kinds[0] if len(kinds) == 1 else E.promoted(*kinds)
    result = T.chosen(dtype, kind)
    out = T.new(shape, result)
    if T.is_tile(y):
        T.copy_into(out, T.broadcast(T.tile(y, "where", "y"), shape, "where"))
    else:
        T.fill(out, _number(y, result))
    mask = T.broadcast(E.binary("where", "not_equal", condition, 0, dtypes.uint8), shape, "where")
    if T.is_tile(x):
        source = T.broadcast(T.cast(T.tile(x, "where", "x"), result), shape, "where")
    else:
        source = T.constant(shape[0], _number(x, result), result)
        source = T.broadcast(source.reshape((shape[0],) + (1,) * (len(shape) - 1)), shape, "where")
    for d, s, p in T.pieces(out, source, mask):
        _t.emit("tensor_copy_predicated", (d.operand(), s.operand(), p.operand(), 0), VECTOR)
    return out


def _number(v, dtype):
    try:
        f = float(v)
    except (TypeError, ValueError):
        raise T.failure(
            f"an operand of nl.where is a {type(v).__name__} and must be a tile or a number",
            "load arrays with nl.load; numbers are those of Python",
        ) from None
    return int(f) if dtype.is_integer and f.is_integer() else f


def gather_flattened(data, indices, axis=0, dtype=None):
    """out[p, i] = data[p, indices[p, i]], the free dimensions of data flattened; on GpSimd, in SBUF."""
    data, indices = T.in_sbuf(T.tile(data, "gather_flattened", "data")), T.tile(indices, "gather_flattened", "indices")
    if axis not in (0, 1):
        raise T.failure(
            f"axis of nl.gather_flattened is {axis!r}", "elements are gathered within each partition: axis=0"
        )
    if data.shape[0] != indices.shape[0]:
        raise T.failure(
            f"nl.gather_flattened of data {data.shape} by indices {indices.shape}", "both have the same partitions"
        )
    if indices.dtype.is_float:
        raise T.failure(f"indices of nl.gather_flattened are {indices.dtype}", "give integers")
    indices = T.in_sbuf(indices)
    indices = indices.view(U32) if indices.dtype.itemsize == 4 else T.cast(indices, U32)
    out = T.new(indices.shape, data.dtype)
    for d, i in T.pieces(out, indices):
        _t.emit("nc_n_gather", (d.operand(), data.operand(), i.operand()), GPSIMD)
    return T.cast(out, T.chosen(dtype, data.dtype))


E._bind(OPS["copy"], copy, copy.__doc__)
