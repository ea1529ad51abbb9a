"""dma_copy (views, shapes, registers in addresses, indices) and dma_compute."""

import glia
import ml_dtypes
import numpy as np
import pytest
from glia.dtypes import machine_dtype
from harness import TARGETS, targets_with


def execute(text, target, strict=False, seed=0, **inputs):
    return glia.assemble(text, target=target).run(inputs, strict=strict, seed=seed)


def rules(text, target="trn2"):
    return {d.code for d in glia.assemble(text, target=target).verify().diagnostics}


def values(shape, dtype=np.float32, seed=0):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return np.random.default_rng(seed).integers(0, np.iinfo(bits).max, shape, endpoint=True, dtype=bits).view(dtype)


def raw(a):
    return np.ascontiguousarray(a).view(np.dtype(f"u{a.dtype.itemsize}"))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.uint8, np.int64, np.uint16])
@pytest.mark.parametrize("target", TARGETS)
def test_through_sbuf(target, dtype, strict):
    x, t = values((128, 40), dtype), machine_dtype(dtype)
    text = f"""
    input x : {t}[128, 40]
    output y : {t}[128, 40]
    sbuf a : {t}[128, 40] @ 0
    semaphore loaded
    queue q
    sync dma_copy dst=a src=x queue=q then loaded += 16
    sync dma_copy dst=y src=a queue=q when loaded >= 16
    """
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x)["y"]), raw(x))


SHAPES = [
    ("x[0:64]", lambda x: x[0:64]),
    ("x[3:120:2, 5:25]", lambda x: x[3:120:2, 5:25]),
    ("x[:, 0:40:3]", lambda x: x[:, 0:40:3]),
    (
        "x{ | 16 | 1x7, 40x9, 3x2}",
        lambda x: x.reshape(-1)[4 + np.arange(7)[:, None, None] + 40 * np.arange(9)[:, None] + 3 * np.arange(2)],
    ),
    ("x{ | 156 | -1x40}", lambda x: x.reshape(-1)[39 - np.arange(40)]),
    ("x{ | 8 | 0x5, 1x3}", lambda x: np.tile(x[0, 2:5], 5)),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("view,take", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_source_views(target, view, take, strict):
    x = values((128, 40))
    want = take(x).reshape(-1)
    text = f"input x : f32[128, 40]\noutput y : f32[{want.size}]\nqueue q\nsync dma_copy dst=y src={view} queue=q"
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x)["y"]), raw(want))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rows,columns", [(128, 6), (1, 768), (12, 64), (96, 8), (24, 32)])
@pytest.mark.parametrize("target", TARGETS)
def test_shapes_may_differ(target, rows, columns, strict):
    """Element k of dst is element k of src, row-major with partitions outermost."""
    x = values((16, 48), np.int16)
    text = f"""
    input x : i16[16, 48]
    output y : i16[{columns}, {rows}]
    sbuf a : i16[16, 48] @ 0
    sbuf b : i16[{rows}, {columns}] @ 1024
    semaphore s
    semaphore t
    queue q
    sync dma_copy dst=a src=x queue=q then s += 16
    sync dma_copy dst=b src=a queue=q when s >= 16 then t += 16
    sync dma_copy dst=y src=b queue=q when t >= 16
    """
    np.testing.assert_array_equal(execute(text, target, strict, x=x)["y"].reshape(-1), x.reshape(-1))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_strided_destination(target, strict):
    x = values((128, 20))
    text = """
    input x : f32[128, 20]
    output y : f32[128, 40]
    queue q
    sync dma_copy dst=y[:, 0:40:2] src=x queue=q
    sync dma_copy dst=y{ | 4 | 40x128, 2x20} src=x queue=q
    """
    y = execute(text, target, strict, x=x)["y"]
    np.testing.assert_array_equal(raw(y), raw(np.repeat(x, 2, axis=1)))


@pytest.mark.parametrize("engine,dge", [("sync", "hwdge"), ("scalar", "hwdge"), ("gpsimd", "swdge")])
@pytest.mark.parametrize("target", targets_with("hwdge"))
def test_register_in_the_address(target, engine, dge):
    x = values((64, 16))
    text = f"""
    input x : f32[64, 16]
    output y : f32[8, 16]
    queue q
    {engine} reg_move dst=r1 src=5
    {engine} dma_copy dst=y src=x[0:8] + r1*64 queue=q dge={dge}
    """
    np.testing.assert_array_equal(raw(execute(text, target, x=x)["y"]), raw(x[5:13]))


@pytest.mark.parametrize("target", targets_with("hwdge"))
def test_register_out_of_the_tensor_traps(target):
    text = """
    input n : i32[1] range 0 1000
    input x : f32[64, 16]
    output y : f32[8, 16]
    queue q
    sync reg_load dst=r1 src=n
    sync dma_copy dst=y src=x[0:8] + r1*64 queue=q dge=hwdge
    """
    x = values((64, 16))
    assert raw(execute(text, target, n=np.array([56], np.int32), x=x)["y"]).tolist() == raw(x[56:64]).tolist()
    with pytest.raises(glia.Trap, match="DGE-OOB"):
        execute(text, target, n=np.array([57], np.int32), x=x)


