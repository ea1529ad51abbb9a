"""64-bit integers, two words each, against NumPy."""

import glia
import numpy as np
import pytest
from glia.neuron.compile import compile_module

EDGES = [0, 1, -1, 2, -2, 7, 31, 32, 33, 63, 64, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**32, 2**32 + 1]
EDGES += [-(2**32), 2**53 + 1, 2**40 - 3, -(2**40) + 5, 2**63 - 1, -(2**63), 0x123456789ABCDEF, 2**24 + 1, 2**33 + 512]


def pairs(dtype):
    x = np.array(EDGES, np.int64).astype(dtype)
    return np.repeat(x, len(x)), np.tile(x, len(x))


def run(body, inputs, results, target="trn2"):
    """The results of a graph of one line per operation, on arguments %a, %b ..."""
    types = {
        np.dtype(np.int64): "i64",
        np.dtype(np.uint64): "ui64",
        np.dtype(np.int32): "i32",
        np.dtype(np.float32): "f32",
    }
    types |= {np.dtype(np.uint32): "ui32", np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8"}

    def text(shape, dtype):
        return f"tensor<{''.join(f'{d}x' for d in shape)}{types[np.dtype(dtype)]}>"

    arguments = ", ".join(f"%{'abc'[i]}: {text(x.shape, x.dtype)}" for i, x in enumerate(inputs))
    made = ", ".join(text(*r) for r in results)
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    module = f"func.func @main({arguments}) -> ({made}) {{\n{body}\nreturn {names} : {made}\n}}"
    program, _ = compile_module(module, "words.mlir", target, None)
    given = {}
    for t in program.tensors:
        if t.kind == "input":
            array = inputs[int(t.name[3:])]
            given[t.name] = np.ascontiguousarray(array).reshape(-1).view(np.uint32).reshape(t.shape)
    outputs = program.run(given)
    return [
        np.ascontiguousarray(outputs[f"result{i}"]).reshape(-1).view(d).reshape(s) for i, (s, d) in enumerate(results)
    ]


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_arithmetic_is_that_of_numpy(dtype, target):
    a, b = pairs(dtype)
    t = f"tensor<{len(a)}x{'i64' if dtype is np.int64 else 'ui64'}>"
    binary = {"add": a + b, "subtract": a - b, "multiply": a * b, "and": a & b, "or": a | b, "xor": a ^ b}
    binary |= {"minimum": np.minimum(a, b), "maximum": np.maximum(a, b)}
    unary = {"negate": (0 - a.view(np.int64)).view(dtype), "not": ~a}
    if dtype is np.int64:
        unary["abs"] = np.abs(a)
    lines = [f"%r{i} = stablehlo.{n} %a, %b : {t}" for i, n in enumerate(binary)]
    lines += [f"%r{i + len(binary)} = stablehlo.{n} %a : {t}" for i, n in enumerate(unary)]
    want = {**binary, **unary}
    got = run("\n".join(lines), (a, b), [(a.shape, dtype)] * len(want), target)
    for name, x in zip(want, got):
        np.testing.assert_array_equal(x, want[name], err_msg=name)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_comparisons_and_selections(dtype):
    a, b = pairs(dtype)
    element = "i64" if dtype is np.int64 else "ui64"
    t, p = f"tensor<{len(a)}x{element}>", f"tensor<{len(a)}xi1>"
    want = {"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b}
    lines = [f"%r{i} = stablehlo.compare {n}, %a, %b : ({t}, {t}) -> {p}" for i, n in enumerate(want)]
    lines.append(f"%r6 = stablehlo.select %r2, %a, %b : {p}, {t}")
    got = run("\n".join(lines), (a, b), [(a.shape, np.bool_)] * 6 + [(a.shape, dtype)])
    for name, x in zip(want, got):
        np.testing.assert_array_equal(x, want[name], err_msg=name)
    np.testing.assert_array_equal(got[6], np.where(a < b, a, b))


def shifted(x, by, how, dtype):
    bits = int(x) & (2**64 - 1)
    if how == "shift_left":
        out = bits << by if by < 64 else 0
    elif how == "shift_right_logical":
        out = bits >> by if by < 64 else 0
    else:
        out = (bits - 2**64 if bits >> 63 else bits) >> min(by, 64)
    return np.array(out & (2**64 - 1), np.uint64).astype(dtype)


@pytest.mark.parametrize("how", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_shifts(how):
    a = np.repeat(np.array(EDGES, np.int64), 9)
    b = np.tile(np.array([0, 1, 31, 32, 33, 63, 64, 65, 2**40], np.int64), len(EDGES))
    t = f"tensor<{len(a)}xi64>"
    (got,) = run(f"%r0 = stablehlo.{how} %a, %b : {t}", (a, b), [(a.shape, np.int64)])
    np.testing.assert_array_equal(got, [shifted(x, int(n), how, np.int64) for x, n in zip(a, b)])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_conversions_round_once(dtype):
    a = np.array(EDGES, np.int64)
    a = np.concatenate([a, a * 3 + 1, a * 1000003 + 12345]).astype(dtype)
    n, element = len(a), "i64" if dtype is np.int64 else "ui64"
    t = f"tensor<{n}x{element}>"
    lines = [
        f"%r0 = stablehlo.convert %a : ({t}) -> tensor<{n}xf32>",
        f"%r1 = stablehlo.convert %a : ({t}) -> tensor<{n}xi32>",
    ]
    lines += [
        f"%r2 = stablehlo.convert %a : ({t}) -> tensor<{n}xi8>",
        f"%r3 = stablehlo.convert %a : ({t}) -> tensor<{n}xi1>",
    ]
    lines += [f"%r4 = stablehlo.convert %r0 : (tensor<{n}xf32>) -> {t}"]
    kinds = [np.float32, np.int32, np.int8, np.bool_, dtype]
    got = run("\n".join(lines), (a,), [(a.shape, k) for k in kinds])
    for x, k in zip(got[:4], kinds):
        np.testing.assert_array_equal(x, a.astype(k))
    inside = np.abs(a.astype(np.float64)) < 2.0**62
    np.testing.assert_array_equal(got[4][inside], a.astype(np.float32)[inside].astype(dtype))


def test_moved_and_as_indices():
    x = np.arange(24, dtype=np.int64).reshape(4, 6) * 10**12 - 10**13
    i = np.array([[0], [3], [-5], [2**40], [1]], np.int64)
    s = np.array([2**35], np.int64)
    body = """%t = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xi64>) -> tensor<6x4xi64>
    %r0 = stablehlo.slice %t [1:6:2, 0:3] : (tensor<6x4xi64>) -> tensor<3x3xi64>
    %r1 = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xi64>, tensor<5x1xi64>) -> tensor<5x6xi64>
    %z = stablehlo.reshape %c : (tensor<1xi64>) -> tensor<i64>
    %r2 = stablehlo.dynamic_slice %a, %z, %z, sizes = [2, 2] : (tensor<4x6xi64>, tensor<i64>, tensor<i64>) -> tensor<2x2xi64>
    %r3 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<8x6xi64>"""
    shapes = [((3, 3), np.int64), ((5, 6), np.int64), ((2, 2), np.int64), ((8, 6), np.int64)]
    got = run(body, (x, i, s), shapes)
    want = [x.T[1:6:2, :3], x[[0, 3, 0, 3, 1]], x[2:, 4:], np.concatenate([x, x])]
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY"])
@pytest.mark.parametrize("shape,element", [((4, 6), "ui32"), ((3, 5), "ui32"), ((), "ui32"), ((7,), "ui64")])
def test_random_bits_are_those_of_threefry(shape, element, algorithm):
    jax = pytest.importorskip("jax")
    dtype = np.uint32 if element == "ui32" else np.uint64
    state = np.array([0x9E3779B97F4A7C15, 2**32 - 3], np.uint64)
    t = f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"
    body = f"%r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = {algorithm} : (tensor<2xui64>) -> (tensor<2xui64>, {t})"
    after, bits = run(body, (state,), [((2,), np.uint64), (shape, dtype)])
    with jax.enable_x64(True):
        want = jax.lax.rng_bit_generator(state, shape, dtype, algorithm=jax.lax.RandomAlgorithm.RNG_THREE_FRY)
        np.testing.assert_array_equal(after, np.asarray(want[0]))
        np.testing.assert_array_equal(bits, np.asarray(want[1]))


def test_jit_with_64_bits():
    jax = pytest.importorskip("jax")
    x = np.array(EDGES, np.int64)
    with jax.enable_x64(True):
        f = glia.jit(lambda x: (x * 3, (x + 2**40 > 5), jax.numpy.argmax(x.astype(jax.numpy.float32))))
        a, b, c = f(x)
    np.testing.assert_array_equal(a, x * 3)
    np.testing.assert_array_equal(b, x + 2**40 > 5)
    assert c == np.argmax(x.astype(np.float32)) and c.dtype == np.int64
