"""The row of `make bench` about tuning: candidates per second of attention, against compiling and timing them one after the other in one
thread. On two processors 1.8 times as many are due."""

import os
import statistics
import sys
import time
from pathlib import Path

import glia

glia.install()
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "nki"))

import attention
import numpy as np
from glia.nki import runtime
from glia.tuning.workers import default_count

CANDIDATES, PAIRS = 480, 5  # so many that starting the workers is little of it
DUE_OF_A_PROCESSOR = 0.9


def candidate(q_t, k_t, v, number):
    """Attention 512 x 128; what an earlier candidate has compiled is forgotten."""
    runtime._objects.clear()
    return attention.attention(q_t, k_t, v)


def measured(work) -> tuple[float, float]:
    """Seconds, and those of processors, workers included: on a busy machine only the latter can be compared."""
    start, used = time.perf_counter(), os.times()
    work()
    now = os.times()
    return time.perf_counter() - start, sum(now[:4]) - sum(used[:4])


def measure(report):
    arrays = attention.inputs(np.random.default_rng(0))
    numbers = list(range(CANDIDATES))

    def one_after_the_other():
        for number in numbers:
            glia.compile(candidate, *arrays, number=number).time()

    def tuned():
        table = glia.tune(candidate, {"number": numbers}, arrays)
        assert all(row.ok for row in table)

    pairs = [(measured(one_after_the_other), measured(tuned)) for _ in range(PAIRS)]
    ratio = statistics.median(alone[0] / together[0] for alone, together in pairs)
    rate = CANDIDATES / statistics.median(together[0] for _, together in pairs)
    processors = default_count()
    due = DUE_OF_A_PROCESSOR * processors
    report(
        f"tune attention 512 x 128, {rate:.0f} candidates/s on {processors} processors, against one thread",
        ratio,
        f">= {due:.1f}",
        ratio >= due,
        "x",
        {"seconds_and_processor_seconds_alone_and_tuned": pairs},
    )


PARTS = (measure,)
