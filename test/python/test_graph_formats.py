"""Binary forms of graphs, as JAX writes them: portable artifacts read as the same graph as jaxlib's own text of them, and HLO modules give
JAX's numbers. Skipped where JAX is not installed."""

import functools
import re
from pathlib import Path

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "graph_text"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)

from graph_cases import CASES
from jax import export
from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir.dialects import stablehlo

# One or more of each version of MLIR bytecode (0, 1, 3, 4, 6), and those that changed an operation.
VERSIONS = ["0.9.0", "0.11.0", "0.13.0", "0.14.0", "1.4.0", "1.17.0"]


@functools.cache
def artifact(name):
    f, args = CASES[name]
    return export.export(jax.jit(f), platforms=["cpu"])(*args).mlir_module_serialized


@functools.cache
def text_of(data, locations=True):
    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, data)
        return module.operation.get_asm(enable_debug_info=locations)


def same(data):
    read = glia._glia.graph_text(data, "a.mlirbc", True)
    assert read == glia._glia.graph_text(text_of(data), "a.mlir", True)
    return read


@pytest.mark.parametrize("name", CASES)
def test_artifact(name):
    """As the text form: operations, attributes, constants, and the lines of Python that made them."""
    assert "graph_cases.py" in same(artifact(name))


def test_names_that_are_no_text():
    """In a damaged artifact: an error all the same."""
    data = artifact("loops").replace(b"return_v1", b"r\xb4turn_v1", 1)
    with pytest.raises(glia.Error, match=r"r\\xb4turn_v1") as e:
        glia._glia.graph_text(data)
    assert e.value.diagnostics[0].code == "BYTECODE-VERSION"


