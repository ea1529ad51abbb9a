"""`make bench`: the table of speed and memory, measured, against its targets; build/bench.json has the numbers.

Each ratio is the median of many pairs measured one after the other in this process, so that a slow moment hits both sides.
Times are processor time of one thread, except for `glia --version` and what is compared with XLA: there both have all threads.
Nothing here fails the run: the verdicts are for the reader.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ["GLIA_CACHE"] = "off"  # kernels that earlier runs kept are not what is measured
PAIRS = int(os.environ.get("GLIA_BENCH_PAIRS", "31"))
MILLION = int(os.environ.get("GLIA_BENCH_INSTRUCTIONS", "1000000"))

# OpenBLAS reads its core type when it is loaded: choose first, then start again.
if "GLIA_BENCH_CORE" not in os.environ:
    sys.path.insert(0, str(ROOT / "bench"))
    from openblas import fastest_core

    core, speeds = fastest_core()
    extra = {"OPENBLAS_CORETYPE": core} if core else {}
    env = os.environ | {"GLIA_BENCH_CORE": json.dumps(speeds), "OPENBLAS_NUM_THREADS": "1"} | extra
    os.execve(sys.executable, [sys.executable, *sys.argv], env)

import debugging
import glia
import graph_speed
import graphs
import jax_platform
import least
import loops
import nki_speed
import numpy as np
import rank_processes
import ranks
import reduce
import schedules
import tuning
from openblas import BASELINE, Sgemm

sys.path.insert(0, str(ROOT / "examples"))
from catalogue import EXAMPLES

rows = []
STEPS = 2**63


def report(measure, value, target, ok, unit="x", details=None):
    rows.append(
        {"measure": measure, "value": value, "unit": unit, "target": target, "ok": bool(ok), "details": details}
    )
    text = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    print(f"{measure:66} {text + ' ' + unit:>16}   {target:>12}   {'ok' if ok else 'MISSED'}", flush=True)


class Repeated:
    """One instruction in a loop, as often as asked, in fast mode. What a run needs besides is measured and taken off."""

    def __init__(self, declarations, before, engine, instruction, sync=""):
        self.text = (declarations, before, engine, instruction, sync)
        self.programs = {}

    def program(self, times):
        if times not in self.programs:
            declarations, before, engine, instruction, sync = self.text
            loop = f'{engine} loop iv=r1 count={times} group="bench"\n{engine} {instruction}\n{sync}{engine} end_loop\n'
            self.programs[times] = glia.assemble(
                f"{declarations}\n{before}\n{loop if times else ''}", target="trn2"
            )._handle
        return self.programs[times]

    def __call__(self, times):
        def run(n):
            p = self.program(n)
            start = time.thread_time()
            p.run({}, False, 0, STEPS, 1)
            return time.thread_time() - start

        return run(times) - run(0)


def paired(ours, theirs, seconds=0.01):
    """Median over pairs of (time of theirs / time of ours), both for the same number of repetitions."""
    times = 1
    while theirs(times) < seconds:
        times *= 2
    ours(times)
    return statistics.median(theirs(times) / max(ours(times), 1e-9) for _ in range(PAIRS))


def numpy_loop(call):
    def run(times):
        start = time.thread_time()
        for _ in range(times):
            call()
        return time.thread_time() - start

    return run


def matmul():
    sgemm = Sgemm()
    speeds = json.loads(os.environ["GLIA_BENCH_CORE"])
    print(
        "OpenBLAS core types, GFLOP/s:", ", ".join(f"{k} {v:.0f}" for k, v in speeds.items()), f"; using {sgemm.core}\n"
    )
    for dtype in ("f32", "bf16"):
        ours = Repeated(
            f"sbuf a : {dtype}[128, 128] @ 0\nsbuf b : {dtype}[128, 512] @ 1024\npsum c : f32[128, 512] @ 0\nsemaphore s",
            "vector memset dst=a value=0.5\nvector memset dst=b value=0.25 then s += 1\ntensor nop when s >= 1",
            "tensor",
            "nc_matmul dst=c stationary=a moving=b",
        )
        ratio = paired(ours, sgemm)
        report(f"nc_matmul 128x128x512 {dtype} against OpenBLAS {sgemm.core}", ratio, ">= 1.0", ratio >= 1.0)


def elementwise():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 128, 2048), np.float32)
    out, column = np.empty_like(a), np.empty(128, np.float32)
    tiles = "sbuf a : f32[128, 2048] @ 0\nsbuf b : f32[128, 2048] @ 8192\nsbuf c : f32[128, 2048] @ 16384\nsbuf d : f32[128, 1] @ 24576\n"
    tiles += "semaphore s"
    fill = "vector memset dst=a value=0.5\nvector memset dst=b value=0.25\n"
    table = 'vector nop then s += 1\nscalar act_table_load set="natural_log_exp_and_others" when s >= 1'
    cases = [
        ("tensor_tensor(add)", "vector", "tensor_tensor dst=c a=a b=b op=add", lambda: np.add(a, b, out=out), 0.9),
        (
            "tensor_scalar(multiply)",
            "vector",
            "tensor_scalar dst=c data=a op0=multiply operand0=1.5",
            lambda: np.multiply(a, np.float32(1.5), out=out),
            0.9,
        ),
        ("activation(exp)", "scalar", "activation dst=c data=a fn=exp", lambda: np.exp(a, out=out), 1.2),
        ("tensor_reduce(add)", "vector", "tensor_reduce dst=d data=a op=add", lambda: np.sum(a, axis=1, out=column), 3),
    ]
    for name, engine, instruction, call, bar in cases:
        ratio = paired(
            Repeated(tiles, fill + (table if engine == "scalar" else ""), engine, instruction), numpy_loop(call)
        )
        report(f"{name} (128, 2048) f32 against NumPy", ratio, f">= {bar}", ratio >= bar)


def dma():
    loop = ctypes.CDLL(str(BASELINE)).baseline_memcpy
    loop.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2
    for columns in (128, 2048):
        source, target = np.ones((128, columns), np.float32), np.zeros((128, columns), np.float32)

        def memcpy(times, source=source, target=target):
            start = time.thread_time()
            loop(target.ctypes.data, source.ctypes.data, source.nbytes, times)
            return time.thread_time() - start

        ours = Repeated(
            f"sbuf t : f32[128, {columns}] @ 0\nscratch x : f32[128, {columns}]\nsemaphore s\nsemaphore f\nqueue q",
            "vector memset dst=t value=0.5 then f += 1\nsync dma_copy dst=x src=t queue=q when f >= 1 then s += 16\n"
            "sync nop when s >= 16 consume",
            "sync",
            "dma_copy dst=t src=x queue=q then s += 16",
            "sync nop when s >= 16 consume\n",
        )
        ratio = paired(ours, memcpy)
        report(f"DMA copy, rows of {columns * 4} B, against memcpy", ratio, ">= 0.5", ratio >= 0.5)


def strict():
    worst, worst_memory = (0, ""), (0, "")
    each = {}
    for e in EXAMPLES:
        p = glia.assemble(e.path.read_text(), target="trn2")
        arrays = p._bytes_of(e.inputs(np.random.default_rng(1)))

        def run(is_strict, p=p, arrays=arrays):
            start = time.thread_time()
            result = p._handle.run(arrays, is_strict, 1, STEPS, 1)
            return time.thread_time() - start, result

        _, (_, _, touched, shadow) = run(True)
        ratio = statistics.median(run(True)[0] / run(False)[0] for _ in range(min(PAIRS, 9)))
        each[e.name] = {"slower": ratio, "shadow": shadow / max(touched, 1)}
        worst, worst_memory = max(worst, (ratio, e.name)), max(worst_memory, (shadow / max(touched, 1), e.name))
    report(f"strict against fast, worst example ({worst[1]})", worst[0], "<= 20", worst[0] <= 20, "x slower", each)
    report(
        f"shadow memory per byte touched, worst ({worst_memory[1]})", worst_memory[0], "<= 3", worst_memory[0] <= 3, "x"
    )


def large(what, which, size=MILLION):
    run = subprocess.run([ROOT / "build/bin/glia-bench", what, which, str(size)], capture_output=True, text=True)
    sys.stderr.write(run.stderr)
    return json.loads(run.stdout) if run.stdout else None


def replay_verify_container():
    for which in ("matmul", "loops"):
        r = large("replay", which)
        if r:
            rate = r["rate"] / 1e6
            report(f"timed replay, {which}, {r['instructions']:,} instructions", rate, ">= 8", rate >= 8, "M/s", r)
        else:
            report(f"timed replay, {which}", 0, ">= 8", False, "M/s")
    for which in ("matmul", "loops"):
        r = large("profile", which) or {"seconds": 0, "peak_mib": 0, "page_mb": 0, "instructions": 0}
        done = r["instructions"] > 0
        report(
            f"profile {which}, {r['instructions']:,} instructions",
            r["seconds"],
            "<= 5",
            done and r["seconds"] <= 5,
            "s",
            r,
        )
        report(
            f"    peak memory of that, {which}", r["peak_mib"] / 1024, "<= 1.5", done and r["peak_mib"] <= 1536, "GiB"
        )
        report(f"    its page, {which}", r["page_mb"], "<= 15", done and r["page_mb"] <= 15, "MB")
    for which, size, most in (("matmul", MILLION, 5), ("loops", MILLION, 6), ("strided", MILLION // 10, 10)):
        r = large("verify", which, size)
        if r:
            fine = r["seconds"] <= most and r["ok"]
            report(
                f"verify {which}, {r['instructions']:,} instructions{'' if r['ok'] else ' (REFUSED)'}",
                r["seconds"],
                f"<= {most}",
                fine,
                "s",
                r,
            )
            report(f"    peak memory of that, {which}", r["peak_mib"] / 1024, "<= 1", r["peak_mib"] <= 1024, "GiB")
        else:
            report(f"verify {which}", 0, f"<= {most}", False, "s")
    for which, size, most in (("matmul", MILLION, 0.5), ("unknown", MILLION // 200, 0.25)):
        r = large("certificate", which, size)
        ratio = r["with"] / r["without"] if r else 0
        title = f"verify {which} with a certificate, against without"
        report(title, ratio, f"<= {most}", bool(r) and ratio <= most, "x", r)
    r = large("container", "matmul")
    if r:
        size = r["bytes_per_instruction"]
        report("container of the unrolled matmul, per instruction", size, "<= 120", size <= 120, "bytes")
        report(
            f"open, checksum, structural check of {r['instructions']:,}",
            r["seconds"],
            "<= 0.3",
            r["seconds"] <= 0.3,
            "s",
        )
    else:
        report("container of the unrolled matmul", 0, "<= 120", False, "bytes")


def linking():
    from linking import Linked

    linked = Linked()
    pairs = [(statistics.median(linked.seconds(100) for _ in range(9)), linked.seconds(10_000)) for _ in range(3)]
    ratio = statistics.median(many / few for few, many in pairs)
    report(
        f"link + verify 10,000 calls of one object against 100 ({linked.instructions / 1e6:.2f} M)",
        ratio,
        "<= 120",
        ratio <= 120,
        "x",
        {"seconds_100_and_10000": pairs},
    )


def version():
    def once():
        start = time.perf_counter()
        subprocess.run([ROOT / "build/bin/glia", "--version"], check=True, capture_output=True)
        return (time.perf_counter() - start) * 1000

    ms = statistics.median(once() for _ in range(21))
    report("glia --version", ms, "<= 20", ms <= 20, "ms")


# What is generated at random and must be right: title, tool, and how many.
GENERATED = {
    "mutants": ("mutants", "glia-mutants", os.environ.get("GLIA_BENCH_MUTANTS", "5000")),
    "late": ("programs that go wrong late", "glia-mutants", "--late", os.environ.get("GLIA_BENCH_LATE", "5000")),
    "valid": ("valid programs", "glia-mutants", "--valid", os.environ.get("GLIA_BENCH_VALID", "2000")),
    "tiny": ("tiny programs in every order", "glia-tiny", os.environ.get("GLIA_BENCH_TINY", "5000")),
    "kernels": ("random kernels", "glia-kernels", os.environ.get("GLIA_BENCH_KERNELS", "5000")),
    "random_graphs": ("random graphs", "glia-graphs", os.environ.get("GLIA_BENCH_GRAPHS", "5000")),
    "references": (
        "the interpreter against XLA on random graphs",
        "test/Interpret/test_random_graphs.py",
        os.environ.get("GLIA_BENCH_REFERENCES", "1000"),
    ),
}


def counted(title, tool, *args):
    command = [sys.executable, ROOT / tool] if tool.endswith(".py") else [ROOT / "build/bin" / tool]
    done = subprocess.run([*command, *args], capture_output=True, text=True, cwd=ROOT / "build")
    print(f"\n{title}\n{done.stdout}{done.stderr}")
    return done


def main():
    print(f"{'measure':66} {'measured':>16}   {'target':>12}   verdict")
    machine = (matmul, elementwise, dma, strict, replay_verify_container, linking, version)
    for part in (
        *machine,
        *(
            partial(p, report)
            for p in (
                *nki_speed.PARTS,
                schedules.measure,
                *tuning.PARTS,
                *graph_speed.PARTS,
                *graphs.PARTS,
                *jax_platform.PARTS,
                *ranks.PARTS,
                *rank_processes.PARTS,
                least.measure,
                loops.measure,
                *debugging.PARTS,
                reduce.measure,
            )
        ),
    ):
        try:
            part()
        except (glia.Error, subprocess.CalledProcessError, OSError) as e:
            report(f"{getattr(part, 'func', part).__name__}: {str(e).splitlines()[0]}", 0, "to run", False, "")
    counts = {key: counted(title, *command) for key, (title, *command) in GENERATED.items()}
    missed = sum(not r["ok"] for r in rows)
    out = {"openblas": json.loads(os.environ["GLIA_BENCH_CORE"]), "rows": rows}
    for key, done in counts.items():
        out |= {key: done.stdout, f"{key}_ok": done.returncode == 0}
    (ROOT / "build/bench.json").write_text(json.dumps(out, indent=1))
    verdicts = [f"{GENERATED[key][0]} {'FAILED' if done.returncode else 'ok'}" for key, done in counts.items()]
    print(f"{len(rows) - missed} of {len(rows)} targets met, {', '.join(verdicts)}; build/bench.json")
    return int(any(done.returncode for done in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
