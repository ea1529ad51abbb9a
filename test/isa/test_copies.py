"""tensor_copy, tensor_copy_predicated, memset, nc_stream_shuffle: against NumPy over types, shapes, views and engines."""

import glia
import numpy as np
import pytest
from glia.dtypes import numpy_dtype
from harness import TARGETS, View, refused, run, same_bits, targets_with
from reference import F32, FLOATS, INTEGERS, narrow, rng_for, values, widen

np.seterr(all="ignore")
TYPES = FLOATS + INTEGERS
ENGINES = ["vector", "gpsimd", "scalar"]


def engines_of(target):
    return [e for e in ENGINES if e != "scalar" or target in targets_with("scalar_tensor_copy")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_equal_types_keep_their_bits(target, dtype):
    t = numpy_dtype(dtype)
    bits = rng_for(dtype).integers(0, 256, (128, 57 * t.itemsize), dtype=np.uint8).view(t)  # NaN payloads among them
    for engine in engines_of(target):
        got = run(f"{engine} tensor_copy dst=y src=a", {"a": bits}, {"y": (dtype, bits.shape)}, target)["y"]
        np.testing.assert_array_equal(got.view(np.uint8), bits.view(np.uint8))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", TYPES)
def test_other_types_go_through_fp32(target, source):
    a = values(rng_for(source), source, (64, 91))
    for to in TYPES:
        if to != source:
            for engine in engines_of(target):
                got = run(f"{engine} tensor_copy dst=y src=a", {"a": a}, {"y": (to, a.shape)}, target)["y"]
                same_bits(got, narrow(widen(a), to))


@pytest.mark.parametrize("target", targets_with("native_int64"))
@pytest.mark.parametrize("dtype", ["i64", "u64"])
def test_eight_byte_integers_are_copied(target, dtype):
    a = rng_for(dtype).integers(0, 2**62, (128, 9)).astype(numpy_dtype(dtype)) * 3
    same_bits(run("vector tensor_copy dst=y src=a", {"a": a}, {"y": (dtype, a.shape)}, target)["y"], a)
    assert refused("vector tensor_copy dst=y src=a", {"a": a}, {"y": ("i32", a.shape)}, target) == ["OPERAND-DTYPE"]


@pytest.mark.parametrize("shape", [(1, 1), (128, 1), (33, 17), (65, 2047)])
@pytest.mark.parametrize("psum", [(), ("a",), ("y",), ("a", "y")])
def test_copy_shapes(shape, psum):
    a = values(rng_for(shape), "f32", shape)
    for target in TARGETS:
        same_bits(run("vector tensor_copy dst=y src=a", {"a": a}, {"y": ("f32", shape)}, target, psum=psum)["y"], a)


@pytest.mark.parametrize("dtype,to", [("f32", "f32"), ("u8", "u8"), ("bf16", "f32"), ("i16", "bf16")])
def test_copy_views(dtype, to):
    rng = rng_for(dtype, to)
    a, y = values(rng, dtype, (128, 100)), values(rng, to, (128, 90))
    for va, vy in [
        (View(32, ((20, 4), (3, 5)), 2, first=96), View(32, ((1, 20),), 3, first=32)),
        (View(64, ((1, 24),), 1), View(64, ((40, 2), (12, 3), (2, 4)), 1, first=64)),
        (View(1, ((7, 13),)), View(1, ((3, 13),), 0, first=64)),
        (View(128, ((0, 6), (1, 5)), 4), View(128, ((5, 6), (1, 5)), 0)),
    ]:
        code = f"vector tensor_copy dst={vy.text('y', to)} src={va.text('a', dtype)}"
        got = run(code, {"a": a, "y": y}, {"y": (to, y.shape)}, "trn2")["y"]
        same_bits(got, vy.put(y, va.take(a) if dtype == to else narrow(widen(va.take(a)), to)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_predicated(target, dtype):
    for p_type in ("u8", "u16", "u32"):
        rng = rng_for(dtype, p_type)
        a, y = values(rng, dtype, (96, 43)), values(rng, dtype, (96, 43))
        p = (rng.random(a.shape) < 0.5) * rng.integers(1, 255, a.shape)
        p = p.astype(numpy_dtype(p_type)) << (8 * (numpy_dtype(p_type).itemsize - 1))  # any bit counts
        for reverse in (0, 1):
            code = f"vector tensor_copy_predicated dst=y src=a predicate=p reverse={reverse}"
            got = run(code, {"a": a, "y": y, "p": p}, {"y": (dtype, a.shape)}, target)["y"]
            same_bits(got, np.where((p != 0) != bool(reverse), a, y))
        got = run(
            "vector tensor_copy_predicated dst=y src=3.0 predicate=p", {"y": y, "p": p}, {"y": (dtype, a.shape)}, target
        )["y"]
        same_bits(got, np.where(p != 0, narrow(F32(3), dtype), y))


def test_predicated_views_and_psum():
    rng = rng_for("views")
    a, y, p = values(rng, "f32", (64, 40)), values(rng, "f32", (64, 40)), rng.integers(0, 2, (64, 40)).astype(np.uint8)
    v, w, u = View(64, ((2, 20),)), View(64, ((20, 2), (1, 10)), 3), View(64, ((1, 20),), 20)
    code = (
        f"vector tensor_copy_predicated dst={v.text('y', 'f32')} src={w.text('a', 'f32')} predicate={u.text('p', 'u8')}"
    )
    want = v.put(y, np.where(u.take(p) != 0, w.take(a), v.take(y)))
    for psum in [(), ("a",), ("p",), ("y",)]:
        same_bits(run(code, {"a": a, "y": y, "p": p}, {"y": ("f32", y.shape)}, "trn2", psum=psum)["y"], want)
    assert refused(code, {"a": a, "y": y, "p": p}, {"y": ("f32", y.shape)}, "trn2", psum=("a", "p")) == [
        "ONE-PSUM-INPUT"
    ]


def test_predicated_reads_its_destination():
    a, p = np.ones((4, 4), F32), np.ones((4, 4), np.uint8)
    assert refused(
        "vector tensor_copy_predicated dst=y src=a predicate=p", {"a": a, "p": p}, {"y": ("f32", a.shape)}, "trn2"
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("engine", ["vector", "gpsimd"])
def test_memset(target, dtype, engine):
    numbers = [0, 1, 100] if dtype in INTEGERS else [0.0, -0.0, 1.5, 0.1, 1e30, np.inf, np.nan, 1e-40]
    for v in numbers:
        for shape in [(1, 1), (128, 33), (37, 1000)]:
            got = run(f"{engine} memset dst=y value={v}", {}, {"y": (dtype, shape)}, target)["y"]
            same_bits(got, np.broadcast_to(narrow(F32(v), dtype), shape).copy())


def test_memset_bits_and_views():
    for dtype, bits in [("i32", 2147483647), ("u32", -1), ("i32", -2147483648), ("u16", 65535), ("i8", -7)]:
        got = run(f"vector memset dst=y bits={bits}", {}, {"y": (dtype, (5, 9))}, "trn2")["y"]
        assert (got == np.array(bits).astype(numpy_dtype(dtype))).all()
    y = values(rng_for("memset"), "bf16", (64, 50))
    v = View(32, ((10, 4), (3, 3)), 1, first=32)
    got = run(f"gpsimd memset dst={v.text('y', 'bf16')} value=7.0", {"y": y}, {"y": ("bf16", y.shape)}, "trn2")["y"]
    same_bits(got, v.put(y, np.full((32, 12), 7, y.dtype)))


@pytest.mark.parametrize(
    "dtype,line",
    [
        ("u8", "value=256"),
        ("u8", "value=-1"),
        ("i8", "value=0.5"),
        ("i32", "value=2147483648"),
        ("u16", "value=nan"),
        ("f32", "bits=1"),
        ("i32", "value=1 bits=1"),
    ],
)
def test_memset_refusals(dtype, line):
    assert refused(f"vector memset dst=y {line}", {}, {"y": (dtype, (4, 4))}, "trn2") == ["MEMSET-VALUE"]


def shuffle(y, a, mask):
    out = y.copy()
    for p in range(y.shape[0]):
        if mask[p % 32] != 255:
            out[p] = a[p // 32 * 32 + mask[p % 32]]
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8", "i32"])
@pytest.mark.parametrize("partitions", [32, 64, 96, 128])
def test_shuffle(target, dtype, partitions):
    rng = rng_for(dtype, partitions)
    a, y = values(rng, dtype, (partitions, 21)), values(rng, dtype, (partitions, 21))
    for mask in [rng.permutation(32), np.zeros(32, int), np.where(rng.random(32) < 0.3, 255, rng.integers(0, 32, 32))]:
        code = f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(map(str, mask))}]"
        same_bits(run(code, {"a": a, "y": y}, {"y": (dtype, y.shape)}, target)["y"], shuffle(y, a, mask))


def test_shuffle_broadcasts_one_partition():
    a = values(rng_for("one"), "f32", (1, 100))
    code = f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(['0'] * 32)}]"
    for start in (0, 32, 64, 96):  # dst was never written: every partition is replaced
        got = run(code, {"a": a}, {"y": ("f32", (32, 100))}, "trn2", start={"a": start})["y"]
        same_bits(got, np.repeat(a, 32, axis=0))


def test_shuffle_in_place_and_in_psum():
    a = values(rng_for("place"), "f32", (64, 30))
    mask = [*list(range(1, 32)), 0]
    code = f"vector nc_stream_shuffle dst=a src=a mask=[{', '.join(map(str, mask))}]"
    same_bits(run(code, {"a": a}, {"a": ("f32", a.shape)}, "trn2")["a"], shuffle(a, a, mask))
    code = f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(map(str, mask))}]"
    same_bits(run(code, {"a": a}, {"y": ("f32", a.shape)}, "trn2", psum=("a", "y"))["y"], shuffle(a, a, mask))