GATHER = """
input x : f32[200, 24]
input i : {t}[{p}, 1]
output y : f32[{p}, {n}]
sbuf k : {t}[{p}, 1] @ 0
sbuf d : f32[{p}, {n}] @ 64
semaphore a
semaphore b
queue q
gpsimd memset dst=d value=-1.0
gpsimd dma_copy dst=k src=i queue=q then a += 16
gpsimd dma_copy dst=d src={view} src_index=k queue=q dge=swdge {more} when a >= 16 then b += 16
gpsimd dma_copy dst=y src=d queue=q when b >= 16
"""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("rows", [1, 37, 128])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_gather(target, rows, dtype, strict):
    x, i = values((200, 24)), np.random.default_rng(1).integers(0, 200, (rows, 1)).astype(dtype)
    text = GATHER.format(t=machine_dtype(dtype), p=rows, n=24, view=f"x[0:{rows}]", more="")
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x, i=i)["y"]), raw(x[i[:, 0]]))


@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_gather_columns_and_stride(target):
    x, i = values((200, 24)), np.random.default_rng(2).integers(0, 190, (16, 1)).astype(np.int32)
    text = GATHER.format(t="i32", p=16, n=6, view="x{ | 8 | 24x16, 3x6}", more="")
    np.testing.assert_array_equal(raw(execute(text, target, x=x, i=i)["y"]), raw(x[i[:, 0], 2:20:3]))
    text = GATHER.format(t="i32", p=16, n=24, view="x[0:16]", more="index_stride=12")
    want = np.stack([x.reshape(-1)[12 * k : 12 * k + 24] for k in i[:, 0]])
    np.testing.assert_array_equal(raw(execute(text, target, x=x, i=i)["y"]), raw(want))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("bad", [200, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_gather_out_of_range(target, bad, strict):
    x, i = values((200, 24)), np.arange(32, dtype=np.int32).reshape(32, 1)
    i[7] = bad
    text = GATHER.format(t="i32", p=32, n=24, view="x[0:32]", more="oob=skip")
    want = x[:32].copy()
    want[7] = -1
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x, i=i)["y"]), raw(want))
    with pytest.raises(glia.Trap, match="DGE-OOB"):
        execute(text.replace("oob=skip", "oob=error"), target, strict, x=x, i=i)
    text = text.replace("i32", "u32")
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x, i=i.view(np.uint32))["y"]), raw(want))


SCATTER = """
input x : f32[{p}, 24]
input i : u32[{p}, 1] range 0 250 unique
output y : f32[200, 24]
sbuf k : u32[{p}, 1] @ 0
sbuf z : f32[100, 48] @ 512
sbuf d : f32[{p}, 24] @ 64
semaphore a
semaphore b
semaphore c
queue q
gpsimd memset dst=z value=-1.0
gpsimd dma_copy dst=y src=z queue=q then c += 16
gpsimd dma_copy dst=k src=i queue=q then a += 16
gpsimd dma_copy dst=d src=x queue=q then b += 16
gpsimd dma_copy dst=y[0:{p}] src=d dst_index=k queue=q dge=swdge {more} when a >= 16 and b >= 16 and c >= 16
"""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rows", [1, 37, 128])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_scatter(target, rows, strict):
    x, i = values((rows, 24)), np.random.default_rng(3).permutation(200)[:rows].astype(np.uint32).reshape(rows, 1)
    want = np.full((200, 24), -1, np.float32)
    want[i[:, 0]] = x
    text = SCATTER.format(p=rows, more="")
    np.testing.assert_array_equal(raw(execute(text, target, strict, x=x, i=i)["y"]), raw(want))
    i[0] = 240
    want = np.full((200, 24), -1, np.float32)
    want[i[1:, 0]] = x[1:]
    np.testing.assert_array_equal(
        raw(execute(SCATTER.format(p=rows, more="oob=skip"), target, strict, x=x, i=i)["y"]), raw(want)
    )
    with pytest.raises(glia.Trap, match="DGE-OOB"):
        execute(text, target, strict, x=x, i=i)


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in targets_with("swdge_indirect")])
def test_no_indices_without_the_feature(target):
    assert "DMA-INDEX" in rules(GATHER.format(t="i32", p=16, n=24, view="x[0:16]", more=""), target)


