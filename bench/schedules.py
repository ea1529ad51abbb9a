"""Predicted time of hand-written kernels against the least that any order of their instructions can take (`glia bound`).

python bench/schedules.py [NAME ...] [TARGET ...]    only rows whose name has one of these in it, on these targets
"""

import statistics
import sys
from pathlib import Path

import glia

glia.install()

ROOT = Path(__file__).resolve().parents[1]
MUSEUM = ("deltanet-in-a-model", "two-kernels-one-graph", "sendrecv-twice")
sys.path[:0] = [str(ROOT / "examples" / "nki"), *(str(ROOT / "museum" / m) for m in MUSEUM)]

import attention
import author_kernels
import deltanet
import layer_norm
import matmul
import nki_kernels
import numpy as np
import scale_add
import sendrecv
import softmax
import two_core_sum
import two_kernels
from glia.nki import runtime

TARGETS = ("trn1", "trn2", "trn3")


def chunk_inputs():
    """One chunk for the kernel of the museum."""
    (queries, keys, values, ((tokens, beta, g, g_last),), _, state, *masks), _ = deltanet.inputs(1)
    return *(table[tokens[:, 0]] for table in (queries, keys, values)), beta, g, g_last, state, *masks


def rows():
    """(name, kernel, arguments). Without loops of the program: their iterations follow each other, and the bound lets them overlap."""
    rng = np.random.default_rng(0)

    def of(*shape):
        return rng.standard_normal(shape, np.float32)

    yield "matmul", matmul.matmul, matmul.inputs(rng)
    yield "matmul 1024", matmul.matmul, matmul.inputs(rng, 1024, 1024, 1024)
    yield "matmul 2048", matmul.matmul, matmul.inputs(rng, 2048, 2048, 2048)
    yield "softmax", softmax.softmax, softmax.inputs(rng)
    yield "softmax (1024, 4096)", softmax.softmax, softmax.inputs(rng, 1024, 4096)
    yield "layer norm", layer_norm.layer_norm, layer_norm.inputs(rng)
    yield "layer norm (1024, 4096)", layer_norm.layer_norm, layer_norm.inputs(rng, 1024, 4096)
    yield "attention", attention.attention, attention.inputs(rng)
    yield "attention 1024", attention.attention, attention.inputs(rng, 128, 1024)
    yield "scale and add", scale_add.scale_add, (of(1024, 2048), of(1024, 2048))
    yield "sum of two cores", two_core_sum.two_core_sum[2], two_core_sum.inputs(rng)
    yield "DeltaNet chunk of the museum", deltanet.chunk, chunk_inputs()
    yield "delta rule", nki_kernels.delta_rule, nki_kernels.delta_inputs()
    yield "delta rule, 8 chunks", nki_kernels.delta_rule, nki_kernels.delta_inputs(8)
    chemistry = two_kernels.inputs()
    yield "transform of the museum", two_kernels.transform, chemistry[:3]
    yield "pair energies of the museum", two_kernels.pair_energies, (of(4, 8, 16), *chemistry[3:])
    yield "exchange of the museum", sendrecv.exchange_and_add[2], sendrecv.inputs()[:1]
    yield "product and norm", author_kernels.product_then_norm, (of(1024, 512), of(1024, 2048))
    yield "one buffer for all tiles", author_kernels.one_buffer, (of(1024, 2048), of(1024, 2048))
    yield "scaled rows", author_kernels.scaled_rows, (of(1024, 2048), of(1, 2048))


def measured(kernel, arguments, target):
    """Predicted and least time, what limits it, and the longest wait of an engine other than Sync."""
    traced = kernel.on(target).trace(*arguments)
    profile = runtime.program_of(traced).profile(runtime.inputs_of(traced), timeline=False)
    bound = traced.kernel.bound()
    waits = [f"{s.where} for {s.reason}" for s in profile.stalls if ".sync" not in s.where]
    return bound | {
        "ratio": profile.total / bound["total"],
        "predicted": profile.total,
        "wait": waits[0] if waits else "none",
    }


def measure(report=None, only=(), targets=TARGETS):
    found = {}
    for name, kernel, arguments in rows():
        if only and not any(part in name for part in only):
            continue
        for target in targets:
            if kernel.lnc > 1 and target == "trn1":
                continue
            found[f"{name}, {target}"] = f = measured(kernel, arguments, target)
            if not report:
                print(
                    f"{name:30} {target} {f['predicted'] / 1e3:9.2f} us {f['total'] / 1e3:9.2f} us {f['ratio']:6.2f} "
                    f"{f['reason']:8} {f['wait']}",
                    flush=True,
                )
    middle = statistics.median(f["ratio"] for f in found.values())
    worst = max(found, key=lambda name: found[name]["ratio"])
    if report:
        report("hand-written kernels against their bound, median", middle, "<= 1.1", middle <= 1.1, "x", found)
        most = found[worst]["ratio"]
        report(f"    worst: {worst}, by {found[worst]['reason']}", most, "<= 1.4", most <= 1.4)
    else:
        print(f"median {middle:.3f}, worst {found[worst]['ratio']:.2f}: {worst}")


if __name__ == "__main__":
    words = sys.argv[1:]
    measure(only=[w for w in words if w not in TARGETS], targets=[t for t in TARGETS if t in words] or TARGETS)
