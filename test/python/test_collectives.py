"""Exchange between devices where there is one, against JAX on the host."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from glia.neuron.compile import compile_module
from jax import lax
from jax.sharding import Mesh, PartitionSpec


def exchange(x):
    return (
        lax.psum(x, "d") * 2,
        lax.pmax(x, "d") + 1,
        lax.all_gather(x, "d") - 1,
        lax.all_gather(x, "d", tiled=True) - 2,
        lax.psum_scatter(x, "d", tiled=True) - 3,
        lax.all_to_all(x, "d", 0, 1, tiled=True) - 4,
        lax.ppermute(x, "d", [(0, 0)]) - 5,
        lax.ppermute(x, "d", []) - 6,
        x + lax.axis_index("d"),
        lax.pmean(x, "d"),
    )


@pytest.mark.parametrize("target", ("trn1", "trn2", "trn3"))
def test_over_one_device(target):
    mesh = Mesh(np.array(jax.devices("cpu")[:1]), ("d",))
    f = jax.shard_map(exchange, mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d"), check_vma=False)
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    for got, want in zip(glia.jit(f, target=target)(x), jax.jit(f)(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_in_a_mapped_axis():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    f = jax.vmap(lambda x: (lax.psum(x, "i"), lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])), axis_name="i")
    for got, want in zip(glia.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)


def module(groups, body="%y = stablehlo.negate %r : tensor<4xf32>"):
    return f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %r = "stablehlo.all_reduce"(%x) <{{replica_groups = {groups}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<4xf32>) -> tensor<4xf32>
  {body}
  return %y : tensor<4xf32>
}}"""


@pytest.mark.parametrize(
    "groups", ["dense<0> : tensor<1x1xi64>", "dense<> : tensor<0x0xi64>", "dense<[[0], [1]]> : tensor<2x1xi64>"]
)
def test_groups_of_one(groups):
    x = np.array([1, -2, np.inf, -0.0], np.float32)
    program, _ = compile_module(module(groups), "m.mlir", "trn2", None)
    np.testing.assert_array_equal(program.run({"arg0": x})["result0"], -x)
    np.testing.assert_array_equal(glia.interpret(module(groups), x)[0], -x)


@pytest.mark.parametrize(
    ("groups", "missing"),
    [
        ("dense<[[0, 1]]> : tensor<1x2xi64>", "num_replicas = 2"),
        ("dense<[[0, -1], [1, 2]]> : tensor<2x2xi64>", "num_replicas = 3"),
        (
            "dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
            "num_replicas = 2",
        ),
        (
            "dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids",
            "num_partitions = 4",
        ),
    ],
)
def test_ranks_that_the_module_does_not_speak_of(groups, missing):
    with pytest.raises(glia.Error) as e:
        compile_module(module(groups), "m.mlir", "trn2", None)
    [d] = e.value.diagnostics
    assert d.code == "GRAPH-COLLECTIVE" and "all_reduce" in d.message and f"mhlo.{missing} : i32" in d.advice
    assert (d.file, d.line) == ("m.mlir", 3)
    with pytest.raises(glia.Error, match="several devices"):
        glia.interpret(module(groups), np.zeros(4, np.float32))
    text = f"module attributes {{mhlo.{missing} : i32}} {{{module(groups)}}}"  # what the advice says
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    assert program.ranks == int(missing.split()[-1])


def test_ranks_that_only_shapes_speak_of():
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}"""
    with pytest.raises(glia.Error, match=r"GRAPH-COLLECTIVE(?s:.*)mhlo.num_replicas = N"):
        compile_module(text, "m.mlir", "trn2", None)
    text = f"module attributes {{mhlo.num_replicas = 2 : i32}} {{{text}}}"
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    np.testing.assert_array_equal(program.run({"arg0": x})["result0"], [x.ravel(), x.ravel()])


def test_the_only_replica_of_each_partition():
    text = "module attributes {mhlo.num_partitions = 2 : i32} {" + module("dense<> : tensor<0x0xi64>") + "}"
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    np.testing.assert_array_equal(program.run({"arg0": x})["result0"].reshape(2, 4), -x)


def test_the_only_device_is_number_0():
    text = """
func.func @main(%x: tensor<ui32>) -> tensor<ui32> {
  %p = stablehlo.partition_id : tensor<ui32>
  %r = stablehlo.replica_id : tensor<ui32>
  %0 = stablehlo.subtract %x, %p : tensor<ui32>
  %1 = stablehlo.subtract %0, %r : tensor<ui32>
  return %1 : tensor<ui32>
}"""
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    assert program.run({"arg0": np.array([7], np.uint32)})["result0"] == 7
    assert glia.interpret(text, np.array(7, np.uint32))[0] == 7
