"""64-bit integers of any size under jax_enable_x64, against JAX on the host."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

TYPES = (np.int64, np.uint64)
EVERYWHERE = [(np.int64, "trn1"), (np.int64, "trn2"), (np.uint64, "trn3")]
EDGES = [0, 1, 2, 3, 7, 255, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**47, 2**48 - 1]
EDGES += [
    2**63 - 1,
    2**63,
    2**63 + 1,
    2**64 - 1,
    2**64 - 2,
    2**64 - 2**32,
    2**64 - 2**31,
    2**64 - 65536,
    0x123456789ABCDEF,
]


def values(dtype, *shape, seed=0):
    """Of all sizes."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2**64 - 1, shape, dtype=np.uint64, endpoint=True).astype(dtype)
    return x >> rng.integers(0, 63, shape).astype(dtype)


def same(f, *args, target="trn2"):
    with jax.enable_x64(True):
        got, want = glia.jit(f, target=target)(*args), jax.jit(f)(*args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype,target", EVERYWHERE)
def test_quotients(dtype, target):
    edges = np.array(EDGES, np.uint64).astype(dtype)
    a, b = values(dtype, 3000), values(dtype, 3000, seed=1)
    a, b = np.append(a, np.repeat(edges, len(edges))), np.append(b, np.tile(edges, len(edges)))
    same(lambda a, b: (lax.div(a, b), lax.rem(a, b)), a, b, target=target)


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_by_a_number(dtype):
    same(lambda x: (x // 10, x % 1000003, jnp.divmod(x, 2**40 + 1)), values(dtype, 500))


@pytest.mark.parametrize("dtype", TYPES)
def test_counts_and_signs(dtype):
    same(lambda x: (lax.clz(x), lax.population_count(x), jnp.sign(x)), np.array(EDGES, np.uint64).astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(dtype):
    x = values(dtype, 5, 7, 11)

    def f(x):
        parts = x.sum(), x.sum(1), x.prod((0, 2)), x.max(0), x.min(), lax.reduce_xor(x, (1,)), lax.reduce_and(x, (0,))
        return parts, x.argmax(1), x.argmin(), jnp.count_nonzero(x > 5, 0)

    same(f, x)


def test_a_long_sum():
    same(lambda x: (x.sum(), x.max(), x.argmax()), values(np.int64, 70001))


@pytest.mark.parametrize("dtype", TYPES)
def test_windows(dtype):
    x = values(dtype, 3, 300)

    def f(x):
        sums = lax.reduce_window(x, dtype(0), lax.add, (1, 3), (1, 2), "SAME")
        return jnp.cumsum(x, 1), lax.cummax(x, 1, reverse=True), lax.cummin(x, 0), sums

    same(f, x)


def test_running_counts_fit_a_word():
    x = np.random.default_rng(0).normal(size=900).astype(np.float32)
    same(lambda x: (jnp.cumsum(x > 0), jnp.nonzero(x > 1, size=50), jnp.bincount((x > 0) + 2 * (x > 1), length=4)), x)


@pytest.mark.parametrize("dtype", TYPES)
def test_sorts(dtype):
    x = values(dtype, 2, 70)
    same(lambda x: (jnp.sort(x), jnp.argsort(x, 1), jnp.sort(x, 0, descending=True), lax.top_k(x, 9)), x)
    same(lambda x, y: lax.sort((x % 3, y, x), num_keys=2), x, values(dtype, 2, 70, seed=1))


def test_places_of_a_sort_of_floats():
    x = np.random.default_rng(0).integers(0, 90, 400).astype(np.float32)
    same(lambda x: (jnp.argsort(x), jnp.searchsorted(jnp.sort(x), x[:20])), x)


@pytest.mark.parametrize("dtype,target", EVERYWHERE)
def test_loops_that_data_ends(dtype, target):
    def f(x, n):
        def more(c):
            return (c[0] < n) & (c[1].max() != 0)

        return lax.while_loop(more, lambda c: (c[0] + 1, c[1] * 3 + c[0].astype(dtype), c[2] // 2), (0, x, x.max()))

    same(f, values(dtype, 40), np.int64(7), target=target)


@pytest.mark.parametrize("dtype", TYPES)
def test_loops_in_branches(dtype):
    def collatz(n):
        def step(c):
            n, steps = c
            return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: n * 3 + 1, n), steps + 1

        return lax.while_loop(lambda c: c[0] != 1, step, (n, jnp.zeros((), dtype)))

    def f(n, x):
        return lax.cond(n > 5, lambda: (collatz(n), x), lambda: ((n, n), x + n))

    same(f, dtype(2**33 + 7), values(dtype, 6))


@pytest.mark.parametrize("dtype", TYPES)
def test_moved_by_index(dtype):
    x, u, i = values(dtype, 9, 5), values(dtype, 4, 5, seed=1), np.array([0, 7, 0, 30], np.int64)

    def f(x, u, i):
        return x[i], x.at[i[1:]].set(u[1:]), x.at[i].add(u), lax.dynamic_slice(x, (i[1], i[3]), (2, 3))

    same(f, x, u, i)


@pytest.mark.parametrize("dtype", TYPES)
def test_products_of_matrices(dtype):
    x, y = values(dtype, 2, 5, 7), values(dtype, 2, 7, 3, seed=1)
    same(lambda x, y: (x @ y, jnp.vdot(x, x), jnp.einsum("bij,bjk->ki", x, y)), x, y)
    same(lambda x, y: x @ y, values(dtype, 40, 701), values(dtype, 701, 41, seed=1))


@pytest.mark.parametrize("dtype", TYPES)
def test_scattered_maxima(dtype):
    x, u, i = values(dtype, 9, 5), values(dtype, 6, 5, seed=1), np.array([0, 7, 0, 30, 0, 7], np.int64)
    u[2:] = u[:1] + np.arange(20, dtype=dtype).reshape(4, 5)  # equal high words

    def f(x, u, i):
        return x.at[i].max(u), x.at[i].min(u), x.at[i, 2:4].max(u[:, :2]), x.at[2, i[:5]].min(u[0])

    same(f, x, u, i)


def test_wide_places_of_floats():
    rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    places = np.array([[1], [4], [1], [2**40], [-(2**35)]], np.int64)
    x, u = np.arange(18, dtype=np.float32).reshape(6, 3), np.arange(15, dtype=np.float32).reshape(5, 3)
    same(lambda x, p, u: lax.scatter_add(x, p, u, rows, mode="promise_in_bounds"), x, places, u)


def test_a_scattered_product_is_refused_by_name():
    with pytest.raises(glia.Error, match="scatter"):
        same(lambda x, i: x.at[i].multiply(3), values(np.int64, 9), np.array([1, 2], np.int64))
