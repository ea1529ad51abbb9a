"""Registers, loops and branches: reg_move, reg_load, reg_store, reg_alu, loop, end_loop, branch, nop."""

import glia
import numpy as np
import pytest
from glia.dtypes import machine_dtype
from harness import TARGETS, targets_with

ENGINES = ["tensor", "vector", "scalar", "gpsimd", "sync"]


def stored(code, target, engine="vector", strict=False, declare="", n=1, **inputs):
    """Runs code that leaves its results in r1 ... rn and returns them."""
    lines = [
        declare,
        f"output y : i32[{n}]",
        "queue q",
        *[f"{engine} {line}" if not line.endswith(":") else line for line in code],
        *[f"{engine} reg_store dst=y[{k}:{k + 1}] src=r{k + 1}" for k in range(n)],
    ]
    return glia.assemble("\n".join(lines), target=target).run(inputs, strict=strict)["y"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", TARGETS)
def test_move_and_store(target, engine, strict):
    got = stored(
        ["reg_move dst=r7 src=-2147483648", "reg_move dst=r1 src=r7", "nop", "reg_move dst=r2 src=41"],
        target,
        engine,
        strict,
        n=2,
    )
    assert got.tolist() == [-(2**31), 41]


def wrapped(v):
    return (v + 2**31) % 2**32 - 2**31


OPS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "shift_left": lambda a, b: a << b if 0 <= b < 32 else 0,
    "shift_right": lambda a, b: (a & 0xFFFFFFFF) >> b if 0 <= b < 32 else 0,
}
PAIRS = [
    (5, 3),
    (-5, 3),
    (5, -3),
    (2**31 - 1, 1),
    (-(2**31), 1),
    (-(2**31), -1),
    (65537, 65537),
    (-1, 31),
    (-1, 32),
    (7, 0),
    (0, 12345),
]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("target", TARGETS)
def test_arithmetic(target, op):
    for a, b in PAIRS:
        got = stored(
            [
                f"reg_move dst=r10 src={a}",
                f"reg_move dst=r11 src={b}",
                f"reg_alu dst=r1 op={op} a=r10 b={b}",
                f"reg_alu dst=r2 op={op} a=r10 b=r11",
            ],
            target,
            n=2,
        )
        assert got.tolist() == [wrapped(OPS[op](a, b))] * 2, (a, b)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "dtype,value",
    [(np.int32, -7), (np.uint32, 2**32 - 2), (np.int16, -300), (np.uint16, 65000), (np.int8, -5), (np.uint8, 250)],
)
@pytest.mark.parametrize("target", TARGETS)
def test_load_extends(target, dtype, value, strict):
    x = np.array([0, value, 0], dtype)
    got = stored(
        ["reg_load dst=r1 src=x[1:2]"], target, "sync", strict, declare=f"input x : {machine_dtype(dtype)}[3]", x=x
    )
    assert got[0] == wrapped(value)


@pytest.mark.parametrize("target", TARGETS)
def test_load_keeps_the_bits_of_a_float(target):
    got = stored(["reg_load dst=r1 src=x"], target, declare="input x : f32[1]", x=np.array([-1.5], np.float32))
    assert got.view(np.float32)[0] == -1.5


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
@pytest.mark.parametrize("target", TARGETS)
def test_store_narrows(target, dtype):
    t = machine_dtype(dtype)
    text = f"""
    output y : {t}[2]
    sbuf s : {t}[1, 2] @ 0
    semaphore done
    queue q
    sync reg_move dst=r1 src=-1234567
    sync reg_store dst=s[:, 0:1] src=r1
    sync reg_store dst=s[:, 1:2] src=r1 then done += 1
    sync dma_copy dst=y src=s queue=q when done >= 1
    """
    assert glia.assemble(text, target=target).run({})["y"].tolist() == [int(np.array(-1234567).astype(dtype))] * 2


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("count", [0, 1, 7, -3])
@pytest.mark.parametrize("target", TARGETS)
def test_loops(target, count, strict):
    code = [
        "reg_move dst=r1 src=0",
        "reg_move dst=r2 src=0",
        f"reg_move dst=r9 src={count}",
        "loop iv=r5 count=r9",
        "reg_alu dst=r1 op=add a=r1 b=r5",
        "loop iv=r6 count=3",
        "reg_alu dst=r2 op=add a=r2 b=r6",
        "end_loop",
        "end_loop",
    ]
    n = max(count, 0)
    assert stored(code, target, "sync", strict, n=2).tolist() == [n * (n - 1) // 2, 3 * n]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "cond,holds",
    [
        ("always", lambda a, b: True),
        ("lt", lambda a, b: a < b),
        ("le", lambda a, b: a <= b),
        ("eq", lambda a, b: a == b),
        ("ne", lambda a, b: a != b),
        ("ge", lambda a, b: a >= b),
        ("gt", lambda a, b: a > b),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_branches(target, cond, holds, strict):
    for a, b in [(1, 2), (2, 2), (3, 2), (-1, 2), (2**31 - 1, -(2**31))]:
        for right in (str(b), "r11"):
            code = [
                "reg_move dst=r1 src=10",
                f"reg_move dst=r10 src={a}",
                f"reg_move dst=r11 src={b}",
                f"branch cond={cond} a=r10 b={right} target=over",
                "reg_move dst=r1 src=20",
                "over:",
                "nop",
            ]
            assert stored(code, target, "gpsimd", strict)[0] == (10 if holds(a, b) else 20), (a, b, right)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 5])
@pytest.mark.parametrize("target", targets_with("hwdge"))
def test_loop_with_a_trip_count_from_memory(target, trips, strict):
    text = """
    input n : i32[1] range 0 8
    input x : f32[8, 16]
    output y : f32[8, 16]
    output last : i32[1]
    semaphore moved
    queue q
    sync dma_copy dst=y src=x queue=q then moved += 16
    sync reg_load dst=r1 src=n when moved >= 16
    sync reg_move dst=r3 src=-1
    sync reg_store dst=last src=r3
    sync loop iv=r2 count=r1
    sync reg_store dst=last src=r2
    sync end_loop
    """
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    out = glia.assemble(text, target=target).run({"n": np.array([trips], np.int32), "x": x}, strict=strict)
    assert out["last"].tolist() == [trips - 1]
    np.testing.assert_array_equal(out["y"], x)


def test_refusals():
    def rules(text):
        return [d.code for d in glia.assemble(text, target="trn2").verify().diagnostics]

    assert rules("input x : i32[4]\nsync reg_load dst=r1 src=x") == ["OPERAND-LIMIT"]
    assert rules("input x : bf16[1]\nsync reg_load dst=r1 src=x") == ["OPERAND-DTYPE"]
    assert "OPERAND-MEMORY" in rules("psum x : i32[1, 1] @ 0\nsync reg_load dst=r1 src=x")
