"""Functions that the engines do not have: rounding to integers and remainders, built from ones they have.

Rounding: a cast to int32 rounds fp32 to the nearest integer; numbers of 2^23 or more are integers, and they, infinities and NaN
are taken as they are. A comparison then moves the nearest integer to the wanted side.
"""

from __future__ import annotations

from .. import dtypes
from .. import trace as _t
from . import elementwise as E
from . import tiles as T
from .tiles import F32, VECTOR

_WHOLE = 2.0**23  # from here on every fp32 number is an integer
I32 = dtypes.int32
U8 = dtypes.uint8


def _nearest(x):
    """The nearest integer of an fp32 tile; ties go to the even one."""
    whole = T.new(x.shape, I32)
    T.copy_into(whole, x)
    out = T.new(x.shape, F32)
    T.copy_into(out, whole)
    small = T.new(x.shape, U8)  # 0 for NaN as well
    E._tensor_scalar(small, x, "abs", None, False, "less", _WHOLE)
    for d, s, p in T.pieces(out, x, small):
        _t.emit("tensor_copy_predicated", (d.operand(), s.operand(), p.operand(), 1), VECTOR)
    return out


def _rounded(call: str, x, dtype, compare: str, correct: str):
    x = T.tile(x, call, "x")
    result = T.chosen(dtype, x.dtype)
    if x.dtype.is_integer:
        return _copied(x, result)
    value = T.cast(x, F32)
    near = _half_steps(value, _nearest(value), compare, correct)
    return T.cast(near, result)


def _half_steps(value, near, compare: str, correct: str):
    """`near` moved by one where it is on the wrong side of `value`."""
    over = E.binary("", compare, near, value, F32)
    out = T.new(near.shape, F32)
    E._tensor_tensor(out, near, over, correct, VECTOR)
    return out


def _copied(x, dtype):
    out = T.new(x.shape, dtype)
    T.copy_into(out, x)
    return out


def floor(x, dtype=None):
    """The largest integer that is not above x."""
    return _rounded("floor", x, dtype, "greater", "subtract")


def ceil(x, dtype=None):
    """The smallest integer that is not below x."""
    return _rounded("ceil", x, dtype, "less", "add")


def trunc(x, dtype=None):
    """x without its fraction."""
    x = T.tile(x, "trunc", "x")
    result = T.chosen(dtype, x.dtype)
    if x.dtype.is_integer:
        return _copied(x, result)
    value = T.cast(x, F32)
    whole = floor(E.absolute(value))
    return E.binary("trunc", "multiply", whole, E.function("sign", "sign", value), result)


def _operands(call: str, x, y):
    x, y, tx, ty = E._pair(call, x, y)
    shape = T.common_shape(call, *(v.shape for v, t in ((x, tx), (y, ty)) if t))
    kinds = [v.dtype for v, t in ((x, tx), (y, ty)) if t]
    kind = kinds[0] if len(kinds) == 1 else E.promoted(*kinds)
    tiles = []
    for v, t in ((x, tx), (y, ty)):
        v = T.cast(v, F32) if t else T.constant(shape[0], float(v)).reshape((shape[0],) + (1,) * (len(shape) - 1))
        tiles.append(v)
    return tiles[0], tiles[1], kind, shape


def _remainder(a, b, shape, call: str):
    """The remainder of non-negative fp32 tiles: a - floor(a / b) * b, moved into [0, b) by at most one step each way."""
    quotient = floor(E.binary(call, "multiply", a, E.reciprocal(b)))
    rest = E.binary(call, "subtract", a, E.binary(call, "multiply", quotient, b))
    low = E.binary(call, "less", rest, 0.0)
    rest = E.binary(call, "add", rest, E.binary(call, "multiply", low, b))
    high = E.binary(call, "greater_equal", rest, b)
    return E.binary(call, "subtract", rest, E.binary(call, "multiply", high, b))


def fmod(x, y, dtype=None):
    """The remainder of x / y with the sign of x."""
    a, b, kind, shape = _operands("fmod", x, y)
    rest = _remainder(E.absolute(a), E.absolute(b), shape, "fmod")
    return E.binary("fmod", "multiply", rest, E.function("sign", "sign", a), T.chosen(dtype, kind))


def mod(x, y, dtype=None):
    """The remainder of x / y with the sign of y, as Python's %."""
    a, b, kind, shape = _operands("mod", x, y)
    rest = _remainder(E.absolute(a), E.absolute(b), shape, "mod")
    signed = E.binary("mod", "multiply", rest, E.function("sign", "sign", a))
    # Where the signs of the remainder and of y differ, one y more.
    opposite = E.binary("mod", "less", E.binary("mod", "multiply", E.function("sign", "sign", signed), b), 0.0)
    return E.binary("mod", "add", signed, E.binary("mod", "multiply", opposite, b), T.chosen(dtype, kind))
