"""The interpreter against JAX on CPU: functions as JAX prints them, forward and backward. Skipped where JAX is not installed."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "interpret"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

RNG = np.random.default_rng(11)


def normal(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def conv_loss(x, k):
    y = lax.conv_general_dilated(
        x, k, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return jnp.sum(jnp.tanh(y) ** 2)


def attention(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, axis=-1), v)


def mlp_loss(w1, w2, x, y):
    h = jax.nn.gelu(x @ w1, approximate=False)
    logits = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5) @ w2
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))


def pool(x):
    y = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return jnp.sum(y**2) + jnp.sum(jnp.cumsum(x, axis=1) ** 2)


def scan(x, w):
    def step(c, row):
        c = jnp.tanh(c @ w + row)
        return c, c * 2

    return lax.scan(step, jnp.zeros(x.shape[1]), x)


def pieces(x, i):
    y = x.at[i].add(1.5).at[0, 2:4].set(7.0).at[jnp.array([2, 50])].multiply(2.0, mode="drop")
    z = lax.dynamic_update_slice(y, y[:2, :2], (i[0], 1))
    return (
        z,
        jnp.argmax(z, axis=1),
        lax.top_k(z, 3),
        jnp.sort(z, axis=0),
        jnp.argsort(-z, axis=1),
        jnp.take(z, i, axis=0),
    )


def branches(x, i):
    y = lax.switch(i, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x)
    return lax.cond(y[0, 0] > 0, lambda v: v, lambda v: v**2, y), lax.while_loop(
        lambda v: v[0] < 100, lambda v: (v[0] * 2 + 1, v[1] + 1), (1, 0)
    )


def whole_numbers(a, b):
    return a // b, a % b, a ^ b, a >> 2, lax.population_count(a), lax.clz(a), jnp.minimum(a, b), a * b


def special(x):
    p = jnp.abs(x) + 0.1
    return (
        lax.erf(x),
        lax.erfc(x),
        lax.lgamma(p),
        lax.digamma(p),
        lax.erf_inv(jnp.tanh(x)),
        jax.scipy.special.i1e(x),
        jnp.arcsinh(x),
        jnp.cbrt(x),
    )


def random_numbers(seed):
    key = jax.random.key(seed)
    return jax.random.bits(key, (7,)), jax.random.uniform(key, (3, 5)), jax.random.permutation(key, 20)


CASES = {
    "conv": (conv_loss, normal(2, 9, 8, 3), normal(3, 2, 3, 5)),
    "conv gradients": (jax.grad(conv_loss, (0, 1)), normal(2, 9, 8, 3), normal(3, 2, 3, 5)),
    "grouped conv gradients": (
        jax.grad(
            lambda x, k: jnp.sum(
                lax.conv_general_dilated(
                    x, k, (1, 1), "SAME", feature_group_count=4, dimension_numbers=("NHWC", "HWIO", "NHWC")
                )
                ** 2
            ),
            (0, 1),
        ),
        normal(2, 6, 6, 4),
        normal(3, 3, 1, 8),
    ),
    "attention": (attention, normal(2, 5, 3, 4), normal(2, 5, 3, 4), normal(2, 5, 3, 4)),
    "attention gradients": (
        jax.grad(lambda *a: jnp.sum(attention(*a) ** 2), (0, 1, 2)),
        normal(2, 5, 3, 4),
        normal(2, 5, 3, 4),
        normal(2, 5, 3, 4),
    ),
    "mlp gradients": (
        jax.value_and_grad(mlp_loss, (0, 1)),
        normal(6, 16),
        normal(16, 4),
        normal(8, 6),
        RNG.integers(0, 4, 8, dtype=np.int32),
    ),
    "pooling gradients": (jax.value_and_grad(pool), normal(1, 9, 7, 2)),
    "scan": (scan, normal(5, 4), normal(4, 4)),
    "scan gradients": (jax.grad(lambda x, w: jnp.sum(scan(x, w)[1]), (0, 1)), normal(5, 4), normal(4, 4)),
    "indices": (pieces, normal(6, 5), np.array([4, 1, 4], np.int32)),
    "branches": (branches, normal(3, 3), np.array(1, np.int32)),
    "integers": (whole_numbers, RNG.integers(-1000, 1000, 50, dtype=np.int32), RNG.integers(1, 90, 50, dtype=np.int32)),
    "special functions": (special, normal(60)),
    "random numbers": (random_numbers, np.array(3, np.uint32)),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_jax(name):
    f, *args = CASES[name]
    want = jax.tree.leaves(jax.jit(f)(*args))
    text = jax.jit(f, keep_unused=True).lower(*args).as_text()
    got = glia.interpret(text, *args)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        if w.dtype.kind != "f":
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["conv gradients", "attention gradients", "mlp gradients", "scan gradients"])
def test_in_double_is_closer_to_the_truth(name):
    f, *args = CASES[name]
    text = jax.jit(f, keep_unused=True).lower(*args).as_text()
    exact = glia.interpret(text, *args, in_double=True)
    with jax.enable_x64(True):
        wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in args]
        want = [np.asarray(w) for w in jax.tree.leaves(jax.jit(f)(*wide))]
    for e, w in zip(exact, want):
        assert e.dtype == np.float64
        assert np.linalg.norm(e - w) <= 1e-6 * np.linalg.norm(w) + 1e-12  # constants of the graph are f32


@pytest.mark.parametrize("shape", [(), (7,), (8,), (3, 6), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_threefry_bits_equal_xla(shape, dtype):
    def f(state):
        return lax.rng_bit_generator(state, shape, dtype, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)

    state = np.array([123456789123, 2**32 - 3], np.uint64)
    with jax.enable_x64(True):
        text = jax.jit(f).lower(state).as_text()
        want = [np.asarray(w) for w in jax.jit(f)(state)]
    for g, w in zip(glia.interpret(text, state), want):
        np.testing.assert_array_equal(g, w)
