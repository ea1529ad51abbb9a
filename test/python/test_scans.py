"""Recurrences written as jax.lax.associative_scan and jax.lax.scan, against a loop in float64; what only looks like one stays what it is."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")


def pair(p, q):
    return p[0] * q[0], q[0] * p[1] + q[1]


def turned_pair(p, q):
    return q[0] * p[0], q[1] + p[1] * q[0]


def values(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def recurrence(a, b, start=None, reverse=False):
    """Along the first dimension, in float64."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    out = np.zeros_like(b)
    h = np.zeros(b.shape[1:]) if start is None else np.asarray(start, np.float64)
    for t in reversed(range(len(b))) if reverse else range(len(b)):
        h = out[t] = a[t] * h + b[t]
    return out


def close(got, want, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=0, atol=tolerance * (1 + np.max(np.abs(want))))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 64, 129])
@pytest.mark.parametrize("combine", [pair, turned_pair])
def test_associative_scan(n, combine):
    a, b = values(5, n), values(5, n, seed=1)
    exe = glia.jit(lambda a, b: lax.associative_scan(combine, (a, b), axis=1), target=TARGETS[n % 3]).compile(a, b)
    product, state = exe(a, b)
    close(product, np.cumprod(np.float64(a), 1))
    close(state, recurrence(a.T, b.T).T)
    assert exe.groups <= 2
    assert exe.check(a, b).ok


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_any_dimension_and_direction(axis, reverse):
    a, b = values(20, 33, 9), values(20, 33, 9, seed=1)

    def f(a, b):
        return lax.associative_scan(pair, (a, b), axis=axis, reverse=reverse)[1]

    exe = glia.jit(f, target=TARGETS[axis]).compile(a, b)
    first = [np.moveaxis(x, axis, 0) for x in (a, b)]
    close(exe(a, b), np.moveaxis(recurrence(*first, reverse=reverse), 0, axis))
    assert exe.groups <= 4
    assert exe.check(a, b).ok


