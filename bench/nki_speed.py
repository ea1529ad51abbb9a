"""The rows of `make bench` about kernels: tracing, compiling, linking, and simulating against NumPy."""

import json
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import glia

glia.install()

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples" / "nki"), str(ROOT / "museum" / "deltanet-in-a-model")]

import attention
import deltanet
import layer_norm
import matmul
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import softmax
from glia.nki import runtime
from schedules import chunk_inputs

PAIRS = 9


def seconds(work):
    start = time.thread_time()
    result = work()
    return time.thread_time() - start, result


def median(work, times=PAIRS):
    return statistics.median(seconds(work)[0] for _ in range(times))


def compiled(traced):
    problems = traced.kernel.check()
    if problems:
        raise glia._glia.error_of(problems)
    return traced.kernel.compile()


def chunk(report):
    arrays = chunk_inputs()

    def whole():
        made = compiled(deltanet.chunk.trace(*arrays))
        made.require_verified()
        return made

    for _ in range(3):
        made = whole()
    ms = median(whole, 15) * 1000
    report(
        f"DeltaNet chunk, {made.instructions} instructions: trace, compile, verify",
        ms,
        "<= 100",
        ms <= 100,
        "ms",
    )


def large(report):
    """Compile and verify ten thousand and a hundred thousand instructions."""
    runs = []
    for chunks in (LARGE_CHUNKS // 10, LARGE_CHUNKS):
        run = subprocess.run(
            [sys.executable, ROOT / "bench" / "nki_large.py", str(chunks)], capture_output=True, text=True, check=False
        )
        sys.stderr.write(run.stderr)
        if run.returncode:
            return report(f"kernel of {chunks} chunks", 0, "to compile", False, "")
        runs.append(json.loads(run.stdout))
    small, big = runs
    total = [r["compile"] + r["verify"] for r in runs]
    count = big["instructions"]
    report(f"kernel of {count:,} instructions: compile, verify", total[1], "<= 8", total[1] <= 8, "s", big)
    report("    peak memory of that", big["peak_mib"] / 1024, "<= 2", big["peak_mib"] <= 2048, "GiB")
    report("    tracing it (apart)", big["trace"], "<= 40 us each", big["trace"] <= 40e-6 * count, "s")
    ratio = total[1] / total[0] * 10 * small["instructions"] / count
    report("    time for 10x the instructions", ratio, "<= 12", ratio <= 12, "x", small)


LARGE_CHUNKS = 1450


def spills(report):
    """Compile seventy thousand instructions with a hundred and more tensors that have to leave SBUF, against the same without."""
    x = np.empty((nki_kernels.SIZE, 64), np.float32)
    traced = [nki_kernels.crowded.trace(x, 210, width, 70_000).kernel for width in (512, 64)]
    ratios = []
    for _ in range(3):
        times = []
        for kernel in traced:
            start = time.process_time()
            compiled = kernel.compile()
            times.append(time.process_time() - start)
            compiled.require_verified()
            if kernel is traced[0]:
                tensors = len(compiled.contract["spill"].split("; "))
                count = compiled.instructions
        ratios.append(times[0] / times[1])
    ratio = statistics.median(ratios)
    report(f"{count:,} instructions, {tensors} tensors spilled: compile / unspilled", ratio, "<= 3", ratio <= 3)


@nki.jit
def many_isa(x, times):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    for _ in range(times // 4):
        nisa.tensor_tensor(dst=b, data1=a, data2=a, op=nl.add)
        nisa.activation(dst=a, op=nl.exp, data=b)
        nisa.tensor_scalar(dst=b[0:64, 0:32], data=a[0:64, 32:64], op0=nl.multiply, operand0=0.5)
        nisa.tensor_copy(dst=a[0:64, 0:32], src=b[0:64, 0:32])
    nisa.dma_copy(dst=out, src=a)
    return out


@nki.jit
def many_language(x, times):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    for _ in range(times // 4):
        b = nl.add(a, a)
        b = nl.exp(b)
        b = nl.multiply(b, 0.5)
        a = nl.maximum(b, a)
    nl.store(out, a)
    return out


def tracing(report):
    x = np.zeros((128, 64), np.float32)
    for name, kernel in (("nki.isa", many_isa), ("nki.language", many_language)):
        times = 4000
        us = median(lambda kernel=kernel, times=times: kernel.trace(x, times), 5) / times * 1e6
        report(f"tracing, per {name} instruction", us, "<= 40", us <= 40, "us")


def simulate(report):
    rng = np.random.default_rng(0)
    cases = [
        ("matmul 1024 x 1024 x 1024", matmul.matmul, matmul.reference, matmul.inputs(rng, 1024, 1024, 1024)),
        ("softmax (1024, 4096)", softmax.softmax, softmax.reference, softmax.inputs(rng, 1024, 4096)),
        ("layer norm (1024, 4096)", layer_norm.layer_norm, layer_norm.reference, layer_norm.inputs(rng, 1024, 4096)),
        ("attention head 1024 x 128", attention.attention, attention.reference, attention.inputs(rng, 128, 1024)),
    ]
    for name, kernel, reference, arrays in cases:
        traced = kernel.trace(*arrays)
        program, inputs = runtime.program_of(traced), runtime.inputs_of(traced)

        def ours(program=program, inputs=inputs):
            return program.run(inputs, verify=False, threads=1)

        (result,) = ours().values()
        if not np.allclose(result, reference(*arrays), rtol=1e-3, atol=1e-3):
            report(f"simulate {name} f32: WRONG", 0, ">= 0.7", False)
            continue

        def batch(work, times=5):
            return seconds(lambda: [work() for _ in range(times)] and None)[0]

        theirs = partial(reference, *arrays)
        ratio = statistics.median(batch(theirs) / batch(ours) for _ in range(PAIRS))
        report(f"simulate {name} f32 against NumPy", ratio, ">= 0.7", ratio >= 0.7)


PARTS = (chunk, large, spills, tracing, simulate)
