"""Tiles of the convenience functions: new ones, operands that every engine can read, broadcasts, and pieces small enough for
one instruction. The other modules of nki.language are written with these and emit only legal instructions.

Broadcasting follows NumPy. Along free dimensions it costs nothing (stride 0). From one partition to many it is a shuffle of
the Vector engine, 32 partitions at a time, which keeps every bit; a source that no shuffle can read is spread by DMA, which
keeps them too.
"""

from __future__ import annotations

import math

from .. import dtypes
from .. import trace as _t
from ..objects import MemoryRegion
from ..tensor import NkiTensor, whole

SBUF, PSUM = MemoryRegion.sbuf, MemoryRegion.psum
VECTOR, SCALAR, GPSIMD = 1, 2, 3
CODE = "NKI-LANGUAGE"
F32 = dtypes.float32
_MOST = 65535  # a size of an access pattern has 16 bits


def error(message: str, advice: str = "") -> None:
    _t.error(CODE, message, advice)


def failure(message: str, advice: str = ""):
    return _t.failure(CODE, message, advice)


def new(shape, dtype, buffer=SBUF) -> NkiTensor:
    if shape[0] > 128 or dtype.machine is None:
        return _t.ndarray(tuple(shape), dtype, buffer)  # says what is wrong
    return whole(_t.required("nki.language").storage(buffer, "", dtype, tuple(shape), "chip"))


def is_tile(x) -> bool:
    return type(x) is NkiTensor


def free_size(shape) -> int:
    return math.prod(shape[1:])


def wide(dtype) -> bool:
    """Integers that fp32 does not hold: GpSimd computes them exactly."""
    return dtype is dtypes.int32 or dtype is dtypes.uint32


def chosen(dtype, default):
    """The type of a result."""
    return default if dtype is None else dtypes.of(dtype)


def tile(x, call: str, what: str) -> NkiTensor:
    """`x` as an operand of an engine: on chip, at a first partition that engines can start from."""
    if type(x) is not NkiTensor:
        made = isinstance(x, _t.NkiInstruction)
        advice = (
            "nisa calls return an instruction; what it writes is in its dst" if made else "load it with nl.load first"
        )
        raise failure(f"{what} of nl.{call} is a {type(x).__name__} and must be a tile", advice)
    if not x.storage.on_chip:
        error(f"{what} of nl.{call} is in HBM", "load it with nl.load first")
        return loaded(x)
    return startable(x)


def loaded(x: NkiTensor) -> NkiTensor:
    """A tile with the contents of a tensor in HBM."""
    out = new(x.shape if len(x.shape) > 1 else (1, *x.shape), x.dtype)
    _t.emit("dma_copy", (out.operand(), x.operand()))
    return out


def _may_start(start: int, count: int) -> bool:
    step = 32 if count <= 32 else 64 if count <= 64 else 128
    return start % step == 0


def startable(x: NkiTensor) -> NkiTensor:
    """`x`, or a copy by DMA if no engine can start where it does."""
    operand = x.operand()
    address = x.storage.address
    if operand[2] == 0 and address is None:
        return x
    if _may_start(operand[2] + (address[0] if address else 0), operand[4]) or x.storage.region is PSUM:
        return x
    out = new(x.shape, x.dtype)
    _t.emit("dma_copy", (out.operand(), operand))
    return out


def in_sbuf(x: NkiTensor) -> NkiTensor:
    """`x`, or a copy of it if it is in PSUM."""
    if x.storage.region is not PSUM:
        return x
    out = new(x.shape, x.dtype)
    copy_into(out, x)
    return out


def cast(x: NkiTensor, dtype) -> NkiTensor:
    """`x`, or a copy of another type."""
    if x.dtype is dtype:
        return x
    out = new(x.shape, dtype)
    copy_into(out, x)
    return out


def copy_into(dst: NkiTensor, src: NkiTensor, engine: int = VECTOR) -> None:
    for d, s in pieces(dst, src):
        _t.emit("tensor_copy", (d.operand(), s.operand()), engine)


def fill(dst: NkiTensor, value) -> None:
    from ..isa import memset

    for (d,) in pieces(dst):
        memset(d, value)


def constant(partitions: int, value, dtype=F32) -> NkiTensor:
    """A tile [partitions, 1] of one value."""
    out = new((partitions, 1), dtype)
    fill(out, value)
    return out


def pieces(*views: NkiTensor):
    """The views, which have one shape, cut along free dimensions so that each piece is an operand of one instruction."""
    shape = views[0].shape
    n = free_size(shape)
    if n <= 4096:
        return (views,)
    limit = _MOST
    if any(v.storage.region is PSUM for v in views):
        limit = int(_t.target().value("memory.max_free_elements_psum"))
    return within(limit, *views)


def within(limit: int, *views: NkiTensor):
    """The views, cut into pieces of at most `limit` elements per partition."""
    shape = views[0].shape
    n = free_size(shape)
    return (views,) if n <= limit else _cut(views, shape, n, limit)


def _cut(views, shape, n: int, limit: int):
    axis = next(d for d in range(1, len(shape)) if shape[d] > 1)
    inner = n // shape[axis]
    step = max(1, limit // inner)
    for start in range(0, shape[axis], step):
        key = (slice(None),) * axis + (slice(start, min(start + step, shape[axis])),)
        yield from within(limit, *(v[key] for v in views))


# ---- broadcasting ----------------------------------------------------------------------------------------------------------


def common_shape(call: str, *shapes) -> tuple[int, ...]:
    """The shape that NumPy's rules give."""
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return shapes[0]
    rank = max(len(s) for s in shapes)
    out = []
    for column in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes)):
        sizes = {n for n in column if n != 1}
        if len(sizes) > 1:
            raise failure(
                f"shapes {' and '.join(str(tuple(s)) for s in shapes)} of nl.{call} do not broadcast",
                "dimensions are equal or 1",
            )
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def broadcast(x: NkiTensor, shape, call: str) -> NkiTensor:
    """`x` with `shape`, which it broadcasts to: a view, or a new tile if it has to reach more partitions."""
    if x.shape == shape:
        return x
    if len(x.shape) < len(shape):
        if x.shape[0] != 1:
            raise failure(
                f"a tile {x.shape} of nl.{call} has fewer dimensions than {shape}, and its partitions would become columns",
                "give it as many dimensions with .expand_dim or nl.expand_dims",
            )
        x = x.reshape((1,) * (len(shape) - len(x.shape)) + x.shape)
    if x.shape[0] != shape[0]:
        x = spread(x, shape[0])
    for d in range(1, len(shape)):
        if x.shape[d] != shape[d]:
            x = x.broadcast(d, shape[d])
    return x


def spread(x: NkiTensor, partitions: int) -> NkiTensor:
    """A tile whose partitions all hold the one partition of `x`, bit by bit."""
    out = new((partitions, *x.shape[1:]), x.dtype)
    source = x.operand()
    start = source[2] + (x.storage.address[0] if x.storage.address else 0)
    if start % 32:
        storage, code, first, byte, _, dims, terms = source
        _t.emit("dma_copy", (out.operand(), (storage, code, first, byte, 1, (0, partitions, *dims), terms)))
        return out
    for d in range(0, partitions, 32):
        for to, s in pieces_of_rows(out[d : min(d + 32, partitions)], x):
            _t.emit("nc_stream_shuffle", (to.operand(), s.operand(), [0] * 32), VECTOR)
    return out


def pieces_of_rows(dst: NkiTensor, src: NkiTensor):
    """`pieces` for a destination with more partitions than the source."""
    if free_size(dst.shape) <= 4096:
        return ((dst, src),)
    return pieces(dst, src)
