"""Functions that between them have every kind of operation, attribute and constant that JAX writes: the cases of test_graph_formats.py."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def block(p, x):
    """A transformer block."""
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    h = (x - mean) * lax.rsqrt(var + 1e-5) * p["g"]
    q, k, v = jnp.split(h @ p["qkv"], 3, axis=-1)
    s = jnp.einsum("btd,bsd->bts", q, k, precision="highest") / 4
    s = jnp.where(jnp.tril(jnp.ones(s.shape[1:], bool)), s, -jnp.inf)
    x = x + jax.nn.softmax(s) @ v
    return x + jax.nn.gelu(x @ p["up"]) @ p["down"]


def block_loss(p, x):
    return jnp.mean(block(p, x) ** 2)


BLOCK = {"g": normal(8), "qkv": normal(8, 24), "up": normal(8, 16), "down": normal(16, 8)}


def conv(x, k):
    y = lax.conv_general_dilated(
        x, k, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return jnp.sum(lax.reduce_window(jnp.tanh(y), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2)


def grouped(x, k):
    return lax.conv_general_dilated(x, k, (1,), [(0, 1)], lhs_dilation=(2,), feature_group_count=2)


def scan(x, w):
    def step(c, row):
        c = jnp.tanh(c @ w + row)
        return c, (c * 2, row.sum())

    return lax.scan(step, jnp.zeros(x.shape[1]), x, reverse=True)


def loops(x):
    n, y = lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.sin(s[1]) + s[0]), (0, x))
    return lax.fori_loop(0, 3, lambda i, c: c.at[i].add(1.0), y), n


def branches(i, x):
    y = lax.cond(x[0] > 0, lambda a: a + 1, lambda a: a * 2, x)
    return lax.switch(i, [lambda a: a, lambda a: -a, lambda a: a[::-1]], y), jnp.select([x > 1, x < -1], [x, -x], 0)


def indices(x, i):
    y = x.at[i].add(1.5).at[0, 2:4].set(7.0).at[jnp.array([2, 50])].multiply(2.0, mode="drop")
    z = lax.dynamic_update_slice(y, y[:2, :2], (i[0], 1))
    return z[i], jnp.take_along_axis(z, jnp.argsort(z, axis=1), axis=1), lax.dynamic_slice(z, (i[1], 0), (2, 3))


def batched(x, i):
    return jax.vmap(lambda a, b: a[b])(x, i), jax.vmap(lambda a, b: a.at[b].set(0.0))(x, i)


def sorts(x):
    return (
        jnp.sort(x, axis=0),
        jnp.argsort(-x, axis=1),
        lax.sort((x, x * 2), num_keys=1, is_stable=False)[1],
        lax.top_k(x, 3),
    )


def shapes(x):
    y = jnp.pad(x, ((1, 2), (0, 3)), constant_values=-1.0)
    z = lax.pad(x, jnp.float32(2), ((0, 1, 2), (-1, 0, 0)))
    return (
        y.T[::-1],
        z,
        jnp.concatenate([x, x], 1).reshape(-1),
        jnp.broadcast_to(x[:, :, None], (*x.shape, 2)),
        lax.iota(jnp.int32, 7),
    )


def elementwise(x):
    y = jnp.abs(x) + 0.5
    return (
        jnp.exp(x), jnp.expm1(x), jnp.log(y), jnp.log1p(y), jnp.tanh(x), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.sqrt(y), lax.rsqrt(y),
        lax.cbrt(x), lax.logistic(x), jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x), jnp.sign(x), jnp.isfinite(x), x**3,
        y**x, jnp.arctan2(x, y), jnp.remainder(x, y), jnp.maximum(x, y), lax.clamp(-0.5, x, 0.5), lax.reduce_precision(x, 5, 4),
        lax.erf(x), jnp.arcsinh(x), lax.lgamma(y), lax.nextafter(x, y),
    )  # fmt: skip


def integers(a, b):
    u = a.astype(jnp.uint32)
    return (
        a & b, a | b, a ^ b, ~a, a << 2, a >> 1, lax.shift_right_logical(a, 1), lax.population_count(a), lax.clz(a), a // b, a % b,
        u * 3, u >> 3, lax.bitcast_convert_type(a, jnp.float32), a.astype(jnp.int8), a.astype(bool), a == b, a < b,
    )  # fmt: skip


def reductions(x):
    return (
        x.sum(), x.max(0), x.min(1), jnp.prod(x, 0), jnp.any(x > 1), jnp.all(x < 9, 1), jnp.argmax(x, 1), jnp.argmin(x), jnp.cumsum(x, 1),
        jnp.cumprod(x, 0), lax.cummax(x), lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
    )  # fmt: skip


def constants(x):
    small = np.array([1, -2, 3, 7, -8], np.int32)
    return (
        x + np.arange(3, dtype=np.float32), x + np.float32(2.5), jnp.asarray(np.array([True, False, True])),
        jnp.asarray(RNG_BITS), jnp.ones((4, 9), bool), jnp.zeros((0, 4)), jnp.asarray(small.astype(ml_dtypes.int4)),
        jnp.asarray(small.astype(np.uint8).astype(ml_dtypes.uint4)), jnp.asarray(small.astype(ml_dtypes.bfloat16)),
        jnp.asarray(small.astype(ml_dtypes.float8_e4m3fn)), jnp.asarray(small.astype(ml_dtypes.float8_e5m2)), jnp.asarray(small.astype(np.float16)),
        jnp.asarray(small.astype(np.int16)), jnp.asarray(small.astype(np.uint16)), jnp.asarray(small.astype(np.int8)),
        jnp.array([np.inf, -np.inf, np.nan], jnp.float32), jnp.asarray(BIG), jnp.full((3, 3), -7, jnp.int8),
    )  # fmt: skip


RNG_BITS = RNG.random((3, 7)) < 0.5
BIG = RNG.normal(size=(64, 33)).astype(np.float32)


def complexes(x):
    z = lax.complex(x, x * 2) * jnp.asarray([1 + 2j, 3 - 1j, 0.5j], jnp.complex64)
    return z.real, z.imag, jnp.abs(z), jnp.conj(z).imag, jnp.full((2, 3), 1 - 1j, jnp.complex64).real


def random(key):
    k = jax.random.wrap_key_data(key, impl="threefry2x32")
    return jax.random.normal(k, (4, 5)), jax.random.randint(k, (6,), 0, 100), jax.random.bits(k, (3,))


def calls(x):
    f = jax.jit(lambda a: jnp.sin(a) * 2)
    return lax.optimization_barrier(f(f(x))), jax.checkpoint(lambda a: jnp.cos(a) ** 2)(x)


def mixed(x):
    b = x.astype(jnp.bfloat16)
    return (
        (b @ b.T).astype(jnp.float32),
        lax.dot(x, x.T, precision="highest"),
        lax.dot(b, b.T, preferred_element_type=jnp.float32),
    )


X = normal(3, 5)
INTEGERS = (RNG.integers(-99, 99, (6,)).astype(np.int32), RNG.integers(1, 9, (6,)).astype(np.int32))
CASES = {
    "block": (jax.value_and_grad(block_loss), (BLOCK, normal(2, 4, 8))),
    "conv": (jax.grad(conv, (0, 1)), (normal(2, 9, 8, 3), normal(3, 2, 3, 4))),
    "grouped": (grouped, (normal(2, 4, 7), normal(6, 2, 3))),
    "scan": (jax.grad(lambda x, w: scan(x, w)[1][0].sum(), (0, 1)), (normal(4, 3), normal(3, 3))),
    "loops": (loops, (normal(6),)),
    "branches": (branches, (np.int32(1), normal(5))),
    "indices": (indices, (normal(4, 6), np.array([1, 2, 1], np.int32))),
    "batched": (batched, (normal(3, 5), np.array([[1, 2], [0, 4], [3, 3]], np.int32))),
    "sorts": (sorts, (normal(4, 6),)),
    "shapes": (shapes, (normal(2, 3),)),
    "elementwise": (elementwise, (X,)),
    "integers": (integers, INTEGERS),
    "reductions": (reductions, (normal(4, 3),)),
    "constants": (constants, (normal(3),)),
    "complexes": (complexes, (normal(2, 3),)),
    "random": (random, (np.array([1, 2], np.uint32),)),
    "calls": (calls, (X,)),
    "mixed": (mixed, (X,)),
    "solve": (lambda a: (jnp.linalg.norm(a), jnp.fft.rfft(a[0]).real), (normal(4, 4),)),
}
