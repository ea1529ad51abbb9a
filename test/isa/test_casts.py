"""Casts of a DMA: fp32 to each type over every value of that type, each midpoint and its neighbours, and specials; and back."""

import glia
import ml_dtypes
import numpy as np
import pytest
from glia.dtypes import numpy_dtype
from harness import TARGETS, has_feature, same_bits
from reference import narrow

FLOATS = ["bf16", "f16", "f8e4m3", "f8e5m2", "f8e3m4"]
INTEGERS = ["i8", "u8", "i16", "u16"]
WIDE = ["i32", "u32"]
SPECIALS = np.array(
    [
        0,
        0x80000000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xFFC00000,
        0x7F800001,
        0x7FFFFFFF,
        0x7F7FFFFF,
        0xFF7FFFFF,
        1,
        0x80000001,
        0x007FFFFF,
        0x00800000,
    ],
    np.uint32,
).view(np.float32)


def cast(values, to, target, source="f32", strict=False):
    """dma_copy from HBM to HBM, and by way of SBUF for a part of it; both must agree."""
    n = values.size
    rows = 128 if n % 128 == 0 and n // 128 * 8 <= 65536 else 1
    small = min(n // rows, 2048)
    text = f"""
    input x : {source}[{rows}, {n // rows}]
    output y : {to}[{rows}, {n // rows}]
    output z : {to}[{rows}, {small}]
    sbuf t : {to}[{rows}, {small}] @ 0
    semaphore loaded
    queue q
    sync dma_copy dst=y src=x queue=q
    sync dma_copy dst=t src=x[:, 0:{small}] queue=q then loaded += 16
    sync dma_copy dst=z src=t queue=q when loaded >= 16
    """
    out = glia.assemble(text, target=target).run({"x": values.reshape(rows, -1)}, strict=strict)
    same_bits(out["z"], np.ascontiguousarray(out["y"][:, :small]))
    return out["y"].reshape(-1)


def neighbours(values):
    """The values and the fp32 numbers right below and above them."""
    v = values.astype(np.float32)
    with np.errstate(all="ignore"):
        return np.concatenate([v, np.nextafter(v, np.float32(-np.inf)), np.nextafter(v, np.float32(np.inf))])


def padded(values):
    return np.concatenate([values, np.zeros(-values.size % 128, np.float32)]).astype(np.float32)


def every_float(dtype):
    bits = np.dtype(f"u{dtype.itemsize}")
    return np.arange(np.iinfo(bits).max + 1, dtype=np.uint32).astype(bits).view(dtype)


def hard_values(name):
    """Every value of the type, every midpoint between neighbours, the numbers around both, and specials."""
    dtype = numpy_dtype(name)
    if np.issubdtype(dtype, np.integer):
        own = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, dtype=np.float64)
        edge = np.array([own[0] - 1, own[0] - 0.5, own[-1] + 0.5, own[-1] + 1, 2.0**31, -(2.0**31), 1e30, -1e30])
    else:
        own = every_float(dtype).astype(np.float64)
        own = np.unique(own[np.isfinite(own)])
        edge = np.array([own[-1] + (own[-1] - own[-2]) / 2, own[-1] * 2, own[0] - (own[-1] - own[-2]) / 2, own[0] * 2])
    with np.errstate(all="ignore"):
        return padded(
            np.concatenate([neighbours(own), neighbours((own[1:] + own[:-1]) / 2), neighbours(edge), SPECIALS])
        )


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@pytest.mark.parametrize("target", TARGETS)
def test_from_fp32(target, name):
    values = hard_values(name)
    same_bits(cast(values, name, target), narrow(values, name))


@pytest.mark.parametrize("target", [t for t in TARGETS if has_feature(t, "f8e4m3fn")])
def test_ocp_fp8(target):
    values = hard_values("f8e4m3fn")
    same_bits(cast(values, "f8e4m3fn", target), narrow(values, "f8e4m3fn"))


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("target", TARGETS)
def test_wide_integers_from_fp32(target, name):
    """Not every value: powers of two and their neighbours, halves, the ends of the range, random bit patterns."""
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(-3, 34)
    values = np.concatenate(
        [
            neighbours(np.concatenate([powers, -powers, powers * 1.5, np.arange(-64, 64) + 0.5, np.arange(-64, 64)])),
            SPECIALS,
            rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32),
        ]
    )
    values = padded(values)
    same_bits(cast(values, name, target), narrow(values, name))


@pytest.mark.parametrize("target", TARGETS)
def test_tf32_from_fp32(target):
    rng = np.random.default_rng(1)
    top = rng.integers(0, 2**19, 40000, dtype=np.uint32) << 13
    bits = np.concatenate([top, top | 0x1000, top | 0xFFF, top | 0x1001, SPECIALS.view(np.uint32)])
    values = padded(bits.view(np.float32))
    raw = values.view(np.uint32).astype(np.uint64)
    want = ((raw + 0xFFF + (raw >> 13 & 1)) & ~np.uint64(0x1FFF)).astype(np.uint32).view(np.float32)
    want = np.where(np.isnan(values), np.float32(np.nan), want)
    same_bits(cast(values, "tf32", target), want)


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@pytest.mark.parametrize("target", TARGETS)
def test_to_fp32(target, name):
    dtype = numpy_dtype(name)
    values = every_float(dtype)
    same_bits(cast(values, "f32", target, source=name), values.astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_between_narrow_types(target):
    values = every_float(numpy_dtype("bf16"))
    same_bits(cast(values, "i8", target, source="bf16"), narrow(values.astype(np.float32), "i8"))
    halves = every_float(numpy_dtype("f16"))
    same_bits(cast(halves, "f8e5m2", target, source="f16"), narrow(halves.astype(np.float32), "f8e5m2"))


@pytest.mark.parametrize("target", TARGETS)
def test_same_type_keeps_every_bit(target):
    bits = np.random.default_rng(2).integers(0, 2**32, (64, 128), dtype=np.uint32)
    out = cast(bits.view(np.float32).reshape(-1), "f32", target)
    np.testing.assert_array_equal(out.view(np.uint32), bits.reshape(-1))


@pytest.mark.parametrize("target", TARGETS)
def test_strict_mode_gives_the_same(target):
    values = np.resize(hard_values("f8e4m3"), 128 * 8).astype(np.float32)
    same_bits(cast(values, "f8e4m3", target, strict=True), values.astype(ml_dtypes.float8_e4m3))


def test_hardware_descriptors_do_not_cast():
    text = "input x : f32[1, 8]\nsbuf t : bf16[1, 8] @ 0\nqueue q\nsync dma_copy dst=t src=x queue=q dge=hwdge"
    assert [d.code for d in glia.assemble(text, target="trn2").verify().diagnostics] == ["DGE-MODE"]