def test_refusals():
    base = "input x : f32[64, 16]\nsbuf t : f32[32, 16] @ 0\npsum p : f32[32, 16] @ 0\nqueue q\n"
    assert rules(base + "sync dma_copy dst=t src=x[0:32] queue=q") == set()
    assert rules(base + "sync dma_copy dst=t src=x[0:31] queue=q") == {"DMA-ELEMENTS"}
    assert rules(base + "sync dma_copy dst=p src=x[0:32] queue=q") == {"ENGINE-REACH"}
    assert rules(base + "vector dma_copy dst=t src=x[0:32] queue=q dge=hwdge") == {"DGE-MODE"}
    assert rules(base + "sync dma_copy dst=t src=x[0:32] queue=q dge=swdge") == {"DGE-MODE"}
    assert rules(base + "sync dma_copy dst=t src=x[0:32] queue=q dge=hwdge", "trn1") == {"DGE-MODE"}
    assert rules(base + "sync reg_move dst=r0 src=1\nsync dma_copy dst=t src=x[0:32] + r0*64 queue=q") == {"DGE-MODE"}
    assert rules(base + "sync dma_copy dst=t src=x[0:32] queue=q oob=skip") == {"DMA-INDEX"}


# ---- dma_compute ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("sources", [1, 2, 3, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_sum(target, sources, strict):
    rng = np.random.default_rng(4)
    arrays = [
        rng.standard_normal((40, 30)).astype([np.float32, ml_dtypes.bfloat16, np.float16][i % 3])
        for i in range(sources)
    ]
    lines = [f"input x{i} : {machine_dtype(a.dtype)}[40, 30]" for i, a in enumerate(arrays)]
    terms = " ".join(f"src{i}=x{i}" for i in range(sources))
    lines += [
        "output y : bf16[40, 30]",
        "sbuf t : bf16[40, 30] @ 0",
        "semaphore s",
        "queue q",
        f"sync dma_compute dst=t {terms} queue=q then s += 16",
        "sync dma_copy dst=y src=t queue=q when s >= 16",
    ]
    want = arrays[0].astype(np.float32)
    for a in arrays[1:]:
        want = want + a.astype(np.float32)
    got = execute("\n".join(lines), target, strict, **{f"x{i}": a for i, a in enumerate(arrays)})["y"]
    np.testing.assert_array_equal(raw(got), raw(want.astype(ml_dtypes.bfloat16)))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_gather_adds(target, strict):
    rng = np.random.default_rng(5)
    x, z, i = (
        rng.standard_normal((90, 12)).astype(np.float32),
        rng.standard_normal((32, 12)).astype(np.float32),
        rng.integers(0, 90, (32, 1)).astype(np.int32),
    )
    text = """
    input x : f32[90, 12]
    input z : f32[32, 12]
    input i : i32[32, 1] range 0 89
    output y : f32[32, 12]
    sbuf k : i32[32, 1] @ 0
    sbuf d : f32[32, 12] @ 64
    semaphore a
    semaphore b
    queue q
    gpsimd dma_copy dst=k src=i queue=q then a += 16
    gpsimd dma_copy dst=d src=z queue=q then a += 16
    gpsimd dma_compute dst=d src0=x[0:32] src0_index=k accumulate=1 queue=q dge=swdge when a >= 32 then b += 16
    gpsimd dma_copy dst=y src=d queue=q when b >= 16
    """
    np.testing.assert_array_equal(execute(text, target, strict, x=x, z=z, i=i)["y"], z + x[i[:, 0]])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", targets_with("swdge_indirect"))
def test_scatter_adds(target, strict):
    rng = np.random.default_rng(6)
    x, z = rng.standard_normal((32, 12)).astype(np.float32), rng.standard_normal((90, 12)).astype(np.float32)
    i = rng.permutation(90)[:32].astype(np.int32).reshape(32, 1)
    text = """
    input x : f32[32, 12]
    input z : f32[90, 12]
    input i : i32[32, 1] range 0 89 unique
    output y : f32[90, 12]
    sbuf k : i32[32, 1] @ 0
    sbuf d : f32[32, 12] @ 64
    semaphore a
    queue q
    gpsimd dma_copy dst=k src=i queue=q then a += 16
    gpsimd dma_copy dst=d src=x queue=q then a += 16
    gpsimd dma_copy dst=y src=z queue=q then a += 16
    gpsimd dma_compute dst=y[0:32] src0=d dst_index=k accumulate=1 queue=q dge=swdge when a >= 48
    """
    want = z.copy()
    want[i[:, 0]] += x
    np.testing.assert_array_equal(execute(text, target, strict, x=x, z=z, i=i)["y"], want)


def test_compute_refusals():
    base = "input x : f32[32, 16]\ninput z : f32[32, 16]\nsbuf t : f32[32, 16] @ 0\nqueue q\n"
    assert rules(base + "sync dma_compute dst=t src0=x src1=z queue=q") == set()
    assert rules(base + "sync dma_compute dst=t src0=x src1=z[0:31] queue=q") == {"DMA-ELEMENTS"}
    assert rules(base + "gpsimd dma_compute dst=t src0=x src1=z queue=q dge=swdge") == {"DMA-COMPUTE"}
    assert "DMA-COMPUTE" in rules(base + "sync dma_compute dst=t src0=x src1=z queue=q accumulate=1")
    assert "DMA-COMPUTE" in rules(
        base + "sync reg_move dst=r0 src=0\nsync dma_compute dst=t src0=x src1=z + r0*64 queue=q"
    )
