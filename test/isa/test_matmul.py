"""nc_matmul against a sum over k in ascending order, one fused multiply-add per k."""

import ml_dtypes
import numpy as np
import pytest
from harness import TARGETS, View, has_feature, refused, run, same_bits, targets_with

BF16, F16 = ml_dtypes.bfloat16, np.float16
E4, E5, E3, FN = ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2, ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3fn


def product(stationary, moving):
    """fma in float64, rounded to fp32 after each k: the product of two fp32 is exact in float64."""
    s, m = stationary.astype(np.float64), moving.astype(np.float64)
    acc = np.zeros((s.shape[1], m.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for k in range(s.shape[0]):
            acc = (acc.astype(np.float64) + s[k][:, None] * m[k][None, :]).astype(np.float32)
    return acc


def operands(rng, K, M, N, stationary, moving):
    return (rng.standard_normal((K, M)).astype(stationary), rng.standard_normal((K, N)).astype(moving))


def multiply(w, x, target, out=np.float32, code="", strict=False, **options):
    y = run(
        [f"tensor nc_matmul dst=y stationary=w moving=x {code}"],
        {"w": w, "x": x},
        {"y": (out, (w.shape[1], x.shape[1]))},
        target,
        psum=("y",),
        strict=strict,
        **options,
    )
    return y["y"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "K,M,N", [(128, 128, 512), (1, 1, 1), (128, 1, 512), (1, 128, 7), (33, 17, 65), (64, 96, 1), (127, 5, 511)]
)
@pytest.mark.parametrize("target", TARGETS)
def test_shapes(target, K, M, N, strict):
    w, x = operands(np.random.default_rng(K + M + N), K, M, N, np.float32, np.float32)
    same_bits(multiply(w, x, target, strict=strict), product(w, x))


PAIRS = [(BF16, BF16), (F16, BF16), (F16, F16), (E4, E4), (E4, BF16), (E5, E4), (E5, F16), (E3, E3)]


@pytest.mark.parametrize("stationary,moving", PAIRS)
@pytest.mark.parametrize("target", TARGETS)
def test_types(target, stationary, moving):
    w, x = operands(np.random.default_rng(1), 128, 64, 96, stationary, moving)
    same_bits(multiply(w, x, target), product(w, x))


@pytest.mark.parametrize("target", targets_with("f8e4m3fn"))
def test_ocp_fp8(target):
    w, x = operands(np.random.default_rng(1), 128, 64, 96, FN, FN)
    same_bits(multiply(w, x, target), product(w, x))
    assert "MATMUL-DTYPE" in refused(
        ["tensor nc_matmul dst=y stationary=w moving=x"],
        {"w": w, "x": x.astype(E4)},
        {"y": (np.float32, (64, 96))},
        target,
        psum=("y",),
    )


def tf32(a):
    bits = a.view(np.uint32).astype(np.uint64)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint64(0x1FFF)).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_tf32_rounds_its_operand(target):
    w, x = operands(np.random.default_rng(2), 32, 16, 24, np.float32, np.float32)
    y = run(
        ["tensor nc_matmul dst=y stationary=w:tf32{0+32 | 0 | 1x16} moving=x"],
        {"w": w, "x": x},
        {"y": (np.float32, (16, 24))},
        target,
        psum=("y",),
    )
    same_bits(y["y"], product(tf32(w), x))
    assert not np.array_equal(tf32(w), w)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_accumulate_adds_the_finished_sum(target, strict):
    rng = np.random.default_rng(3)
    w, x = operands(rng, 128, 32, 40, BF16, BF16)
    v, z = operands(rng, 64, 32, 40, F16, F16)
    y = run(
        ["tensor nc_matmul dst=y stationary=w moving=x", "tensor nc_matmul dst=y stationary=v moving=z accumulate=1"],
        {"w": w, "x": x, "v": v, "z": z},
        {"y": (np.float32, (32, 40))},
        target,
        psum=("y",),
        strict=strict,
    )
    same_bits(y["y"], product(w, x) + product(v, z))


@pytest.mark.parametrize("target", targets_with("bf16_psum"))
def test_bf16_result(target):
    rng = np.random.default_rng(4)
    w, x = operands(rng, 128, 32, 40, BF16, BF16)
    y = run(
        ["tensor nc_matmul dst=y stationary=w moving=x", "tensor nc_matmul dst=y stationary=w moving=x accumulate=1"],
        {"w": w, "x": x},
        {"y": (BF16, (32, 40))},
        target,
        psum=("y",),
    )
    once = product(w, x).astype(BF16)
    same_bits(y["y"], (once.astype(np.float32) + product(w, x)).astype(BF16))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", targets_with("double_row"))
def test_double_row_interleaves_k(target, strict):
    rng = np.random.default_rng(5)
    w, x = rng.standard_normal((128, 2, 48)).astype(E4), rng.standard_normal((128, 2, 56)).astype(E5)
    y = run(
        ["tensor nc_matmul dst=y stationary=w moving=x perf_mode=double_row"],
        {"w": w.reshape(128, -1), "x": x.reshape(128, -1)},
        {"y": (np.float32, (48, 56))},
        target,
        psum=("y",),
        strict=strict,
    )
    same_bits(y["y"], product(w.reshape(256, 48), x.reshape(256, 56)))  # k = 2p + j


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_strided_operands_and_result(target, strict):
    rng = np.random.default_rng(6)
    w, x = rng.standard_normal((64, 70)).astype(np.float32), rng.standard_normal((64, 90)).astype(np.float32)
    ws, xs, other = View(64, ((7, 8),), 3), View(64, ((30, 3), (2, 5)), 1), View(64, ((3, 15),), 7)
    got = run(
        [
            f"tensor nc_matmul dst=y{{0+8 | 0 | 2x15}} stationary={ws.text('w', w.dtype)} moving={xs.text('x', x.dtype)}",
            f"tensor nc_matmul dst=y{{0+8 | 4 | 2x15}} stationary={ws.text('w', w.dtype)} moving={other.text('x', x.dtype)}",
        ],
        {"w": w, "x": x},
        {"y": (np.float32, (8, 30))},
        target,
        psum=("y",),
        strict=strict,
    )["y"]
    same_bits(np.ascontiguousarray(got[:, 0::2]), product(ws.take(w), xs.take(x)))
    same_bits(np.ascontiguousarray(got[:, 1::2]), product(ws.take(w), other.take(x)))


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_of_the_array(target):
    size = 32 if has_feature(target, "tile_32") else 64
    rng = np.random.default_rng(7)
    w, x = operands(rng, size, size, 24, BF16, BF16)
    start = 128 - size
    y = run(
        [
            f"tensor nc_matmul dst=y stationary=w moving=x tile_row={start} tile_col={size} tile_rows={size} tile_cols={size}"
        ],
        {"w": w, "x": x},
        {"y": (np.float32, (size, 24))},
        target,
        psum=("y",),
        start={"w": start, "x": start, "y": size},
    )
    same_bits(y["y"], product(w, x))


SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 2.0**-149, 3.0e38, 65504.0], np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_special_values(target):
    w = np.tile(SPECIAL, (2, 1))
    x = np.stack([SPECIAL[::-1], np.ones_like(SPECIAL)])
    same_bits(multiply(w, x, target), product(w, x))


