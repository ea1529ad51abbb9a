"""Runs the examples on every target that can, against NumPy, a sharded JAX program, the cases of the museum, and a JAX program; prints
tables and a timeline.

Programs in assembly run fast and strict; kernels and graphs are traced, compiled, linked, verified, run and timed. Writes
build/demo.html, a zoomable timeline of the matmul. Exit status 1 if a result is wrong.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import glia
import kernels
import numpy as np
from catalogue import EXAMPLES, error

sys.path.append(str(Path(__file__).resolve().parents[1] / "museum"))
import table

WIDTH = 96


def run_one(example, target):
    """(what happened, largest error, predicted microseconds)"""
    program = glia.assemble(example.path.read_text(), target=target, file=str(example.path.name))
    verdict = program.verify()
    if not verdict.ok:
        return f"refused: {verdict.diagnostics[0].code}", None, None
    inputs = example.inputs(np.random.default_rng(7))
    fast = program.run(inputs, verify=False)
    strict = program.run(inputs, strict=True, seed=7, verify=False)
    worst = error(fast, example.reference(inputs))
    time = program.profile(inputs, timeline=False).total / 1000
    if any(fast[n].tobytes() != strict[n].tobytes() for n in fast):
        return "strict differs from fast", worst, time
    return ("ok" if worst <= example.tolerance else "WRONG"), worst, time


def show_kernels():
    """NKI kernels; returns how many are not as they should be."""
    failures = 0
    head = f"{'target':7} {'instructions':>12} {'predicted':>13} {'least':>13} {'ratio':>6}  {'limited by':11} {'max error':>9}"
    print(f"{'kernel (examples/nki)':28} {head}  verified")
    for row in kernels.example_rows():
        shown = "exact" if row.error == 0 else f"{row.error:.1e}"
        print(
            f"{row.name:28} {row.target:7} {row.instructions:12} {row.microseconds:10.2f} us {row.least:10.2f} us "
            f"{row.microseconds / row.least:6.2f}  {row.limit:11} {shown:>9}  {'yes' if row.verified else 'NO'}"
            f"{'' if row.ok else '  WRONG'}"
        )
        failures += not row.ok
    print(
        "least: what no order of the kernel's instructions can be faster than, by glia bound; a loop whose count is data counts for nothing.\n"
    )
    return failures


def graphs():
    """(name, function, shapes and types of its arguments)"""
    import jax
    import jax.numpy as jnp

    def of(*shape, dtype="float32"):
        return jax.ShapeDtypeStruct(shape, dtype)

    def norm(x, w):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w

    def attention(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    def decaying_sum(decay, x):
        return jax.lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, x), axis=1)[1]

    yield "product of 2048 x 2048, fp32", lambda a, b: a @ b, (of(2048, 2048), of(2048, 2048))
    yield "its transpose, bf16", lambda a, b: a.T @ b, [of(2048, 2048, dtype="bfloat16")] * 2
    yield "softmax of 8192 x 4096", jax.nn.softmax, (of(8192, 4096),)
    yield "RMS norm of 8192 x 4096", norm, (of(8192, 4096), of(4096))
    yield "silu of 8192 x 4096", jax.nn.silu, (of(8192, 4096),)
    yield "causal attention, bf16", attention, [of(1, 4096, 4, 64, dtype="bfloat16")] * 3
    yield "decaying sums of 1024 x 4096", decaying_sum, (of(1024, 4096), of(1024, 4096))


def show_graphs():
    """JAX functions, compiled and proved: predicted times against the least."""
    if importlib.util.find_spec("jax") is None:
        return
    print(f"{'graph':28} {'target':7} {'instructions':>12} {'predicted':>13} {'least':>13} {'ratio':>6}  limited by")
    for name, function, shapes in graphs():
        for target in ("trn1", "trn2", "trn3"):
            exe = glia.jit(function, target=target).compile(*shapes)
            bound, time = exe.bound(), exe.time()
            print(
                f"{name:28} {target:7} {exe.program.instructions:12} {time / 1000:10.2f} us {bound['total'] / 1000:10.2f} us "
                f"{time / bound['total']:6.2f}  {bound['reason']}"
            )
    print("least: what the graph needs at least on the target, whatever the compiler does (docs/bound.md).\n")


def exchanging(exe) -> float:
    """Nanoseconds for which a rank is busy with exchanges: the queues that its collectives are in."""
    queues = set(re.findall(r"^gpsimd collective .*? queue=(\S+)", exe.program.disassemble(), re.MULTILINE))
    profile = exe.program.profile(timeline=False)
    return sum(lane.busy for lane in profile.lanes if lane.name.split(" queue ")[-1] in queues)


def show_ranks():
    """The training step of jax_sharded.py on eight ranks; returns how many are not as they should be."""
    if importlib.util.find_spec("jax") is None:
        return 0
    import jax
    import jax_sharded

    failures = 0
    step, _ = jax_sharded.sharded_step()
    args = jax_sharded.arguments(np.random.default_rng(7))
    want = jax.tree.leaves(jax.jit(jax_sharded.step)(*args))
    head = f"{'topology':22} {'ranks':>5} {'instructions':>12} {'predicted':>13} {'exchange':>13} {'share':>6} {'max error':>9}"
    print(f"{'several ranks':28} {head}  verified")
    for topology in ("trn1.32xlarge", "trn2.48xlarge", "trn3-ultraserver-gen1"):
        exe = glia.jit(step, target=topology[:4], topology=topology).compile(*args)
        worst = max(kernels.error_of(g, w) for g, w in zip(jax.tree.leaves(exe.run(*args)), want, strict=True))
        time, exchange, proved = exe.time(), exchanging(exe), exe.verify().ok
        ok = proved and worst <= 1e-5
        print(
            f"{'transformer, training step':28} {topology:22} {exe.program.ranks:5} {exe.program.instructions:12} "
            f"{time / 1000:10.2f} us {exchange / 1000:10.2f} us {100 * exchange / time:4.0f} % {worst:9.1e}  "
            f"{'yes' if proved else 'NO'}{'' if ok else '  WRONG'}"
        )
        failures += not ok
    print("exchange: how long collectives are under way; error: against JAX on the CPU, on one device.\n")
    return failures


def show_museum():
    """Programs that failed elsewhere; returns how many are not as they should be."""
    if importlib.util.find_spec("jax") is None:
        print("The museum is left out: its programs are JAX functions, and JAX is not installed.\n")
        return 0
    failures = 0
    for case, rows in table.cases():
        try:
            failures += table.show(rows(), f"museum/{case}")
        except glia.Error as e:
            print(e)
            failures += 1
        print()
    print(
        "compile: seconds of processor time, tracing and proof included. error: relative, L2, against float64. assumed: the share"
    )
    print("of the predicted time that rests on parameters of the target that are not published.\n")
    return failures


def show_jax():
    """A JAX program on the CPU and, unchanged, on the platform glia; returns 1 if they disagree."""
    if importlib.util.find_spec("jax") is None:
        print("The JAX program is left out: JAX is not installed.\n")
        return 0
    script = Path(__file__).with_name("jax_train.py")
    printed = {}
    for platform in ("cpu", "glia"):
        environment = os.environ | {"JAX_PLATFORMS": platform, "GLIA_TARGET": "trn2"}
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return 1
        printed[platform] = done.stdout.splitlines()
    print("JAX_PLATFORMS=glia GLIA_TARGET=trn2 python examples/jax_train.py")
    for line in printed["glia"]:
        print(f"  {line}")
    losses = {k: [float(re.search(r"loss ([0-9.]+)", line)[1]) for line in lines] for k, lines in printed.items()}
    apart = max(abs(a - b) for a, b in zip(losses["cpu"], losses["glia"], strict=True))
    print(f"  the losses on the CPU differ by at most {apart:.0e}\n")
    return int(apart > 1e-3)


def show_programs():
    """Programs in assembly; returns how many are not as they should be."""
    failures = 0
    print(f"{'program (examples)':18} {'target':7} {'result':10} {'max error':>10} {'predicted':>12}")
    for example in EXAMPLES:
        for target in example.targets:
            try:
                result, worst, time = run_one(example, target)
            except glia.Error as e:
                result, worst, time = f"error: {e.diagnostics[0].code}", None, None
                print(e, file=sys.stderr)
            failures += result != "ok"
            shown = "" if worst is None else "exact" if worst == 0 else f"{worst:.1e}"
            print(
                f"{example.name:18} {target:7} {result:10} {shown:>10} {'' if time is None else f'{time:9.2f} us':>12}"
            )
    print()
    return failures


def main():
    failures = show_programs()
    if hasattr(glia._glia, "link"):
        failures += show_kernels()
        show_graphs()
        failures += show_ranks()
        failures += show_museum()
        failures += show_jax()
    else:
        print("This build has no compiler: the kernels of examples/nki and museum are left out.\n")

    example = next(e for e in EXAMPLES if e.name == "matmul")
    program = glia.assemble(example.path.read_text(), target="trn2", file=example.path.name)
    print("matmul 512 x 512 x 512 on trn2:")
    profile = program.profile(None)
    print(profile.draw(WIDTH), end="")
    page = Path("build/demo.html")
    page.write_text(profile.html())
    print(f"\nThe same timeline, to zoom: {page}")
    if failures:
        print(f"{failures} results are not as they should be", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
