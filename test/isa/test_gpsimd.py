"""iota, affine_select, the gathers, the reduction across partitions, nonzero_with_count and device_print."""

import glia
import ml_dtypes
import numpy as np
import pytest
from harness import TARGETS, refused, run, same_bits, targets_with
from reference import narrow

BF16 = ml_dtypes.bfloat16
TYPES = [
    np.float32,
    BF16,
    np.float16,
    ml_dtypes.float8_e4m3,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
]


def affine(partitions, pattern, offset, multiplier):
    """In wrapping int32."""
    row = np.array([offset], np.int64)
    for step, count in zip(pattern[::2], pattern[1::2], strict=True):
        row = (row[:, None] + step * np.arange(count, dtype=np.int64)).reshape(-1)
    all_ = row[None, :] + multiplier * np.arange(partitions, dtype=np.int64)[:, None]
    return (all_ & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def converted(values, dtype):
    if np.dtype(dtype) in (np.dtype(np.int32), np.dtype(np.uint32)):
        return values.view(dtype)
    return narrow(values.astype(np.float32), dtype)


PATTERNS = [
    ([1, 24], 0, 0),
    ([1, 24], -7, 24),
    ([-3, 2, 5, 3, 100, 4], 11, -1),
    ([1, 2, 10, 2, 100, 2, 1000, 3], 2, 7),
    ([2**20, 24], 2**31 - 5, 2**24),
    ([0, 24], 16777217, 1),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("pattern,offset,multiplier", PATTERNS)
@pytest.mark.parametrize("target", TARGETS)
def test_iota_patterns(target, pattern, offset, multiplier, strict):
    got = run(
        f"gpsimd iota dst=y pattern={pattern} offset={offset} channel_multiplier={multiplier}",
        {},
        {"y": (np.int32, (128, 24))},
        target,
        strict=strict,
    )
    np.testing.assert_array_equal(got["y"], affine(128, pattern, offset, multiplier))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", TARGETS)
def test_iota_types(target, dtype):
    got = run(
        "gpsimd iota dst=y pattern=[100, 40, 1, 3] offset=-300 channel_multiplier=1000",
        {},
        {"y": (dtype, (64, 120))},
        target,
    )
    same_bits(got["y"], converted(affine(64, [100, 40, 1, 3], -300, 1000), dtype))


def test_iota_refusals():
    for pattern, want in [
        ("[1, 24]", []),
        ("[1, 23]", ["IOTA-PATTERN"]),
        ("[1, 0]", ["IOTA-PATTERN"]),
        ("[1]", ["IOTA-PATTERN"]),
        ("[1, 3, 1, 2, 1, 2, 1, 2, 1, 1]", ["IOTA-PATTERN"]),
        ("[1, -24]", ["IOTA-PATTERN"]),
        ("[1, 2147483647, 1, 2147483647]", ["IOTA-PATTERN"]),
    ]:
        assert refused(f"gpsimd iota dst=y pattern={pattern}", {}, {"y": (np.int32, (4, 24))}, "trn2") == want
    assert refused("gpsimd iota dst=y pattern=[1, 4]", {}, {"y": (np.int64, (4, 4))}, "trn2") == ["OPERAND-DTYPE"]


COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "greater_equal": np.greater_equal, "greater": np.greater}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("cmp", COMPARE)
@pytest.mark.parametrize("target", TARGETS)
def test_affine_select(target, cmp, strict):
    x = np.random.default_rng(0).standard_normal((128, 24)).astype(np.float32)
    x[3, 4], x[5, 6] = np.nan, -0.0
    got = run(
        f"gpsimd affine_select dst=y on_true=x pattern=[-1, 24] offset=3 channel_multiplier=1 on_false=-9.5 cmp={cmp}",
        {"x": x},
        {"y": (np.float32, (128, 24))},
        target,
        strict=strict,
    )
    same_bits(got["y"], np.where(COMPARE[cmp](affine(128, [-1, 24], 3, 1), 0), x, np.float32(-9.5)))


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_affine_select_types(source, dtype):
    x = np.random.default_rng(1).integers(0, 100, (16, 24)).astype(source)
    got = run(
        "gpsimd affine_select dst=y on_true=x pattern=[1, 24] offset=-8 channel_multiplier=-1 on_false=2.5 cmp=greater_equal",
        {"x": x},
        {"y": (dtype, (16, 24))},
        "trn2",
    )
    keep = affine(16, [1, 24], -8, -1) >= 0
    true = x if np.dtype(source) == np.dtype(dtype) else narrow(x.astype(np.float32), dtype)
    same_bits(got["y"], np.where(keep, true, narrow(np.full(x.shape, 2.5, np.float32), dtype)))


@pytest.mark.parametrize("target", TARGETS)
def test_affine_select_in_place(target):
    x = np.random.default_rng(2).standard_normal((32, 10)).astype(np.float32)
    got = run(
        "gpsimd affine_select dst=x on_true=x pattern=[-1, 10] channel_multiplier=1 on_false=-inf cmp=greater_equal",
        {"x": x},
        {"x": (np.float32, (32, 10))},
        target,
    )
    same_bits(got["x"], np.where(np.arange(32)[:, None] >= np.arange(10)[None], x, -np.inf).astype(np.float32))


def bits_of(shape, dtype, seed=0):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return np.random.default_rng(seed).integers(0, np.iinfo(bits).max, shape, endpoint=True, dtype=bits).view(dtype)


def raw(a):
    return np.ascontiguousarray(a).view(np.dtype(f"u{a.dtype.itemsize}"))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.uint8])
