"""Operations on tiles, element by element, as nki.language calls them: nl.add(x, y), nl.exp(x) ...

Arithmetic is fp32, rounded once per operation and cast to the type of the result. Integers of 32 bits are computed exactly on
GpSimd when every operand is one. Bit operations work on the bits, on Vector.
"""

from __future__ import annotations

import inspect

from .. import dtypes
from .. import trace as _t
from ..ops import BIT_OPS, OPS, Op
from . import tiles as T
from .tiles import F32, GPSIMD, PSUM, SCALAR, VECTOR

_EXACT = frozenset(
    "add subtract multiply max min equal not_equal greater_equal greater less_equal less logical_and logical_or "
    "logical_xor".split()
)
_PLAIN = _EXACT | {"abs_max", "abs_min"}  # what Vector does with two tiles of floats


def promoted(a, b):
    """The type of a result from two types: floats before integers, then the wider one; fp32 for two kinds of one width."""
    if a is b:
        return a
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.itemsize != b.itemsize:
        return a if a.itemsize > b.itemsize else b
    if a.is_float:
        return F32
    return a if str(a).startswith("int") else b


def _finish(out, dtype):
    return T.cast(out, dtype)


def _tensor_tensor(dst, a, b, alu: str, engine: int) -> None:
    if a.storage.region is PSUM and b.storage.region is PSUM:
        b = T.in_sbuf(b)
    for d, x, y in T.pieces(dst, a, b):
        _t.emit("tensor_tensor", (d.operand(), x.operand(), y.operand(), alu), engine)


def _tensor_scalar(dst, data, alu: str, operand, reverse: bool = False, alu1=None, operand1=None) -> None:
    for d, x in T.pieces(dst, data):
        slots = (d.operand(), x.operand(), alu, operand, 1 if reverse else 0)
        if alu1 is not None:
            slots = (*slots, alu1, operand1)
        _t.emit("tensor_scalar", slots, VECTOR)


def _exact_tile(v, like, dtype):
    """A number as a tile [P, 1] of integers, or a tile in SBUF."""
    return T.in_sbuf(v) if T.is_tile(v) else T.constant(like.shape[0], int(v), dtype)


def _pair(name: str, x, y):
    """The operands of a binary operation, at least one of them a tile."""
    tx, ty = T.is_tile(x), T.is_tile(y)
    if not tx and not ty:
        raise T.failure(f"nl.{name} has no tile among its operands", "compute with numbers in Python")
    out = []
    for v, is_tile, what in ((x, tx, "the first operand"), (y, ty, "the second operand")):
        if is_tile:
            out.append(T.tile(v, name, what))
        else:
            try:
                float(v)
            except (TypeError, ValueError):
                raise T.failure(
                    f"{what} of nl.{name} is a {type(v).__name__} and must be a tile or a number",
                    "load arrays with nl.load; numbers are those of Python",
                ) from None
            out.append(v)
    return out[0], out[1], tx, ty


def binary(name: str, alu: str, x, y, dtype=None):
    """A new tile with x `alu` y."""
    if (
        T.is_tile(x)
        and T.is_tile(y)
        and x.shape == y.shape
        and x.dtype is y.dtype
        and alu in _PLAIN
        and x.dtype.is_float
    ):
        x, y = T.tile(x, name, "the first operand"), T.tile(y, name, "the second operand")
        out = T.new(x.shape, T.chosen(dtype, x.dtype))  # the usual case, without the questions below
        _tensor_tensor(out, x, y, alu, VECTOR)
        return out
    x, y, tx, ty = _pair(name, x, y)
    if tx and ty:
        shape, kind = T.common_shape(name, x.shape, y.shape), promoted(x.dtype, y.dtype)
    else:
        shape, kind = (x if tx else y).shape, (x if tx else y).dtype
    result = T.chosen(dtype, kind)
    if alu in BIT_OPS:
        return _finish(_bits(name, alu, x, y, tx, ty, shape), result)
    whole = all(T.wide(v.dtype) if t else float(v).is_integer() for v, t in ((x, tx), (y, ty)))
    if whole and alu in _EXACT:
        out = T.new(shape, result if T.wide(result) else kind)
        a, b = (_exact_tile(v, y if tx is False else x, kind) for v in (x, y))
        _tensor_tensor(out, T.broadcast(a, shape, name), T.broadcast(b, shape, name), alu, GPSIMD)
        return _finish(out, result)
    out = T.new(shape, result)
    if alu == "power":  # GpSimd has it, for two tiles in SBUF
        a, b = (T.in_sbuf(v) if t else T.constant(shape[0], float(v)) for v, t in ((x, tx), (y, ty)))
        _tensor_tensor(out, T.broadcast(a, shape, name), T.broadcast(b, shape, name), alu, GPSIMD)
    elif not ty:
        _tensor_scalar(out, x, alu, float(y))
    elif not tx:
        _tensor_scalar(out, y, alu, float(x), True)
    elif _per_partition(y, shape) and x.shape == shape:
        _tensor_scalar(out, x, alu, y.operand())
    elif _per_partition(x, shape) and y.shape == shape:
        _tensor_scalar(out, y, alu, x.operand(), True)
    else:
        _tensor_tensor(out, T.broadcast(x, shape, name), T.broadcast(y, shape, name), alu, VECTOR)
    return out


