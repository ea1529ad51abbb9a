"""Integers of 2 and 4 bits: held in 8, with the values that NumPy gives after wrapping around."""

import glia
import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

TYPES = {"int4": (4, True), "uint4": (4, False), "int2": (2, True), "uint2": (2, False)}


def draw(name, *shape, seed=0):
    bits, signed = TYPES[name]
    low = -(1 << (bits - 1)) if signed else 0
    return np.random.default_rng(seed).integers(low, low + (1 << bits), shape).astype(getattr(ml_dtypes, name))


def wrap(name, x):
    """Whole numbers of any size, as this type holds them."""
    bits, signed = TYPES[name]
    low = np.int64(x) & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits) if signed else low


OPERATIONS = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y),
    "multiply": (lambda x, y: x * y * x, lambda x, y: x * y * x),
    "negate": (lambda x, y: -x, lambda x, y: -x),
    "not": (lambda x, y: ~x, lambda x, y: ~x),
    "xor": (lambda x, y: x ^ y, lambda x, y: x ^ y),
    "maximum": (jnp.maximum, np.maximum),
    "shift left": (lambda x, y: x << jnp.ones_like(x), lambda x, y: x << 1),
    "iota": (lambda x, y: x + lax.iota(x.dtype, x.shape[1]), lambda x, y: x + np.arange(x.shape[1])),
    "constant": (lambda x, y: x - np.arange(x.shape[1]).astype(x.dtype), lambda x, y: x - np.arange(x.shape[1])),
    "sums": (lambda x, y: lax.reduce(x, np.array(1, x.dtype), lax.add, (1,)), lambda x, y: 1 + x.sum(1)),
    "largest": (lambda x, y: x.max(0), lambda x, y: x.max(0)),
    "running sums": (lambda x, y: lax.cumsum(x, 1), lambda x, y: x.cumsum(1)),
    "scattered": (lambda x, y: x.at[jnp.array([1, 1, 3])].add(y[:3]), None),
    "in a loop": (lambda x, y: lax.fori_loop(0, 5, lambda i, c: c * c + y, x), None),
    "sorted": (lambda x, y: jnp.sort(x, 1), lambda x, y: np.sort(x, 1)),
    "product": (lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))), lambda x, y: x @ y.T),
}


def scattered(x, y):
    x = x.copy()
    np.add.at(x, [1, 1, 3], y[:3])
    return x


def looped(name, x, y):
    for _ in range(5):
        x = wrap(name, x * x + y)
    return x


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("name", TYPES)
def test_operations_wrap_around(name, target):
    x, y = draw(name, 9, 20), draw(name, 9, 20, seed=1)
    wide = x.astype(np.int64), y.astype(np.int64)
    for what, (function, reference) in OPERATIONS.items():
        if what == "scattered":
            want = scattered(*wide)
        elif what == "in a loop":
            want = looped(name, *wide)
        else:
            want = reference(*wide)
        got = np.asarray(glia.jit(function, target=target)(x, y))
        assert got.dtype == x.dtype, what
        np.testing.assert_array_equal(got.astype(np.int64), wrap(name, want), err_msg=what)


@pytest.mark.parametrize("name", TYPES)
def test_bits_are_as_many_as_the_type_has(name):
    bits, _ = TYPES[name]
    x = draw(name, 50)
    low = x.astype(np.int64) & ((1 << bits) - 1)
    lengths = np.array([int(v).bit_length() for v in low])
    for function, want in (
        (lax.population_count, np.array([int(v).bit_count() for v in low])),
        (lax.clz, bits - lengths),
        (lambda x: lax.shift_right_logical(x, jnp.ones_like(x)), low >> 1),
        (lambda x: lax.shift_right_arithmetic(x, jnp.ones_like(x)), (low >> 1) | (low & (1 << (bits - 1)))),
    ):
        np.testing.assert_array_equal(np.asarray(glia.jit(function)(x)).astype(np.int64), wrap(name, want))


@pytest.mark.parametrize("name", TYPES)
def test_other_types_from_and_to(name):
    dtype = getattr(jnp, name)
    x, (bits, signed) = draw(name, 7, 30), TYPES[name]
    numbers = (np.random.default_rng(3).normal(size=(7, 30)) * 12).astype(np.float32)
    numbers[0, :3] = np.nan, np.inf, -np.inf
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    got = np.asarray(glia.jit(lambda f: f.astype(dtype))(numbers)).astype(np.int64)
    np.testing.assert_array_equal(got, np.clip(np.nan_to_num(np.trunc(numbers), posinf=99, neginf=-99), low, high))
    whole = np.arange(-300, 300, dtype=np.int32)
    got = np.asarray(glia.jit(lambda i: i.astype(dtype))(whole)).astype(np.int64)
    np.testing.assert_array_equal(got, wrap(name, whole))
    weights, rows = draw(name, 30, 11, seed=4), numbers[1:4]
    got = glia.jit(lambda r, w: r @ w.astype(jnp.float32))(rows, weights)
    np.testing.assert_allclose(got, rows.astype(np.float64) @ weights.astype(np.float64), rtol=1e-5, atol=1e-4)
    got = glia.jit(lambda x: lax.dot(x, x.T, preferred_element_type=jnp.int32))(x)
    np.testing.assert_array_equal(got, x.astype(np.int32) @ x.astype(np.int32).T)
    assert glia.jit(lambda x: x * x).compile(x).check(x).ok


def test_bits_that_become_another_type_are_refused():
    with pytest.raises(glia.Error, match=r"GRAPH-TYPE.*integers of 2 or 4 bits, as bits of another type"):
        glia.jit(lambda x: lax.bitcast_convert_type(x, jnp.int8))(draw("int4", 6, 2))
