"""Sorts of JAX, and what is made of them, against JAX on the host: bit for bit, since elements are only moved."""

import glia
import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")


def bits(x):
    x = np.ascontiguousarray(x)
    return x.reshape(-1).view(f"u{x.itemsize}").reshape(x.shape)


def same(f, *args, target="trn2"):
    got, want = glia.jit(f, target=target)(*args), jax.jit(f)(*args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(bits(a), bits(b))


def values(dtype, *shape, seed=0):
    """With many equal ones; of floats, zeros of both signs, infinities, and NaN of both signs too."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        wide = rng.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        few = rng.integers(0, 9, shape).astype(dtype)
        x = np.where(rng.random(shape) < 0.5, wide, few)
        x[rng.random(shape) < 0.05] = ends.max
        x[rng.random(shape) < 0.05] = ends.min
        return x
    x = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), rng.integers(-4, 4, shape)).astype(dtype)
    for special in (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan):
        x[rng.random(shape) < 0.04] = dtype.type(special)
    return x


TYPES = (np.float32, ml_dtypes.bfloat16, np.float16, np.int32, np.uint32, np.uint8, np.bool_)


@pytest.mark.parametrize("dtype,target", [(t, "trn2") for t in TYPES] + [(np.float32, "trn1"), (np.float32, "trn3")])
def test_with_places(dtype, target):
    x = values(dtype, 1500)
    same(lambda x: (jnp.sort(x), jnp.argsort(x, descending=True)), x, target=target)


def test_places_of_8_bit_floats():  # XLA gives other NaN than it takes
    same(lambda x: (jnp.argsort(x), jnp.argsort(x, descending=True)), values(ml_dtypes.float8_e5m2, 1500))


@pytest.mark.parametrize("n", [0, 1, 3, 129, 1031])
def test_lengths(n):
    x = values(np.float32, n, seed=n)
    same(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.sort(x, descending=True)), x)
    same(jnp.sort, values(np.int32, n, seed=n))


@pytest.mark.parametrize("shape,axis", [((3, 1100, 2), 1), ((1100, 5), 0), ((7, 1, 3), 1)])
def test_axes(shape, axis):
    x = values(np.float32, *shape)
    same(lambda x: (jnp.sort(x, axis), jnp.argsort(x, axis)), x)


@pytest.mark.parametrize("target", TARGETS)
def test_several_keys(target):
    a, b, c = values(np.int16, 2, 1300), values(np.float32, 2, 1300, seed=1), values(np.uint32, 2, 1300, seed=2)
    a %= 5

    def f(a, b, c):
        return lax.sort((a, b, c), num_keys=2), lax.sort((a, b, c), dimension=0, num_keys=3)

    same(f, a, b, c, target=target)


def test_of_small_rows_by_several_keys():
    a, b = values(np.uint8, 40, 9), values(np.float32, 40, 9, seed=1)
    same(lambda a, b: lax.sort((a % 3, b), num_keys=2), a, b)


@pytest.mark.parametrize("dtype", (np.float32, np.uint16))
def test_top_k_of_many(dtype):
    x = values(dtype, 2, 3000)
    x[x != x] = 0
    same(lambda x: lax.top_k(x, 1700), x)
    same(lambda x: lax.top_k(x, 300), x)


def test_statistics():
    x = np.random.default_rng(5).normal(size=2001).astype(np.float32)

    def statistics(x):
        return jnp.median(x), jnp.percentile(x, jnp.array([5.0, 50.0, 97.5]))

    for a, b in zip(glia.jit(statistics)(x), statistics(x)):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    i = np.random.default_rng(6).integers(0, 300, 1500).astype(np.int32)
    same(lambda i: jnp.unique(i, size=320, return_counts=True, return_inverse=True, return_index=True), i)


def test_random_orders():
    key = jax.random.key(3)
    same(lambda x: jax.random.permutation(key, x), np.arange(2001, dtype=np.int32))
    same(lambda x: jax.random.choice(key, x, (500,), replace=False), np.arange(1500, dtype=np.int32))


def test_in_a_loop_that_data_ends():
    def loop(x):
        return lax.while_loop(lambda c: c.max() > 100, lambda c: jnp.sort(c)[::-1] - 50, x)

    same(loop, (np.arange(200, dtype=np.int32) * 37) % 211)


@pytest.mark.parametrize("f", [jnp.sort, jnp.argsort, jnp.median], ids=["sort", "argsort", "median"])
def test_what_is_sorted_may_be_rounded(f):
    """Keys are made of the bits of a product, which is rounded in another order than the reference's."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((33, 300)).astype(np.float32), rng.standard_normal((300, 40)).astype(np.float32)
    checked = glia.jit(lambda a, b: f(a @ b, axis=-1), target="trn1").compile(a, b).check(a, b)
    assert checked.ok, str(checked)
