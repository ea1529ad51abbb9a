"""Scatters with batches against JAX on CPU: what a batch cannot reach is not looked at."""

import glia
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

BATCHES, ROWS, LENGTH, PLACES = 14, 33, 31, 14


def sums(places_first):
    batches = (1, 2) if places_first else (0, 1)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(2,),
        scatter_dims_to_operand_dims=(2,),
        operand_batching_dims=(0, 1),
        scatter_indices_batching_dims=batches,
    )
    return lambda x, i, u: lax.scatter_add(x, i, u, numbers)


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("places_first", [False, True])
def test_sums_in_batches(target, places_first):
    rng = np.random.default_rng(1)
    shape = (PLACES, BATCHES, ROWS) if places_first else (BATCHES, ROWS, PLACES)
    x = rng.standard_normal((BATCHES, ROWS, LENGTH), dtype=np.float32)
    i = rng.integers(-2, LENGTH + 2, (*shape, 1), dtype=np.int32)  # some are outside
    u = rng.standard_normal(shape, dtype=np.float32)
    u[3, 5, 7], u[9, 2, 1], u[13, 13, 13] = np.nan, np.inf, -np.inf
    f = sums(places_first)
    exe = glia.jit(f, target=target).compile(x, i, u)
    got, want = np.asarray(exe(x, i, u)), np.asarray(f(jnp.asarray(x), jnp.asarray(i), jnp.asarray(u)))
    assert not np.isfinite(want).all()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    # A product for each 128 places and each 128 elements that these may mean; all with all would be ten times as many.
    tiles = -(-BATCHES * ROWS * LENGTH // 128) + -(-BATCHES * ROWS * PLACES // 128)
    assert exe.program.instructions < 25 * tiles
