"""Transformers of 2, 20, 40 and 200 blocks, forward and backward: how compile time, memory and tables grow with depth.

python bench/transformer.py [DEPTH ...]     the model is the museum's (museum/activation-tables)
"""

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "museum" / "activation-tables"))

import glia
import jax
import transformer
from glia import _glia

TARGET = "trn2"
HEAD = (
    "blocks",
    "compile s",
    "verify s",
    "groups",
    "kernels",
    "instructions",
    "predicted us",
    "tables",
    "loads",
    "run s",
    "JAX run s",
    "error",
)


def measure(depth, check=True):
    """One row of HEAD, as numbers."""
    args = transformer.arguments(depth)
    text = glia.jit(transformer.step, target=TARGET).lower(*args)
    start = time.perf_counter()
    handle, counts = _glia.compile_graph(text, "transformer", TARGET, "")
    compiled = time.perf_counter()
    program = glia.Program(handle)
    if not program.verify().ok:
        raise SystemExit(f"{depth} blocks: refused by the verifier\n{program.verify()}")
    verified = time.perf_counter()
    row = [depth, compiled - start, verified - compiled, counts["groups"], counts["kernels"], program.instructions]
    exe = transformer.compiled(depth, TARGET) if check else None
    row += [program.profile(timeline=False).total / 1000]
    if not check:
        return row
    row += transformer.tables(exe)
    begin = time.perf_counter()
    results = exe.run(*args)
    row.append(time.perf_counter() - begin)
    step = jax.jit(transformer.step)
    jax.block_until_ready(step(*args))
    begin = time.perf_counter()
    jax.block_until_ready(step(*args))
    row.append(time.perf_counter() - begin)
    row.append(transformer.error(depth, results))
    return row


def main(depths):
    print("  ".join(f"{h:>12}" for h in HEAD))
    rows = {}
    for depth in depths:
        rows[depth] = row = measure(depth)
        print("  ".join(f"{x:12.3f}" if isinstance(x, float) else f"{x:12}" for x in row), flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB, JAX included")
    if {20, 200} <= rows.keys():
        each = (sum(rows[200][1:3]) - sum(rows[20][1:3])) / 180
        print(f"each further block: {1000 * each:.1f} ms to compile and verify (target 60)")
        print(
            f"20 blocks: {sum(rows[20][1:3]):.2f} s (target 6); kernels at 20 and 200: {rows[20][4]}, {rows[200][4]} (target: equal)"
        )


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [2, 20, 40, 200])
