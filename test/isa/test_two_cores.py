"""core_barrier and sendrecv."""

import glia
import ml_dtypes
import numpy as np
import pytest
from glia.dtypes import machine_dtype
from harness import TARGETS, targets_with

PAIRS = targets_with("lnc2")


def rules(text, target="trn2"):
    return {d.code for d in glia.assemble(text, target=target).verify().diagnostics}


EXCHANGE = """
cores 2
input a : {t}[{p}, {n}]
input b : {t}[{p}, {n}]
output y : {t}[{p}, {n}]
output z : {t}[{p}, {n}]
sbuf s0 : {t}[{p}, {n}] @ 0
sbuf d0 : {t}[{p}, {n}] @ 16384
sbuf s1 : {t}[{p}, {n}] @ 4096 core 1
sbuf d1 : {t}[{p}, {n}] @ 0 core 1
semaphore l0
semaphore x0
semaphore l1 core 1
semaphore x1 core 1
queue q0
queue q1 core 1
core0 {e} dma_copy dst=s0 src=a queue=q0 then l0 += 16
core0 {e} sendrecv dst=d0 src=s0 pipe=3 engine={m} when l0 >= 16 then x0 += 16
core0 {e} dma_copy dst=y src=d0 queue=q0 when x0 >= 16
core1 {e} dma_copy dst=s1 src=b queue=q1 then l1 += 16
core1 {e} sendrecv dst=d1 src=s1 pipe=3 engine={m} when l1 >= 16 then x1 += 16
core1 {e} dma_copy dst=z src=d1 queue=q1 when x1 >= 16
"""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("engine,mover", [("gpsimd", "gpsimd_dma"), ("sync", "dma"), ("vector", "dma")])
@pytest.mark.parametrize("dtype,n", [(np.float32, 256), (ml_dtypes.bfloat16, 200), (np.uint8, 256)])
@pytest.mark.parametrize("target", PAIRS)
def test_exchange(target, dtype, n, engine, mover, strict):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 100, (128, n)).astype(dtype) for _ in range(2))
    p = glia.assemble(EXCHANGE.format(t=machine_dtype(dtype), p=128, n=n, e=engine, m=mover), target=target)
    out = p.run({"a": a, "b": b}, strict=strict)
    np.testing.assert_array_equal(out["y"], b)
    np.testing.assert_array_equal(out["z"], a)


def test_exchange_refusals():
    text = EXCHANGE.format(t="f32", p=16, n=64, e="gpsimd", m="gpsimd_dma")
    assert rules(text) == set()
    assert rules(EXCHANGE.format(t="f32", p=16, n=257, e="gpsimd", m="gpsimd_dma")) == {"OPERAND-LIMIT"}
    assert rules(EXCHANGE.format(t="bf16", p=16, n=257, e="gpsimd", m="gpsimd_dma")) == {"OPERAND-LIMIT"}
    assert rules(EXCHANGE.format(t="u8", p=16, n=257, e="gpsimd", m="gpsimd_dma")) == {"OPERAND-LIMIT"}
    assert rules(EXCHANGE.format(t="f32", p=16, n=257, e="gpsimd", m="dma")) == set()
    assert rules(EXCHANGE.format(t="f32", p=16, n=64, e="vector", m="gpsimd_dma")) == {"SENDRECV-GPSIMD"}


SHARED = """
cores 2
input x : f32[2, 64, 32]
output y : f32[2, 64, 32]
scratch h : f32[2, 64, 32]
sbuf t0 : f32[64, 32] @ 0
sbuf t1 : f32[64, 32] @ 0 core 1
semaphore l0
semaphore w0
semaphore l1 core 1
semaphore w1 core 1
queue q0
queue q1 core 1
core0 {e} dma_copy dst=h[0:1] src=x[0:1] queue=q0 then w0 += 16
core1 {e} dma_copy dst=h[1:2] src=x[1:2] queue=q1 then w1 += 16
core0 {e} core_barrier name="written" when w0 >= 16
core1 {e} core_barrier name="written" when w1 >= 16
core0 {e} dma_copy dst=t0 src=h[1:2] queue=q0 then l0 += 16
core1 {e} dma_copy dst=t1 src=h[0:1] queue=q1 then l1 += 16
core0 {e} dma_copy dst=y[0:1] src=t0 queue=q0 when l0 >= 16
core1 {e} dma_copy dst=y[1:2] src=t1 queue=q1 when l1 >= 16
"""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("engine", ["tensor", "vector", "scalar", "gpsimd", "sync"])
@pytest.mark.parametrize("target", PAIRS)
def test_barrier(target, engine, strict):
    x = np.random.default_rng(1).standard_normal((2, 64, 32)).astype(np.float32)
    p = glia.assemble(SHARED.format(e=engine), target=target)
    for seed in range(3 if strict else 1):
        np.testing.assert_array_equal(p.run({"x": x}, strict=strict, seed=seed)["y"], x[::-1])


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in PAIRS])
def test_not_on_targets_without_pairs(target):
    assert "TARGET-FEATURE" in rules('gpsimd core_barrier name="b"', target)


def test_one_core_is_refused():
    assert rules('gpsimd core_barrier name="b"') == {"LNC2-CORES"}
