"""nl functions of one and two operands against NumPy: types, shapes, broadcasts, numbers, every target."""

import math

import glia
import ml_dtypes
import nki.language as nl
import numpy as np
import pytest
from tile_kernels import TARGETS, close, numbers, run

F32, BF16, F16 = np.float32, ml_dtypes.bfloat16, np.float16
I32, U32, I16, U8 = np.int32, np.uint32, np.int16, np.uint8

ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_equal": np.greater_equal,
    "greater": np.greater,
    "less_equal": np.less_equal,
    "less": np.less,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
SHAPES = [
    ((128, 32), (128, 32)),
    ((128, 32), (128, 1)),
    ((128, 1), (128, 32)),
    ((128, 32), (1, 32)),
    ((1, 1), (70, 9)),
    ((40, 1), (1, 17)),
    ((33, 3, 5), (33, 1, 5)),
    ((16, 2, 3, 4), (1, 2, 1, 4)),
]


def fp32(f, *xs):
    """What fp32 arithmetic gives, rounded to the type of the first operand."""
    with np.errstate(all="ignore"):
        return f(*(x.astype(F32) for x in xs)).astype(xs[0].dtype)


@pytest.mark.parametrize("dtype", [F32, BF16, F16])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, dtype):
    x, y = numbers((128, 65), dtype, 1), numbers((128, 65), dtype, 2)
    np.testing.assert_array_equal(run(getattr(nl, name), x, y), fp32(ARITHMETIC[name], x, y))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [F32, BF16, I32])
