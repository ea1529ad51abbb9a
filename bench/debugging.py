"""The rows of `make bench` about debugging: what it costs to come to a breakpoint in the middle of a program, and to capture what tiles hold.

python bench/debugging.py        these rows alone
"""

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import glia

glia.install()

import nki_kernels
from glia.command import path

INSTRUCTIONS = 100_000
PAIRS = 5
CHUNKS, WATCHED = 16, ("inverse_t", "fresh", "current")
HEAD = """target trn2
output y : f32[128, 64]
sbuf t : f32[128, 64] @ 0
semaphore done
queue q
vector memset dst=t value=0.0
"""
STEP = "vector tensor_scalar dst=t data=t op0=add operand0=1.0\n"
TAIL = "vector tensor_scalar dst=t data=t op0=add operand0=1.0 then done += 1\nsync dma_copy dst=y src=t queue=q when done >= 1\n"


def seconds(*words: str) -> float:
    start = time.perf_counter()
    subprocess.run([path(), *words], check=True, capture_output=True)
    return time.perf_counter() - start


def to_a_breakpoint(report) -> None:
    """Strict mode runs half of the program; the debugger comes to the same place of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        whole, half, script = (str(Path(folder) / name) for name in ("whole.glia", "half.glia", "commands"))
        glia.assemble(HEAD + STEP * INSTRUCTIONS + TAIL, target="trn2").save(whole)
        glia.assemble(HEAD + STEP * (INSTRUCTIONS // 2) + TAIL, target="trn2").save(half)
        Path(script).write_text(f"break vector#{INSTRUCTIONS // 2}\ncontinue\nquit\n")
        ratios = []
        for _ in range(PAIRS):
            run = seconds("run", half, "--strict", "--no-verify")
            debug = seconds("debug", whole, "-x", script)
            ratios.append(debug / run)
    ratio = statistics.median(ratios)
    report(
        f"debugger to the middle of {INSTRUCTIONS:,} instructions / strict run to there", ratio, "<= 1.2", ratio <= 1.2
    )


def capture(report) -> None:
    """A run that captures every value of three tiles, against one that does not, in turns. The first one also traces the kernel under watch."""
    arrays = nki_kernels.delta_inputs(CHUNKS)
    exe = glia.compile(nki_kernels.delta_rule, *arrays)

    def elapsed(**options) -> float:
        start = time.perf_counter()
        exe.run(*arrays, **options)
        return time.perf_counter() - start

    plain = statistics.median(elapsed() for _ in range(PAIRS))
    first = elapsed(watch=WATCHED) / plain
    ratio = statistics.median(elapsed(watch=WATCHED) / elapsed() for _ in range(3 * PAIRS))
    name = f"capture of {len(WATCHED)} tiles, {exe.program.instructions:,} instructions / plain run (the first: {first:.1f})"
    report(name, ratio, "<= 1.5", ratio <= 1.5)


PARTS = (to_a_breakpoint, capture)

if __name__ == "__main__":
    for part in PARTS:
        part(lambda name, value, target, ok: print(f"{name:80} {value:8.3f} x  {target}  {'ok' if ok else 'MISSED'}"))
