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


def test_padding_that_counts_the_start_is_refused():
    """Whether a sum takes its start once or for each place in the padding is not the same in StableHLO and in XLA."""
    with pytest.raises(glia.Error, match="start from a computed value"):
        glia.jit(lambda x, y: windows(x, y[0, 0, 0], lax.add, "SAME"))(X, Y)
