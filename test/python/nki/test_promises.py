"""glia.nki.assume: promises of an author about an argument, believed by the verifier and checked on each call."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((128, 16)).astype(np.float32)


def _scatter(idx, x, out):
    i = nl.ndarray((128, 1), nl.int32)
    nisa.dma_copy(i, idx)
    t = nl.ndarray((128, 16), nl.float32)
    nisa.dma_copy(t, x)
    nisa.dma_copy(out.ap([[16, 128], [1, 16]], vector_offset=i, indirect_dim=0), t)
    return out


@nki.jit
def unpromised(idx, x, out):
    return _scatter(idx, x, out)


@nki.jit
def promised(idx, x, out):
    nki.assume(idx, range=(0, 299))
    nki.assume(idx, range=(-5, 500), unique=True)  # what was assumed before still holds
    return _scatter(idx, x, out)


def test_scatter_by_an_argument_needs_a_promise(fails):
    idx = RNG.permutation(300)[:128].astype(np.int32)[:, None]
    (d,) = fails(unpromised, idx, ROWS, np.zeros((300, 16), np.float32))
    assert d.code == "SCATTER-UNIQUE" and d.file == __file__ and "glia.nki.assume(idx, unique=True)" in d.advice


def test_promised_scatter():
    for seed in range(3):
        idx = np.random.default_rng(seed).permutation(300)[:128].astype(np.int32)[:, None]
        out, expected = np.zeros((300, 16), np.float32), np.zeros((300, 16), np.float32)
        expected[idx[:, 0]] = ROWS
        promised(idx, ROWS, out)
        np.testing.assert_array_equal(out, expected)


def test_a_broken_promise_is_refused_before_it_runs(fails):
    idx, out = np.arange(128, dtype=np.int32)[:, None], np.zeros((300, 16), np.float32)
    for value, word in ((1, "distinct"), (300, "0 to 299"), (-1, "0 to 299")):
        idx[0] = value
        (d,) = fails(promised, idx, ROWS, out)
        assert d.code == "RUN-INPUT" and word in d.message
    assert not out.any()


def test_the_range_proves_a_gather():
    """Without a range the verifier can only say that the access may trap."""

    def gather(idx, x, known):
        if known:
            glia.nki.assume(idx, range=(0, 299))
        i = nl.ndarray((128, 1), nl.int32)
        nisa.dma_copy(i, idx)
        t = nl.ndarray((128, 16), nl.float32)
        nisa.dma_copy(t, x.ap([[16, 128], [1, 16]], vector_offset=i, indirect_dim=0))
        out = nl.ndarray((128, 16), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, t)
        return out

    idx, x = RNG.integers(0, 300, (128, 1)).astype(np.int32), RNG.standard_normal((300, 16)).astype(np.float32)
    for known in (False, True):
        np.testing.assert_array_equal(nki.jit(gather)(idx, x, known), x[idx[:, 0]])
        assert ("range 0 299" in nki.jit(gather).trace(idx, x, known).kernel.text()) == known


@pytest.mark.parametrize(
    "argument, keywords, word",
    [
        ("x", {"unique": True}, "integers"),
        ("tile", {"unique": True}, "argument of the kernel"),
        ("idx", {"range": (5, 1)}, "lowest"),
        ("idx", {"range": 7}, "lowest"),
    ],
)
def test_what_cannot_be_promised(argument, keywords, word, fails):
    def kernel(idx, x):
        tile = nl.load(idx)
        nki.assume({"idx": idx, "x": x, "tile": tile}[argument], **keywords)
        out = nl.ndarray(idx.shape, idx.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    (d,) = fails(nki.jit(kernel), np.zeros((128, 1), np.int32), ROWS)
    assert d.code == "NKI-ASSUME" and word in d.message and d.file == __file__


def test_two_cores_that_write_the_same():
    @nki.jit
    def copy(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    np.testing.assert_array_equal(copy[2](ROWS), ROWS)


def test_two_cores_that_write_something_else(fails):
    @nki.jit
    def numbered(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(x), float(nl.program_id(0))))
        return out

    d = fails(numbered[2], ROWS)[0]
    assert d.code == "RACE" and "the other core" in d.message and "nl.program_id" in d.advice and d.file == __file__