@pytest.mark.parametrize(
    "combine, numpy",
    [
        (jnp.add, np.cumsum),
        (jnp.multiply, np.cumprod),
        (jnp.maximum, np.maximum.accumulate),
        (jnp.minimum, np.minimum.accumulate),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_folds(combine, numpy, dtype):
    x = (values(6, 101) * (9 if dtype == np.int32 else 1)).astype(dtype)
    exe = glia.jit(lambda x: lax.associative_scan(combine, x, axis=1), target="trn2").compile(x)
    want = numpy(x if dtype == np.int32 else np.float64(x), 1)
    close(exe(x), want.astype(np.int32) if dtype == np.int32 else want)
    assert exe.groups == 1


def interleave(even, odd, n):
    high = n % 2
    return lax.pad(even, 0.0, ((0, 1 - high, 1),)) + lax.pad(odd, 0.0, ((1, high, 1),))


def recursion(x, combine, off=0, step=0):
    """associative_scan of a vector; `off` moves the elements that its odd ones are combined with, `step` those it starts from."""
    n = len(x)
    if n < 2:
        return x
    odd = recursion(combine(x[: n - 1 : 2], x[1::2]), combine, off, step)
    rest = x[2 - off : n - off : 2]
    even = combine(odd[: len(rest)], rest)
    return interleave(jnp.concatenate([x[step : step + 1], even]), odd, n)


def test_what_looks_like_a_scan_and_is_none():
    x = values(17)
    for f, scans in (
        (lambda x: recursion(x, jnp.add), True),
        (lambda x: recursion(x, jnp.add, off=1), False),
        (lambda x: recursion(x, jnp.add, step=1), False),
        (lambda x: recursion(x, jnp.subtract), False),
    ):
        exe = glia.jit(f, target="trn2").compile(x)
        close(exe(x), np.asarray(jax.jit(f)(x), np.float64))
        assert (exe.groups == 1) == scans


def test_overflow_and_narrow_types():
    a = np.full((3, 40), 1e10, np.float32)
    b = values(3, 40)
    got = glia.jit(lambda a, b: lax.associative_scan(pair, (a, b), axis=1)[1], target="trn2")(a, b)
    with np.errstate(over="ignore"):
        want = recurrence(a.T, b.T).T
    assert np.all(np.isinf(np.asarray(got)[:, 6:]))  # infinity, not NaN
    close(np.asarray(got)[:, :3] / want[:, :3], np.ones((3, 3)))
    a, b = values(4, 50).astype(jnp.bfloat16), values(4, 50, seed=1).astype(jnp.bfloat16)
    got = glia.jit(lambda a, b: lax.associative_scan(pair, (a, b), axis=1)[1], target="trn1")(a, b)
    close(got, recurrence(np.float32(a).T, np.float32(b).T).T, 2.0**-8)


def loop(body, reverse=False):
    return lambda h, *xs: lax.scan(body, h, xs if len(xs) > 1 else xs[0], reverse=reverse)


H, A, X = values(6, seed=2), values(50, 6), values(50, 6, seed=1)
W = values(6, 4)
LOOPS = {
    "linear": (loop(lambda h, t: (t[0] * h + t[1],) * 2), (H, A, X), 2),
    "backward": (loop(lambda h, t: (t[0] * h + t[1],) * 2, reverse=True), (H, A, X), 5),
    "the state before": (loop(lambda h, t: (t[0] * h + t[1], h)), (H, A, X), 4),
    "no results on the way": (loop(lambda h, t: (t[0] * h + t[1], None)), (H, A, X), 2),
    "a sum": (loop(lambda h, t: (h + t,) * 2), (H, X), 2),
    "a maximum": (loop(lambda h, t: (jnp.maximum(t, h),) * 2), (H, X), 4),
    "a sum of integers": (loop(lambda h, t: (h + t,) * 2), (np.int32(9 * H), np.int32(9 * X)), 4),
    "a mean": (loop(lambda h, t: (0.9 * h + 0.1 * t,) * 2), (H, X), 4),
    "towards the input": (loop(lambda h, t: (h + 0.3 * (t - h), jnp.tanh(h))), (H, X), 6),
    "alternating": (loop(lambda h, t: (t - h,) * 2), (H, X), 3),
    "two, one after the other": (loop(lambda c, t: ((0.5 * c[0] + t, 0.5 * c[1] + c[0]), c[1])), ((H, H), X), 8),
    "best path": (loop(lambda h, t: (jnp.maximum(h + t, 2 * t),) * 2), (H, X), 4),
    "gates": (
        loop(lambda h, t: (jax.nn.sigmoid(t) * h + (1 - jax.nn.sigmoid(t)) * jnp.tanh(t), jnp.sum(h * t))),
        (H, X),
        8,
    ),
    "a state of many numbers": (
        loop(lambda h, t: ((n := jnp.exp(-jnp.abs(t[0]))[:, None] * h + t[1][:, None] * t[0][None]), n @ t[1])),
        (values(6, 6), A, X),
        8,
    ),
    "a product with weights": (loop(lambda h, t: ((n := t[0] * h + t[1]), n @ W)), (H, A, X), 4),
    "not linear": (loop(lambda h, t: (jnp.tanh(h) + t,) * 2), (H, X[:12]), None),
    "each of the other": (loop(lambda c, t: ((c[1], 0.5 * c[0] + t), c[0])), ((H, H), X[:12]), None),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    f, arguments, groups = LOOPS[name]
    exe = glia.jit(f, target=TARGETS[len(name) % 3]).compile(*arguments)
    for got, want in zip(jax.tree.leaves(exe(*arguments)), jax.tree.leaves(jax.jit(f)(*arguments)), strict=True):
        close(got, np.asarray(want, np.float64))
    assert (exe.groups <= groups) if groups else (exe.groups >= 12)
    assert exe.check(*arguments).ok


def test_gradient_of_a_loop():
    def loss(h, a, x):
        return jnp.sum(lax.scan(lambda h, t: (t[0] * h + t[1],) * 2, h, (a, x))[1] ** 2)

    f = jax.grad(loss, argnums=(0, 1, 2))
    exe = glia.jit(f, target="trn2").compile(H, A, X)
    for got, want in zip(exe(H, A, X), jax.jit(f)(H, A, X), strict=True):
        close(got, np.asarray(want, np.float64), 1e-5)
    assert exe.groups < 20


@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_constants_are_constants(reverse):
    x = values(4000)
    exe = glia.jit(lambda x: x + lax.cumsum(jnp.ones(4000), reverse=reverse), target="trn2").compile(x)
    count = np.arange(1, 4001)
    close(exe(x), np.float64(x) + (count[::-1] if reverse else count))
    assert exe.groups == 1
    assert exe.operations == 2  # the constant and the sum


def test_stores_in_thousands_of_pieces():
    """What is written between the pieces of another transfer is known to be apart from them, and all of it to be written."""
    x = np.random.default_rng(0).standard_normal((64, 100, 130)).astype(np.float32)
    got = glia.jit(lambda x: jax.lax.cumsum(x, axis=1), target="trn1")(x)
    np.testing.assert_allclose(got, np.cumsum(x, 1), atol=1e-4)
    y = np.random.default_rng(1).standard_normal((128, 129, 64)).astype(np.float32)
    got = glia.jit(lambda y: jax.lax.associative_scan(lambda a, b: a, y, axis=1), target="trn2")(y)
    np.testing.assert_array_equal(got, np.broadcast_to(y[:, :1], y.shape))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, axis, reverse", [((4, 300), 1, False), ((513, 3), 0, True), ((2, 100, 5), 1, True)])
def test_logarithms_of_running_sums(target, shape, axis, reverse):
    x = 5 * values(*shape)
    x.reshape(-1)[[0, 7, 100]] = -np.inf, np.inf, np.nan
    x[-1, ...] = -np.inf if axis else x[-1, ...]  # nothing but zeros
    f = jax.jit(lambda x: lax.cumlogsumexp(x, axis, reverse=reverse))
    exe = glia.jit(f, target=target).compile(x)
    np.testing.assert_allclose(exe(x), f(x), rtol=1e-5, atol=1e-5)
    assert exe.groups <= 20  # by doubling distances, not one step after the other


def running_window(n, start):
    padding = ((0, 0), (n - 1, 0))
    return lambda x: lax.reduce_window(x, np.float32(start), lambda a, b: jnp.logaddexp(a, b), (1, n), (1, 1), padding)


@pytest.mark.parametrize("n", (100, 200))
def test_starts_that_count_are_refused(n):
    """A start that is not neutral counts once for each place of the padding in StableHLO, and not in XLA."""
    with pytest.raises(glia.Error, match="GRAPH-UNSUPPORTED"):
        glia.jit(running_window(n, 0.5), target="trn2")(values(3, n))