def _per_partition(x, shape) -> bool:
    """Whether `x` can be the scalar operand of tensor_scalar for tiles of `shape`."""
    return T.free_size(x.shape) == 1 and x.shape[0] == shape[0] and x.dtype is F32 and T.free_size(shape) > 1


def _bits(name, alu, x, y, tx, ty, shape):
    for v, t in ((x, tx), (y, ty)):
        if t and v.dtype.is_float:
            raise T.failure(f"nl.{name} has an operand of type {v.dtype}", "bit operations take integers")
        if not t and (not float(v).is_integer()):
            raise T.failure(f"nl.{name} has the operand {v}", "bit operations take integers")
    like = x if tx else y
    kind = promoted(x.dtype, y.dtype) if tx and ty else like.dtype
    out = T.new(shape, kind)
    if tx != ty:
        number = int(x if ty else y)
        if abs(number) <= 1 << 24:
            _tensor_scalar(out, like, alu, float(number), ty)
            return out
        tile = T.constant(shape[0], number, kind)
        x, y = (x, tile) if tx else (tile, y)
    x, y = T.cast(x, kind), T.cast(y, kind)
    _tensor_tensor(out, T.broadcast(x, shape, name), T.broadcast(y, shape, name), alu, VECTOR)
    return out


# ---- one operand -------------------------------------------------------------------------------------------------------------


def function(name: str, fn: str, x, dtype=None):
    """A new tile with fn(x), computed by the Scalar engine."""
    x = T.tile(x, name, "x")
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    for d, s in T.pieces(out, x):
        _t.emit("activation", (d.operand(), s.operand(), fn, 1.0), SCALAR)
    return out


def unary_alu(name: str, alu: str, x, dtype=None):
    x = T.tile(x, name, "x")
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    _tensor_scalar(out, x, alu, None)
    return out


def absolute(x, dtype=None):
    """Magnitude: on Vector; 32-bit integers exactly."""
    x = T.tile(x, "abs", "x")
    if x.dtype is dtypes.int32:
        return binary("abs", "max", x, binary("abs", "subtract", 0, x), dtype)
    return unary_alu("abs", "abs", x, dtype)


def square(x, dtype=None):
    """x * x."""
    x = T.tile(x, "square", "x")
    return binary("square", "multiply", x, x, dtype) if T.wide(x.dtype) else function("square", "square", x, dtype)


def relu(x, dtype=None):
    """x where it is positive, else 0."""
    x = T.tile(x, "relu", "x")
    return binary("relu", "max", x, 0, dtype) if T.wide(x.dtype) else function("relu", "relu", x, dtype)


def reciprocal(x, dtype=None):
    """1 / x, correctly rounded to fp32, on Vector."""
    x = T.tile(x, "reciprocal", "x")
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    for d, s in T.pieces(out, x):
        _t.emit("reciprocal", (d.operand(), s.operand()), VECTOR)
    return out


def negative(x, dtype=None):
    """-x."""
    x = T.tile(x, "negative", "x")
    if T.wide(x.dtype):
        return binary("negative", "subtract", 0, x, dtype)
    out = T.new(x.shape, T.chosen(dtype, x.dtype))
    _tensor_scalar(out, x, "multiply", -1.0)
    return out


def logical_not(x, dtype=None):
    """1 where x is 0, else 0."""
    return binary("logical_not", "equal", x, 0, dtype)


def invert(x, dtype=None):
    """Every bit changed."""
    x = T.tile(x, "invert", "x")
    if x.dtype.is_float:
        raise T.failure(f"nl.invert has an operand of type {x.dtype}", "bit operations take integers")
    out = T.new(x.shape, x.dtype)
    _tensor_scalar(out, x, "bitwise_not", None)
    return _finish(out, T.chosen(dtype, x.dtype))


