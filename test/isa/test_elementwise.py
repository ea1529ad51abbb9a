"""tensor_tensor, tensor_scalar, scalar_tensor_tensor, reciprocal: against NumPy over operations, types, shapes, views, engines."""

import numpy as np
import pytest
from glia.dtypes import numpy_dtype
from harness import TARGETS, View, refused, run, same_bits, targets_with, within_ulp
from reference import ABSOLUTE, BINARY, BITS, F32, FLOATS, INTEGERS, UNARY, UNARY_NEWER, narrow, rng_for, values, widen

np.seterr(all="ignore")
SHAPES = [(1, 1), (128, 1), (33, 17), (64, 130), (7, 513)]
PAIRS = [
    ("f32", "f32", "f32"),
    ("bf16", "bf16", "bf16"),
    ("f16", "bf16", "f32"),
    ("f8e4m3", "f8e5m2", "f8e4m3"),
    ("i32", "f32", "i16"),
    ("u8", "i8", "u8"),
    ("i16", "u16", "f16"),
    ("u32", "u32", "u32"),
    ("f32", "f32", "f8e3m4"),
    ("f8e3m4", "i8", "i32"),
    ("f32", "f32", "f8e5m2"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", BINARY)
def test_tensor_tensor_operations(target, op):
    for a_type, b_type, to in PAIRS:
        rng = rng_for(op, a_type, b_type)
        a, b = values(rng, a_type, (128, 37)), values(rng, b_type, (128, 37))
        got = run(f"vector tensor_tensor dst=y a=a b=b op={op}", {"a": a, "b": b}, {"y": (to, a.shape)}, target)["y"]
        same_bits(got, narrow(BINARY[op](widen(a), widen(b)), to))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("engine", ["vector", "gpsimd"])
def test_tensor_tensor_shapes(target, shape, engine):
    rng = rng_for(shape)
    a, b = values(rng, "f32", shape), values(rng, "bf16", shape)
    got = run(f"{engine} tensor_tensor dst=y a=a b=b op=multiply", {"a": a, "b": b}, {"y": ("f32", shape)}, target)["y"]
    same_bits(got, a * widen(b))


@pytest.mark.parametrize("psum", [("a",), ("b",), ("y",), ("a", "y")])
def test_tensor_tensor_psum(psum):
    rng = rng_for(psum)
    a, b = values(rng, "f32", (128, 100)), values(rng, "f32", (128, 100))
    for target in TARGETS:
        got = run(
            "vector tensor_tensor dst=y a=a b=b op=add", {"a": a, "b": b}, {"y": ("f32", a.shape)}, target, psum=psum
        )["y"]
        same_bits(got, a + b)


@pytest.mark.parametrize("a_type,b_type,to", [("f32", "f32", "f32"), ("bf16", "i16", "f16"), ("i32", "u8", "i8")])
def test_tensor_tensor_views(a_type, b_type, to):
    rng = rng_for(a_type, b_type, to)
    a, b, y = values(rng, a_type, (64, 120)), values(rng, b_type, (64, 60)), values(rng, to, (64, 64))
    va = View(32, ((40, 3), (4, 5)), offset=1, first=32)
    vb = View(32, ((0, 3), (3, 5)), offset=7)  # stride 0 repeats
    vy = View(32, ((1, 15),), offset=9, first=0)
    code = f"vector tensor_tensor dst={vy.text('y', to)} a={va.text('a', a_type)} b={vb.text('b', b_type)} op=subtract"
    got = run(code, {"a": a, "b": b, "y": y}, {"y": (to, y.shape)}, "trn2")["y"]
    same_bits(got, vy.put(y, narrow(widen(va.take(a)) - widen(vb.take(b)), to)))
    vy = View(64, ((30, 2), (8, 3), (2, 3)), offset=1)  # a scattered result
    va, vb = View(64, ((60, 2), (10, 3), (3, 3))), View(64, ((1, 18),), offset=5)
    code = f"vector tensor_tensor dst={vy.text('y', to)} a={va.text('a', a_type)} b={vb.text('b', b_type)} op=max"
    got = run(code, {"a": a, "b": b, "y": y}, {"y": (to, y.shape)}, "trn2")["y"]
    same_bits(got, vy.put(y, narrow(BINARY["max"](widen(va.take(a)), widen(vb.take(b))), to)))


@pytest.mark.parametrize("target", targets_with("f8e4m3fn"))
def test_ocp_fp8(target):
    rng = rng_for("ocp")
    a, b = values(rng, "f8e4m3fn", (128, 40)), values(rng, "f8e4m3fn", (128, 40))
    got = run("vector tensor_tensor dst=y a=a b=b op=multiply", {"a": a, "b": b}, {"y": ("f8e4m3fn", a.shape)}, target)[
        "y"
    ]
    same_bits(got, narrow(widen(a) * widen(b), "f8e4m3fn"))


def test_tf32_results_are_rounded():
    rng = rng_for("tf32")
    a = values(rng, "f32", (128, 60), edges=False)
    got = run(
        "vector tensor_scalar dst=y data=a op0=multiply operand0=1.5",
        {"a": a},
        {"y": ("f32", a.shape)},
        "trn2",
        types={"y": "tf32"},
    )["y"]
    assert (got.view(np.uint32) & 0x1FFF == 0).all()
    want = (a * F32(1.5)).view(np.uint32).astype(np.uint64)
    want = (
        ((want + 0xFFF + (want >> 13 & 1)) & ~np.uint64(0x1FFF)).astype(np.uint32).view(F32)
    )  # nearest even at bit 13
    same_bits(got, want)


def test_tensor_tensor_in_place():
    rng = rng_for("place")
    a, b = values(rng, "f32", (128, 70)), values(rng, "f32", (128, 70))
    same_bits(
        run("vector tensor_tensor dst=a a=a b=b op=subtract", {"a": a, "b": b}, {"a": ("f32", a.shape)}, "trn2")["a"],
        a - b,
    )
    same_bits(
        run("vector tensor_tensor dst=b a=a b=b op=subtract", {"a": a, "b": b}, {"b": ("f32", a.shape)}, "trn2")["b"],
        a - b,
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", BITS)
def test_bit_operations(target, dtype, op):
    rng = rng_for(dtype, op)
    unsigned = np.dtype(f"u{numpy_dtype(dtype).itemsize}")
    a = values(rng, dtype, (128, 21))
    b = rng.integers(0, 40, a.shape).astype(a.dtype) if op.startswith("shift") else values(rng, dtype, (128, 21))
    want = BITS[op](a.view(unsigned), b.view(unsigned)).view(a.dtype)
    got = run(f"vector tensor_tensor dst=y a=a b=b op={op}", {"a": a, "b": b}, {"y": (dtype, a.shape)}, target)["y"]
    same_bits(got, want)
    k = b[:, :1].copy()
    got = run(
        f"vector tensor_scalar dst=y data=a op0={op} operand0=k", {"a": a, "k": k}, {"y": (dtype, a.shape)}, target
    )["y"]
    same_bits(got, BITS[op](a.view(unsigned), np.broadcast_to(k, a.shape).copy().view(unsigned)).view(a.dtype))
    number = 3
    got = run(
        f"vector tensor_scalar dst=y data=a op0={op} operand0={number} op1=bitwise_xor operand1=85",
        {"a": a},
        {"y": (dtype, a.shape)},
        target,
    )["y"]
    want = BITS[op](a.view(unsigned), np.full(a.shape, number, unsigned)) ^ unsigned.type(85)
    same_bits(got, want.view(a.dtype))


def test_bitwise_not_and_reversed_shift():
    a = np.arange(-5, 27, dtype=np.int32).reshape(1, 32)
    same_bits(
        run("vector tensor_scalar dst=y data=a op0=bitwise_not", {"a": a}, {"y": ("i32", a.shape)}, "trn2")["y"], ~a
    )
    d = np.arange(32, dtype=np.uint32).reshape(1, 32)
    got = run(
        "vector tensor_scalar dst=y data=d op0=shift_left operand0=1 reverse0=1",
        {"d": d},
        {"y": ("u32", d.shape)},
        "trn2",
    )["y"]
    same_bits(got, np.uint32(1) << d)


EXACT = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_equal": np.greater_equal,
    "greater": np.greater,
    "less_equal": np.less_equal,
    "less": np.less,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["i32", "u32"])
@pytest.mark.parametrize("op", EXACT)
def test_integers_are_exact_on_gpsimd(target, dtype, op):
    rng = rng_for(dtype, op)
    a, b = values(rng, dtype, (128, 33)), values(rng, dtype, (128, 33))
    b[:, :5] = a[:, :5]
    got = run(f"gpsimd tensor_tensor dst=y a=a b=b op={op}", {"a": a, "b": b}, {"y": (dtype, a.shape)}, target)["y"]
    same_bits(got, EXACT[op](a, b).astype(a.dtype))  # NumPy wraps too


def test_integers_go_through_fp32_on_vector():
    a = np.array([[16777217, -16777217, 2147483647, 5]], np.int32)
    b = np.array([[1, 1, 1, 7]], np.int32)
    got = run("vector tensor_tensor dst=y a=a b=b op=add", {"a": a, "b": b}, {"y": ("i32", a.shape)}, "trn2")["y"]
    same_bits(got, narrow(widen(a) + widen(b), "i32"))
    assert got[0, 0] == 16777216 and got[0, 2] == 2147483647
    exact = run("gpsimd tensor_tensor dst=y a=a b=b op=add", {"a": a, "b": b}, {"y": ("i32", a.shape)}, "trn2")["y"]
    assert exact.tolist() == [[16777218, -16777216, -2147483648, 12]]


@pytest.mark.parametrize("target", TARGETS)
def test_power_on_gpsimd(target):
    rng = rng_for("power")
    a, b = np.abs(rng.standard_normal((128, 50))).astype(F32) + F32(0.1), rng.uniform(-4, 4, (128, 50)).astype(F32)
    got = run("gpsimd tensor_tensor dst=y a=a b=b op=power", {"a": a, "b": b}, {"y": ("f32", a.shape)}, target)["y"]
    within_ulp(got, np.power(a.astype(np.float64), b.astype(np.float64)), 2)


@pytest.mark.parametrize("target", targets_with("abs_max"))
@pytest.mark.parametrize("op", ABSOLUTE)
def test_absolute_max_and_min(target, op):
    rng = rng_for(op)
    a, b = values(rng, "f32", (128, 40)), values(rng, "bf16", (128, 40))
    got = run(f"vector tensor_tensor dst=y a=a b=b op={op}", {"a": a, "b": b}, {"y": ("f32", a.shape)}, target)["y"]
    same_bits(got, ABSOLUTE[op](a, widen(b)))


def test_operations_that_are_not_there():
    a = np.ones((128, 4), F32)
    one = {"y": ("f32", a.shape)}
    for target in TARGETS:
        assert refused("vector tensor_tensor dst=y a=a b=a op=power", {"a": a}, one, target) == ["ALU-OP"]
        assert refused("gpsimd tensor_tensor dst=y a=a b=a op=subtract", {"a": a}, one, target) == ["ALU-OP"]
        assert refused("vector tensor_tensor dst=y a=a b=a op=average", {"a": a}, one, target) == ["ALU-OP"]
        assert refused("vector tensor_tensor dst=y a=a b=a op=abs", {"a": a}, one, target) == ["ALU-OP"]
        assert (
            refused("vector tensor_tensor dst=y a=a b=a op=bitwise_and", {"a": a}, one, target) == ["BIT-OP-TYPE"] * 3
        )
        lacking = target not in targets_with("abs_max")
        assert refused("vector tensor_tensor dst=y a=a b=a op=abs_max", {"a": a}, one, target) == ["ALU-OP"] * lacking
        assert refused("vector tensor_scalar dst=y data=a op0=square", {"a": a}, one, target) == ["ALU-OP"] * lacking


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op0", BINARY)
def test_tensor_scalar_operations(target, op0):
    rng = rng_for(op0)
    others = ["add", "subtract", "max", "multiply", "less"]
    for k, (a_type, _, to) in enumerate(PAIRS):
        op1 = others[k % len(others)]
        a, s = values(rng, a_type, (128, 19)), values(rng, "f32", (128, 1))
        r0, r1 = k % 2, k // 2 % 2
        code = f"vector tensor_scalar dst=y data=a op0={op0} operand0=s reverse0={r0} op1={op1} operand1=-1.75 reverse1={r1}"
        first = BINARY[op0](*((s, widen(a)) if r0 else (widen(a), s)))
        second = BINARY[op1](*((F32(-1.75), first) if r1 else (first, F32(-1.75))))
        same_bits(run(code, {"a": a, "s": s}, {"y": (to, a.shape)}, target)["y"], narrow(second, to))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_tensor_scalar_shapes(target, shape):
    rng = rng_for(shape)
    a, s = values(rng, "bf16", shape), values(rng, "f32", (shape[0], 1))
    got = run(
        "vector tensor_scalar dst=y data=a op0=multiply operand0=2.5 op1=subtract operand1=s",
        {"a": a, "s": s},
        {"y": ("f32", shape)},
        target,
    )["y"]
    same_bits(got, widen(a) * F32(2.5) - s)


ONE_OPERAND = [(t, op) for t in TARGETS for op in UNARY]
ONE_OPERAND += [(t, op) for t in targets_with("tensor_scalar_square_relu") for op in UNARY_NEWER]


@pytest.mark.parametrize("target,op", ONE_OPERAND)
def test_tensor_scalar_on_one_operand(target, op):
    a = values(rng_for(op), "f32", (128, 64))
    f = {**UNARY, **UNARY_NEWER}[op]
    same_bits(run(f"vector tensor_scalar dst=y data=a op0={op}", {"a": a}, {"y": ("f32", a.shape)}, target)["y"], f(a))
    got = run(
        f"vector tensor_scalar dst=y data=a op0={op} operand0=0.0 op1=add operand1=1.0",
        {"a": a},
        {"y": ("bf16", a.shape)},
        target,
    )["y"]
    same_bits(got, narrow(f(a) + F32(1), "bf16"))


@pytest.mark.parametrize("target", TARGETS)
def test_rsqrt_on_gpsimd(target):
    a = np.abs(rng_for("rsqrt").standard_normal((128, 33))).astype(F32) + F32(1e-3)
    got = run(
        "gpsimd tensor_scalar dst=y data=a op0=add operand0=0.5 op1=rsqrt", {"a": a}, {"y": ("f32", a.shape)}, target
    )["y"]
    within_ulp(got, 1 / np.sqrt((a + F32(0.5)).astype(np.float64)), 1)


@pytest.mark.parametrize("target", targets_with("scalar_tensor_scalar"))
@pytest.mark.parametrize(
    "code,want",
    [
        ("op0=multiply operand0=s op1=add operand1=0.5", lambda a, s: a * s + F32(0.5)),
        ("op0=multiply operand0=-2.0", lambda a, s: a * F32(-2)),
        ("op0=add operand0=s", lambda a, s: a + s),
    ],
)
def test_tensor_scalar_on_scalar(target, code, want):
    rng = rng_for(code)
    a, s = values(rng, "bf16", (96, 51)), values(rng, "f32", (96, 1))
    got = run(f"scalar tensor_scalar dst=y data=a {code}", {"a": a, "s": s}, {"y": ("f32", a.shape)}, target)["y"]
    same_bits(got, want(widen(a), s))


def test_tensor_scalar_refusals():
    a, i = np.ones((128, 4), F32), np.ones((128, 4), np.int32)
    y, j = {"y": ("f32", a.shape)}, {"j": ("i32", a.shape)}
    for target in TARGETS:
        scalar = ["ALU-PAIR"] if target in targets_with("scalar_tensor_scalar") else None
        if scalar:
            assert (
                refused(
                    "scalar tensor_scalar dst=y data=a op0=add operand0=1.0 op1=multiply operand1=1.0",
                    {"a": a},
                    y,
                    target,
                )
                == scalar
            )
            assert refused("scalar tensor_scalar dst=y data=a op0=max operand0=1.0", {"a": a}, y, target) == ["ALU-OP"]
        else:
            assert len(refused("scalar tensor_scalar dst=y data=a op0=add operand0=1.0", {"a": a}, y, target)) == 1
        assert refused("gpsimd tensor_scalar dst=y data=a op0=add operand0=1.0", {"a": a}, y, target) == ["ALU-PAIR"]
        assert refused("vector tensor_scalar dst=y data=a op0=add", {"a": a}, y, target) == ["ALU-OPERAND"]
        assert refused("vector tensor_scalar dst=y data=a op0=abs operand0=1.0", {"a": a}, y, target) == ["ALU-OPERAND"]
        assert refused("vector tensor_scalar dst=y data=a op0=add operand0=1.0 operand1=1.0", {"a": a}, y, target) == [
            "ALU-OPERAND"
        ]
        assert refused("vector tensor_scalar dst=j data=i op0=bitwise_and operand0=0.5", {"i": i}, j, target) == [
            "ALU-OPERAND"
        ]
        assert refused(
            "vector tensor_scalar dst=j data=i op0=bitwise_and operand0=1 op1=add operand1=1", {"i": i}, j, target
        ) == ["ALU-PAIR"]
        assert refused("vector tensor_scalar dst=y data=a op0=add operand0=s", {"a": a, "s": i[:, :1]}, y, target) == [
            "PER-PARTITION-SCALAR"
        ]


@pytest.mark.parametrize("target", TARGETS)
def test_scalar_tensor_tensor(target):
    for k, (a_type, b_type, to) in enumerate(PAIRS):
        for op0, op1 in [("subtract", "multiply"), ("multiply", "add"), ("max", "subtract"), ("less", "logical_and")]:
            rng = rng_for(op0, op1, a_type)
            a, b, s = values(rng, a_type, (128, 29)), values(rng, b_type, (128, 29)), values(rng, b_type, (128, 1))
            r0, r1 = k % 2, k // 2 % 2
            code = f"vector scalar_tensor_tensor dst=y data=a op0={op0} operand0=s op1={op1} operand1=b reverse0={r0} reverse1={r1}"
            first = BINARY[op0](*((widen(s), widen(a)) if r0 else (widen(a), widen(s))))
            second = BINARY[op1](*((widen(b), first) if r1 else (first, widen(b))))
            same_bits(run(code, {"a": a, "b": b, "s": s}, {"y": (to, a.shape)}, target)["y"], narrow(second, to))


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 3000])
def test_scalar_tensor_tensor_long_rows_in_place(n):
    rng = rng_for(n)
    a, b = values(rng, "f32", (3, n)), values(rng, "f32", (3, n))
    want = (a - F32(3)) * b
    for place in "ab":
        code = f"vector scalar_tensor_tensor dst={place} data=a op0=subtract operand0=3.0 op1=multiply operand1=b"
        same_bits(run(code, {"a": a, "b": b}, {place: ("f32", a.shape)}, "trn2")[place], want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_reciprocal(target, dtype):
    a = values(rng_for(dtype), dtype, (128, 77))
    same_bits(run("vector reciprocal dst=y data=a", {"a": a}, {"y": ("f32", a.shape)}, target)["y"], F32(1) / widen(a))
    same_bits(
        run("vector reciprocal dst=y data=a", {"a": a}, {"y": (dtype, a.shape)}, target)["y"],
        narrow(F32(1) / widen(a), dtype),
    )


def test_strict_mode_agrees():
    rng = rng_for("strict")
    a, b, s = values(rng, "bf16", (96, 40)), values(rng, "f32", (96, 40)), values(rng, "f32", (96, 1))
    for code in [
        "vector tensor_tensor dst=y a=a b=b op=multiply",
        "vector tensor_scalar dst=y data=a op0=add operand0=s",
        "vector scalar_tensor_tensor dst=y data=a op0=max operand0=s op1=add operand1=b",
        "vector reciprocal dst=y data=a",
    ]:
        inputs = {"a": a, "b": b, "s": s}
        fast = run(code, inputs, {"y": ("f16", a.shape)}, "trn2")["y"]
        same_bits(run(code, inputs, {"y": ("f16", a.shape)}, "trn2", strict=True)["y"], fast)
