"""Scatters with batches against JAX on CPU: what a batch cannot reach is not looked at. Scatters by functions of their own, against NumPy."""

import glia
import jax
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


def halves(places, unique="false"):
    """Rows of two tensors together: what is there and the update, halved and crossed."""
    return f"""func.func @main(%x: tensor<9x6xf32>, %y: tensor<9x6xf32>, %i: tensor<{places}x1xi32>,
                 %u: tensor<{places}x4xf32>, %v: tensor<{places}x4xf32>) -> (tensor<9x6xf32>, tensor<9x6xf32>) {{
  %r:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      unique_indices = {unique}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %h = stablehlo.constant dense<0.5> : tensor<f32>
    %0 = stablehlo.multiply %a, %h : tensor<f32>
    %1 = stablehlo.add %0, %d : tensor<f32>
    %2 = stablehlo.subtract %c, %b : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }}) : (tensor<9x6xf32>, tensor<9x6xf32>, tensor<{places}x1xi32>, tensor<{places}x4xf32>, tensor<{places}x4xf32>)
      -> (tensor<9x6xf32>, tensor<9x6xf32>)
  return %r#0, %r#1 : tensor<9x6xf32>, tensor<9x6xf32>
}}"""


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize(
    "indices, unique", [([3, 8, 3, -1, 0], "false"), ([5, 5, 9, 2] * 5, "false"), ([7, 1, 12], "true")]
)
def test_two_tensors_by_a_function(target, indices, unique):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 9, 6), dtype=np.float32)
    u, v = rng.standard_normal((2, len(indices), 4), dtype=np.float32)
    i = np.array(indices, np.int32)[:, None]
    handle, _ = glia._glia.compile_graph(halves(len(indices), unique), "<test>", target)
    handle.require_verified("graph")
    got = glia.program.Program(handle).run(dict(zip(("arg0", "arg1", "arg2", "arg3", "arg4"), (x, y, i, u, v))))
    a, b = x.copy(), y.copy()
    for at, p, q in zip(indices, u, v):
        if 0 <= at < 9:
            a[at, :4], b[at, :4] = a[at, :4] * np.float32(0.5) + q, p - b[at, :4]
    np.testing.assert_allclose(got["result0"], a, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(got["result1"], b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("places", [4, 40])
def test_a_function_of_what_is_there(target, places):
    rng = np.random.default_rng(places)
    x = rng.standard_normal((3, 30, 7), dtype=np.float32)
    i = rng.integers(-40, 40, (3, places), dtype=np.int32)  # some are outside, some come twice

    def apply(x, i):
        return x.at[i].apply(lambda v: v * v - 0.5, mode="drop")

    got = glia.jit(jax.vmap(apply), target=target)(x, i)
    want = x.copy()
    for b in range(3):
        for at in i[b]:
            if -30 <= at < 30:
                want[b, at] = want[b, at] * want[b, at] - np.float32(0.5)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
