"""Small models as people write them in JAX, forward and backward, through glia.jit: each result is as close to an f64 evaluation as
JAX on CPU in the model's own types, within a factor of two."""

import numpy as np
import pytest

pytest.importorskip("glia._glia")
jax = pytest.importorskip("jax")
import itertools

import glia
import jax.numpy as jnp

if not hasattr(glia, "jit"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)


def tree64(tree):
    return jax.tree.map(
        lambda x: np.asarray(x, np.float64) if np.asarray(x).dtype.kind in "fV" else np.asarray(x), tree
    )


def check(f, *args, target="trn2", floor=2e-7):
    """glia against JAX, both against JAX in f64; integers exactly."""
    exe = glia.jit(f, target=target).compile(*args)
    assert exe.verify().ok
    got = jax.tree.leaves(exe(*args))
    mine = jax.tree.leaves(jax.jit(f)(*args))
    with jax.enable_x64(True):
        ideal = jax.tree.leaves(jax.jit(f)(*tree64(args)))
    assert len(got) == len(mine)
    for i, (g, m, d) in enumerate(zip(got, mine, ideal)):
        g, m, d = np.asarray(g), np.asarray(m), np.asarray(d)
        assert g.shape == m.shape and g.dtype == m.dtype
        if m.dtype.kind in "iub":
            np.testing.assert_array_equal(g, m)
            continue
        d = d.astype(np.float64)
        size = max(np.linalg.norm(d), 1e-30)
        error, reference = np.linalg.norm(g - d) / size, np.linalg.norm(m - d) / size
        assert error <= max(2 * reference, floor), f"result {i}: {error:.2e}, JAX on CPU {reference:.2e}"
    return exe


def normal(*shape, seed=0, scale=1.0, dtype=np.float32):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))


def test_perceptron_step():
    def loss(params, x, labels):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        onehot = jax.nn.one_hot(labels, 10)
        return -jnp.mean(jnp.sum(onehot * jax.nn.log_softmax(x @ w + b), axis=1))

    def step(params, x, labels):
        value, grads = jax.value_and_grad(loss)(params, x, labels)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    sizes = [50, 130, 70, 10]
    params = [(normal(a, b, seed=a, scale=0.1), normal(b, seed=b, scale=0.1)) for a, b in itertools.pairwise(sizes)]
    labels = np.random.default_rng(1).integers(0, 10, 33).astype(np.int32)
    for target in ("trn1", "trn2", "trn3"):
        check(step, params, normal(33, 50), labels, target=target)


def test_adam():
    def step(p, m, v, g, t):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    check(
        step,
        normal(64, 40),
        normal(64, 40, seed=1),
        normal(64, 40, seed=2) ** 2,
        normal(64, 40, seed=3),
        np.float32(3.0),
        floor=1e-6,
    )


def test_convolutional_step():
    def loss(params, x, labels):
        w1, w2, head = params
        dims = ("NHWC", "HWIO", "NHWC")
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=dims))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w2, (2, 2), "SAME", dimension_numbers=dims))
        x = jnp.mean(x, axis=(1, 2)) @ head
        return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(x), axis=1))

    params = (
        normal(3, 3, 3, 16, scale=0.2),
        normal(3, 3, 16, 24, seed=1, scale=0.1),
        normal(24, 10, seed=2, scale=0.2),
    )
    labels = np.array([3, 7], np.int32)
    check(jax.value_and_grad(loss), params, normal(2, 12, 12, 3), labels, target="trn1")


def test_embedding_and_its_gradient():
    def loss(table, w, tokens, labels):
        return cross_entropy(table[tokens] @ w, labels)

    rng = np.random.default_rng(4)
    tokens, labels = rng.integers(0, 50, 40).astype(np.int32), rng.integers(0, 20, 40).astype(np.int32)
    check(jax.value_and_grad(loss, argnums=(0, 1)), normal(50, 32), normal(32, 20, seed=1), tokens, labels)


def test_attention_with_cache():
    def decode(q, k, v, keys, values, at):
        keys = jax.lax.dynamic_update_slice_in_dim(keys, k[:, None], at, 1)
        values = jax.lax.dynamic_update_slice_in_dim(values, v[:, None], at, 1)
        scores = jnp.einsum("hd,htd->ht", q, keys) / np.sqrt(16).astype(np.float32)
        mask = jnp.arange(keys.shape[1]) <= at
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1)
        return jnp.einsum("ht,htd->hd", weights, values), keys, values

    cache = normal(4, 20, 16)
    check(
        decode, normal(4, 16), normal(4, 16, seed=1), normal(4, 16, seed=2), cache, cache * 0.5, np.int32(7), floor=1e-6
    )


