"""Custom calls of @glia.collective, by which fronts without operations for them write collectives."""

import glia
import numpy as np
import pytest
from glia import _glia
from glia.program import Program

PAIRS = "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"


def graph(said: str, result: str = "4x6", operands: str = "%x") -> str:
    config = said.replace('"', "\\22")
    types = ", ".join(["tensor<4x6xf32>"] * len(operands.split(",")))
    return f"""
func.func public @main(%x: tensor<4x6xf32>) -> tensor<{result}xf32> {{
  %y = stablehlo.custom_call @glia.collective({operands}) {{api_version = 2 : i32, backend_config = "{config}"}}
    : ({types}) -> tensor<{result}xf32>
  return %y : tensor<{result}xf32>
}}"""


CASES = {
    "all_reduce": (f'{{op = "stablehlo.all_reduce", applies = "stablehlo.maximum", {PAIRS}}}', "4x6"),
    "all_gather": (f'{{op = "stablehlo.all_gather", all_gather_dim = 1 : i64, {PAIRS}}}', "4x12"),
    "reduce_scatter": (
        f'{{op = "stablehlo.reduce_scatter", applies = "stablehlo.add", scatter_dimension = 0 : i64, {PAIRS}}}',
        "2x6",
    ),
    "collective_permute": (
        '{op = "stablehlo.collective_permute", source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}',
        "4x6",
    ),
}


def expected(name: str, x: np.ndarray) -> np.ndarray:
    other = x[[2, 3, 0, 1]]
    if name == "all_reduce":
        return np.maximum(x, other)
    if name == "all_gather":
        return np.stack([np.concatenate([x[r % 2], x[r % 2 + 2]], 1) for r in range(4)])
    if name == "reduce_scatter":
        return np.stack([np.split(x[r] + other[r], 2)[r // 2] for r in range(4)])
    return np.stack([x[1], x[0], np.zeros_like(x[0]), np.zeros_like(x[0])])


@pytest.mark.parametrize("name", list(CASES))
def test_a_call_is_the_collective_that_it_names(name):
    text = graph(*CASES[name])
    read = _glia.graph_text(text.encode())
    assert f"stablehlo.{name}" in read and "custom_call" not in read
    handle, _ = _glia.compile_graph(text, "<test>", "trn2", replicas=4)
    handle.require_verified("graph")
    x = np.random.default_rng(0).standard_normal((4, 4, 6)).astype(np.float32)
    np.testing.assert_array_equal(Program(handle).run({"arg0": x})["result0"], expected(name, x))


def test_replicas_are_those_that_the_module_says():
    said = graph(*CASES["all_reduce"]).strip()
    handle, _ = _glia.compile_graph(
        f"module attributes {{mhlo.num_replicas = 4 : i32}} {{{said}}}", "<test>", "trn2", replicas=2
    )
    assert Program(handle).ranks == 4
    with pytest.raises(glia.Error, match="GRAPH-COLLECTIVE"):  # its groups are of four ranks
        _glia.compile_graph(said, "<test>", "trn2", replicas=2)
    with pytest.raises(glia.Error, match="GRAPH-RANKS"):
        _glia.compile_graph(said, "<test>", "trn2", replicas=5000)


@pytest.mark.parametrize(
    "said, operands",
    [
        ("", "%x"),
        ("{op =", "%x"),
        ('{op = "stablehlo.sine"}', "%x"),
        (f'{{op = "stablehlo.all_reduce", applies = "nothing", {PAIRS}}}', "%x"),
        (f'{{op = "stablehlo.all_reduce", applies = "stablehlo.add", {PAIRS}}}', "%x, %x"),
    ],
)
def test_calls_that_name_no_collective(said, operands):
    with pytest.raises(glia.Error, match="names a collective in its backend_config"):
        _glia.graph_text(graph(said, operands=operands).encode())


def test_what_a_collective_needs_is_missed():
    for said in (
        '{op = "stablehlo.all_gather", all_gather_dim = 0 : i64}',
        f'{{op = "stablehlo.all_reduce", {PAIRS}}}',
    ):
        with pytest.raises(glia.Error, match="GRAPH-SYNTAX"):
            _glia.graph_text(graph(said).encode())
