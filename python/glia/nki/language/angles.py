"""Sine, cosine and tangent of any fp32 number. The engine's sine is for -pi to pi (`nisa.activation(op=nl.sin)`), so an angle loses its
half turns first: by exact products while it is near, and by Payne and Hanek's method beyond. The same steps as in graphs
(docs/numerics.md)."""

from __future__ import annotations

import math

from .. import dtypes
from .. import trace as _t
from ..ops import OPS
from . import elementwise as E
from . import tiles as T
from .tiles import F32

I32, U32, U8 = dtypes.int32, dtypes.uint32, dtypes.uint8
_ANY = -1  # the compiler chooses the engine
_COLUMNS = 1024  # at a time: there are a dozen tiles on the way
_NEAR = 128.0
_ROUND = 1.5 * 2.0**23  # adding it leaves whole numbers
_PI = tuple(map(float.fromhex, ("0x1.921ep+1", "0x1.b544p-15", "0x1.0b4612p-33")))  # the first two have 16 bits
# 22 zeros, then 1 / (2 pi).
_BITS = (0x000000A2, 0xF9836E4E, 0x441529FC, 0x2757D1F5, 0x34DDC0DB, 0x6295993C, 0x439041FE)


def _scalar(data, alu: str, operand, alu1=None, operand1=None, dtype=F32):
    out = T.new(data.shape, dtype)
    more = () if alu1 is None else (alu1, operand1)
    _t.emit("tensor_scalar", (out.operand(), data.operand(), alu, operand, 0, *more), _ANY)
    return out


def _tensor(a, b, alu: str, dtype=F32, out=None):
    out = T.new(a.shape, dtype) if out is None else out
    _t.emit("tensor_tensor", (out.operand(), a.operand(), b.operand(), alu), _ANY)
    return out


def _add_product(data, factor: float, other):
    return _tensor(_scalar(data, "multiply", factor), other, "add")


def _select(dst, where, src) -> None:
    _t.emit("tensor_copy_predicated", (dst.operand(), src.operand(), where.operand(), 0), _ANY)


def _signed(r, sign):
    """r with its sign turned around where `sign` has the highest bit."""
    return _tensor(r.view(I32), sign.view(I32), "bitwise_xor", I32).view(F32)


def _near(x, ahead: bool):
    """A near angle less the nearest multiple of pi; odd multiples turn the sign around."""
    if ahead:
        turns = _scalar(_scalar(x, "multiply", 1 / math.pi, "add", 0.5), "add", _ROUND)
        count = _scalar(turns, "subtract", _ROUND, "subtract", 0.5)
    else:
        turns = _scalar(x, "multiply", 1 / math.pi, "add", _ROUND)
        count = _scalar(turns, "subtract", _ROUND)
    r = x
    for part in _PI:
        r = _add_product(count, -part, r)
    return _signed(r, _scalar(turns.view(I32), "shift_left", 31.0, dtype=I32))


def _window(x, size):
    """96 bits of 1 / (2 pi) from the place that the exponent of x says: what is not whole turns."""

    def word(bits: int):
        return T.constant(x.shape[0], bits, U32).operand()

    bits = x.view(U32)
    further = _scalar(size, "greater_equal", 2.0**65, "multiply", -1.0, I32).view(U32)  # by two words
    odd = _scalar(bits, "shift_right", 28.0, "bitwise_and", 1.0, U32)  # by one word
    words = [
        _scalar(further, "bitwise_and", word(_BITS[i] ^ _BITS[i + 2]), "bitwise_xor", word(_BITS[i]), U32)
        for i in range(5)
    ]
    for i in range(4):
        _select(words[i], odd, words[i + 1])
    shift = _scalar(bits, "shift_right", 23.0, "bitwise_and", 31.0, U32)
    back = _scalar(shift, "bitwise_xor", 31.0, dtype=U32)
    joins = "add" if _t.target().has("vector_gpsimd_concurrent") else "bitwise_or"  # no bit is in both
    aligned = []
    for i in range(3):
        more = _tensor(_scalar(words[i + 1], "shift_right", 1.0, dtype=U32), back, "shift_right", U32)
        aligned.append(_tensor(_tensor(words[i], shift, "shift_left", U32), more, joins, U32))
    return aligned


