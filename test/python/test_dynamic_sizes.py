"""Operations whose sizes are operands, where these are known, against NumPy."""

import glia
import numpy as np
import pytest

if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from glia.neuron.compile import compile_module

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
T = "tensor<4x6xf32>"


def constant(name, numbers, element="i64"):
    return f"%{name} = stablehlo.constant dense<{list(numbers)}> : tensor<{len(numbers)}x{element}>\n"


def windows(x, k):  # of a column each, k rows
    return np.stack([x[i : i + k] for i in range(len(x) - k + 1)])


START, LIMIT, STEP = constant("s", [1, 0]), constant("l", [4, 6]), constant("t", [2, 3])
CASES = {
    "reshape": (
        constant("s", [3, 8], "i32")
        + f"%r = stablehlo.dynamic_reshape %x, %s : ({T}, tensor<2xi32>) -> tensor<3x8xf32>",
        X.reshape(3, 8),
    ),
    "reshape to a size that is computed": (
        f"""%a = stablehlo.get_dimension_size %x, dim = 0 : ({T}) -> tensor<i32>
        %b = stablehlo.get_dimension_size %x, dim = 1 : ({T}) -> tensor<i32>
        %c = stablehlo.multiply %a, %b : tensor<i32>
        %s = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>
        %r = stablehlo.dynamic_reshape %x, %s : ({T}, tensor<1xi32>) -> tensor<24xf32>""",
        X.reshape(24),
    ),
    "broadcast": (
        constant("s", [2, 4, 6])
        + f"%r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1, 2] : ({T}, tensor<3xi64>) -> tensor<2x4x6xf32>",
        np.broadcast_to(X, (2, 4, 6)),
    ),
    "iota": (
        constant("s", [4, 6])
        + f"""%i = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> {T}
        %r = stablehlo.add %i, %x : {T}""",
        X + np.arange(6, dtype=np.float32),
    ),
    "slice": (
        START
        + LIMIT
        + STEP
        + f"%r = stablehlo.real_dynamic_slice %x, %s, %l, %t : ({T}, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>",
        X[1:4:2, 0:6:3],
    ),
    "pad": (
        constant("l", [-1, 2])
        + constant("h", [1, 0])
        + constant("i", [0, 1])
        + f"""%v = stablehlo.constant dense<2.0> : tensor<f32>
        %r = stablehlo.dynamic_pad %x, %v, %l, %h, %i : ({T}, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x13xf32>""",
        np.array([[2, 2, *[v for p in row for v in (p, 2)][:-1]] for row in [*X[1:], np.full(6, 2)]], np.float32),
    ),
    "gather": (
        constant("i", [2, 0, 1])
        + constant("s", [2, 6])
        + f"""%r = "stablehlo.dynamic_gather"(%x, %i, %s) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>}}> : ({T}, tensor<3xi64>, tensor<2xi64>) -> tensor<3x2x6xf32>""",
        windows(X, 2)[[2, 0, 1]],
    ),
    "convolution": (
        f"""%p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
        %a = stablehlo.reshape %x : ({T}) -> tensor<4x1x6xf32>
        %w = stablehlo.constant dense<[[[1.0, -2.0]]]> : tensor<1x1x2xf32>
        %c = "stablehlo.dynamic_conv"(%a, %w, %p) <{{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>}}> : (tensor<4x1x6xf32>, tensor<1x1x2xf32>, tensor<1x2xi32>) -> tensor<4x1x6xf32>
        %r = stablehlo.reshape %c : (tensor<4x1x6xf32>) -> {T}""",
        np.pad(X, ((0, 0), (1, 0)))[:, :-1] - 2 * X,
    ),
    "set size": (
        f"""%n = stablehlo.constant dense<6> : tensor<i32>
        %s = stablehlo.set_dimension_size %x, %n, dim = 1 : ({T}, tensor<i32>) -> {T}
        %r = stablehlo.negate %s : {T}""",
        -X,
    ),
}


