"""Activations that graphs write with several operations, and quotients: against float64 over the whole range of exponents, and special values as JAX on CPU has them."""

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import ml_dtypes

TARGETS = ["trn1", "trn2", "trn3"]
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-45,
    -1e-45,
    1e-38,
    -1e-38,
    3e38,
    -3e38,
    88.7,
    -88.7,
    88.8,
    104,
    -104,
    17,
    20.5,
]
erfc = np.vectorize(math.erfc)


def numbers(dtype, seed=0, shape=(256, 640)):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp(rng.uniform(-6, 3, shape))
    wide = rng.random(shape) < 0.3
    x[wide] = (rng.choice([-1, 1], shape) * np.exp2(rng.uniform(-149, 128, shape)))[wide]
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def gelu_by_erf(x):
    return x * 0.5 * (1 + jax.lax.erf(x / np.sqrt(2).astype(x.dtype)))


def softplus_from(x):
    return jnp.where(x > 20, x, jnp.log1p(jnp.exp(x)))


def log_of_both(x):
    return jnp.logaddexp(x, -2 * x)


def exact_softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


def exact_elu(x, scale=1.0, alpha=1.0):
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def exact_gelu(x):
    return x / 2 * erfc(-x / math.sqrt(2))


def exact_gelu_by_tanh(x):
    """x (1 + tanh(u)) / 2 is x / (1 + exp(-2 u))."""
    u = math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)
    return np.where(u < -700, x * 0, x / (1 + np.exp(-u)))


SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)
# The function, what it is, and how many roundings of the type it may be off: those that the graph has.
FUNCTIONS = {
    "gelu": (gelu, exact_gelu, 1),
    "gelu by erf": (gelu_by_erf, exact_gelu, 1),
    "gelu by tanh": (jax.nn.gelu, exact_gelu_by_tanh, 1),
    "softplus": (jax.nn.softplus, exact_softplus, 1),
    "softplus from 20 on": (softplus_from, exact_softplus, 1),
    "log sigmoid": (jax.nn.log_sigmoid, lambda x: -exact_softplus(-x), 1),
    "mish": (jax.nn.mish, lambda x: x * np.tanh(exact_softplus(x)), 4),
    "elu": (jax.nn.elu, exact_elu, 4),
    "selu": (jax.nn.selu, lambda x: exact_elu(x, *SELU), 7),
    "leaky relu": (jax.nn.leaky_relu, lambda x: np.where(x > 0, x, np.float64(0.01) * x), 4),
    "minus one": (jnp.expm1, np.expm1, 4),
    "soft sign": (jax.nn.soft_sign, lambda x: x / (1 + abs(x)), 4),
    "inverse": (lambda x: 1 / x, lambda x: 1 / x, 0.51),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, dtype, target):
    function, exact, roundings = FUNCTIONS[name]
    t = TYPES[dtype]
    x = numbers(t)
    got = np.asarray(glia.jit(function, target=target)(x))
    info = ml_dtypes.finfo(t)
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
        own = np.asarray(jax.jit(function)(x)).astype(np.float64)
        scale = np.maximum(abs(want), float(info.tiny)) * float(info.eps)
        if name == "mish":  # the last bit of a number that is no normal one, times x
            scale += abs(x.astype(np.float64)) * float(info.tiny) * float(info.eps)
        near = abs(got.astype(np.float64) - want) <= roundings * scale
        large = abs(want) >= float(info.max) * (1 - 2 * float(info.eps))
    finite = np.isfinite(x.astype(np.float64))
    got = got.astype(np.float64)
    bad = finite & ~near & ~(large & (abs(got) >= float(info.max) * (1 - 4 * float(info.eps))))
    if name == "inverse":  # docs/numerics.md: not beyond 2^126 and below 2^-126
        bad &= (abs(x.astype(np.float64)) < 2.0**126) & (abs(x.astype(np.float64)) > 2.0**-126)
    assert not bad.any(), (x[bad][:5], got[bad][:5], want[bad][:5])
    odd = ~finite
    assert (np.isnan(got) == np.isnan(own))[odd].all(), (x[odd], got[odd], own[odd])
    assert ((got == own) | np.isnan(own))[odd].all(), (x[odd], got[odd], own[odd])
    zero = x.astype(np.float64) == 0
    assert (np.signbit(got) == np.signbit(own))[zero].all()