@pytest.mark.parametrize("partitions,elements,indices", [(128, 64, 600), (1, 1, 1), (40, 33, 7)])
@pytest.mark.parametrize("target", TARGETS)
def test_nc_n_gather(target, dtype, partitions, elements, indices, strict):
    x = bits_of((partitions, elements), dtype)
    i = np.random.default_rng(1).integers(0, elements, (partitions, indices), dtype=np.uint32)
    got = run(
        "gpsimd nc_n_gather dst=y data=x indices=i",
        {"x": x, "i": i},
        {"y": (dtype, (partitions, indices))},
        target,
        strict=strict,
    )
    np.testing.assert_array_equal(raw(got["y"]), np.take_along_axis(raw(x), i.astype(np.int64), axis=1))


@pytest.mark.parametrize("bad", [64, 2**32 - 1])
@pytest.mark.parametrize("target", TARGETS)
def test_nc_n_gather_out_of_range(target, bad):
    i = np.zeros((4, 5), np.uint32)
    i[2, 3] = bad
    with pytest.raises(glia.Trap, match="GATHER-OOB"):
        run(
            "gpsimd nc_n_gather dst=y data=x indices=i",
            {"x": np.zeros((4, 64), np.float32), "i": i},
            {"y": (np.float32, (4, 5))},
            target,
        )


def local(x, index, e, valid):
    out = []
    for first in range(0, x.shape[0], 16):
        flat = index[first : first + 16].T.reshape(-1)[:valid].astype(np.int64)
        places = (flat[:, None] + np.arange(e)).reshape(-1)
        out.append(x[first : first + 16][:, places])
    return np.concatenate(out)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int8])
@pytest.mark.parametrize("partitions,columns,e,valid", [(128, 4, 1, 0), (16, 1, 1, 5), (32, 3, 8, 40), (64, 2, 32, 0)])
@pytest.mark.parametrize("target", TARGETS)
def test_local_gather(target, partitions, columns, e, valid, dtype, strict):
    x = bits_of((partitions, 100), dtype)
    i = np.random.default_rng(2).integers(0, 100 - e + 1, (partitions, columns), dtype=np.uint16)
    n = valid or columns * 16
    got = run(
        f"gpsimd local_gather dst=y src=x index=i num_elem_per_idx={e} num_valid_indices={valid}",
        {"x": x, "i": i},
        {"y": (dtype, (partitions, n * e))},
        target,
        strict=strict,
    )
    np.testing.assert_array_equal(raw(got["y"]), local(raw(x), i, e, n))


def test_local_gather_out_of_range_and_refusals():
    x, i = np.zeros((16, 100), np.float32), np.full((16, 1), 97, np.uint16)
    with pytest.raises(glia.Trap, match="GATHER-OOB"):
        run(
            "gpsimd local_gather dst=y src=x index=i num_elem_per_idx=4",
            {"x": x, "i": i},
            {"y": (np.float32, (16, 64))},
            "trn2",
        )

    def rules(more, n, x=x, i=i):
        return refused(
            f"gpsimd local_gather dst=y src=x index=i {more}",
            {"x": x, "i": i},
            {"y": (np.float32, (x.shape[0], n))},
            "trn2",
        )

    assert rules("", 16) == []
    assert rules("", 15) == ["GATHER-SHAPE"]
    assert rules("num_elem_per_idx=3", 48) == ["GATHER-SHAPE"]
    assert rules("num_valid_indices=17", 17) == ["GATHER-SHAPE"]
    assert rules("", 16, i=i.astype(np.uint32)) == ["OPERAND-DTYPE"]
    assert rules("", 16, x=x[:8], i=i[:8]) == ["GATHER-SHAPE"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("partitions", [1, 33, 128])
@pytest.mark.parametrize("op", ["add", "average", "max"])
@pytest.mark.parametrize("target", TARGETS)
def test_partition_reduce(target, op, partitions, strict):
    x = np.random.default_rng(3).standard_normal((partitions, 20)).astype(np.float32)
    got = run(
        f"gpsimd tensor_partition_reduce dst=y data=x op={op}",
        {"x": x},
        {"y": (np.float32, (1, 20))},
        target,
        strict=strict,
    )
    want = x[0]
    for row in x[1:]:
        want = np.maximum(want, row) if op == "max" else want + row
    if op == "average":
        want = want / np.float32(partitions)
    same_bits(got["y"], want.astype(np.float32)[None])


@pytest.mark.parametrize(
    "op,f", [("add", np.add), ("max", np.maximum), ("bitwise_or", np.bitwise_or), ("bitwise_and", np.bitwise_and)]
)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("target", TARGETS)
def test_partition_reduce_integers(target, dtype, op, f):
    x = bits_of((50, 20), dtype)
    got = run(f"gpsimd tensor_partition_reduce dst=y data=x op={op}", {"x": x}, {"y": (dtype, (1, 20))}, target)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got["y"], f.reduce(x, axis=0, dtype=dtype)[None])


