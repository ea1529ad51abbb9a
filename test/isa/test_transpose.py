"""nc_transpose on Tensor and Vector, and dma_transpose."""

import glia
import ml_dtypes
import numpy as np
import pytest
from harness import TARGETS, has_feature, refused, run, same_bits, targets_with

TYPES = [np.float32, ml_dtypes.bfloat16, np.float16, np.int32, np.uint32, np.int16, np.uint16]
BYTES = [ml_dtypes.float8_e4m3, ml_dtypes.float8_e5m2, np.int8, np.uint8]


def any_bits(shape, dtype, seed=0):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return np.random.default_rng(seed).integers(0, np.iinfo(bits).max, shape, endpoint=True, dtype=bits).view(dtype)


def raw(a):
    return np.ascontiguousarray(a).view(np.dtype(f"u{a.dtype.itemsize}"))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", [(128, 128), (1, 1), (1, 128), (128, 1), (40, 7), (97, 128)])
@pytest.mark.parametrize("target", targets_with("exact_transpose"))
def test_tensor_shapes(target, shape, strict):
    a = any_bits(shape, np.float32)
    y = run(
        "tensor nc_transpose dst=y data=a",
        {"a": a},
        {"y": (np.float32, shape[::-1])},
        target,
        psum=("y",),
        strict=strict,
    )["y"]
    np.testing.assert_array_equal(raw(y), raw(a).T)


@pytest.mark.parametrize("dtype", TYPES + BYTES)
@pytest.mark.parametrize("target", targets_with("exact_transpose"))
def test_tensor_types(target, dtype):
    a = any_bits((48, 33), dtype)
    out = np.uint16 if np.dtype(dtype).itemsize == 1 else dtype  # 8-bit data get a zero upper byte
    y = run("tensor nc_transpose dst=y data=a", {"a": a}, {"y": (out, (33, 48))}, target, psum=("y",))["y"]
    np.testing.assert_array_equal(raw(y), raw(a).T)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("target", [t for t in TARGETS if not has_feature(t, "exact_transpose")])
def test_tensor_by_multiplication(target, dtype):
    a = np.random.default_rng(1).standard_normal((40, 12)).astype(dtype)
    y = run("tensor nc_transpose dst=y data=a", {"a": a}, {"y": (np.float32, (12, 40))}, target, psum=("y",))["y"]
    same_bits(y, np.ascontiguousarray(a.T).astype(np.float32))


