"""Graphs divided among eight ranks: each rank is evaluated by the reference, and the parts are compared with what JAX computes on the CPU."""

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import glia
import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("jax")
if not hasattr(glia._glia, "partition_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from glia.reference import _array, _tuples

CASES = """
shard_map_shift shard_map_collectives shard_map_loop shard_map_resharded shard_map_unplaced shard_map_nested shard_map_partly shard_map_partly_rows shard_map_partly_gradient pmap
mlp mlp_inferred mlp_whole mlp_scattered mlp_gradient mlp_fully_sharded
transformer transformer_step transformer_rows transformer_step_rows
pointwise conflict conflict_order permuted swapped scalars not_divisible iota constant sums argmax variance transpose merge split
odd_reshape flatten concatenate concatenate_divided pad sort dots batched_dot integer_dot
gather_table_copies gather_table_columns gather_table_rows gather_table_both gather_gradient_table_copies gather_gradient_table_columns
gather_gradient_table_rows gather_gradient_table_both gather_pairs take_along scatter_add scatter_max scatter_set dynamic dynamic_divided
while scan cond switch random convolution convolution_sum convolution_rows convolution_gradient pool empty empty_rows empty_sum fft complex donated
two_meshes explicit bfloat16_sum
""".split()
# What is gathered because the operation needs it whole.
GATHERED = {
    "argmax": "sort",
    "concatenate_divided": "concatenate",
    "convolution_rows": "convolution",
    "dynamic_divided": "dynamic_slice",
    "not_divisible": "slice",
    "odd_reshape": "reshape",
    "pad": "pad",
    "scatter_set": "scatter",
    "sort": "sort",
    "variance": "reduce_window",
    "fft": "fft",
}


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("sharded") / "cases.pkl"
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_PLATFORMS")}
    script = Path(__file__).with_name("sharded_cases.py")
    subprocess.run([sys.executable, script, path], check=True, env=environment, capture_output=True)
    with open(path, "rb") as file:
        made = pickle.load(file)
    assert set(made) == set(CASES)
    return made


def part(a, placement, rank):
    _, local, starts, _ = placement
    return a[tuple(slice(s, s + n) for s, n in zip(starts[rank], local, strict=True))] if starts else a


def run(graph, args):
    """The parts of the results by rank, and what else is known of the divided graph."""
    text, ranks, arguments, results, warnings = glia._glia.partition_graph(graph)
    assert "sdy" not in text
    inputs = [_tuples([part(a, p, rank) for a, p in zip(args, arguments, strict=True)]) for rank in range(ranks)]
    parts = [[_array(x) for x in rank] for rank in glia._glia.interpret_ranks(text, inputs)]
    return parts, results, warnings


def close(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.dtype.kind in "biu" or not want.size:
        np.testing.assert_array_equal(got, want)
        return
    tolerance = 1e-2 if want.dtype.itemsize == 2 else 2e-5
    got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, np.abs(want).max()))


def compare(text, args, want):
    """Every part of every result; returns the warnings."""
    parts, results, warnings = run(text, args)
    assert len(parts) == 8
    for rank, got in enumerate(parts):
        for g, w, placement in zip(got, want, results, strict=True):
            assert list(w.shape) == placement[0]
            close(g, part(w, placement, rank))
    return warnings


def exchanges(text):
    return Counter(re.findall(r"stablehlo\.(all_\w+|collective_\w+|reduce_scatter|partition_id)", text))


@pytest.mark.parametrize("name", CASES)
def test_parts_are_those_of_the_whole(cases, name):
    text, artifact, args, want, _ = cases[name]
    warnings = compare(text, args, want)
    gathered = GATHERED.get(name)
    assert bool(warnings) == bool(gathered), warnings
    if gathered:
        assert any(f"stablehlo.{gathered} " in w or f"chlo.{gathered} " in w for w in warnings), warnings
        with pytest.raises(glia.Error, match="GRAPH-SHARDING"):
            glia._glia.partition_graph(text, "<graph>", True)
    # The portable artifact says the same.
    from_text, from_artifact = glia._glia.partition_graph(text), glia._glia.partition_graph(artifact)
    assert from_artifact[1:4] == from_text[1:4]
    assert exchanges(from_artifact[0]) == exchanges(from_text[0])


@pytest.mark.parametrize("name", CASES)
def test_other_shardings_compute_the_same(cases, name):
    _, _, args, want, others = cases[name]
    for text in others:
        compare(text, args, want)


def test_whole_graph_in_the_interpreter(cases):
    """Constraints mean nothing where there is one rank."""
    text, _, args, want, _ = cases["permuted"]
    assert "sdy.sharding_constraint" in text
    close(glia.interpret(text, *args)[0], want[0])


def test_start_of_a_sum_counts_once():
    """A reduction that begins with another number than 0, over parts."""
    text = """
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2xf32> {
    %c = stablehlo.constant dense<5.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""
    a = np.arange(16, dtype=np.float32).reshape(8, 2)
    parts, _, _ = run(text, [a])
    for (got,) in parts:
        np.testing.assert_array_equal(got, a.sum(0) + 5)


def test_replicas_of_partitions():
    """Each replica has its own arguments, divided among its partitions."""
    text = """
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<6x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}"""
    text, ranks, arguments, results, _ = glia._glia.partition_graph(text)
    assert ranks == 4
    a, b = np.random.default_rng(0).standard_normal((2, 2, 4, 6)).astype(np.float32)
    values = [(a[r], b[r].T.reshape(6, 4)) for r in range(2)]
    inputs = [
        _tuples([part(v, p, rank) for v, p in zip(values[rank // 2], arguments, strict=True)]) for rank in range(4)
    ]
    for rank, (got,) in enumerate(glia._glia.interpret_ranks(text, inputs)):
        x, y = values[rank // 2]
        close(_array(got), part(x @ y, results[0], rank))


def test_nothing_is_said_of_shardings():
    """Partitions that exchange nothing all have the same; ranks that exchange by hand have arguments of their own."""
    same = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
    _, ranks, arguments, results, _ = glia._glia.partition_graph(same)
    assert ranks == 2
    assert arguments == results == [([4], [4], [[0], [0]], "{replicated}")]
    exchange = """%0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> :
      (tensor<4xf32>) -> tensor<8xf32>"""
    own = same.replace("%0 = stablehlo.negate %a : tensor<4xf32>", exchange).replace("num_partitions", "num_replicas")
    own = own.replace("-> tensor<4xf32> {", "-> tensor<8xf32> {").replace(
        "return %0 : tensor<4xf32>", "return %0 : tensor<8xf32>"
    )
    text, ranks, arguments, results, _ = glia._glia.partition_graph(own)
    assert (ranks, arguments, results) == (2, [([4], [4], [], "")], [([8], [8], [], "")])
    a = np.arange(8, dtype=np.float32)
    for (got,) in glia._glia.interpret_ranks(text, [_tuples([a[:4]]), _tuples([a[4:]])]):
        np.testing.assert_array_equal(_array(got), a)


def test_counting_is_rounded_once():
    """The parts of an iota begin at numbers that a narrow type does not have."""
    text = """
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main() -> (tensor<1208xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.iota dim = 0 : tensor<1208xbf16>
    return %0 : tensor<1208xbf16>
  }
}"""
    parts, results, _ = run(text, [])
    want = np.arange(1208, dtype=np.float32).astype(ml_dtypes.bfloat16)
    for rank, (got,) in enumerate(parts):
        assert got.shape == (151,)
        np.testing.assert_array_equal(got, part(want, results[0], rank))