def test_recurrence_over_time():
    def run(w, u, h, xs):
        def step(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h.sum()

        return jax.lax.scan(step, h, xs)

    check(run, normal(8, 16), normal(16, 16, scale=0.2), normal(3, 16), normal(20, 3, 8), floor=1e-6)


def test_rotary_embedding():
    def rope(x, cos, sin):
        a, b = jnp.split(x, 2, axis=-1)
        return x * cos + jnp.concatenate([-b, a], axis=-1) * sin

    angle = np.arange(30)[:, None] * 0.1 ** (np.arange(32) / 16)
    check(rope, normal(2, 30, 32), np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32))


def test_dropout_is_the_same_as_jax():
    def f(key, x):
        keep = jax.random.bernoulli(key, 0.7, x.shape)
        return jnp.where(keep, x / 0.7, 0), jax.random.bits(key, (5,))

    key = jax.random.key_data(jax.random.key(5))
    check(lambda k, x: f(jax.random.wrap_key_data(k), x), np.asarray(key), normal(40, 33), floor=1e-6)


def test_sampling():
    def f(logits):
        values, indices = jax.lax.top_k(logits, 5)
        return jnp.argmax(logits, axis=-1), values, indices

    check(f, normal(7, 100))


def test_loops_that_data_ends():
    def newton(x):
        def body(state):
            y, n = state
            return 0.5 * (y + x / y), n + 1

        return jax.lax.while_loop(lambda s: jnp.max(jnp.abs(s[0] * s[0] - x)) > 1e-3, body, (x, jnp.int32(0)))

    check(newton, np.abs(normal(20)) + 1, floor=1e-6)


def test_bf16_block():
    def block(x, g, wq, wo, w1, w2):
        def norm(x):
            mean = jnp.mean(x, -1, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(jnp.mean((x - mean) ** 2, -1, keepdims=True) + 1e-5) * g

        h = (norm(x) @ wq).reshape(24, 3, 2, 32)
        q, k, v = h[:, 0], h[:, 1], h[:, 2]
        a = jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k) / 5.6, axis=-1)
        x = x + jnp.einsum("hqk,khd->qhd", a, v).reshape(24, 64) @ wo
        return x + jax.nn.gelu(norm(x) @ w1) @ w2

    def loss(*args):
        return jnp.mean(block(*args) ** 2)

    def b(*shape, seed, scale):
        return jnp.asarray(normal(*shape, seed=seed, scale=scale), jnp.bfloat16)

    args = (
        b(24, 64, seed=0, scale=1),
        b(64, seed=1, scale=1),
        b(64, 192, seed=2, scale=0.1),
        b(64, 64, seed=3, scale=0.1),
    )
    args += (b(64, 128, seed=4, scale=0.1), b(128, 64, seed=5, scale=0.1))
    check(jax.value_and_grad(loss, argnums=(2, 3, 4, 5)), *args, floor=4e-3)


def test_two_cores_are_faster():
    def f(x, w):
        return jax.nn.gelu(x @ w)

    args = normal(2048, 256), normal(256, 512, scale=0.1)
    one, two = glia.jit(f).compile(*args), glia.jit(f, lnc=2).compile(*args)
    assert two.verify().ok
    np.testing.assert_array_equal(two(*args), one(*args))
    assert two.time() < 0.75 * one.time()
    with pytest.raises(glia.Error, match="GRAPH-CORES"):
        glia.jit(f, target="trn1", lnc=2).compile(*args)


def test_two_cores_that_count():
    """Both write a table of the same numbers; its name is not the same."""

    def one_hot(x):
        return (x[:, None] == jnp.arange(96)).astype(jnp.float32)

    x = np.random.default_rng(0).integers(0, 96, 64).astype(np.int32)
    exe = glia.jit(one_hot, lnc=2).compile(x)
    assert exe.program.cores == 2 and exe.verify().ok
    np.testing.assert_array_equal(exe(x), np.eye(96, dtype=np.float32)[x])


def test_two_cores_with_too_few_long_rows_for_each():
    """Forty rows go piece by piece, twenty do not: the group stays on one core."""
    x = np.random.default_rng(5).standard_normal((40, 60_000), dtype=np.float32)
    got = glia.jit(lambda x: jax.nn.softmax(x, -1), lnc=2)(x)
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), rtol=1e-4)