@pytest.mark.parametrize("target", [t for t in TARGETS if not has_feature(t, "exact_transpose")])
def test_multiplication_spreads_infinity(target):
    a = np.ones((4, 3), np.float32)
    a[2, 1] = np.inf
    a[0, 0] = -0.0
    want = np.ones((3, 4), np.float32)
    want[1] = np.nan  # 0 * inf in every column but its own
    want[1, 2] = np.inf
    want[0, 0] = 0.0
    same_bits(
        run("tensor nc_transpose dst=y data=a", {"a": a}, {"y": (np.float32, (3, 4))}, target, psum=("y",))["y"], want
    )
    assert refused(
        "tensor nc_transpose dst=y data=a", {"a": a.astype(np.int32)}, {"y": (np.float32, (3, 4))}, target, psum=("y",)
    ) == ["TRANSPOSE-DTYPE"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("psum", [(), ("a",), ("y",), ("a", "y")])
@pytest.mark.parametrize("shape", [(32, 32), (32, 5), (1, 32), (17, 3)])
@pytest.mark.parametrize("target", TARGETS)
def test_vector_shapes(target, shape, psum, strict):
    a = any_bits(shape, np.float32)
    y = run(
        "vector nc_transpose dst=y data=a", {"a": a}, {"y": (np.float32, shape[::-1])}, target, psum=psum, strict=strict
    )["y"]
    np.testing.assert_array_equal(raw(y), raw(a).T)


@pytest.mark.parametrize("dtype", TYPES + BYTES)
@pytest.mark.parametrize("target", TARGETS)
def test_vector_types(target, dtype):
    a = any_bits((32, 20), dtype)
    y = run("vector nc_transpose dst=y data=a", {"a": a}, {"y": (dtype, (20, 32))}, target)["y"]
    np.testing.assert_array_equal(raw(y), raw(a).T)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_vector_eight_bytes(target):
    a = any_bits((32, 20), np.int64)
    y = run("vector nc_transpose dst=y data=a", {"a": a}, {"y": (np.int64, (20, 32))}, target)["y"]
    np.testing.assert_array_equal(raw(y), raw(a).T)


def test_refusals():
    def rules(engine, shape, out, dtype=np.float32, to=np.float32, target="trn2", psum=("y",)):
        return refused(
            f"{engine} nc_transpose dst=y data=a", {"a": np.zeros(shape, dtype)}, {"y": (to, out)}, target, psum=psum
        )

    assert rules("tensor", (64, 32), (32, 64)) == []
    assert rules("tensor", (64, 32), (64, 32)) == ["TRANSPOSE-SHAPE"]
    assert "TRANSPOSE-SHAPE" in rules("tensor", (128, 129), (128, 128))
    assert rules("vector", (33, 32), (32, 33)) == ["TRANSPOSE-SHAPE"]
    assert rules("tensor", (64, 32), (32, 64), to=ml_dtypes.bfloat16) == ["TRANSPOSE-DTYPE"]
    assert rules("vector", (32, 32), (32, 32), to=np.int32) == ["OPERAND-DTYPE"]
    assert rules("tensor", (64, 32), (32, 64), dtype=np.int32, to=np.float32, target="trn1") == ["TRANSPOSE-DTYPE"]
    assert rules("tensor", (64, 32), (32, 64), psum=()) == ["ENGINE-REACH"]


# ---- dma_transpose -------------------------------------------------------------------------------------------------------


def dma(src, out_shape, target, options="", source="hbm", engine="sync", strict=False):
    t = glia.dtypes.machine_dtype(src.dtype)
    flat = ", ".join(map(str, src.shape))
    rows, free = out_shape[0], int(np.prod(out_shape[1:]))
    lines = [
        f"input x : {t}[{flat}]",
        f"output y : {t}[{rows}, {free}]",
        f"sbuf d : {t}[{rows}, {free}] @ 0",
        "semaphore a",
        "semaphore b",
        "semaphore c",
        "queue q",
        "queue g",
    ]
    wait, name = "", "x"
    if source == "sbuf":
        lines += [f"sbuf s : {t}[{flat}] @ 32768", "sync dma_copy dst=s src=x queue=q then a += 16"]
        wait, name = "when a >= 16", "s"
    lines += [
        f"{engine} dma_transpose dst=d src={name} queue=g {options} {wait} then b += 16",
        "sync dma_copy dst=y src=d queue=q when b >= 16",
    ]
    return glia.assemble("\n".join(lines), target=target).run({"x": src}, strict=strict)["y"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("source", ["hbm", "sbuf"])
@pytest.mark.parametrize("shape", [(16, 128), (128, 16), (100, 37), (1, 5)])
@pytest.mark.parametrize("target", targets_with("dma_transpose"))
def test_dma_two_dimensions(target, shape, source, strict):
    x = any_bits(shape, ml_dtypes.bfloat16)
    y = dma(x, shape[::-1], target, source=source, strict=strict)
    np.testing.assert_array_equal(raw(y), raw(x).T)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint16, np.float16])
@pytest.mark.parametrize("target", targets_with("dma_transpose"))
def test_dma_types(target, dtype):
    x = any_bits((24, 40), dtype)
    np.testing.assert_array_equal(raw(dma(x, (40, 24), target)), raw(x).T)


@pytest.mark.parametrize("target", targets_with("dma_transpose"))
def test_dma_three_and_four_dimensions(target):
    x = any_bits((16, 6, 32), np.uint16)
    np.testing.assert_array_equal(dma(x, (32, 6, 16), target, "middle=6"), x.transpose(2, 1, 0).reshape(32, -1))
    x = any_bits((8, 2, 3, 20), np.uint16)
    np.testing.assert_array_equal(dma(x, (20, 2, 3, 8), target, "middle=6"), x.transpose(3, 1, 2, 0).reshape(20, -1))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("step,gap,dtype", [(1, 3, np.uint16), (2, 1, np.uint16), (3, 2, np.float32)])
