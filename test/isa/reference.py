"""What the instructions compute, in NumPy: conversions, operations in fp32, and the documented order of reductions."""

import numpy as np
from glia.dtypes import numpy_dtype

F32 = np.float32
FLOATS = ("f32", "bf16", "f16", "f8e4m3", "f8e5m2", "f8e3m4")
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32")


def rng_for(*key) -> np.random.Generator:
    """Random numbers that depend on nothing but `key`."""
    return np.random.default_rng(list(repr(key).encode()))


def widen(a: np.ndarray) -> np.ndarray:
    """To fp32, as an engine reads it."""
    return a.astype(F32)


def narrow(values: np.ndarray, dtype) -> np.ndarray:
    """From fp32, as an engine writes it: nearest even; integers saturate and NaN becomes 0."""
    dtype = numpy_dtype(dtype) if isinstance(dtype, str) else np.dtype(dtype)
    values = np.asarray(values, F32)
    if not np.issubdtype(dtype, np.integer):
        with np.errstate(all="ignore"):
            return values.astype(dtype)
    limits = np.iinfo(dtype)
    rounded = np.clip(np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0)), limits.min, limits.max)
    return rounded.astype(dtype)


def _number(f):
    return lambda a, b: f(a, b).astype(F32)


def _nan(f):
    def either(a, b):
        return np.where(np.isnan(a) | np.isnan(b), F32(np.nan), f(a, b)).astype(F32)

    return either


BINARY = {
    "add": _number(np.add),
    "subtract": _number(np.subtract),
    "multiply": _number(np.multiply),
    "max": _nan(lambda a, b: np.where(a > b, a, b)),
    "min": _nan(lambda a, b: np.where(a < b, a, b)),
    "equal": _number(np.equal),
    "not_equal": _number(np.not_equal),
    "greater_equal": _number(np.greater_equal),
    "greater": _number(np.greater),
    "less_equal": _number(np.less_equal),
    "less": _number(np.less),
    "logical_and": _number(lambda a, b: (a != 0) & (b != 0)),
    "logical_or": _number(lambda a, b: (a != 0) | (b != 0)),
    "logical_xor": _number(lambda a, b: (a != 0) ^ (b != 0)),
}
ABSOLUTE = {
    "abs_max": _nan(lambda a, b: np.where(np.abs(a) > np.abs(b), a, b)),
    "abs_min": _nan(lambda a, b: np.where(np.abs(a) < np.abs(b), a, b)),
}
UNARY = {"abs": np.abs, "reciprocal": lambda a: (F32(1) / a).astype(F32)}
UNARY_NEWER = {
    "square": lambda a: (a * a).astype(F32),
    "relu": lambda a: np.where(np.isnan(a), F32(np.nan), np.where(a > 0, a, F32(0))),
}


def shift(a, b, left: bool):
    """Logical shifts of unsigned arrays; a distance of the width or more leaves nothing."""
    wide, distance = a.astype(np.uint64), b.astype(np.uint64)
    moved = wide << np.minimum(distance, 63) if left else wide >> np.minimum(distance, 63)
    return np.where(distance < 8 * a.dtype.itemsize if left else distance < 64, moved, 0).astype(a.dtype)


BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": lambda a, b: shift(a, b, True),
    "shift_right": lambda a, b: shift(a, b, False),
}


def reduce(op: str, a: np.ndarray) -> np.ndarray:
    """Reduces the last axis of fp32 values: 64 interleaved lanes, each in order, then halves folded onto each other."""
    n = a.shape[-1]
    f = BINARY[op]
    if op == "subtract":
        return a[..., 0] if n == 1 else f(a[..., 0], reduce("add", a[..., 1:]))
    if n == 1 and op.startswith("logical"):
        return (a[..., 0] != 0).astype(F32)
    width = min(n, 64)
    lanes = [a[..., j] for j in range(width)]
    for i in range(width, n):
        lanes[i % 64] = f(lanes[i % 64], a[..., i])
    half = 32
    while half:
        for j in range(half):
            if j + half < width:
                lanes[j] = f(lanes[j], lanes[j + half])
        half //= 2
    return lanes[0]


IDENTITY = {"add": F32(0), "multiply": F32(1), "max": F32(-np.inf), "min": F32(np.inf)}


def values(rng: np.random.Generator, dtype: str, shape, edges: bool = True) -> np.ndarray:
    """Test data: ordinary numbers with the edge values of the type strewn in."""
    t = numpy_dtype(dtype)
    if np.issubdtype(t, np.integer):
        limits = np.iinfo(t)
        a = rng.integers(limits.min, limits.max, shape, dtype=t, endpoint=True)
        small = rng.random(shape) < 0.4
        a = np.where(small, rng.integers(0, 5, shape).astype(t), a)
        special = np.array([limits.min, limits.max, 0, 1], dtype=t)
    else:
        with np.errstate(all="ignore"):
            a = (rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))).astype(t)
            special = np.array(
                [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, 3e-39, 3.4e38, -3.4e38, 2.5, 0.5]
            ).astype(t)
    if edges:
        where = rng.random(shape) < 0.15
        a = np.where(where, rng.choice(special, shape), a)
    return a.astype(t)
