"""The interpreter against NumPy: what each operation means, the choices of docs/interpreter.md, and bad input."""

import glia
import ml_dtypes
import numpy as np
import pytest

if not hasattr(glia._glia, "interpret"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)

RNG = np.random.default_rng(7)
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "i1"}


def type_of(a):
    name = NAMES.get(a.dtype.name, a.dtype.name.replace("uint", "ui").replace("int", "i"))
    return "tensor<" + "".join(f"{n}x" for n in a.shape) + name + ">"


def call(op, *inputs, result, attributes="", region="", **options):
    """One operation in generic form; `result` is an array of the type and shape of the result, or a list of them."""
    results = result if isinstance(result, list) else [result]
    arguments = ", ".join(f"%a{i}: {type_of(x)}" for i, x in enumerate(inputs))
    operands = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(type_of(r) for r in results)
    names = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r"
    text = f"""func.func @main({arguments}) -> ({types}) {{
      %r{":" + str(len(results)) if len(results) > 1 else ""} = "{op}"({operands}) {"<{" + attributes + "}>" if attributes else ""} {region}
        : ({", ".join(type_of(x) for x in inputs)}) -> ({types})
      return {names} : {types}
    }}"""
    out = glia.interpret(text, *inputs, **options)
    for got, want in zip(out, results):
        assert got.shape == want.shape
    return out if isinstance(result, list) else out[0]


def body(op, element):
    return f"""({{ ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
      %z = "stablehlo.{op}"(%x, %y) : (tensor<{element}>, tensor<{element}>) -> tensor<{element}>
      "stablehlo.return"(%z) : (tensor<{element}>) -> () }})"""


def ints(*values):
    return "array<i64: " + ", ".join(map(str, values)) + ">" if values else "array<i64>"


# ---- element-wise ----------------------------------------------------------------------------------------------------------

UNARY = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cosine": np.cos,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log_plus_one": np.log1p,
    "negate": np.negative,
    "round_nearest_even": np.rint,
    "sign": np.sign,
    "sine": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "cbrt": np.cbrt,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("op", UNARY)
def test_unary_rounds_the_double_result(op, dtype):
    x = np.abs(RNG.normal(size=200)).astype(dtype) + dtype(0.01)
    x = x if op in ("log", "sqrt", "rsqrt") else x * np.where(np.arange(200) % 2, 1, -1).astype(dtype)
    if op == "log_plus_one":
        x = np.abs(x)
    got = call("stablehlo." + op, x, result=x)
    want = UNARY[op](x.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=1e-15 if dtype == np.float64 else 0
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_wrap(dtype):
    i = np.iinfo(dtype)
    x = RNG.integers(i.min, i.max, 300, dtype=dtype, endpoint=True)
    y = RNG.integers(i.min, i.max, 300, dtype=dtype, endpoint=True)
    with np.errstate(over="ignore"):
        for op, f in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}.items():
            np.testing.assert_array_equal(call("stablehlo." + op, x, y, result=x), f(x, y))
    for op, f in {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }.items():
        np.testing.assert_array_equal(call("stablehlo." + op, x, y, result=x), f(x, y))


def test_integer_choices():
    x, y = np.array([7, -7, 7, -(2**31), 5], np.int32), np.array([2, 2, 0, -1, 0], np.int32)
    np.testing.assert_array_equal(call("stablehlo.divide", x, y, result=x), [3, -3, -1, -(2**31), -1])
    np.testing.assert_array_equal(call("stablehlo.remainder", x, y, result=x), [1, -1, 7, 0, 5])
    n = np.array([1, 31, 32, 40, -1], np.int32)
    v = np.full(5, -8, np.int32)
    np.testing.assert_array_equal(call("stablehlo.shift_left", v, n, result=v), [-16, 0, 0, 0, 0])
    np.testing.assert_array_equal(call("stablehlo.shift_right_arithmetic", v, n, result=v), [-4, -1, -1, -1, -1])
    np.testing.assert_array_equal(call("stablehlo.shift_right_logical", v, n, result=v), [2147483644, 1, 0, 0, 0])