def divide(x, y, dtype=None):
    """x / y as x * (1 / y): the reciprocal and the product are each rounded once."""
    _, _, tx, ty = _pair("divide", x, y)
    if not ty:
        if float(y) == 0:
            raise T.failure("nl.divide by the number 0", "give a number that is not zero, or a tile")
        return binary(
            "divide", "multiply", T.cast(x, F32) if x.dtype.is_integer else x, 1.0 / float(y), dtype or x.dtype
        )
    kind = T.chosen(dtype, promoted(x.dtype, y.dtype) if tx else y.dtype)
    inverse = reciprocal(y, F32)
    if not tx and float(x) == 1.0:
        return T.cast(inverse, kind)
    return binary("divide", "multiply", T.cast(x, F32) if tx and x.dtype.is_integer else x, inverse, kind)


# ---- the names ---------------------------------------------------------------------------------------------------------------

_BINARY = {
    "add": "x + y.",
    "subtract": "x - y.",
    "multiply": "x * y.",
    "maximum": "The larger of x and y.",
    "minimum": "The smaller of x and y.",
    "equal": "1 where x == y, else 0.",
    "not_equal": "1 where x != y, else 0.",
    "greater_equal": "1 where x >= y, else 0.",
    "greater": "1 where x > y, else 0.",
    "less_equal": "1 where x <= y, else 0.",
    "less": "1 where x < y, else 0.",
    "logical_and": "1 where x and y are not 0, else 0.",
    "logical_or": "1 where x or y is not 0, else 0.",
    "logical_xor": "1 where one of x and y is not 0, else 0.",
    "power": "x to the power of y, on GpSimd.",
    "abs_max": "The operand of larger magnitude, with its sign (trn3).",
    "abs_min": "The operand of smaller magnitude, with its sign (trn3).",
    "bitwise_and": "Bits that x and y have.",
    "bitwise_or": "Bits that x or y has.",
    "bitwise_xor": "Bits that one of x and y has.",
    "left_shift": "The bits of x shifted left by y.",
    "right_shift": "The bits of x shifted right by y; zeros come in.",
}
_FUNCTIONS = {
    "arctan": "The arc tangent of x.",
    "erf": "The error function of x.",
    "erf_dx": "The derivative of erf: 2 / sqrt(pi) exp(-x^2).",
    "exp": "e to the power of x.",
    "gelu": "x Phi(x), Phi being the distribution function of the normal distribution.",
    "gelu_apprx_sigmoid": "gelu as x sigmoid(1.702 x).",
    "gelu_apprx_sigmoid_dx": "The derivative of gelu_apprx_sigmoid.",
    "gelu_apprx_tanh": "gelu as x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).",
    "gelu_dx": "The derivative of gelu.",
    "log": "The natural logarithm of x.",
    "mish": "x tanh(softplus(x)).",
    "rsqrt": "1 / sqrt(x).",
    "sigmoid": "1 / (1 + exp(-x)).",
    "sign": "-1, 0 or 1.",
    "silu": "x sigmoid(x).",
    "silu_dx": "The derivative of silu.",
    "sin": "The sine of x.",
    "softplus": "log(1 + exp(x)).",
    "sqrt": "The square root of x.",
    "tanh": "The hyperbolic tangent of x.",
}
_OPERANDS = {
    "average": "The mean of what is reduced: an operand of nki.isa.",
    "bypass": "The first operand as it is: an operand of nki.isa.",
    "prelu": "Refused: the machine has no such function.",
}
_SPECIAL = {
    "abs": absolute,
    "square": square,
    "relu": relu,
    "reciprocal": reciprocal,
    "invert": invert,
}


def _bind(op: Op, fn, doc: str) -> None:
    op.fn, op.__doc__ = fn, doc
    fn.__qualname__ = f"nl.{op.name}"  # what Python calls it where arguments are wrong
    op.__signature__ = inspect.signature(fn)


def _binary_function(name: str, alu: str):
    def call(x, y, dtype=None):
        return binary(name, alu, x, y, dtype)

    return call


def _unary_function(name: str, fn: str):
    def call(x, dtype=None):
        return function(name, fn, x, dtype)

    return call


for _name, _doc in _BINARY.items():
    _bind(OPS[_name], _binary_function(_name, OPS[_name].alu), _doc)
for _name, _fn in _SPECIAL.items():
    _bind(OPS[_name], _fn, _fn.__doc__)
for _op in OPS.values():
    if _op.fn is None and _op.act is not None and _op.name != "copy":
        _bind(_op, _unary_function(_op.name, _op.act), _FUNCTIONS[_op.name])
for _name, _doc in _OPERANDS.items():
    OPS[_name].__doc__ = _doc
