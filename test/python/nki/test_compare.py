"""Kernels held against references: the first variable, iteration and element that differs, and where its value came from."""

import glia
import nki
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(6).standard_normal((128, 64)).astype(np.float32)


def running(x, wrong):
    out = nl.ndarray((128, 1), x.dtype, buffer=nl.shared_hbm)
    m = nl.full((128, 1), -10.0, nl.float32)
    total = nl.zeros((128, 1), nl.float32)
    for i in range(4):
        block = nl.load(x[:, 16 * i : 16 * i + 16])
        bm = nl.max(block, axis=1, keepdims=True)
        new = nl.maximum(m, bm)
        m = bm if i == wrong else new
        total = nl.add(total, m)
    nl.store(out, total)
    return out


def reference(x, wrong):
    m, total = np.full((128, 1), -10.0), np.zeros((128, 1))
    for i in range(4):
        m = glia.mark("m", np.maximum(m, x[:, 16 * i : 16 * i + 16].max(1, keepdims=True)), i=i)
        total = glia.mark("total", total + m, i=i)
    return total


def in_order(x, wrong):
    """The same, without saying which iteration a value belongs to."""
    m = np.full((128, 1), -10.0)
    for i in range(4):
        m = glia.mark("m", np.maximum(m, x[:, 16 * i : 16 * i + 16].max(1, keepdims=True)))
    return None


def maxima() -> list:
    return [X[:, : 16 * i + 16].max(1, keepdims=True) for i in range(4)]


REFERENCES = {
    "marks with indices": reference,
    "marks in order": in_order,
    "a list": {"m": maxima()},
    "one array": {"m": np.stack(maxima())},
}


@pytest.mark.parametrize("how", REFERENCES)
def test_equal(how):
    found = glia.compile(nki.jit(running), X, -1).compare(REFERENCES[how], X, -1)
    assert found.ok and found.compared["m"] == 4 and str(found).startswith("equal: m (4 values)")


@pytest.mark.parametrize("how", REFERENCES)
def test_the_first_that_differs(how):
    found = glia.compile(nki.jit(running), X, 2).compare(REFERENCES[how], X, 2)
    d = found.difference
    first = running.__code__.co_firstlineno
    want, have = maxima()[2], X[:, 32:48].max(1, keepdims=True)
    row = int(np.flatnonzero(want != have)[0])
    assert not found.ok and (d.name, d.iteration, d.index) == ("m", {"i": 2}, (row, 0))
    assert (d.file, d.line) == (__file__, first + 8)
    assert d.found == have[row, 0] and d.expected == want[row, 0] and d.count == (want != have).sum()
    assert [line - first for _, line in d.lines] == [6, 5]  # bm, from block
    assert "bm = nl.max(block, axis=1, keepdims=True)" in str(found) and "`m` differs first at i = 2" in str(found)


def test_results_are_compared_too():
    found = glia.compile(nki.jit(running), X, -1).compare(lambda x, wrong: reference(x, wrong) + 1, X, -1)
    d, first = found.difference, running.__code__.co_firstlineno
    assert d.name == "result" and found.compared == {"m": 4, "total": 4}
    assert [line - first for _, line in d.lines[:3]] == [10, 9, 7]  # stored; total, m; new


def test_tolerances():
    exe = glia.compile(nki.jit(running), X, -1)
    near = {"m": [m * (1 + 1e-6) for m in maxima()]}
    assert exe.compare(near, X, -1).ok and not exe.compare(near, X, -1, tolerance=0.0).ok


@pytest.mark.parametrize(
    "wrong,text",
    [
        ({"m": maxima()[:3]}, "takes 5 values in the kernel and 3 in the reference"),
        ({"m": [m[:64] for m in maxima()]}, "has shape (128, 1) in the kernel and (64, 1) in the reference"),
        (lambda x, w: glia.mark("m", x[:, 0], j=0), "has no value at j = 0"),
        ({"q": X}, "no variable called `q` holds a tile there"),
    ],
)
def test_what_cannot_be_compared(wrong, text, fails):
    (d,) = fails(glia.compile(nki.jit(running), X, -1).compare, wrong, X, -1)
    assert text in d.message


@pytest.mark.parametrize("tolerance", [-1.0, float("nan")])
def test_a_tolerance_that_is_none(tolerance, fails):
    (d,) = fails(lambda: glia.compile(nki.jit(running), X, -1).compare(reference, X, -1, tolerance=tolerance))
    assert d.code == "NKI-COMPARE" and d.message.startswith("the tolerance is")


def two(x):
    outs = [nl.ndarray(shape, x.dtype, buffer=nl.shared_hbm) for shape in (x.shape, x.shape[::-1])]
    nl.store(outs[0], nl.load(x))
    nl.store(outs[1].reshape(x.shape), nl.load(x))
    return tuple(outs)


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda x: None, "the reference returns nothing and marks nothing"),
        (lambda x: x, "the kernel returns 2 arrays and the reference 1"),
        (lambda x: (x, x, x), "the kernel returns 2 arrays and the reference 3"),
        (lambda x: (x, x), "the result 1 has shape (64, 128), that of the reference (128, 64)"),
        (None, "the reference is None"),
    ],
)
def test_no_agreement_where_nothing_was_compared(wrong, text, fails):
    (d,) = fails(lambda: glia.compile(nki.jit(two), X).compare(wrong, X))
    assert d.code == "NKI-COMPARE" and d.message.startswith(text) and d.advice


def test_a_tile_that_is_marked_the_other_way(fails):
    (d,) = fails(lambda: glia.compile(nki.jit(loaded), X).compare({"t": X.T}, X))
    assert d.message == "`t` has shape (128, 64) in the kernel and (64, 128) in the reference"


def loaded(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, t)
    return out


def test_arguments_stay_as_they_are():
    def updating(x):
        t = nl.add(nl.load(x), 1.0)
        nl.store(x, t)
        return x

    x = X.copy()
    exe = glia.compile(nki.jit(updating), x)
    assert exe.compare({"t": X + 1}, x).ok
    np.testing.assert_array_equal(x, X)


def test_a_mark_outside_of_a_comparison_is_its_value():
    assert glia.mark("m", 3, i=1) == 3