@pytest.mark.parametrize("op,f", [("bitwise_or", np.bitwise_or), ("bitwise_and", np.bitwise_and)])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_partition_reduce_narrow_bits(dtype, op, f):
    x = bits_of((50, 20), dtype)
    got = run(f"gpsimd tensor_partition_reduce dst=y data=x op={op}", {"x": x}, {"y": (dtype, (1, 20))}, "trn2")
    np.testing.assert_array_equal(got["y"], f.reduce(x, axis=0)[None])


def test_partition_reduce_refusals():
    def rules(op, dtype, out, shape=(1, 8)):
        return refused(
            f"gpsimd tensor_partition_reduce dst=y data=x op={op}",
            {"x": np.zeros((16, 8), dtype)},
            {"y": (out, shape)},
            "trn2",
        )

    assert rules("add", np.float32, BF16) == []
    assert rules("add", np.float32, np.float32, (1, 7)) == ["PARTITION-REDUCE"]
    assert rules("bitwise_or", np.float32, np.float32) == ["PARTITION-REDUCE"]
    assert rules("bitwise_or", np.int32, np.int16) == ["PARTITION-REDUCE"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("partitions,elements", [(128, 30), (1, 8), (40, 1)])
@pytest.mark.parametrize("target", targets_with("nonzero_with_count"))
def test_nonzero_with_count(target, dtype, partitions, elements, strict):
    rng = np.random.default_rng(4)
    x = (rng.integers(-2, 3, (partitions, elements)) * rng.integers(0, 2, (partitions, elements))).astype(dtype)
    if dtype == np.float32:
        x[0, 0] = np.nan
        x[-1, -1] = -0.0
    before = rng.integers(-99, 99, (partitions, elements + 1)).astype(np.int32)
    got = run(
        "gpsimd nonzero_with_count dst=y src=x index_offset=100 padding=-3",
        {"x": x, "y": before},
        {"y": (np.int32, (partitions, elements + 1))},
        target,
        strict=strict,
    )
    want = before.copy()
    for p in range(0, partitions, 16):
        found = np.flatnonzero(x[p])
        want[p] = np.concatenate([found + 100, np.full(elements - found.size, -3), [found.size]])
    np.testing.assert_array_equal(got["y"], want)


def test_nonzero_refusals():
    def rules(shape, dtype=np.float32, target="trn2", out=np.int32):
        return refused(
            "gpsimd nonzero_with_count dst=y src=x",
            {"x": np.zeros((16, 8), dtype), "y": np.zeros(shape, out)},
            {"y": (out, shape)},
            target,
        )

    assert rules((16, 9)) == []
    assert rules((16, 8)) == ["OPERAND-LIMIT"]
    assert rules((16, 9), dtype=np.int16) == ["OPERAND-DTYPE"]
    assert rules((16, 9), out=np.uint32) == ["OPERAND-DTYPE"]
    assert rules((16, 9), target="trn1") == ["TARGET-FEATURE"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd", "tensor"])
@pytest.mark.parametrize("target", TARGETS)
def test_device_print(target, engine, strict, capsys):
    x = np.array([[0, 1.5, -np.inf], [2**-149, 0.1, 7]], np.float32)
    k = np.array([[-(2**31), 2**31 - 1]], np.int32)
    run(
        [
            f'{engine} device_print prefix="a tile" src=x',
            f'{engine} device_print prefix="" src=k[:, 1:2]',
            f"{engine} nop",
        ],
        {"x": x, "k": k},
        {"x": (np.float32, (2, 3))},
        target,
        strict=strict,
    )
    assert (
        capsys.readouterr().out
        == "a tile core 0 f32[2, 3]\n0 1.5 -inf\n1.40129846e-45 0.100000001 7\n core 0 i32[1, 1]\n2147483647\n"
    )
