"""softmax and rms_norm, in fp32 inside."""

from __future__ import annotations

from .. import dtypes
from .. import trace as _t
from . import elementwise as E
from . import reductions as R
from . import tiles as T
from .tiles import F32, SCALAR


def _free_axes(x, axis, call: str):
    axes = R.axes_of(x, axis, call)
    if axes[0] == 0:
        raise T.failure(f"axis of nl.{call} is {axis!r}", "it is a free axis; axis 0 is the partition")
    return axes


def _one_group(x, axes) -> bool:
    """Whether a partition is reduced as a whole, by one instruction."""
    return len(axes) == len(x.shape) - 1 and T.free_size(x.shape) <= 4096


def softmax(x, axis=-1, dtype=None):
    """exp(x - max) / sum over the axes; the sum is fp32 and the division is by its reciprocal."""
    x = T.tile(x, "softmax", "x")
    axes = _free_axes(x, axis, "softmax")
    result = T.chosen(dtype, x.dtype)
    if _one_group(x, axes):
        low = T.new((x.shape[0], 1), F32)
        _t.emit("tensor_reduce", (low.operand(), x.operand(), "max", 1), T.VECTOR)
        powers, total = T.new(x.shape, F32), T.new((x.shape[0], 1), F32)
        slots = (powers.operand(), x.operand(), "exp", 1.0, low.operand(), "reset_reduce", total.operand())
        _t.emit("activation", slots, SCALAR)
        out = T.new(x.shape, result)
        E._tensor_scalar(out, powers, "multiply", E.reciprocal(total).operand())
        return out
    apart = E.binary("softmax", "subtract", x, R.reduced("softmax", "max", x, axes, F32, True), F32)
    powers = E.function("softmax", "exp", apart)
    total = R.reduced("softmax", "add", powers, axes, F32, True)
    return E.binary("softmax", "multiply", powers, E.reciprocal(total), result)


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None):
    """x / sqrt(sum of squares / n + epsilon) * w."""
    x, w = T.tile(x, "rms_norm", "x"), T.tile(w, "rms_norm", "w")
    axes = _free_axes(x, axis, "rms_norm")
    inner = F32 if compute_dtype is None else dtypes.of(compute_dtype)
    if _one_group(x, axes):
        squares, total = T.new(x.shape, F32), T.new((x.shape[0], 1), F32)
        slots = (squares.operand(), x.operand(), "square", 1.0, None, "reset_reduce", total.operand())
        _t.emit("activation", slots, SCALAR)
        total = total.reshape((x.shape[0],) + (1,) * (len(x.shape) - 1))
    else:
        total = R.reduced("rms_norm", "add", E.binary("rms_norm", "multiply", x, x, F32), axes, F32, True)
    inverse, bias = T.new(total.shape, F32), T.constant(x.shape[0], float(epsilon))
    slots = (inverse.operand(), total.operand(), "rsqrt", 1.0 / float(n), bias.operand())
    _t.emit("activation", slots, SCALAR)
    scaled = E.binary("rms_norm", "multiply", x, inverse, inner)
    return E.binary("rms_norm", "multiply", scaled, w, T.chosen(dtype, x.dtype))
