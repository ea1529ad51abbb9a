"""The chunk kernel alone and in programs of up to forty calls; no index can leave its table, and that is proved."""

import collections

import deltanet as case
import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_alone(target):
    exe, error = case.alone(target)
    assert exe.verify().ok and error <= case.CLOSE


def test_the_shape_of_the_kernel():
    args, _ = case.inputs(1)
    _, beta, g, g_last = args[3][0]
    given = (*(x[:128] for x in args[:3]), beta, g, g_last, *args[5:])
    assert len(given) == 10 and all(x.shape == (128, 128) and x.dtype == np.float32 for x in given)
    text = case.chunk.trace(*given).kernel.text()
    mix = collections.Counter(word for line in text.splitlines() for word in line.split()[:1])
    assert mix["nc_matmul"] == 26 and mix["dma_copy"] == 12 and mix["nc_stream_shuffle"] == 4 and mix["activation"] == 5
    assert 140 <= sum(mix[i["name"]] for i in glia.isa()) <= 160


@pytest.mark.parametrize("target", case.TARGETS)
@pytest.mark.parametrize("calls", case.CALLS)
def test_in_a_model(target, calls):
    exe, error = case.in_a_model(calls, target)
    verdict = exe.program.verify(require_proved=True)
    assert verdict.ok, str(verdict)
    assert [a["proof"] for a in verdict.dynamic_accesses] == ["proved"] * (4 * calls)
    assert error <= case.CLOSE
    assert [c["kernel"] for c in exe.contracts()] == ["look_up", "chunk", "reorder"]  # each compiled once


def unclamped(table, index):
    i, t = nl.ndarray((128, 1), nl.int32), nl.ndarray((128, 128), nl.float32)
    nisa.dma_copy(dst=i, src=index)
    nisa.dma_copy(dst=t, src=table.ap([[128, 128], [1, 128]], vector_offset=i))
    out = nl.ndarray((128, 128), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_without_the_clamp_nothing_is_proved_and_a_bad_index_traps():
    table, index = case.inputs(1)[0][0], np.arange(128, dtype=np.int32).reshape(128, 1)
    exe = glia.compile(nki.jit(unclamped), table, index)
    assert [a["proof"] for a in exe.verify().dynamic_accesses] == ["may trap"]
    assert not exe.program.verify(require_proved=True).ok
    np.testing.assert_array_equal(exe.run(table, index), table[:128])
    index[5] = case.VOCABULARY
    with pytest.raises(glia.Error):
        exe.run(table, index)


def test_indices_out_of_range_are_clamped():
    table = case.inputs(1)[0][0]
    index = np.arange(-64, 64, dtype=np.int32).reshape(128, 1) * 100
    got = case.reorder(table, index)
    np.testing.assert_array_equal(got, table[np.clip(index[:, 0], 0, case.VOCABULARY - 1)])
