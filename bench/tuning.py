"""The row of `make bench` about tuning: candidates per second of attention, against compiling and timing them one after the other in one
thread. On two processors 1.8 times as many are due."""

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

CANDIDATES, PAIRS = 96, 5
DUE_OF_A_PROCESSOR = 0.9


def candidate(q_t, k_t, v, number):
    """Attention 512 x 128; what an earlier candidate has compiled is forgotten."""
    runtime._objects.clear()
    return attention.attention(q_t, k_t, v)


def measure(report):
    arrays = attention.inputs(np.random.default_rng(0))
    numbers = list(range(CANDIDATES))

    def one_after_the_other():
        for number in numbers:
            glia.compile(candidate, *arrays, number=number).time()

    def tuned():
        table = glia.tune(candidate, {"number": numbers}, arrays)
        assert all(row.ok for row in table)

    def seconds(work) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    pairs = [(seconds(one_after_the_other), seconds(tuned)) for _ in range(PAIRS)]
    ratio = statistics.median(alone / together for alone, together in pairs)
    rate = CANDIDATES / statistics.median(together for _, together in pairs)
    processors = default_count()
    due = DUE_OF_A_PROCESSOR * processors
    report(
        f"tune attention 512 x 128, {rate:.0f} candidates/s on {processors} processors, against one thread",
        ratio,
        f">= {due:.1f}",
        ratio >= due,
        "x",
        {"seconds_alone_and_tuned": pairs},
    )


PARTS = (measure,)