def test_number_of_operations():
    def count(operation):
        return 1 + sum(count(o.operation) for region in operation.regions for block in region for o in block)

    data = artifact("loops")
    with mlir.make_ir_context() as context:
        assert glia._glia.graph_operations(data) == count(
            stablehlo.deserialize_portable_artifact(context, data).operation
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_versions(version):
    written = []
    for name in CASES:
        text = text_of(artifact(name), locations=False)
        try:
            data = stablehlo.serialize_portable_artifact_str(text, version)
        except ValueError:  # something in it is newer than that version
            continue
        assert f"StableHLO_v{version}".encode() in data
        same(data)
        written.append(name)
    assert {"conv", "grouped", "loops", "branches", "integers", "shapes"} <= set(written), written


def close(got, want, tolerance=3e-5):
    """Integers are equal; floats are, to a part of the largest."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "biu" or not want.size:
        np.testing.assert_array_equal(got, want)
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    largest = np.max(np.abs(want[np.isfinite(want)]), initial=0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * largest)


def test_artifact_is_interpreted():
    f, args = CASES["loops"]
    for got, want in zip(glia.interpret(artifact("loops"), *args), run(jax.jit(f).lower(*args), args), strict=True):
        close(got, want)


def test_every_cut_is_refused():
    data = artifact("mixed")
    for size in range(4, len(data), 7):
        with pytest.raises(glia.Error, match="BYTECODE-"):
            glia._glia.graph_text(data[:size])


def test_other_bytecode():
    """A module that is not for other versions: MLIR's own encoding of the dialects."""
    f, args = CASES["mixed"]
    data = _jax.mlir.hlo_to_stablehlo(hlo(jax.jit(f).lower(*args)))
    with pytest.raises(glia.Error, match=r"BYTECODE-FORMAT.*'func\.func'.*\n.*\n.*portable artifact"):
        glia._glia.graph_text(data)


SHARDED = """
module @m {
  sdy.mesh @mesh = <["x"=1, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}) -> tensor<8x4xf32> {
    %c = sdy.constant dense<2.0> : tensor<8x4xf32>
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
    %1:2 = sdy.manual_computation(%0, %c) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"AXIS"} (%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
      %2 = stablehlo.add %a, %b : tensor<8x4xf32>
      %3:2 = sdy.named_computation<"inner">(%2, %b) (%p: tensor<8x4xf32>, %q: tensor<8x4xf32>) {
        %4 = stablehlo.multiply %p, %q : tensor<8x4xf32>
        sdy.return %4, %p : tensor<8x4xf32>, tensor<8x4xf32>
      } : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
      sdy.return %3#0, %3#1 : tensor<8x4xf32>, tensor<8x4xf32>
    } : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    sdy.sharding_group %1#0 group_id=3 : tensor<8x4xf32>
    %5 = sdy.reshard %1#0 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %6 = sdy.propagation_barrier %5 allowed_direction=NONE : tensor<8x4xf32>
    %7 = stablehlo.subtract %6, %1#1 : tensor<8x4xf32>
    return %7 : tensor<8x4xf32>
  }
}
"""
PLAIN = """
module @m {
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
    %0 = stablehlo.add %arg0, %c : tensor<8x4xf32>
    %1 = stablehlo.multiply %0, %c : tensor<8x4xf32>
    %2 = stablehlo.subtract %1, %0 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
"""


def test_shardings():
    """What says only where values are is dropped; a computation on one device takes the place of its call; one on several is refused."""
    one, two = (_jax.mlir.serialize_portable_artifact(SHARDED.replace("AXIS", axis), "1.13.0", True) for axis in "xy")
    assert glia._glia.graph_text(one) == glia._glia.graph_text(PLAIN)
    with pytest.raises(glia.Error, match=r"GRAPH-DEVICES.*sdy\.manual_computation"):
        glia._glia.graph_text(two)


def test_sharded_arguments():
    """As a partitioned function comes out of jax.export, on a mesh of one device."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    x = jax.device_put(np.ones((4, 4), np.float32), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))
    data = export.export(jax.jit(lambda x: x @ x))(x).mlir_module_serialized
    assert b"sdy" in data
    read = glia._glia.graph_text(data, "a.mlirbc", True)
    assert "dot_general" in read and "sdy" not in read


def hlo(lowered):
    return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()


def run(lowered, args):
    """What JAX computes on the host, compiled fast."""
    return jax.tree.leaves(lowered.compile({"xla_backend_optimization_level": 0})(*args))


@pytest.mark.parametrize("name", CASES)
def test_hlo(name):
    f, args = CASES[name]
    lowered = jax.jit(f).lower(*args)
    data = hlo(lowered)
    tolerance = 4e-3 if name == "mixed" else 3e-5  # XLA leaves out roundings to bf16
    for got, want in zip(glia.interpret(data, *jax.tree.leaves(args)), run(lowered, args), strict=True):
        close(got, want, tolerance)


def test_hlo_operations():
    text = (Path(__file__).parent / "Inputs" / "hlo-operations.mlir").read_text()
    data = _jax.mlir.mlir_module_to_xla_computation(text).as_serialized_hlo_module_proto()
    read, written = (glia._glia.graph_text(form, "a") for form in (data, text))
    operations = re.compile(r"stablehlo\.\w+")
    assert set(operations.findall(written)) <= set(operations.findall(read))
    for attribute in (
        "epsilon = 1.000000e-03 : f32, feature_index = 1 : i64",
        "left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false",
        "lower = true : tensor<3x3xf32>",
        "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>",
        "format = e5m10",
        "precision = [HIGH, HIGHEST]",
        "channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids",
        "concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64",
        "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>",
        'api_version = 2 : i32, backend_config = "abc", has_side_effect = true, operand_layouts = [dense<[0, 1]>',
        "output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []",
    ):
        assert attribute in written and attribute in read


def test_resource():
    """Elements that are stored beside the module."""
    text = """module attributes {jax.weights = dense_resource<w> : tensor<4xf32>} {
      func.func public @main() -> tensor<4xf32> {
        %0 = stablehlo.constant dense_resource<w> : tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }
    {-# dialect_resources: { builtin: { w: "0x040000000000803F000000400000404000008040" } } #-}"""
    data = _jax.mlir.serialize_portable_artifact(text, "1.17.0", True)
    np.testing.assert_array_equal(glia.interpret(data)[0], np.array([1, 2, 3, 4], np.float32))


def test_hlo_as_compiled():
    """Fusions, copies and layouts, as XLA leaves them for a CPU."""
    for name in ("shapes", "loops"):
        f, args = CASES[name]
        compiled = jax.jit(f).lower(*args).compile()
        data = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
        assert b"fusion" in data
        for g, w in zip(glia.interpret(data, *args), jax.tree.leaves(compiled(*args)), strict=True):
            close(g, w)


def test_hlo_places_and_donation():
    f = jax.jit(lambda x, y: (y * 2, x + 1), donate_argnums=0)
    x = np.ones((4, 4), np.float32)
    module = f.lower(x, x).compiler_ir("hlo").as_hlo_module()
    text = glia._glia.graph_text(module.as_serialized_hlo_module_proto(), "a.pb", True)
    assert "test_graph_formats.py" in text and 'loc("x")' in text


def test_hlo_cuts():
    f, args = CASES["mixed"]
    data = hlo(jax.jit(f).lower(*args))
    refused = 0
    for size in range(40, len(data), 11):
        try:
            glia._glia.graph_text(data[:size], "a.pb")
        except glia.Error as e:
            refused += 1
            assert any(code in str(e) for code in ("HLO-FORMAT", "HLO-UNSUPPORTED", "GRAPH-"))
    assert refused > 10
