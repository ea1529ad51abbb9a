"""tensor_reduce, tensor_tensor_scan, tensor_scalar_reduce, range_select, bn_stats, bn_aggr: bit for bit against NumPy."""

import numpy as np
import pytest
from harness import TARGETS, View, refused, run, same_bits, targets_with
from reference import BINARY, BITS, F32, FLOATS, IDENTITY, INTEGERS, narrow, reduce, rng_for, values, widen

np.seterr(all="ignore")
REDUCTIONS = ["add", "subtract", "multiply", "max", "min", "logical_and", "logical_or", "logical_xor"]
LOWEST = F32(-3.4028235e38)


def tame(rng, dtype, shape):
    """Values whose products stay finite now and then."""
    a = values(rng, dtype, shape, edges=False)
    return a if dtype in INTEGERS else (a / a.dtype.type(2)).astype(a.dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduce_operations(target, op):
    for dtype, to in [
        ("f32", "f32"),
        ("bf16", "bf16"),
        ("f16", "f32"),
        ("i32", "i32"),
        ("u8", "f16"),
        ("f8e4m3", "bf16"),
    ]:
        for k, (shape, outputs) in enumerate(
            [((128, 64), 1), ((128, 65), 1), ((33, 200), 8), ((1, 1), 1), ((5, 96), 96), ((64, 700), 7)]
        ):
            rng, negate = rng_for(op, dtype, shape), k % 2
            for a in (tame(rng, dtype, shape), values(rng, dtype, shape)):
                code = f"vector tensor_reduce dst=y data=a op={op} negate={negate}"
                want = reduce(op, widen(a).reshape(shape[0], outputs, -1))
                want = narrow(want * F32(-1) if negate else want, to)
                same_bits(run(code, {"a": a}, {"y": (to, (shape[0], outputs))}, target)["y"], want)


@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_reduce_bits(op, dtype):
    a = values(rng_for(op, dtype), dtype, (128, 90), edges=False)
    for target in TARGETS:
        got = run(f"vector tensor_reduce dst=y data=a op={op}", {"a": a}, {"y": (dtype, (128, 6))}, target)["y"]
        same_bits(got, BITS[op].reduce(a.reshape(128, 6, 15), axis=2))


def test_reduce_follows_the_pattern():
    a = values(rng_for("pattern"), "f32", (64, 60), edges=False)
    v = View(64, ((1, 10), (10, 6)))  # columns of a 6 x 10 matrix
    got = run(
        f"vector tensor_reduce dst=y data={v.text('a', 'f32')} op=add", {"a": a}, {"y": ("f32", (64, 10))}, "trn2"
    )["y"]
    same_bits(got, reduce("add", a.reshape(64, 6, 10).transpose(0, 2, 1)))
    for psum in [("a",), ("y",)]:
        got = run("vector tensor_reduce dst=y data=a op=max", {"a": a}, {"y": ("f32", (64, 1))}, "trn2", psum=psum)["y"]
        same_bits(got, a.max(axis=1, keepdims=True))


def test_reduce_refusals():
    a, i = np.ones((64, 60), F32), np.ones((64, 60), np.int32)
    assert refused("vector tensor_reduce dst=y data=a op=add", {"a": a}, {"y": ("f32", (64, 7))}, "trn2") == [
        "REDUCE-SHAPE"
    ]
    assert refused("vector tensor_reduce dst=y data=a op=add", {"a": a}, {"y": ("f32", (32, 1))}, "trn2") == [
        "REDUCE-SHAPE"
    ]
    for op in ("equal", "power", "abs", "bypass", "shift_left", "average"):
        assert refused(f"vector tensor_reduce dst=y data=i op={op}", {"i": i}, {"y": ("i32", (64, 1))}, "trn2") == [
            "ALU-OP"
        ]
    assert refused(
        "vector tensor_reduce dst=y data=i op=bitwise_or negate=1", {"i": i}, {"y": ("i32", (64, 1))}, "trn2"
    ) == ["ALU-OP"]
    assert refused("vector tensor_reduce dst=y data=i op=bitwise_or", {"i": i}, {"y": ("i16", (64, 1))}, "trn2") == [
        "BIT-OP-TYPE"
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "op0,op1",
    [
        ("multiply", "add"),
        ("add", "max"),
        ("subtract", "subtract"),
        ("max", "min"),
        ("less", "add"),
        ("multiply", "multiply"),
    ],
)
def test_scan(target, op0, op1):
    for k, (t0, t1, to) in enumerate(
        [("f32", "f32", "f32"), ("bf16", "f32", "bf16"), ("i8", "u8", "i32"), ("f16", "f16", "f32")]
    ):
        rng = rng_for(op0, op1, t0)
        for edges in (False, True):
            a, b, s = (
                values(rng, t0, (128, 33), edges),
                values(rng, t1, (128, 33), edges),
                values(rng, "f32", (128, 1), edges),
            )
            r0, r1 = (k % 2, k // 2)
            r, want = s[:, 0], []
            for i in range(33):
                t = BINARY[op0](*((r, widen(a)[:, i]) if r0 else (widen(a)[:, i], r)))
                r = BINARY[op1](*((widen(b)[:, i], t) if r1 else (t, widen(b)[:, i])))
                want.append(r)
            code = f"vector tensor_tensor_scan dst=y data0=a data1=b initial=s op0={op0} op1={op1} reverse0={r0} reverse1={r1}"
            same_bits(
                run(code, {"a": a, "b": b, "s": s}, {"y": (to, a.shape)}, target)["y"], narrow(np.stack(want, 1), to)
            )


def test_scan_running_sum_in_place():
    a = rng_for("sum").integers(-9, 9, (64, 500)).astype(F32)
    one = np.ones_like(a)
    code = "vector tensor_tensor_scan dst=a data0=one data1=a initial=10.0 op0=multiply op1=add"
    got = run(code, {"a": a, "one": one}, {"a": ("f32", a.shape)}, "trn2")["a"]
    same_bits(got, (10 + np.cumsum(a, axis=1)).astype(F32))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", IDENTITY)
def test_tensor_scalar_reduce(target, op):
    for dtype, to in [("f32", "f32"), ("bf16", "bf16"), ("i16", "f32")]:
        rng = rng_for(op, dtype)
        a, s, old = tame(rng, dtype, (96, 41)), values(rng, "f32", (96, 1), False), values(rng, "f32", (96, 1), False)
        element = BINARY["multiply"](widen(a), s)
        row = reduce(op, element)[:, None]
        head = f"vector tensor_scalar_reduce dst=y data=a op0=multiply operand0=s reduce_op={op}"
        outputs = {"y": (to, a.shape), "r": ("f32", (96, 1))}
        got = run(f"{head} reduce_res=r", {"a": a, "s": s}, outputs, target)
        same_bits(got["y"], narrow(element, to))
        same_bits(got["r"], BINARY[op](np.broadcast_to(IDENTITY[op], row.shape), row))
        got = run(
            f"{head} reduce_cmd=load_reduce reduce_init=old reduce_res=r reduce_res_negate=1",
            {"a": a, "s": s, "old": old},
            outputs,
            target,
        )
        same_bits(got["r"], -BINARY[op](old, row))
        twice = run([head, f"{head} reduce_cmd=reduce reduce_res=r"], {"a": a, "s": s}, outputs, target)["r"]
        once = BINARY[op](np.broadcast_to(IDENTITY[op], row.shape), row)
        same_bits(twice, BINARY[op](once, row))


def test_tensor_scalar_reduce_refusals():
    a = np.ones((32, 8), F32)
    y = {"y": ("f32", a.shape)}
    head = "vector tensor_scalar_reduce dst=y data=a op0=add operand0=1.0"
    assert refused(f"{head} reduce_op=subtract", {"a": a}, y, "trn2") == ["ALU-OP"]
    for cmd in ("idle", "reset", "load_reduce"):
        assert refused(f"{head} reduce_op=add reduce_cmd={cmd}", {"a": a}, y, "trn2") == ["REDUCE-CMD"]
    assert refused(f"{head} reduce_op=add reduce_init=1.0", {"a": a}, y, "trn2") == ["REDUCE-CMD"]


def test_registers_that_were_never_set_are_undefined():
    a = np.ones((32, 8), F32)
    code = "vector tensor_scalar_reduce dst=y data=a op0=add operand0=1.0 reduce_op=add reduce_cmd=reduce reduce_res=r"
    outputs = {"y": ("f32", a.shape), "r": ("f32", (32, 1))}
    assert refused(code, {"a": a}, outputs, "trn2") == ["UNDEFINED-OUTPUT"]
    other_lanes = (
        code.replace("reduce_cmd=reduce reduce_res=r", "").replace("data=a", "data=b").replace("dst=y", "dst=b")
    )
    assert refused([other_lanes, code], {"a": a, "b": a}, outputs, "trn2", start={"b": 32}) == ["UNDEFINED-OUTPUT"]


COMPARE = {
    "equal": np.equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("target", targets_with("range_select"))
@pytest.mark.parametrize("op0", COMPARE)
@pytest.mark.parametrize("op1", ["less", "greater_equal"])
def test_range_select(target, op0, op1):
    for dtype, to, start in [("f32", "f32", 0), ("bf16", "bf16", 5), ("f16", "f8e5m2", -3), ("f8e4m3", "f32", 1000)]:
        rng = rng_for(op0, op1, dtype)
        a = values(rng, dtype, (128, 50), edges=False)
        lo, hi = (rng.integers(-5, 60, (128, 1)).astype(F32) + start for _ in range(2))
        at = F32(start) + np.arange(50, dtype=F32)[None]
        want = np.where(COMPARE[op0](at, lo) & COMPARE[op1](at, hi), widen(a), LOWEST)
        code = f"vector range_select dst=y data=a comp_op0={op0} bound0=lo comp_op1={op1} bound1=hi range_start={start} reduce_res=r"
        got = run(code, {"a": a, "lo": lo, "hi": hi}, {"y": (to, a.shape), "r": ("f32", (128, 1))}, target)
        same_bits(got["y"], narrow(want, to))
        same_bits(got["r"], want.max(axis=1, keepdims=True))


def test_range_select_on_and_on():
    rng = rng_for("chain")
    a, hi = values(rng, "f32", (64, 20), edges=False), np.full((64, 1), 30, F32)
    head = "vector range_select dst=y data=a comp_op0=less bound0=hi comp_op1=less bound1=hi"
    want = np.where(np.arange(20) + 20 < 30, a, LOWEST)
    outputs = {"y": ("f32", a.shape), "r": ("f32", (64, 1))}
    got = run(
        [f"{head} range_start=100", f"{head} range_start=20 reduce_cmd=reduce reduce_res=r"],
        {"a": a, "hi": hi},
        outputs,
        "trn2",
    )
    same_bits(got["y"], want)
    same_bits(got["r"], want.max(axis=1, keepdims=True))


def test_range_select_refusals():
    a, b, i = np.ones((32, 8), F32), np.ones((32, 1), F32), np.ones((32, 8), np.int32)
    y = {"y": ("f32", a.shape)}
    head = "vector range_select dst=y data=a bound0=b bound1=b"
    ops = "comp_op0=less comp_op1=less"
    assert refused(f"{head} {ops}", {"a": a, "b": b}, y, "trn2") == []
    assert refused(f"{head} {ops}", {"a": a, "b": b}, y, "trn1") != []
    assert refused(f"{head} {ops} false_value=0.0", {"a": a, "b": b}, y, "trn2") == ["RANGE-SELECT-FILL"]
    assert refused(f"{head} comp_op0=not_equal comp_op1=add", {"a": a, "b": b}, y, "trn2") == ["ALU-OP", "ALU-OP"]
    assert refused(f"{head} {ops} range_start=16777212", {"a": a, "b": b}, y, "trn2") == ["OPERAND-LIMIT"]
    assert refused(f"{head} {ops}", {"a": i, "b": b}, y, "trn2") == ["OPERAND-DTYPE"]
    assert refused(f"{head} {ops} reduce_cmd=load_reduce", {"a": a, "b": b}, y, "trn2") == ["REDUCE-CMD"]
    r = {"r": ("f32", (32, 1)), **y}
    assert "REDUCE-CMD" in refused(f"{head} {ops} reduce_cmd=idle reduce_res=r", {"a": a, "b": b}, r, "trn2")
    clobbered = [f"{head} {ops}", f"{head} {ops} reduce_cmd=idle", f"{head} {ops} reduce_cmd=reduce reduce_res=r"]
    assert refused(clobbered, {"a": a, "b": b}, r, "trn2") == ["UNDEFINED-OUTPUT"]


def bn_stats(a):
    out = []
    for part in (a[:, 0::2], a[:, 1::2]):
        n = part.shape[1]
        if n == 0:
            out += [np.zeros(len(a), F32)] * 3
            continue
        mean = (reduce("add", part) / F32(n)).astype(F32)
        d = part - mean[:, None]
        out += [np.full(len(a), n, F32), mean, reduce("add", d * d)]
    return np.stack(out, 1)


def bn_aggr(t):
    t = t.reshape(len(t), -1, 3)
    count = total = spread = np.zeros(len(t), F32)
    for c, m, _ in t.transpose(1, 2, 0):
        count, total = count + c, total + c * m
    mean = total / count
    for c, m, v in t.transpose(1, 2, 0):
        d = m - mean
        spread = spread + (v + c * (d * d))
    return np.stack([mean, spread / count], 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_batch_norm_statistics(target, dtype):
    for shape in [(128, 512), (33, 1), (7, 255), (64, 2)]:
        rng = rng_for(dtype, shape)
        for a in (values(rng, dtype, shape, edges=False), values(rng, dtype, shape)):
            got = run("vector bn_stats dst=y data=a", {"a": a}, {"y": ("f32", (shape[0], 6))}, target)["y"]
            same_bits(got, bn_stats(widen(a)))


@pytest.mark.parametrize("target", TARGETS)
def test_batch_norm_mean_and_variance(target):
    a = rng_for("norm").standard_normal((128, 1300)).astype(F32) + F32(3)
    code = [
        f"vector bn_stats dst=s[0:128, {6 * k}:{6 * k + 6}] data=a[0:128, {512 * k}:{min(512 * k + 512, 1300)}]"
        for k in range(3)
    ]
    code.append("vector bn_aggr dst=y data=s")
    got = run(code, {"a": a}, {"s": ("f32", (128, 18)), "y": ("f32", (128, 2))}, target)
    same_bits(got["y"], bn_aggr(got["s"]))
    np.testing.assert_allclose(got["y"][:, 0], a.mean(axis=1, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(got["y"][:, 1], a.var(axis=1, dtype=np.float64), rtol=1e-5)


def test_batch_norm_refusals():
    a, s = np.ones((32, 513), F32), np.ones((32, 7), F32)
    assert refused("vector bn_stats dst=y data=a", {"a": a}, {"y": ("f32", (32, 6))}, "trn2") == ["OPERAND-LIMIT"]
    assert refused("vector bn_stats dst=y data=s", {"s": s}, {"y": ("f32", (32, 5))}, "trn2") == ["OPERAND-LIMIT"]
    assert refused("vector bn_aggr dst=y data=s", {"s": s}, {"y": ("f32", (32, 2))}, "trn2") == ["OPERAND-LIMIT"]


def test_strict_mode_agrees():
    rng = rng_for("strict")
    a, b, s = values(rng, "bf16", (96, 40)), values(rng, "f32", (96, 40)), values(rng, "f32", (96, 1))
    inputs = {"a": a, "b": b, "s": s}
    wide, one = {"y": ("f32", a.shape)}, {"y": ("f32", (96, 1))}
    for code, outputs in [
        ("vector tensor_reduce dst=y data=a op=add", one),
        ("vector tensor_tensor_scan dst=y data0=a data1=b initial=s op0=multiply op1=add", wide),
        (
            "vector tensor_scalar_reduce dst=y data=a op0=add operand0=s reduce_op=add reduce_res=r",
            {**wide, "r": ("f32", (96, 1))},
        ),
        (
            "vector range_select dst=y data=a comp_op0=less bound0=s comp_op1=less bound1=s reduce_res=r",
            {**wide, "r": ("f32", (96, 1))},
        ),
        ("vector bn_stats dst=y data=a", {"y": ("f32", (96, 6))}),
    ]:
        fast, strict = run(code, inputs, outputs, "trn2"), run(code, inputs, outputs, "trn2", strict=True)
        for name in outputs:
            same_bits(strict[name], fast[name])
