"""Kernels that need more of SBUF than there is, against NumPy: tensors wait in HBM, whole ones and partly written ones, outside of
loops and in them."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(3).standard_normal((128, 64)).astype(np.float32)
WIDE = 12000  # fp32 elements of a partition: four of them fit into SBUF, five do not


def wide():
    return nl.ndarray((128, WIDE), nl.float32, buffer=nl.sbuf)


def crowd(x):
    """Five tiles at once, of which the caller's is one too many."""
    out = nl.ndarray((4, 128, 8), nl.float32, buffer=nl.shared_hbm)
    tiles = [wide() for _ in range(4)]
    for n, t in enumerate(tiles):
        nisa.memset(dst=t, value=float(n))
        nisa.tensor_tensor(dst=t[:, 0:64], data1=t[:, 0:64], data2=x, op=nl.add)
    for n, t in enumerate(tiles):
        nisa.dma_copy(dst=out[n], src=t[:, 0:8])
    return out


def loaded(x):
    t = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t


def spills_of(compiled):
    return [text for text in compiled.contract.get("spill", "").split("; ") if text]


def spilled(kernel, *arguments):
    """The labels of the tensors that the compiled kernel keeps in HBM, and its results."""
    compiled = kernel.trace(*arguments).kernel.compile()
    compiled.require_verified()
    return spills_of(compiled), kernel(*arguments)


@nki.jit(schedule="as_written")  # in another order it would fit
def partly_written(x):
    """Every other column of a part, single columns, and nothing of the rest."""
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    t, a = loaded(x), nl.ndarray((128, WIDE), nl.float32, buffer=nl.sbuf, name="part")
    for n in range(32):
        nisa.tensor_copy(dst=a[:, 100 + 3 * n : 101 + 3 * n], src=t[:, n : n + 1])
    nisa.tensor_scalar(dst=a[0:64, 0:32], data=t[0:64, 32:64], op0=nl.multiply, operand0=2.0)
    nisa.tensor_scalar(dst=a[64:128, 0:32], data=t[64:128, 32:64], op0=nl.multiply, operand0=3.0)
    rest = crowd(t)
    nisa.dma_copy(dst=out[:, 32:64], src=a[:, 0:32])
    for n in range(32):
        nisa.dma_copy(dst=out[:, n : n + 1], src=a[:, 100 + 3 * n : 101 + 3 * n])
    return out, rest


def test_a_partly_written_tile():
    labels, (out, rest) = spilled(partly_written, X)
    assert any(label.startswith("`part`") for label in labels), labels
    want = X.copy()
    want[:64, 32:] *= 2
    want[64:, 32:] *= 3
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(rest, np.stack([X[:, :8] + np.float32(n) for n in range(4)]))


@nki.jit
def in_a_loop(x):
    out = nl.ndarray((5, 128, 64), nl.float32, buffer=nl.shared_hbm)
    t, tiles = loaded(x), [wide() for _ in range(5)]
    for n, a in enumerate(tiles):
        nisa.memset(dst=a, value=float(n))
    for _ in nl.dynamic_range(3):
        for a in tiles:
            nisa.tensor_tensor(dst=a[:, 0:64], data1=a[:, 0:64], data2=t, op=nl.add)
    for n, a in enumerate(tiles):
        nisa.dma_copy(dst=out[n], src=a[:, 0:64])
    return out


def test_a_loop_that_uses_more_than_fits():
    labels, out = spilled(in_a_loop, X)
    assert any("in a loop" in label for label in labels), labels
    for n in range(5):
        want = np.full_like(X, n)
        for _ in range(3):
            want = want + X
        np.testing.assert_array_equal(out[n], want)


@nki.jit
def many_tiles(x, count):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    t, total = loaded(x), nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    tiles = []
    for n in range(count):
        a = nl.ndarray((128, 2048), nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=a, value=float(n))
        nisa.tensor_tensor(dst=a[:, 0:64], data1=a[:, 0:64], data2=t, op=nl.add)
        tiles.append(a)
    nisa.memset(dst=total, value=0.0)
    for _ in range(2):
        for a in tiles:
            nisa.tensor_tensor(dst=total, data1=total, data2=a[:, 0:64], op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


def test_tiles_that_are_only_read_are_stored_once(capfd):
    compiled = many_tiles.trace(X, 60).kernel.compile()
    few = many_tiles.trace(X, 20).kernel.compile()
    spills = spills_of(compiled)
    assert 34 <= len(spills) <= 60  # 26 of them fit at once
    # Of each use of a tile that is not there, one transfer; of each tile that leaves, one store. The rest grows with the tiles.
    plain = few.instructions - 20 * 4
    uses = 2 * 60
    assert compiled.instructions <= plain + 60 * 4 + len(spills) + uses
    want = np.zeros_like(X)
    for _ in range(2):
        for n in range(60):
            want = want + (X + np.float32(n))
    np.testing.assert_array_equal(many_tiles(X, 60), want)
    said = capfd.readouterr().err
    assert f"and {len(spills) - 8} more" in said and len(said) < 2000


def beside_work(x):
    """Tiles that wait while small ones are worked on, a few instructions each."""
    out = nl.ndarray((120, 128, 64), nl.float32, buffer=nl.shared_hbm)
    tiles = []
    for n in range(120):
        a = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=a, value=float(n))
        nisa.tensor_scalar(dst=a, data=a, op0=nl.add, operand0=1.0)
        tiles.append(a)
    for n in range(200):
        t = loaded(x)
        for _ in range(8):
            nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=1.5, op1=nl.add, operand1=1.0)
        if n % 70 == 0:
            nisa.tensor_tensor(dst=tiles[n // 2][:, 0:64], data1=t, data2=t, op=nl.add)
    for n in range(120):
        nisa.dma_copy(dst=out[n], src=tiles[n][:, 0:64])
    return out


def test_work_goes_on_while_tiles_wait():
    """What waits leaves room for the next small tiles, and its transfers are hidden: the busiest engine is seldom idle."""
    exe = glia.compile(nki.jit(beside_work), X, target="trn2")
    busiest = max(lane.busy for lane in exe.profile().lanes)
    assert exe.time() <= 1.35 * busiest