@pytest.mark.parametrize("target", TARGETS)
def test_log_of_a_sum(target):
    """-|x| may be any difference."""
    x = numbers(np.float32)
    x = np.where(abs(x) < 1e30, x, np.float32(7))
    got = np.asarray(glia.jit(log_of_both, target=target)(x)).astype(np.float64)
    want = np.logaddexp(x.astype(np.float64), -2 * x.astype(np.float64))
    assert (abs(got - want) <= 2.0**-22 * np.maximum(abs(want), abs(x))).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", TARGETS)
def test_quotients(target, dtype):
    """Scalar takes reciprocals, by its table; what it gives is what Vector would."""
    t = TYPES[dtype]
    x, y = numbers(t), numbers(t, seed=1)[::-1]
    exe = glia.jit(lambda x, y: x / y, target=target).compile(x, y)
    assert "fn=reciprocal" in exe.program.disassemble()
    got = np.asarray(exe(x, y))
    with np.errstate(all="ignore"):
        inverse = (np.float32(1) / y.astype(np.float32)).astype(np.float32)
        want = (x.astype(np.float32) * inverse).astype(t)
    assert (
        np.array_equal(got, want, equal_nan=True)
        if t is np.float32
        else (np.array_equal(got.astype(np.float32), want.astype(np.float32), equal_nan=True))
    )


def many_functions(x):
    """Seven sets of tables: there is room for one more, not for two."""
    some = (
        jnp.exp(x),
        jnp.tanh(x),
        jax.nn.sigmoid(x),
        jax.lax.erf(x),
        jnp.sqrt(abs(x)),
        jnp.sin(jnp.tanh(x)),
        jnp.arctan(x),
    )
    return *some, gelu(x), jax.nn.softplus(x), 1 / (2 + x * x)


def test_eight_sets_of_tables():
    x = numbers(np.float32, shape=(128, 256))
    x = np.clip(np.nan_to_num(x), -20, 20)
    for target in TARGETS:
        for got, want in zip(glia.jit(many_functions, target=target)(x), many_functions(jnp.asarray(x)), strict=True):
            assert np.allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_an_infinite_slope(target):
    x = np.array([2, -1, 3, np.inf, -np.inf], np.float32)
    made = glia.jit(lambda x: jax.nn.elu(x, np.inf), target=target)(x)
    np.testing.assert_array_equal(made, [2, -np.inf, 3, np.inf, -np.inf])


@pytest.mark.parametrize("target", TARGETS)
def test_more_functions_than_tables(target):
    """Each of these needs a set of its own, the logarithm a reciprocal as well; a program may have eight."""

    def many(x):
        s = x[:1, :8]
        rest = (jnp.tanh, jax.lax.logistic, jax.lax.erf, jnp.sqrt, jnp.sin, gelu, jax.nn.softplus)
        return jnp.log1p(x * x), *(f(jnp.abs(s)) for f in rest)

    x = np.random.default_rng(0).standard_normal((1024, 512)).astype(np.float32)
    for made, right in zip(glia.jit(many, target=target)(x), many(x)):
        np.testing.assert_allclose(made, right, rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("call", ["compare(%x)", "gelu()", "add(%x)", "slice(%x)", "gelu(%x, %x)", "tanh(%x)"])
def test_names_of_functions_that_a_graph_brings(call):
    types = ", ".join(["tensor<4x8xf32>"] * call.count("%x"))
    text = f"""module {{ func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  %0 = stablehlo.custom_call @glia.function.{call} : ({types}) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32> }} }}"""
    with pytest.raises(glia.Error, match="GRAPH-UNSUPPORTED"):
        glia._glia.compile_graph(text, "graph.mlir", "trn2")
