"""Matrices: matmul, transpose, and loads that transpose.

The Tensor engine takes stationary [K, M] and moving [K, N] from SBUF and writes [M, N] to PSUM. It transposes 128 x 128 from SBUF to
PSUM: bit by bit where the target has the exact transpose, and else by multiplying with an identity, which floats survive
except NaN, infinity and the sign of zero. Types it does not transpose go through Vector, 32 x 32 at a time, bit by bit.
"""

from __future__ import annotations

from .. import dtypes
from .. import trace as _t
from . import tiles as T
from .tiles import F32, PSUM, SBUF, VECTOR

_BANK = 512  # fp32 columns of a bank of PSUM
_BLOCK = 32


def _two_dimensions(x, call: str, what: str):
    if len(x.shape) != 2:
        raise T.failure(f"{what} of nl.{call} has {len(x.shape)} dimensions", "give a tile of two dimensions")
    return x


def _by_tensor_engine(dtype) -> bool:
    """Whether the Tensor engine transposes this type without losing more than NaN and infinity."""
    if _t.target().has("exact_transpose"):
        return dtype.itemsize > 1
    return dtype.is_float


def transposed_into(dst, x) -> None:
    """dst[f, p] = x[p, f]; dst is a tile in SBUF, x one of at most 128 x 128."""
    x = T.startable(x)
    p, f = x.shape
    if _by_tensor_engine(x.dtype) and f <= 128:
        kind = x.dtype if _t.target().has("exact_transpose") else F32
        bank = T.new((f, p), kind, PSUM)
        _t.emit("nc_transpose", (bank.operand(), T.in_sbuf(x).operand()), 0)
        T.copy_into(dst, bank)
        return
    for i in range(0, p, _BLOCK):
        for j in range(0, f, _BLOCK):
            a, b = min(i + _BLOCK, p), min(j + _BLOCK, f)
            _t.emit("nc_transpose", (dst[j:b, i:a].operand(), x[i:a, j:b].operand()), VECTOR)


def transpose(x, dtype=None):
    """x[p, f] as a tile [f, p], in PSUM."""
    x = _two_dimensions(T.tile(x, "transpose", "x"), "transpose", "x")
    p, f = x.shape
    if f > 128:
        raise T.failure(f"nl.transpose of a tile {x.shape}", "at most 128 x 128; transpose slices of 128 columns")
    result = T.chosen(dtype, x.dtype)
    out = T.new((f, p), result, PSUM)
    exact = _t.target().has("exact_transpose")
    if _by_tensor_engine(x.dtype) and result is (x.dtype if exact else F32):
        _t.emit("nc_transpose", (out.operand(), T.in_sbuf(x).operand()), 0)
        return out
    middle = T.new((f, p), x.dtype)
    transposed_into(middle, x)
    T.copy_into(out, middle)
    return out


def matmul(x, y, transpose_x=False):
    """x @ y as an fp32 tile in PSUM; with `transpose_x`, x is given transposed, as the Tensor engine takes it."""
    x = _two_dimensions(T.tile(x, "matmul", "x"), "matmul", "x")
    y = _two_dimensions(T.tile(y, "matmul", "y"), "matmul", "y")
    k, m = x.shape if transpose_x else x.shape[::-1]
    n = y.shape[1]
    if k != y.shape[0]:
        raise T.failure(
            f"nl.matmul of {x.shape} and {y.shape} with transpose_x={bool(transpose_x)}", "inner sizes are equal"
        )
    if k > 128 or m > 128:
        raise T.failure(
            f"nl.matmul of {k} x {m} by {k} x {n}", "inner size and rows are at most 128; split the matrices"
        )
    x, y = T.in_sbuf(x), T.in_sbuf(y)
    if (
        x.dtype.is_integer
        or y.dtype.is_integer
        or (x.dtype is not y.dtype and 4 in (x.dtype.itemsize, y.dtype.itemsize))
    ):
        # Integers become fp32, and fp32 pairs only with fp32.
        x, y = T.cast(x, F32), T.cast(y, F32)
    if not transpose_x:
        column = T.new((k, m), x.dtype)
        transposed_into(column, x)
        x = column
    out = T.new((m, n), F32, PSUM)
    for i in range(0, n, _BANK):
        end = min(i + _BANK, n)
        _t.emit("nc_matmul", (out[:, i:end].operand(), x.operand(), y[:, i:end].operand(), 0), 0)
    return out


def load_transpose2d(src, dtype=None):
    """A new tile [F, P] in SBUF from a tensor [P, F] in HBM."""
    if not T.is_tile(src):
        raise T.failure(f"src of nl.load_transpose2d is a {type(src).__name__} and must be a tensor")
    src = _two_dimensions(src, "load_transpose2d", "src")
    p, f = src.shape
    result = T.chosen(dtype, src.dtype)
    if f > 128:
        raise T.failure(f"nl.load_transpose2d of a tensor {src.shape}", "its columns become partitions: at most 128")
    out = T.new((f, p), result)
    if src.storage.on_chip:
        transposed_into(out, src)
        return out
    if result is src.dtype and _t.target().has("dma_transpose") and result.itemsize in (2, 4):
        for i in range(0, p, 128):
            end = min(i + 128, p)
            slots = (out[:, i:end].operand(), src[i:end].operand(), None, None, 1)
            _t.emit("dma_transpose", slots)
        return out
    for i in range(0, p, 128):
        end = min(i + 128, p)
        rows = T.new((end - i, f), src.dtype)
        _t.emit("dma_copy", (rows.operand(), src[i:end].operand()))
        _place(out[:, i:end], rows)
    return out


def _place(dst, rows) -> None:
    """dst = rows transposed, cast to its type."""
    if dst.dtype is rows.dtype or _by_tensor_engine(rows.dtype):
        transposed_into(dst, rows)
        return
    middle = T.new(dst.shape, rows.dtype)
    transposed_into(middle, rows)
    T.copy_into(dst, middle)


def shared_identity_matrix(n, dtype=dtypes.uint8, dst=None):
    """An identity matrix in SBUF: ones, cleared off the diagonal by GpSimd."""
    n = int(n)
    if not 1 <= n <= 128:
        raise T.failure(f"nl.shared_identity_matrix of {n} rows", "a tile has at most 128 partitions")
    out = T.new((n, n), dtypes.of(dtype)) if dst is None else dst
    if tuple(out.shape) != (n, n) or out.storage.region is not SBUF:
        raise T.failure(f"dst of nl.shared_identity_matrix is {out!r}", f"give a tile {(n, n)} in SBUF")
    T.fill(out, 1)
    slots = (out.operand(), out.operand(), [-1, n], 0.0, "equal", 0, 1)
    _t.emit("affine_select", slots, T.GPSIMD)
    return out
