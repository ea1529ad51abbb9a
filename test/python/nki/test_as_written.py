"""schedule="as_written": every engine keeps the order of its author, on the engines and with the loads that were written."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import runtime
from test_hook import python

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(3).standard_normal((4, 128, 256), np.float32)
W = np.random.default_rng(4).standard_normal((128, 256), np.float32)


def scaled_sum(x, w):
    """One tile after the other, and the same weights for each."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for i in range(x.shape[0]):
        a, b = (nl.ndarray((128, 256), x.dtype) for _ in range(2))
        nisa.dma_copy(dst=a, src=x[i])
        nisa.dma_copy(dst=b, src=w)
        nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=2.0)
        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
        nisa.dma_copy(dst=out[i], src=a)
    return out


def program(kernel):
    traced = kernel.trace(X, W)
    return runtime.program_of(traced), runtime.inputs_of(traced), traced


def instructions(kernel, engine):
    """What an engine executes, without what the compiler adds."""
    lines = [line.strip().split() for line in program(kernel)[0].disassemble().splitlines()]
    return [words for words in lines if words[:1] == [engine] and words[1] not in ("nop", "act_table_load")]


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_order_engines_and_loads_are_the_authors(target):
    written = nki.jit(schedule="as_written")(scaled_sum).on(target)
    moves = [words[2].startswith("dst=out") for words in instructions(written, "sync")]
    assert moves == [False, False, True] * 4
    assert [words[1] for words in instructions(written, "vector")] == ["tensor_scalar", "tensor_tensor"] * 4
    assert not instructions(written, "scalar") and not instructions(written, "gpsimd")
    p, inputs, traced = program(written)
    profile = p.profile(inputs, timeline=False)
    assert profile.hbm_bytes[0] == X.nbytes + 4 * W.nbytes
    assert traced.kernel.bound()["total"] <= profile.total + 1
    (result,) = p.run(inputs, verify=False).values()
    np.testing.assert_array_equal(result, 2 * X + W)


def test_the_best_schedule_is_another():
    best, written = nki.jit(scaled_sum), nki.jit(scaled_sum, schedule="as_written")
    (p, inputs, _), (q, _, _) = program(best), program(written)
    fast, slow = p.profile(inputs, timeline=False), q.profile(inputs, timeline=False)
    assert fast.total < slow.total and fast.hbm_bytes[0] < slow.hbm_bytes[0]
    assert (
        nki.jit(best, schedule="as_written").trace(X, W).kernel.fingerprint()
        == program(written)[2].kernel.fingerprint()
    )
    assert program(nki.jit(scaled_sum, schedule="best"))[0] is p
    np.testing.assert_array_equal(written(X, W), best(X, W))


def test_an_unknown_one_is_refused(fails):
    (d,) = fails(nki.jit, scaled_sum, schedule="fastest")
    assert d.code == "KERNEL-SCHEDULE" and "fastest" in d.message and "as_written" in d.advice


SCRIPT = """
import sys, nki, nki.isa as nisa, nki.language as nl, numpy as np

def k(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for i in range(2):
        nl.store(out, nl.load(x))
    return out

for kernel in (nki.jit(k), nki.jit(k, schedule="best")):
    print("as_written" in kernel.trace(np.zeros((128, 4), np.float32)).kernel.text())
"""


def test_the_command_line_chooses_for_kernels_that_say_nothing(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT)
    assert python("-m", "glia", str(path)).stdout.split() == ["False", "False"]
    assert python("-m", "glia", "--schedule", "as_written", str(path)).stdout.split() == ["True", "False"]
    r = python("-m", "glia", "--schedule", "worst", str(path))
    assert r.returncode == 1 and "KERNEL-SCHEDULE" in r.stderr and "Traceback" not in r.stderr