def test_broadcast(shapes, dtype):
    x, y = numbers(shapes[0], dtype, 1), numbers(shapes[1], dtype, 2)
    expected = x - y if dtype is I32 else fp32(np.subtract, x, y)
    np.testing.assert_array_equal(run(nl.subtract, x, y), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_32_bit_integers_are_exact(name, target):
    for dtype in (I32, U32):
        x, y = numbers((64, 33), dtype, 1), numbers((64, 33), dtype, 2)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(run(getattr(nl, name), x, y, target=target), ARITHMETIC[name](x, y))


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", [F32, I32])
def test_comparison(name, dtype):
    x, y = numbers((32, 40), dtype, 1), numbers((32, 40), dtype, 2)
    y[:, ::3] = x[:, ::3]
    x[:, ::5], y[:, ::7] = 0, 0
    np.testing.assert_array_equal(run(getattr(nl, name), x, y), COMPARISONS[name](x, y).astype(dtype))


def test_comparison_of_neighbours_beyond_fp32():
    x = np.full((32, 8), 2**30, I32)
    y = x + np.arange(8, dtype=I32)
    np.testing.assert_array_equal(run(nl.equal, x, y), (x == y).astype(I32))
    np.testing.assert_array_equal(run(lambda a: nl.less(a, 2**30 + 3), y), (y < 2**30 + 3).astype(I32))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", [I32, U32, I16, U8])
def test_bits(name, dtype):
    x, y = numbers((64, 20), dtype, 1), numbers((64, 20), dtype, 2)
    np.testing.assert_array_equal(run(getattr(nl, name), x, y), BITS[name](x, y))
    mask = 0x55555555 if np.dtype(dtype).itemsize == 4 else 0x55
    np.testing.assert_array_equal(run(lambda a: getattr(nl, name)(a, mask), x), BITS[name](x, np.array(mask, dtype)))


def test_shifts_and_invert():
    x = numbers((32, 16), U32, 1)
    np.testing.assert_array_equal(run(lambda a: nl.left_shift(a, 3), x), x << np.uint32(3))
    np.testing.assert_array_equal(run(lambda a: nl.right_shift(a, 5), x), x >> np.uint32(5))
    np.testing.assert_array_equal(run(nl.invert, x), ~x)


def test_numbers_on_both_sides():
    x = numbers((32, 16), F32, 1)
    a, b, c = run(lambda t: (nl.subtract(t, 1.5), nl.subtract(1.5, t), nl.multiply(2, t)), x)
    np.testing.assert_array_equal(a, x - F32(1.5))
    np.testing.assert_array_equal(b, F32(1.5) - x)
    np.testing.assert_array_equal(c, x * F32(2))


def test_result_types():
    x, y = numbers((32, 16), BF16, 1), numbers((32, 16), F32, 2)
    assert run(nl.add, x, y).dtype == F32
    np.testing.assert_array_equal(
        run(lambda a, b: nl.add(a, b, dtype=nl.bfloat16), y, y), (y.astype(F32) + y).astype(BF16)
    )
    i = numbers((32, 16), I32, 3)
    assert run(lambda a: nl.add(a, 1, dtype=nl.float32), i).dtype == F32


@pytest.mark.parametrize("target", TARGETS)
def test_divide(target):
    x, y = numbers((128, 64), F32, 1), numbers((128, 64), F32, 2)
    y[np.abs(y) < 0.01] = 1
    close(run(nl.divide, x, y, target=target), x.astype(np.float64) / y)
    close(run(lambda a: nl.divide(a, 3.0), x, target=target), x.astype(np.float64) / 3)
    close(run(lambda a: nl.divide(1.0, a), y, target=target), 1 / y.astype(np.float64), ulp=0.51)
    close(run(lambda a, b: nl.divide(a, b), x, y[:, :1].copy(), target=target), x.astype(np.float64) / y[:, :1])


@pytest.mark.parametrize("target", TARGETS)
def test_power(target):
    x, y = numbers((64, 20), F32, 1, 0.1, 4), numbers((64, 20), F32, 2)
    close(run(nl.power, x, y, target=target), x.astype(np.float64) ** y.astype(np.float64), ulp=4)
    close(run(lambda a: nl.power(a, 2), x, target=target), x.astype(np.float64) ** 2, ulp=4)


def _erf(x):
    return np.vectorize(math.erf)(x)


def _phi(x):
    return 0.5 * (1 + _erf(x / math.sqrt(2)))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * _phi(x),
    "gelu_dx": lambda x: _phi(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "gelu_apprx_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_apprx_sigmoid": lambda x: x * _sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": lambda x: _sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - _sigmoid(1.702 * x))),
    "silu": lambda x: x * _sigmoid(x),
    "silu_dx": lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "erf": _erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "sign": np.sign,
    "abs": np.abs,
    "square": np.square,
    "negative": np.negative,
    "arctan": np.arctan,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "cos": np.cos,
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x}


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("name", [*FUNCTIONS, *POSITIVE])
def test_function(name, dtype):
    x = numbers((64, 48), dtype, 1, 0.05 if name in POSITIVE else -4, 4)
    f = FUNCTIONS.get(name) or POSITIVE[name]
    expected = f(x.astype(np.float64))
    actual = run(getattr(nl, name), x)
    assert actual.dtype == dtype
    close(
        actual,
        expected,
        ulp=4,
        absolute=1e-6 if name in ("cos", "gelu_dx", "silu_dx", "gelu_apprx_sigmoid_dx", "mish") else 1e-30,
    )


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_any_size(name):
    rng = np.random.default_rng(2)
    special = [
        0.0,
        1e-45,
        -1e-40,
        16367173 * 2.0**72,
        128,
        129,
        4e19,
        3.4028235e38,
        2.0**33,
        2.0**65,
        2.0**97,
        2.0**127,
    ]
    parts = [special, rng.uniform(-628, 628, 500), 10 ** rng.uniform(3, 38.5, 1000) * rng.choice([-1, 1], 1000)]
    parts += [np.floor(2 ** rng.uniform(0, 25, 500)) * np.pi / 2]
    x = np.resize(np.concatenate(parts).astype(F32), (64, 33))
    close(run(getattr(nl, name), x), getattr(np, name)(x.astype(np.float64)), ulp=4 if name != "tan" else 8, absolute=0)
    none = np.array([[np.inf, -np.inf, np.nan, 1.0]] * 32, F32)
    assert np.isnan(run(getattr(nl, name), none)[0]).tolist() == [True, True, True, False]


def test_angles_of_large_tiles_and_other_types():
    x = np.linspace(-1e6, 1e6, 64 * 2 * 1500).astype(F32).reshape(64, 2, 1500)
    close(run(nl.sin, x), np.sin(x.astype(np.float64)), ulp=4, absolute=0)
    i = np.arange(-64, 64, dtype=I32).reshape(32, 4) * 1000
    close(run(lambda t: nl.cos(t, dtype=nl.float32), i), np.cos(i.astype(np.float64)), ulp=4, absolute=0)


ROUNDING = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, -0.49999997, 3.999, -3.001, 2**22 + 0.5, 2**23 - 0.5, -(2**23) + 0.5,
     2.0**31, -(2.0**31), 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan, 1e-40, -1e-40], F32
)  # fmt: skip


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_of_special_numbers(name):
    x = np.tile(ROUNDING, (32, 1))
    np.testing.assert_array_equal(run(getattr(nl, name), x), getattr(np, name)(x))
    i = numbers((32, 8), I32, 1)
    np.testing.assert_array_equal(run(getattr(nl, name), i), i)