def _halves(whole):
    """A whole number of 24 bits as upper * 4096 + lower, with lower from -2048 to 2048."""
    rounded = _scalar(whole, "multiply", 2.0**-12, dtype=I32)
    upper = T.new(whole.shape, F32)
    _t.emit("tensor_copy", (upper.operand(), rounded.operand()), _ANY)
    return upper, _add_product(upper, -4096.0, whole)


def _far(x, size, ahead: bool):
    """As `_near`, of an angle of any size."""
    first, following, last = _window(x, size)
    m = _scalar(x.view(I32), "bitwise_and", float(0x7FFFFF), "bitwise_or", float(0x800000), I32)
    upper, lower = _halves(m)
    next_upper, next_lower = _halves(_scalar(following, "shift_right", 8.0, dtype=U32))
    tail = _add_product(last, 2.0**-32, _scalar(following, "bitwise_and", 255.0, dtype=U32))

    turn = _tensor(m, first.view(I32), "multiply", I32)  # modulo 2^32, which is a whole turn
    turn = _tensor(turn, _tensor(upper, next_upper, "multiply", I32), "add", I32)
    cross = _tensor(_tensor(lower, next_upper, "multiply"), _tensor(upper, next_lower, "multiply"), "add")
    whole = _scalar(cross, "multiply", 2.0**-12, dtype=I32)
    turn = _tensor(turn, whole, "add", I32)
    rest = _add_product(whole, -4096.0, cross)
    rest = _add_product(_tensor(lower, next_lower, "multiply"), 2.0**-12, rest)
    rest = _add_product(_tensor(m, tail, "multiply"), 2.0**-20, rest)
    if ahead:
        quarter = T.broadcast(T.constant(x.shape[0], 1 << 30, I32), turn.shape, "cos")
        turn = _tensor(turn, quarter, "add", I32)

    half = _scalar(turn, "shift_left", 1.0, dtype=I32)
    sign = _tensor(turn, half, "bitwise_xor", I32)  # odd where the two upper bits differ
    if not ahead:
        sign = _tensor(sign, x.view(I32), "bitwise_xor", I32)  # the turn is that of |x|
    sign = _scalar(sign, "bitwise_and", -(2.0**31), dtype=I32)
    r = _scalar(_add_product(rest, 2.0**-11, half), "multiply", math.pi * 2.0**-32)
    return _signed(_add_product(x, 0.0, r), sign)  # NaN for infinity


def _sine(x, ahead: bool):
    """sin of an fp32 tile, or its cos: the sine a quarter turn ahead."""
    size = _scalar(x, "abs", None)
    r = _near(x, ahead)
    _select(r, _scalar(size, "greater", _NEAR, dtype=U8), _far(x, size, ahead))
    out = T.new(x.shape, F32)
    _t.emit("activation", (out.operand(), r.operand(), "sin", 1.0), _ANY)
    return out


def _columns(call: str, x, dtype, compute):
    """A new tile with `compute` of fp32 parts of x that are flat and not too long."""
    x = T.tile(x, call, "x")
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    for d, s in T.within(_COLUMNS, out, x):
        value = T.new(s.shape, F32)
        T.copy_into(value, s)
        flat = value.reshape((value.shape[0], T.free_size(value.shape)))
        T.copy_into(d, compute(flat).reshape(d.shape))
    return out


def sin(x, dtype=None):
    """Sine, of angles of any size."""
    return _columns("sin", x, dtype, lambda v: _sine(v, False))


def cos(x, dtype=None):
    """Cosine, of angles of any size."""
    return _columns("cos", x, dtype, lambda v: _sine(v, True))


def tan(x, dtype=None):
    """Tangent, of angles of any size: sine times the reciprocal of the cosine."""
    return _columns("tan", x, dtype, lambda v: _tensor(_sine(v, False), E.reciprocal(_sine(v, True)), "multiply"))


E._bind(OPS["sin"], sin, sin.__doc__)
