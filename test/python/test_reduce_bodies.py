"""Reductions and windows by functions of their own, also of several tensors together, against JAX on the host."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

F = np.float32
X, Y = np.random.default_rng(0).normal(size=(2, 5, 77, 3)).astype(F) / 3


def product(a, b):  # of complex numbers
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def two_largest(a, b):
    return jnp.maximum(a[0], b[0]), jnp.maximum(jnp.minimum(a[0], b[0]), jnp.maximum(a[1], b[1]))


def by_the_first(a, b):
    return jnp.minimum(a[0], b[0]), jnp.where(a[0] <= b[0], a[1], b[1])


def windows(x, start, combine, padding):
    return lax.reduce_window(x, start, combine, (1, 5, 2), (1, 2, 1), padding)


CASES = {
    "logaddexp": lambda x, y: lax.reduce(x, F(-np.inf), jnp.logaddexp, (1,)),
    "product": lambda x, y: lax.reduce((x, y), (F(1), F(0)), product, (1,)),
    "magnitude": lambda x, y: lax.reduce(x, F(0), lambda a, b: jnp.maximum(jnp.abs(a), jnp.abs(b)), (0, 2)),
    "two largest": lambda x, y: lax.reduce((x, x), (F(-np.inf), F(-np.inf)), two_largest, (0, 1)),
    "by the first": lambda x, y: lax.reduce((x, y), (F(np.inf), F(0)), by_the_first, (1,)),
    "last": lambda x, y: lax.reduce(x, F(0), lambda a, b: b, (1,)),
    "differences in windows": lambda x, y: windows(x, F(0.5), lambda a, b: a - b, "VALID"),
    "last in windows": lambda x, y: windows(x, F(0), lambda a, b: b, "VALID"),
    "sums from a computed start": lambda x, y: windows(x, y[0, 0, 0], lax.add, "VALID"),
    "products from a computed start": lambda x, y: windows(x, y[0, 0, 0], lax.mul, "VALID"),
    "largest from a computed start": lambda x, y: windows(x, y[0, 0, 0], lax.max, "SAME"),
}


@pytest.mark.parametrize("target", ("trn1", "trn2", "trn3"))
@pytest.mark.parametrize("name", CASES)
def test_by_a_function(name, target):
    got, want = glia.jit(CASES[name], target=target)(X, Y), jax.jit(CASES[name])(X, Y)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# What is not the same in every order: one element after the other from the start, as NumPy does. (JAX on the host reduces long rows in parts.)
ORDERED = {
    "differences": (lax.sub, 0.5, (1,)),
    "differences of many": (lax.sub, 0.5, (0, 1, 2)),
    "alternating": (lambda a, b: b - a, 0.5, (1,)),
    "quotients": (lambda a, b: a / (b * b + 1), 8, (0, 2)),
    "Horner": (lambda a, b: a * F(0.5) + b, 0.5, (1,)),
    "squares": (lambda a, b: a + b * b, 0, (1,)),
}


@pytest.mark.parametrize("name", ORDERED)
def test_one_after_the_other(name):
    body, start, dims = ORDERED[name]
    got = glia.jit(lambda x: lax.reduce(x, F(start), lambda a, b: body(a, b), dims))(X)
    ours = body if body is not lax.sub else np.subtract
    want, kept = start, tuple(d for d in range(3) if d not in dims)
    for x in X.astype(np.float64).transpose(*dims, *kept).reshape(-1, *(X.shape[d] for d in kept)):
        want = ours(want, x)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_integers_one_after_the_other():
    x = (X * 9).astype(np.int32)
    got = glia.jit(lambda x: lax.reduce(x, np.int32(7), lax.sub, (0, 2)))(x)
    np.testing.assert_array_equal(got, 7 - x.sum((0, 2)))


@pytest.mark.parametrize(
    "combine, start", [(lax.sub, 0.5), (lambda a, b: a * F(1.5) + b, 0), (jnp.logaddexp, 0), (lambda a, b: b, 0.5)]
)
def test_padding_that_changes_something_is_refused(combine, start):
    with pytest.raises(glia.Error, match="reach padding"):
        glia.jit(lambda x: windows(x, F(start), lambda a, b: combine(a, b), "SAME"))(X)


@pytest.mark.parametrize("combine, start", [(lax.sub, 0), (jnp.logaddexp, -np.inf)])
def test_padding_that_changes_nothing_is_not(combine, start):
    def f(x):
        return windows(x, F(start), lambda a, b: combine(a, b), "SAME")

    np.testing.assert_allclose(glia.jit(f)(X), jax.jit(f)(X), rtol=1e-5, atol=1e-6)


def test_an_order_of_many_is_refused():
    with pytest.raises(glia.Error, match="of more than 128 elements whose order counts"):
        glia.jit(lambda x: lax.reduce(x, F(0), lambda a, b: a * F(0.5) + b, (0, 1)))(X)


def test_padding_that_counts_the_start_is_refused():
    """Whether a sum takes its start once or for each place in the padding is not the same in StableHLO and in XLA."""
    with pytest.raises(glia.Error, match="start from a computed value"):
        glia.jit(lambda x, y: windows(x, y[0, 0, 0], lax.add, "SAME"))(X, Y)
