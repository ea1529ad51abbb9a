"""max8, nc_find_index8, nc_match_replace8: against NumPy, with duplicates, missing values and NaN."""

import numpy as np
import pytest
from glia.dtypes import numpy_dtype
from harness import TARGETS, View, refused, run, same_bits
from reference import F32, FLOATS, INTEGERS, narrow, rng_for, values, widen

np.seterr(all="ignore")


def top8(a):
    """The eight largest in descending order, NaN after every number."""
    out = np.full((len(a), 8), np.nan, F32)
    for row, line in zip(out, a, strict=False):
        numbers = line[~np.isnan(line)]
        best = numbers[np.argsort(-numbers, kind="stable")][:8]
        row[: len(best)] = best
    return out


def find8(a, vals):
    out = np.full(vals.shape, -1, np.int64)
    for p in range(len(a)):
        seen = {}
        for k, v in enumerate(vals[p]):
            places = np.flatnonzero(a[p] == v)
            nth = seen.get(float(v), 0)
            seen[float(v)] = nth + 1
            if nth < len(places):
                out[p, k] = places[nth]
    return out


def replace8(a, vals, imm):
    out, index = a.copy(), np.full(vals.shape, -1, np.int64)
    for p in range(len(a)):
        taken = np.zeros(a.shape[1], bool)
        for k in reversed(range(8)):
            places = np.flatnonzero((a[p] == vals[p, k]) & ~taken)
            if len(places):
                taken[places[0]] = True
                out[p, places[0]] = imm
                index[p, k] = places[0]
    return out, index


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_max8(target, dtype):
    for shape in [(128, 8), (33, 100), (1, 1001)]:
        a = values(rng_for(dtype, shape), dtype, shape)
        got = run("vector max8 dst=y src=a", {"a": a}, {"y": ("f32", (shape[0], 8))}, target)["y"]
        same_bits(got, top8(widen(a)))


def test_max8_longest_row_ties_and_views():
    rng = rng_for("ties")
    a = rng.integers(0, 50, (4, 16384)).astype(F32)
    got = run("vector max8 dst=y src=a", {"a": a}, {"y": ("bf16", (4, 8))}, "trn2")["y"]
    same_bits(got, narrow(top8(a), "bf16"))
    v = View(4, ((100, 5), (9, 4), (2, 3)), 7)
    got = run(f"vector max8 dst=y src={v.text('a', 'f32')}", {"a": a[:, :600].copy()}, {"y": ("f32", (4, 8))}, "trn2")[
        "y"
    ]
    same_bits(got, top8(v.take(a[:, :600])))