def module(body, shape, arguments=f"%x: {T}"):
    out = "tensor<" + "".join(f"{n}x" for n in shape) + "f32>"
    return f"func.func @main({arguments}) -> {out} {{\n{body}\nreturn %r : {out}\n}}"


@pytest.mark.parametrize("target", ("trn1", "trn2", "trn3"))
@pytest.mark.parametrize("name", CASES)
def test_known_sizes(name, target):
    body, want = CASES[name]
    text = module(body, want.shape)
    np.testing.assert_allclose(glia.interpret(text, X)[0], want, rtol=1e-6, atol=1e-6)
    program, _ = compile_module(text, "m.mlir", target, None)
    np.testing.assert_allclose(program.run({"arg0": X})["result0"], want, rtol=1e-6, atol=1e-6)


def test_a_slice_from_anywhere():
    body = LIMIT + constant("t", [1, 1])
    body += f"%r = stablehlo.real_dynamic_slice %x, %y, %l, %t : ({T}, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>"
    body = body.replace("xi64>", "xi32>")
    text = module(body, (2, 3), f"%x: {T}, %y: tensor<2xi32>")
    start = np.array([2, 3], np.int32)
    np.testing.assert_array_equal(glia.interpret(text, X, start)[0], X[2:, 3:])
    program, _ = compile_module(text, "m.mlir", "trn2", None)
    np.testing.assert_array_equal(program.run({"arg0": X, "arg1": start})["result0"], X[2:, 3:])


@pytest.mark.parametrize(
    "body,name",
    [
        (
            constant("s", [8, 3]) + f"%r = stablehlo.dynamic_reshape %x, %s : ({T}, tensor<2xi64>) -> tensor<3x8xf32>",
            "dynamic_reshape",
        ),
        (
            START
            + constant("l", [4, 9])
            + STEP
            + f"%r = stablehlo.real_dynamic_slice %x, %s, %l, %t : ({T}, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x8xf32>",
            "real_dynamic_slice",
        ),
        (
            f"""%n = stablehlo.constant dense<5> : tensor<i32>
            %s = stablehlo.set_dimension_size %x, %n, dim = 1 : ({T}, tensor<i32>) -> {T}
            %r = stablehlo.reshape %s : ({T}) -> tensor<3x8xf32>""",
            "set_dimension_size",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused_by_name(body, name):
    text = module(body, (3, 8))
    with pytest.raises(glia.Error, match=name):
        compile_module(text, "m.mlir", "trn2", None)
    with pytest.raises(glia.Error, match=name):
        glia.interpret(text, X)


@pytest.mark.parametrize(
    "body,name",
    [
        (
            constant("l", [4])
            + constant("t", [1])
            + f"%r = stablehlo.real_dynamic_slice %x, %y, %l, %t : ({T}, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x8xf32>",
            "real_dynamic_slice",
        ),
        (
            f"""%n = stablehlo.get_dimension_size %x, dim = 4294967296 : ({T}) -> tensor<i32>
            %f = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
            %r = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x8xf32>""",
            "get_dimension_size",
        ),
    ],
)
def test_malformed_ones_are_refused(body, name):
    text = module(body, (3, 8), f"%x: {T}, %y: tensor<2xi64>")
    for run in (
        lambda: compile_module(text, "m.mlir", "trn2", None),
        lambda: glia.interpret(text, X, np.zeros(2, np.int64)),
    ):
        with pytest.raises(glia.Error, match=name):
            run()


def test_padding_that_data_decides_is_refused_by_name():
    body = constant("z", [0, 0])
    body += f"""%v = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.dynamic_pad %x, %v, %y, %z, %z : ({T}, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x6xf32>"""
    body = body.replace("xi64>", "xi32>")
    with pytest.raises(glia.Error, match="dynamic_pad"):
        compile_module(module(body, (5, 6), f"%x: {T}, %y: tensor<2xi32>"), "m.mlir", "trn2", None)