@pytest.mark.parametrize("target", targets_with("dma_transpose"))
def test_dma_steps_on_both_sides(target, step, gap, dtype, strict):
    """Elements of a row of the source that lie apart, rows of the destination that lie apart: what is between stays."""
    rows, columns = 50, 37
    x = any_bits((rows, columns * step), dtype)
    t = glia.dtypes.machine_dtype(np.dtype(dtype))
    text = f"""
    input x : {t}[{rows}, {columns * step}]
    output y : {t}[{columns}, {rows * gap}]
    sbuf d : {t}[{columns}, {rows * gap}] @ 0
    semaphore a
    semaphore b
    queue q
    gpsimd memset dst=d value=7 then a += 1
    sync dma_transpose dst=d{{0+{columns} | 0 | {gap}x{rows}}} src=x{{ | 0 | {columns * step}x{rows}, {step}x{columns}}} queue=q when a >= 1 then b += 16
    sync dma_copy dst=y src=d queue=q when b >= 16
    """
    y = glia.assemble(text, target=target).run({"x": x}, strict=strict)["y"]
    expected = np.full((columns, rows * gap), 7, dtype)
    expected[:, ::gap] = x[:, ::step].T
    np.testing.assert_array_equal(raw(y), raw(expected))


@pytest.mark.parametrize("target", targets_with("dma_transpose", "hwdge"))
def test_dma_hardware_descriptors(target):
    x = any_bits((16, 100), np.uint16)
    np.testing.assert_array_equal(dma(x, (100, 16), target, "dge=hwdge"), x.T)
    x = any_bits((4, 4, 64), np.uint16)
    np.testing.assert_array_equal(
        dma(x, (64, 4, 4), target, "dge=hwdge middle=4"), x.transpose(2, 1, 0).reshape(64, -1)
    )


def gather_transpose(x, index, rows, columns, target, oob="", strict=False):
    text = f"""
    input x : u16[{x.shape[0]}, {x.shape[1]}]
    input i : u32[{index.shape[0]}, {index.shape[1]}]
    output y : u16[{columns}, {rows}]
    sbuf d : u16[{columns}, {rows}] @ 0
    sbuf k : u32[{index.shape[0]}, {index.shape[1]}] @ 32768
    semaphore a
    semaphore b
    queue q
    queue g
    gpsimd memset dst=d value=7
    gpsimd dma_copy dst=k src=i queue=q then a += 16
    gpsimd dma_transpose dst=d src=x{{ | 0 | {x.shape[1]}x{rows}, 1x{columns}}} src_index=k queue=g dge=swdge {oob} when a >= 16 then b += 16
    gpsimd dma_copy dst=y src=d queue=q when b >= 16
    """
    return glia.assemble(text, target=target).run({"x": x, "i": index}, strict=strict)["y"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape,rows", [((128, 1), 128), ((32, 1), 16), ((128, 2), 256)])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_dma_gather_transpose(target, shape, rows, strict):
    rng = np.random.default_rng(2)
    x = any_bits((300, 64), np.uint16)
    index = rng.integers(0, 300, shape, dtype=np.uint32)
    got = gather_transpose(x, index, rows, 64, target, strict=strict)
    np.testing.assert_array_equal(got, x[index.T.reshape(-1)[:rows]].T)


@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_dma_gather_transpose_out_of_range(target):
    x = any_bits((300, 64), np.uint16)
    index = np.arange(128, dtype=np.uint32).reshape(128, 1)
    index[5] = 300
    with pytest.raises(glia.Trap, match="DGE-OOB"):
        gather_transpose(x, index, 128, 64, target)
    got = gather_transpose(x, index, 128, 64, target, "oob=skip")
    want = x[:128].T.copy()
    want[:, 5] = 7
    np.testing.assert_array_equal(got, want)


def test_dma_refusals():
    def rules(lines):
        return {d.code for d in glia.assemble(lines, target="trn2").verify().diagnostics}

    base = "input x : {t}[{r}, {c}]\nsbuf d : {t}[{c}, {r}] @ 0\nqueue q\n"
    assert rules(base.format(t="f32", r=16, c=8) + "sync dma_transpose dst=d src=x queue=q dge=hwdge") == {
        "DMA-TRANSPOSE"
    }
    assert rules(base.format(t="u8", r=16, c=8) + "sync dma_transpose dst=d src=x queue=q") == {"DMA-TRANSPOSE"}
    assert rules(base.format(t="u16", r=16, c=8) + "sync dma_transpose dst=d src=x queue=q middle=3") == {
        "DMA-TRANSPOSE"
    }
    assert rules(base.format(t="u16", r=16, c=8) + "gpsimd dma_transpose dst=d src=x queue=q dge=swdge") == {
        "DMA-TRANSPOSE"
    }
    assert rules(base.format(t="u16", r=16, c=8) + "sync dma_transpose dst=d src=x queue=q oob=skip") == {"DMA-INDEX"}