def test_conversions():
    x = np.array([1.9, -1.9, 300.0, -300.0, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(
        call("stablehlo.convert", x, result=np.zeros(6, np.int32)), [1, -1, 300, -300, 0, 2**31 - 1]
    )
    np.testing.assert_array_equal(call("stablehlo.convert", x, result=np.zeros(6, np.int8)), [1, -1, 127, -128, 0, 127])
    np.testing.assert_array_equal(call("stablehlo.convert", x, result=np.zeros(6, bool)), [True] * 6)
    big = np.array([2**24 + 1, 2**53 + 1, 2**62 + 2**38 + 1, -(2**62) - 2**38 - 1], np.int64)
    np.testing.assert_array_equal(
        call("stablehlo.convert", big, result=np.zeros(4, np.float32)), big.astype(np.float32)
    )
    np.testing.assert_array_equal(
        call("stablehlo.convert", np.array([300, -1], np.int32), result=np.zeros(2, np.uint8)), [44, 255]
    )
    f = RNG.normal(size=500).astype(np.float32) * 50
    for t in (ml_dtypes.bfloat16, np.float16):
        np.testing.assert_array_equal(call("stablehlo.convert", f, result=f.astype(t)), f.astype(t))


FLOATS = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}


@pytest.mark.parametrize("name", FLOATS)
def test_every_narrow_float_and_rounding_to_it(name):
    bits = np.arange(256 if name.startswith("f8") else 65536, dtype=np.uint8 if name.startswith("f8") else np.uint16)
    values = bits.view(FLOATS[name])
    to_f32 = f"func.func @main(%a: tensor<{len(bits)}x{name}>) -> tensor<{len(bits)}xf32> {{ %0 = stablehlo.convert %a : (tensor<{len(bits)}x{name}>) -> tensor<{len(bits)}xf32>\n return %0 : tensor<{len(bits)}xf32> }}"
    np.testing.assert_array_equal(glia.interpret(to_f32, values)[0], values.astype(np.float32))
    x = np.concatenate(
        [RNG.normal(size=2000) * 10.0 ** RNG.integers(-9, 6, 2000), [0.0, -0.0, np.inf, -np.inf, np.nan]]
    ).astype(np.float32)
    back = f"func.func @main(%a: tensor<{len(x)}xf32>) -> tensor<{len(x)}x{name}> {{ %0 = stablehlo.convert %a : (tensor<{len(x)}xf32>) -> tensor<{len(x)}x{name}>\n return %0 : tensor<{len(x)}x{name}> }}"
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            glia.interpret(back, x)[0].astype(np.float32), x.astype(FLOATS[name]).astype(np.float32)
        )


def test_nan_rules():
    x, y = np.array([np.nan, 1, -0.0, 0.0], np.float32), np.array([1, np.nan, 0.0, -0.0], np.float32)
    high, low = call("stablehlo.maximum", x, y, result=x), call("stablehlo.minimum", x, y, result=x)
    assert np.isnan(high[:2]).all() and np.isnan(low[:2]).all()
    assert not np.signbit(high[2:]).any() and np.signbit(low[2:]).all()


# ---- movement --------------------------------------------------------------------------------------------------------------


def test_movement():
    x = RNG.normal(size=(3, 4, 5)).astype(np.float32)
    t = x.transpose(2, 0, 1)
    np.testing.assert_array_equal(
        call("stablehlo.transpose", x, result=t, attributes=f"permutation = {ints(2, 0, 1)}"), t
    )
    s = x[1:3, 0:4:2, 4:5]
    attributes = f"start_indices = {ints(1, 0, 4)}, limit_indices = {ints(3, 4, 5)}, strides = {ints(1, 2, 1)}"
    np.testing.assert_array_equal(call("stablehlo.slice", x, result=s, attributes=attributes), s)
    r = x[::-1, :, ::-1]
    np.testing.assert_array_equal(call("stablehlo.reverse", x, result=r, attributes=f"dimensions = {ints(0, 2)}"), r)
    c = np.concatenate([x, x[:, :2]], axis=1)
    np.testing.assert_array_equal(
        call("stablehlo.concatenate", x, x[:, :2].copy(), result=c, attributes="dimension = 1 : i64"), c
    )

    row = x[:, 0, :]
    b = np.broadcast_to(row[:, None, :], (3, 6, 5))
    got = call("stablehlo.broadcast_in_dim", row.copy(), result=b, attributes=f"broadcast_dimensions = {ints(0, 2)}")
    np.testing.assert_array_equal(got, b)