def test_max8_refusals():
    y = {"y": ("f32", (4, 8))}
    assert refused("vector max8 dst=y src=a", {"a": np.ones((4, 7), F32)}, y, "trn2") == ["OPERAND-LIMIT"]
    assert refused("vector max8 dst=y src=a", {"a": np.ones((4, 16385), F32)}, y, "trn2") == ["OPERAND-LIMIT"]
    assert refused("vector max8 dst=y src=a", {"a": np.ones((5, 9), F32)}, y, "trn2") == ["OPERAND-LIMIT"]
    v = View(4, ((27, 2), (9, 2), (4, 2), (2, 2)))
    assert refused(f"vector max8 dst=y src={v.text('a', 'f32')}", {"a": np.ones((4, 60), F32)}, y, "trn2") == [
        "OPERAND-LIMIT"
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "i16", "u8"])
@pytest.mark.parametrize("index", ["u16", "u32"])
def test_find_index8(target, dtype, index):
    for n in (8, 77, 1500):
        rng = rng_for(dtype, index, n)
        a = values(rng, dtype, (64, n))
        vals = np.take_along_axis(a, rng.integers(0, n, (64, 8)), axis=1)
        vals[::2, 1], vals[::2, 4] = vals[::2, 0], vals[::2, 0]  # duplicates
        vals[1::3, 7] = a.dtype.type(93)  # perhaps not there
        got = run("vector nc_find_index8 dst=y data=a vals=v", {"a": a, "v": vals}, {"y": (index, (64, 8))}, target)[
            "y"
        ]
        same_bits(got, find8(widen(a), widen(vals)).astype(numpy_dtype(index)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype,to", [("f32", "f32"), ("bf16", "bf16"), ("f16", "f32"), ("i16", "i16")])
def test_match_replace8(target, dtype, to):
    for n in (8, 77, 1500):
        rng = rng_for(dtype, n)
        a = values(rng, dtype, (64, n))
        vals = np.take_along_axis(a, rng.integers(0, n, (64, 8)), axis=1)
        vals[::2, 1], vals[::2, 4] = vals[::2, 0], vals[::2, 0]
        want, index = replace8(widen(a), widen(vals), F32(-7))
        code = "vector nc_match_replace8 dst=y data=a vals=v imm=-7.0 dst_idx=i"
        for i_type in ("u16", "u32"):
            got = run(code, {"a": a, "v": vals}, {"y": (to, a.shape), "i": (i_type, (64, 8))}, target)
            same_bits(got["y"], narrow(want, to))
            same_bits(got["i"], index.astype(numpy_dtype(i_type)))


def test_the_published_example_of_duplicates():
    a = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], F32)
    v = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], F32)
    got = run(
        "vector nc_match_replace8 dst=y data=a vals=v imm=0.0 dst_idx=i",
        {"a": a, "v": v},
        {"y": ("f32", a.shape), "i": ("u32", (1, 8))},
        "trn2",
    )
    assert got["i"].tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    assert got["y"].tolist() == [[1, 2, 0, 4] + [0] * 7]
    found = run("vector nc_find_index8 dst=i data=a vals=v", {"a": a, "v": v}, {"i": ("u32", (1, 8))}, "trn2")["i"]
    assert found.tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]


def test_in_place_top_16():
    a = rng_for("sixteen").permutation(64 * 300).reshape(64, 300).astype(F32)
    code = [
        "vector max8 dst=first src=a",
        "vector nc_match_replace8 dst=a data=a vals=first imm=-inf",
        "vector max8 dst=second src=a",
    ]
    got = run(code, {"a": a}, {"first": ("f32", (64, 8)), "second": ("f32", (64, 8))}, "trn2")
    same_bits(np.hstack([got["first"], got["second"]]), -np.sort(-a, axis=1)[:, :16])


def test_strict_mode_agrees():
    a = values(rng_for("strict"), "f32", (32, 40), edges=False)
    v = a[:, 3:11].copy()
    outputs = {"y": ("f32", a.shape), "i": ("u32", (32, 8))}
    code = "vector nc_match_replace8 dst=y data=a vals=v imm=0.0 dst_idx=i"
    fast, strict = (
        run(code, {"a": a, "v": v}, outputs, "trn2"),
        run(code, {"a": a, "v": v}, outputs, "trn2", strict=True),
    )
    for name in outputs:
        same_bits(strict[name], fast[name])


def test_index_refusals():
    a, v = np.ones((4, 20), F32), np.ones((4, 8), F32)
    assert refused("vector nc_find_index8 dst=y data=a vals=v", {"a": a, "v": v}, {"y": ("f32", (4, 8))}, "trn2") == [
        "OPERAND-DTYPE"
    ]
    assert refused(
        "vector nc_find_index8 dst=y data=a vals=v", {"a": a, "v": v[:, :7]}, {"y": ("u32", (4, 8))}, "trn2"
    ) == ["OPERAND-LIMIT"]
    replace = "vector nc_match_replace8 dst=y data=a vals=v imm=0.0 dst_idx=i"
    assert refused(replace, {"a": a, "v": v}, {"y": ("f32", a.shape), "i": ("i32", (4, 8))}, "trn2") == [
        "OPERAND-DTYPE"
    ]