def test_shuffle_refusals():
    a = np.ones((64, 4), F32)
    y = {"y": ("f32", (64, 4))}
    keep = ["255"] * 32

    def codes(mask, **options):
        return refused(
            f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(mask)}]", {"a": a, "y": a}, y, "trn2", **options
        )

    assert codes(keep) == []
    assert codes(keep[:31]) == ["SHUFFLE-MASK"]
    assert codes(["32", *keep[1:]]) == ["SHUFFLE-MASK"]
    assert codes(["-1", *keep[1:]]) == ["SHUFFLE-MASK"]
    one = refused(
        f"vector nc_stream_shuffle dst=y src=a mask=[1, {', '.join(keep[1:])}]",
        {"a": a[:1], "y": a[:32]},
        {"y": ("f32", (32, 4))},
        "trn2",
    )
    assert one == ["SHUFFLE-MASK"]
    far = refused(
        f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(keep)}]",
        {"a": a[:1], "y": a},
        y,
        "trn2",
        start={"a": 32},
    )
    assert far == ["SHUFFLE-START"]


def test_strict_mode_agrees():
    rng = rng_for("strict")
    a, y, p = (
        values(rng, "bf16", (32, 40)),
        values(rng, "bf16", (32, 40)),
        rng.integers(0, 2, (32, 40)).astype(np.uint8),
    )
    inputs = {"a": a, "y": y, "p": p}
    for code in [
        "vector tensor_copy dst=y src=a",
        "vector tensor_copy_predicated dst=y src=a predicate=p",
        "gpsimd memset dst=y value=2.0",
        f"vector nc_stream_shuffle dst=y src=a mask=[{', '.join(['3', '255'] * 16)}]",
    ]:
        fast = run(code, inputs, {"y": ("bf16", a.shape)}, "trn2")["y"]
        same_bits(run(code, inputs, {"y": ("bf16", a.shape)}, "trn2", strict=True)["y"], fast)


def test_the_verifier_follows_the_bits():
    """An index that memset wrote as bits is known, and is not taken for the value that was left out."""
    text = """
input x : f32[64, 8]
output y : f32[32, 8]
sbuf i : u32[32, 1] @ 0
sbuf t : f32[32, 8] @ 32
queue q
semaphore gathered
gpsimd memset dst=i {fill}
gpsimd dma_copy dst=t src=x{{ | 0 | 8x32, 1x8}} src_index=i index_stride=8 dge=swdge queue=q then gathered += 16
gpsimd dma_copy dst=y src=t queue=q when gathered >= 16
"""
    for fill, ok in [
        ("value=63", True),
        ("bits=63", True),
        ("bits=64", False),
        ("bits=-1", False),
        ("value=64", False),
    ]:
        verdict = glia.assemble(text.format(fill=fill), target="trn2").verify(require_proved=True)
        assert verdict.ok == ok, f"{fill}: {verdict}"