@pytest.mark.parametrize("dtype,size", [(np.float32, 128), (BF16, 128), (F16, 40), (np.float32, 7), (E4, 64)])
@pytest.mark.parametrize("target", targets_with("exact_transpose"))
def test_transpose_mode_is_exact(target, dtype, size):
    rng = np.random.default_rng(8)
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32}[np.dtype(dtype).itemsize]
    data = rng.integers(0, np.iinfo(bits).max, (size, 24), endpoint=True, dtype=bits)
    identity = np.eye(size).astype(dtype)
    wide = np.uint16 if bits == np.uint8 else dtype
    got = run(
        ["tensor nc_matmul dst=y stationary=w moving=x transpose=1"],
        {"w": data.view(dtype), "x": identity},
        {"y": (wide, (24, size))},
        target,
        psum=("y",),
    )["y"]
    np.testing.assert_array_equal(got.view(np.uint16 if bits == np.uint8 else bits), data.T)


@pytest.mark.parametrize("target", targets_with("exact_transpose"))
def test_transpose_mode_permutes(target):
    rng = np.random.default_rng(9)
    w, order = rng.standard_normal((32, 20)).astype(np.float32), rng.permutation(32)
    x = np.zeros((32, 32), np.float32)
    x[order, np.arange(32)] = 1
    same_bits(multiply(w, x, target, code="transpose=1"), np.ascontiguousarray(w[order].T))


@pytest.mark.parametrize("target", [t for t in TARGETS if not has_feature(t, "exact_transpose")])
def test_transpose_mode_multiplies_without_the_feature(target):
    w = np.arange(12, dtype=np.float32).reshape(4, 3)
    w[1, 2] = np.inf
    same_bits(multiply(w, np.eye(4, dtype=np.float32), target, code="transpose=1"), product(w, np.eye(4)))


def test_refusals():
    w, x = operands(np.random.default_rng(0), 128, 64, 32, np.float32, np.float32)

    def rules(line, w=w, x=x, out=(np.float32, (64, 32)), target="trn2", **options):
        return refused(
            [f"tensor nc_matmul dst=y stationary=w moving=x {line}"],
            {"w": w, "x": x},
            {"y": out},
            target,
            psum=("y",),
            **options,
        )

    assert rules("") == []
    assert rules("", x=x[:64]) == ["MATMUL-SHAPE"]
    assert rules("", out=(np.float32, (64, 31))) == ["MATMUL-SHAPE"]
    assert rules("", w=np.zeros((128, 129), np.float32), out=(np.float32, (128, 32)))[:1] == ["MATMUL-SHAPE"]
    assert "MATMUL-SHAPE" in rules("", x=np.zeros((128, 513), np.float32), out=(np.float32, (64, 513)))
    assert rules("", w=w.astype(np.int32)) == ["MATMUL-DTYPE"]
    assert rules("", w=w.astype(BF16)) == ["MATMUL-DTYPE"]
    assert rules("", out=(BF16, (64, 32))) == ["MATMUL-DTYPE"]
    assert rules("", out=(BF16, (64, 32)), target="trn3") == []
    assert rules("tile_row=32") == ["MATMUL-TILE"]
    assert rules("tile_rows=64 tile_cols=64") == ["MATMUL-TILE"]
    assert rules("tile_rows=128 tile_cols=48") == ["MATMUL-TILE"]
    assert rules("perf_mode=double_row") == ["MATMUL-DTYPE"] or "MATMUL-SHAPE" in rules("perf_mode=double_row")
    assert rules("perf_mode=double_row", w=w.astype(E4), x=x.astype(E4), out=(np.float32, (32, 16)), target="trn1") == [
        "MATMUL-MODE"
    ]