@pytest.mark.parametrize("low,high,interior", [(1, 2, 0), (0, 0, 2), (-2, 1, 1), (3, -4, 2), (-1, -1, 0), (-20, 18, 1)])
def test_pad(low, high, interior):
    x = np.arange(1, 6, dtype=np.int32)
    wide = np.zeros(5 + 4 * interior, np.int32)
    wide[:: interior + 1] = x
    wide = np.concatenate([np.zeros(max(low, 0), np.int32), wide, np.zeros(max(high, 0), np.int32)])
    want = wide[max(-low, 0) : len(wide) - max(-high, 0)]
    attributes = (
        f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}, interior_padding = {ints(interior)}"
    )
    np.testing.assert_array_equal(
        call("stablehlo.pad", x, np.array(0, np.int32), result=want, attributes=attributes), want
    )


def test_dynamic_slices_clamp():
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    for i, j in [(0, 0), (1, 2), (9, -3)]:
        at = (min(max(i, 0), 2), min(max(j, 0), 3))
        start = [np.array(i, np.int32), np.array(j, np.int32)]
        want = x[at[0] : at[0] + 2, at[1] : at[1] + 2]
        np.testing.assert_array_equal(
            call("stablehlo.dynamic_slice", x, *start, result=want, attributes=f"slice_sizes = {ints(2, 2)}"), want
        )
        update = -np.ones((2, 2), np.int32)
        want = x.copy()
        want[at[0] : at[0] + 2, at[1] : at[1] + 2] = update
        np.testing.assert_array_equal(call("stablehlo.dynamic_update_slice", x, update, *start, result=want), want)


# ---- contractions, convolutions, reductions --------------------------------------------------------------------------------


def test_dot_general_sums_once():
    a, b = (
        RNG.normal(size=(3, 6, 40)).astype(ml_dtypes.bfloat16),
        RNG.normal(size=(40, 3, 7)).astype(ml_dtypes.bfloat16),
    )
    want = np.einsum("bmk,kbn->bmn", a.astype(np.float64), b.astype(np.float64)).astype(ml_dtypes.bfloat16)
    dims = "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>"
    np.testing.assert_array_equal(
        call("stablehlo.dot_general", a, b, result=want, attributes=f"dot_dimension_numbers = {dims}"), want
    )
    i, j = RNG.integers(-128, 128, (4, 9), dtype=np.int8), RNG.integers(-128, 128, (9, 3), dtype=np.int8)
    want = i.astype(np.int32) @ j.astype(np.int32)
    dims = "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"
    np.testing.assert_array_equal(
        call("stablehlo.dot_general", i, j, result=want, attributes=f"dot_dimension_numbers = {dims}"), want
    )


