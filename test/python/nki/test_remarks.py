"""The profile says what the compiler did to a kernel: in its text, its page and its JSON, alone and in a program of several."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import runtime

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.ones((4, 128, 256), np.float32)
W = np.ones((128, 256), np.float32)


def busy(x, w):
    """The weights are loaded for every tile, and one tile serves for all products; Vector has more to do than Scalar."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    product = nl.ndarray((128, 256), x.dtype)
    for i in range(x.shape[0]):
        a, b = (nl.ndarray((128, 256), x.dtype) for _ in range(2))
        nisa.dma_copy(dst=a, src=x[i])
        nisa.dma_copy(dst=b, src=w)
        nisa.tensor_tensor(dst=product, data1=a, data2=b, op=nl.multiply, engine=nisa.vector_engine)
        nisa.tensor_scalar(dst=product, data=product, op0=nl.add, operand0=1.0)
        nisa.dma_copy(dst=out[i], src=product)
    return out


def counted(x, w):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(x.shape[0]):
        a = nl.ndarray((128, 256), x.dtype)
        nisa.dma_copy(dst=a, src=w)
        nisa.dma_copy(dst=out[i], src=a)
    return out


def profile(function, **keywords):
    traced = nki.jit(function, **keywords).on("trn2").trace(X, W)
    return runtime.program_of(traced).profile(runtime.inputs_of(traced))


def test_what_was_done_is_said():
    p = profile(busy)
    for line in (
        "the compiler\n",
        "  left out 3 loads of what was still in SBUF (w)\n",
        "  gave 1 tile that the kernel writes again 3 places more\n",
    ):
        assert line in p.summary()
        assert line.strip() in p.html()
    moved = [line for line in p.summary().splitlines() if line.startswith("  moved ")]
    assert len(moved) == 1 and "instruction" in moved[0] and (" to scalar" in moved[0] or " to gpsimd" in moved[0])
    assert "  kept 1 load out of loops (w)\n" in profile(counted).summary()


def test_nothing_is_said_where_nothing_was_done():
    def plain(x, w):
        out = nl.ndarray(w.shape, w.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(w))
        return out

    assert "the compiler" not in profile(plain).summary()
    written = profile(busy, schedule="as_written").summary()
    assert "the compiler\n  kept the order, the engines and the loads as written\n" in written
    assert "left out" not in written and "moved" not in written


def test_in_a_program_each_kernel_is_named():
    first, second = nki.jit(busy), nki.jit(counted)
    exe = glia.compile(lambda x, w: (first(x, w), second(x, w), first(x, w)), X, W)
    text = exe.profile().summary()
    assert text.count("  busy: left out 3 loads of what was still in SBUF (w)\n") == 1
    assert text.count("  counted: kept 1 load out of loops (w)\n") == 1
