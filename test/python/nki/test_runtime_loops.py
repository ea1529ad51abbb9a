"""Loops that the device counts: several iterations become one (docs/codegen.md), and the results are those of the loop as it was written."""

import glia
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from nki import jit

BLOCKS, COLUMNS = 70, 16
RNG = np.random.default_rng(3)
X = RNG.standard_normal((BLOCKS, 128, COLUMNS)).astype(np.float32)
TARGETS = ("trn1", "trn2", "trn3")


def tile():
    return nl.ndarray((128, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)


def number(tensor, largest):
    """A register with an element of a tensor, from 0 to the largest."""
    t = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=tensor)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.maximum, operand0=0.0, op1=nl.minimum, operand1=float(largest))
    return nisa.register_alloc(t)


def stored(t):
    out = nl.ndarray(t.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def half_or_zero(x, n):
    """Half of the first n blocks, and the sum of all so far in the last block; 0 elsewhere."""
    out = nl.ndarray((x.shape[0] + 1, 128, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    total = tile()
    nisa.memset(dst=total, value=0.0)
    for i in nl.dynamic_range(BLOCKS + 1):
        nisa.dma_copy(dst=out[i], src=total)
    for i in nl.dynamic_range(number(n, BLOCKS)):
        t, half = tile(), tile()
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_scalar(dst=half, data=t, op0=nl.multiply, operand0=0.5)
        nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.add)
        nisa.dma_copy(dst=out[i], src=half)
    nisa.dma_copy(dst=out[BLOCKS], src=total)
    return out


def halves(n):
    out = np.zeros((BLOCKS + 1, 128, COLUMNS), np.float32)
    n = min(max(n, 0), BLOCKS)
    out[:n] = X[:n] * np.float32(0.5)
    for i in range(n):
        out[BLOCKS] += X[i]
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_every_count(target):
    """The loops of 32, 4 and 1 iterations together make every count, and every address is proved."""
    exe = glia.compile(jit(half_or_zero), X, np.zeros((1, 1), np.int32), target=target)
    for n in (*range(-2, 6), 31, 32, 33, 36, 37, 63, 64, *range(67, BLOCKS + 3)):
        np.testing.assert_array_equal(exe.run(X, np.full((1, 1), n, np.int32)), halves(n))
    assert exe.program.verify(require_proved=True).ok
    assert "made one iteration of several in 2 loops" in exe.contracts()[0]["did"]


def between(x, m, n):
    """The sum of the blocks from m up to n."""
    total = tile()
    nisa.memset(dst=total, value=0.0)
    for i in nl.dynamic_range(number(m, BLOCKS), number(n, BLOCKS)):
        t = tile()
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.add)
    return stored(total)


def test_from_register_to_register():
    exe = glia.compile(jit(between), X, *[np.zeros((1, 1), np.int32)] * 2, target="trn2")
    for m, n in ((0, 70), (4, 9), (69, 70), (7, 7), (9, 3), (3, 41)):
        expected = np.zeros((128, COLUMNS), np.float32)
        for i in range(m, n):
            expected += X[i]
        np.testing.assert_array_equal(exe.run(X, np.full((1, 1), m, np.int32), np.full((1, 1), n, np.int32)), expected)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 67, 70])
@pytest.mark.parametrize("target", TARGETS)
def test_counts_that_are_known(target, count):
    def kernel(x):
        out = nl.ndarray((count, 128, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.dynamic_range(count):
            t = tile()
            nisa.dma_copy(dst=t, src=x[BLOCKS - 1 - i])
            nisa.activation(dst=t, data=t, op=nl.square)
            nisa.dma_copy(dst=out[i], src=t)
        return out

    np.testing.assert_array_equal(glia.compile(jit(kernel), X, target=target).run(X), (X * X)[::-1][:count])


def test_loops_cost_little():
    """Predicted times: a loop against the same work written out."""

    def kernel(loop):
        def copy(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            for i in loop(200):
                t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(dst=t, src=x[i])
                nisa.dma_copy(dst=out[i], src=t)
            return out

        return jit(copy)

    x = np.zeros((200, 128, 512), np.float32)
    for target in TARGETS:
        times = [glia.compile(kernel(loop), x, target=target).time() for loop in (range, nl.dynamic_range)]
        assert times[1] < 1.1 * times[0]


def test_many_loops_find_semaphores():
    """A loop takes over the semaphores of the loops before it."""

    def kernel(x, n):
        count = number(n, BLOCKS)
        total = tile()
        nisa.memset(dst=total, value=0.0)
        for _ in range(150):
            for i in nl.dynamic_range(count):
                t = tile()
                nisa.dma_copy(dst=t, src=x[i])
                nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.maximum)
        return stored(total)

    n = np.full((1, 1), 3, np.int32)
    found = glia.compile(jit(kernel), X, n, target="trn2").run(X, n)
    np.testing.assert_array_equal(found, np.maximum(X[:3].max(0), 0))


def test_a_loop_reads_what_is_defined():
    """The blocks that the count allows are defined, those behind them are not."""

    def kernel(x, n):
        blocks = nl.ndarray((128, 22), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=blocks[:, 0:8], src=x[0, :, 0:8])
        total = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for i in nl.dynamic_range(number(n, 2)):
            nisa.tensor_tensor(dst=total, data1=total, data2=blocks[:, nl.ds(i * 4, 4)], op=nl.add)
        return stored(total)

    exe = glia.compile(jit(kernel), X, np.zeros((1, 1), np.int32), target="trn3")
    for n in range(4):
        expected = X[0, :, : 4 * min(n, 2)].reshape(128, min(n, 2), 4).sum(1, dtype=np.float32)
        np.testing.assert_array_equal(exe.run(X, np.full((1, 1), n, np.int32)), expected)


def test_moves_within_a_tensor():
    def kernel(x, n):
        y = nl.ndarray((5, 128, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
        for i in range(5):
            t = tile()
            nisa.dma_copy(dst=t, src=x[i])
            nisa.dma_copy(dst=y[i], src=t)
        for i in nl.dynamic_range(number(n, 4)):
            nisa.dma_copy(dst=y[1], src=y[i])
        return y

    exe = glia.compile(jit(kernel), X, np.zeros((1, 1), np.int32), target="trn2")
    for n in range(5):
        expected = X[:5].copy()
        for i in range(n):
            expected[1] = expected[i]
        np.testing.assert_array_equal(exe.run(X, np.full((1, 1), n, np.int32)), expected)