def convolve(x, k, stride, low, high, x_dilation, k_dilation, groups, batch_groups):
    """x: (n, h, w, c), k: (kh, kw, c / groups, o); plain loops."""
    n, h, w, c = x.shape
    kh, kw, kc, o = k.shape
    wide = np.zeros((n, (h - 1) * x_dilation + 1, (w - 1) * x_dilation + 1, c))
    wide[:, ::x_dilation, ::x_dilation] = x
    wide = np.pad(wide, ((0, 0), (low, high), (low, high), (0, 0)))
    oh = (wide.shape[1] - ((kh - 1) * k_dilation + 1)) // stride + 1
    ow = (wide.shape[2] - ((kw - 1) * k_dilation + 1)) // stride + 1
    out = np.zeros((n // batch_groups, oh, ow, o))
    parts = max(groups, batch_groups)
    for g in range(parts):
        outputs = slice(g * o // parts, (g + 1) * o // parts)
        channels = slice(g * kc, (g + 1) * kc) if groups > 1 else slice(0, c)
        batch = slice(g * (n // parts), (g + 1) * (n // parts)) if batch_groups > 1 else slice(0, n)
        for i in range(oh):
            for j in range(ow):
                for p in range(kh):
                    for q in range(kw):
                        v = wide[batch, i * stride + p * k_dilation, j * stride + q * k_dilation, channels]
                        out[:, i, j, outputs] += v @ k[p, q][:, outputs]
    return out


@pytest.mark.parametrize(
    "stride,low,high,x_dilation,k_dilation,groups,batch_groups",
    [
        (1, 0, 0, 1, 1, 1, 1),
        (2, 1, 2, 1, 1, 1, 1),
        (1, 2, 1, 2, 1, 1, 1),
        (1, 1, 1, 1, 2, 1, 1),
        (2, 1, 1, 2, 2, 2, 1),
        (1, 1, 0, 1, 1, 4, 1),
        (1, 0, 0, 1, 1, 1, 2),
    ],
)
def test_convolution(stride, low, high, x_dilation, k_dilation, groups, batch_groups):
    x = RNG.normal(size=(4, 7, 6, 4)).astype(np.float32)
    k = RNG.normal(size=(3, 3, 4 // groups, 8)).astype(np.float32)
    want = convolve(
        x.astype(float), k.astype(float), stride, low, high, x_dilation, k_dilation, groups, batch_groups
    ).astype(np.float32)
    pads = f"dense<[[{low}, {high}], [{low}, {high}]]> : tensor<2x2xi64>"
    attributes = f"""window_strides = {ints(stride, stride)}, padding = {pads}, lhs_dilation = {ints(x_dilation, x_dilation)},
      rhs_dilation = {ints(k_dilation, k_dilation)}, feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64,
      dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"""
    got = call("stablehlo.convolution", x, k, result=want, attributes=attributes)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axes", [(0,), (2,), (0, 2), (0, 1, 2)])
def test_reductions(axes):
    x = RNG.normal(size=(5, 6, 7)).astype(np.float32)
    kept = np.sum(x, axis=axes)
    zero, low = np.array(0, np.float32), np.array(-np.inf, np.float32)
    attributes = f"dimensions = {ints(*axes)}"
    got = call("stablehlo.reduce", x, zero, result=kept, attributes=attributes, region=body("add", "f32"))
    np.testing.assert_array_equal(got, x.astype(np.float64).sum(axis=axes).astype(np.float32))
    got = call("stablehlo.reduce", x, low, result=kept, attributes=attributes, region=body("maximum", "f32"))
    np.testing.assert_array_equal(got, x.max(axis=axes))


def test_sum_of_bf16_is_rounded_once():
    x = np.full(1000, 1, ml_dtypes.bfloat16)
    zero = np.array(0, ml_dtypes.bfloat16)
    got = call(
        "stablehlo.reduce", x, zero, result=zero, attributes=f"dimensions = {ints(0)}", region=body("add", "bf16")
    )
    assert float(got) == 1000  # one step after another would stop at 256


@pytest.mark.parametrize("second", ["add", "select"])
def test_each_of_several_sums_is_rounded_once(second):
    x, places = np.full(1000, 1, ml_dtypes.bfloat16), np.arange(1000, dtype=np.int32)
    zero, none = np.array(0, ml_dtypes.bfloat16), np.array(0, np.int32)
    other = "%q = stablehlo.add %b, %d : tensor<i32>"
    if second == "select":
        other = """%m = stablehlo.compare GT, %d, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %q = stablehlo.select %m, %d, %b : tensor<i1>, tensor<i32>"""
    region = f"""({{ ^bb0(%a: tensor<bf16>, %b: tensor<i32>, %c: tensor<bf16>, %d: tensor<i32>):
        %p = stablehlo.add %a, %c : tensor<bf16>
        {other}
        "stablehlo.return"(%p, %q) : (tensor<bf16>, tensor<i32>) -> () }})"""
    attributes = f"dimensions = {ints(0)}"
    got, count = call(
        "stablehlo.reduce", x, places, zero, none, result=[zero, none], attributes=attributes, region=region
    )
    assert float(got) == 1000
    assert int(count) == (499500 if second == "add" else 999)


def test_windows():
    x = RNG.normal(size=(8, 9)).astype(np.float32)
    want = np.stack([[x[i : i + 3, j : j + 2].max() for j in range(0, 8, 2)] for i in range(0, 6, 2)])
    attributes = f"window_dimensions = {ints(3, 2)}, window_strides = {ints(2, 2)}"
    low = np.array(-np.inf, np.float32)
    np.testing.assert_array_equal(
        call("stablehlo.reduce_window", x, low, result=want, attributes=attributes, region=body("maximum", "f32")), want
    )
    source = RNG.normal(size=want.shape).astype(np.float32)
    scattered = np.zeros(x.shape)
    for i in range(want.shape[0]):
        for j in range(want.shape[1]):
            p, q = np.unravel_index(np.argmax(x[2 * i : 2 * i + 3, 2 * j : 2 * j + 2]), (3, 2))
            scattered[2 * i + p, 2 * j + q] += source[i, j]
    select = """({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %z : tensor<i1> }, { ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %z = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %z : tensor<f32> })"""
    got = call(
        "stablehlo.select_and_scatter",
        x,
        source,
        np.array(0, np.float32),
        result=x,
        attributes=attributes,
        region=select,
    )
    np.testing.assert_array_equal(got, scattered.astype(np.float32))


# ---- gather, scatter, sort -------------------------------------------------------------------------------------------------


def test_gather_and_scatter_rows():
    x = RNG.normal(size=(10, 4)).astype(np.float32)
    rows = np.array([[3], [99], [-5], [3]], np.int32)
    want = x[np.clip(rows[:, 0], 0, 9)]
    numbers = (
        "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
    )
    attributes = f"dimension_numbers = {numbers}, slice_sizes = {ints(1, 4)}"
    np.testing.assert_array_equal(call("stablehlo.gather", x, rows, result=want, attributes=attributes), want)
    updates = RNG.normal(size=(4, 4)).astype(np.float32)
    want = x.copy()
    want[3] = (want[3] + updates[0]) + updates[3]  # the two others lie outside
    numbers = "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    got = call(
        "stablehlo.scatter",
        x,
        rows,
        updates,
        result=want,
        attributes=f"scatter_dimension_numbers = {numbers}",
        region=body("add", "f32"),
    )
    np.testing.assert_array_equal(got, want)


def test_sort_is_stable_and_takes_its_companions():
    keys = RNG.integers(0, 5, (3, 50), dtype=np.int32)
    values = np.broadcast_to(np.arange(50, dtype=np.int32), (3, 50)).copy()
    order = np.argsort(keys, axis=1, kind="stable")
    region = """({ ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        %z = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %z : tensor<i1> })"""
    got = call(
        "stablehlo.sort",
        keys,
        values,
        result=[keys, values],
        attributes="dimension = 1 : i64, is_stable = true",
        region=region,
    )
    np.testing.assert_array_equal(got[0], np.take_along_axis(keys, order, 1))
    np.testing.assert_array_equal(got[1], order)


# ---- control flow, options, bad input --------------------------------------------------------------------------------------

LOOP = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = func.call @double(%v) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""


def test_loops_and_calls():
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(glia.interpret(LOOP, np.array(5, np.int32), x)[0], x * 32)
    seen = []
    glia.interpret(
        LOOP, np.array(3, np.int32), x, watcher=lambda op, place, result, value: seen.append((op, value.tolist()))
    )
    assert [v for op, v in seen if op == "stablehlo.add" and isinstance(v, list)] == [
        (x * 2**i).tolist() for i in (1, 2, 3)
    ]


def test_in_double_rounds_nothing():
    x = np.array([1 / 3], np.float64)
    text = """func.func @main(%x: tensor<1xbf16>) -> tensor<1xbf16> {
      %0 = stablehlo.multiply %x, %x : tensor<1xbf16>
      return %0 : tensor<1xbf16> }"""
    (y,) = glia.interpret(text, x, in_double=True)
    assert y.dtype == np.float64 and y[0] == x[0] * x[0]
    (y,) = glia.interpret(text, x.astype(ml_dtypes.bfloat16))
    assert y.dtype == ml_dtypes.bfloat16


def code(text, *inputs, **options):
    with pytest.raises(glia.Error) as e:
        glia.interpret(text, *inputs, **options)
    return e.value.diagnostics[0]


def test_bad_input_is_refused():
    x = np.ones(4, np.float32)
    assert code(LOOP, x).code == "GRAPH-ARGUMENT"
    assert code(LOOP, np.array(1, np.int32), x[:3]).code == "GRAPH-ARGUMENT"
    assert code(LOOP, np.array(1, np.int64), x).code == "GRAPH-ARGUMENT"
    assert code(LOOP, function="nothing").code == "GRAPH-FUNCTION"
    assert code("func.func @main( {").code == "GRAPH-SYNTAX"
    d = code(
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.custom_call @nobody_knows(%x) : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32> }""",
        x,
        file="model.mlir",
    )
    assert d.code == "GRAPH-INTERPRET" and "nobody_knows" in d.message and (d.file, d.line) == ("model.mlir", 2)


def test_empty_shapes():
    x = np.zeros((0, 4), np.float32)
    zero = np.array(0, np.float32)
    got = call(
        "stablehlo.reduce",
        x,
        zero,
        result=np.zeros(4, np.float32),
        attributes=f"dimensions = {ints(0)}",
        region=body("add", "f32"),
    )
    np.testing.assert_array_equal(got, np.zeros(4))
    dims = "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>"
    got = call(
        "stablehlo.dot_general", x, x, result=np.zeros((4, 4), np.float32), attributes=f"dot_dimension_numbers = {dims}"
    )
    np.testing.assert_array_equal(got, np.zeros((4, 4)))


# ---- batch normalisation ---------------------------------------------------------------------------------------------------


def normalised(x, scale, offset, epsilon):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    y = (x - mean[:, None, None]) / np.sqrt(variance + epsilon)[:, None, None] * scale[:, None, None] + offset[
        :, None, None
    ]
    return y, mean, variance


def test_batch_norm():
    epsilon = float(np.float32(1e-3))
    x, scale, offset = normal64(4, 3, 2, 5), normal64(3), normal64(3)
    attributes = f"epsilon = {epsilon!r} : f32, feature_index = 1 : i64"
    y, mean, variance = normalised(x, scale, offset, epsilon)
    got = call("stablehlo.batch_norm_training", x, scale, offset, result=[y, mean, variance], attributes=attributes)
    for g, w in zip(got, (y, mean, variance)):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-13)
    got = call("stablehlo.batch_norm_inference", x, scale, offset, mean, variance, result=y, attributes=attributes)
    np.testing.assert_allclose(got, y, rtol=1e-12, atol=1e-13)
    # The gradient against differences of the function itself.
    g = normal64(*x.shape)
    got = call(
        "stablehlo.batch_norm_grad", x, scale, mean, variance, g, result=[x, scale, offset], attributes=attributes
    )
    for k, (of, at) in enumerate([(0, (1, 2, 0, 3)), (0, (3, 0, 1, 4)), (1, (2,)), (2, (0,))]):
        step = 1e-5
        sums = []
        for sign in (1, -1):
            arguments = [x.copy(), scale.copy(), offset.copy()]
            arguments[of][at] += sign * step
            sums.append(np.sum(normalised(*arguments, epsilon)[0] * g))
        np.testing.assert_allclose(got[of][at], (sums[0] - sums[1]) / (2 * step), rtol=1e-6, err_msg=str(k))


def normal64(*shape):
    return RNG.normal(size=shape)