@pytest.mark.parametrize("name,f", [("mod", np.mod), ("fmod", np.fmod)])
def test_remainders(name, f):
    rng = np.random.default_rng(0)
    x = rng.integers(-1000, 1000, (32, 50)).astype(F32) / 4
    y = rng.integers(1, 40, (32, 50)).astype(F32) / 4 * rng.choice([-1, 1], (32, 50)).astype(F32)
    np.testing.assert_array_equal(run(getattr(nl, name), x, y), f(x, y))
    np.testing.assert_array_equal(run(lambda a: getattr(nl, name)(a, 3.0), x), f(x, F32(3)))


def test_logical_not_and_integers():
    x = np.array([[0, 1, -5, 2**30]] * 32, I32)
    np.testing.assert_array_equal(run(nl.logical_not, x), (x == 0).astype(I32))
    np.testing.assert_array_equal(run(nl.negative, x), -x)
    np.testing.assert_array_equal(run(nl.abs, x), np.abs(x))
    y = np.array([[3, -7, 46341, 0]] * 32, I32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(nl.square, y), y * y)
    np.testing.assert_array_equal(run(nl.relu, x), np.maximum(x, 0))


def test_long_rows_are_cut():
    x = numbers((2, 70000), U8, 1)
    np.testing.assert_array_equal(run(lambda a: nl.maximum(a, 100), x), np.maximum(x, 100))


def test_slices_that_engines_cannot_start_at():
    x, y = numbers((128, 16), F32, 1), numbers((20, 16), F32, 2)
    np.testing.assert_array_equal(run(lambda a, b: nl.add(a[17:37], b), x, y), x[17:37] + y)
    np.testing.assert_array_equal(run(lambda a, b: nl.add(b, a[17:18]), x, y), y + x[17:18])


@pytest.mark.parametrize("target", ["trn1", "trn2"])
def test_abs_max_needs_trn3(target):
    x = numbers((32, 16), F32, 1)
    with pytest.raises(glia.Error, match="abs_max"):
        run(nl.abs_max, x, x, target=target)


def test_abs_max_on_trn3():
    x, y = numbers((32, 16), F32, 1), numbers((32, 16), F32, 2)
    np.testing.assert_array_equal(run(nl.abs_max, x, y, target="trn3"), np.where(np.abs(x) > np.abs(y), x, y))
    np.testing.assert_array_equal(run(nl.abs_min, x, y, target="trn3"), np.where(np.abs(x) < np.abs(y), x, y))


BAD = {
    "two numbers": lambda a: nl.add(1, 2),
    "a string": lambda a: nl.add(a, "x"),
    "shapes": lambda a: nl.add(a, a[:, 0:3]),
    "float bits": lambda a: nl.bitwise_and(a, a),
    "divide by zero": lambda a: nl.divide(a, 0),
    "ranks": lambda a: nl.add(a, a.reshape((32, 4, 4))),
    "rand": lambda a: nl.rand((32, 4), nl.float32),
    "dropout": lambda a: nl.dropout(a, 0.5),
    "prelu": lambda a: nl.prelu(a),
    "keyword": lambda a: nl.exp(a, axis=1),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_calls_are_refused(name):
    with pytest.raises((glia.Error, TypeError)):
        run(BAD[name], numbers((32, 16), F32, 1))
