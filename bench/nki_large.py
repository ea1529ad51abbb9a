"""Traces, compiles and verifies one large kernel in a process of its own, so that the peak of the memory is its own: prints JSON.

python bench/nki_large.py CHUNKS
"""

import json
import resource
import sys
import time

import glia

glia.install()

import nki_kernels
import numpy as np


def measure(chunks):
    rows = chunks * nki_kernels.SIZE
    like = [np.empty((rows, nki_kernels.SIZE), np.float32)] * 3 + [np.empty((rows, 1), np.float32)]
    nki_kernels.delta_rule.trace(*nki_kernels.delta_inputs(1)).kernel.compile()  # warm
    start = time.process_time()
    traced = nki_kernels.delta_rule.trace(*like, *nki_kernels.delta_inputs(1)[4:])
    traced_at = time.process_time()
    problems = traced.kernel.check()
    compiled = traced.kernel.compile()
    compiled_at = time.process_time()
    compiled.require_verified()
    verified_at = time.process_time()
    return {
        "instructions": compiled.instructions,
        "trace": traced_at - start,
        "compile": compiled_at - traced_at,
        "verify": verified_at - compiled_at,
        "problems": len(problems),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
