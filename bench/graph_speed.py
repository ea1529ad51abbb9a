"""The rows of `make bench` about how fast graphs compile, how fast they run here and how fast they are predicted to run there.

python bench/graph_speed.py        these rows alone
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in ("museum", "museum/conv7x7-backward", "museum/activation-tables"):
    sys.path.append(str(ROOT / folder))

os.environ["GLIA_CACHE"] = "off"  # times are those of a first compile

import conv_backward
import glia
import jax
import numpy as np
import resnet
import transformer
from glia import _glia

# Runs a command and prints how many kilobytes it had at most.
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def compiled(function, args, target):
    """(executable, seconds to compile and prove its graph; that JAX writes the graph down first is not counted)"""
    exe = glia.jit(function, target=target).compile(*args)
    start = time.perf_counter()
    handle, _ = _glia.compile_graph(exe.text(), "bench", target)
    handle.require_verified()
    return exe, time.perf_counter() - start


def xla_seconds(function, args):
    """What XLA takes to compile the same for this CPU."""
    lowered = jax.jit(function).lower(*args)
    start = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - start


def phases(model, target, cache):
    """Seconds of each phase of `glia compile`."""
    command = [str(ROOT / "build/bin/glia"), "compile", str(model), "--target", target, "-o", f"{model}.glia"]
    made = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"GLIA_CACHE": str(cache)}
    )
    line = next(x for x in made.stdout.splitlines() if x.startswith("compile time"))
    return {name: float(seconds) for name, seconds in re.findall(r"(\w+) ([0-9.]+) s", line.split(": ", 1)[1])}


def kept(report):
    """A second compile with what the first one kept."""
    name, function, args, _ = conv_backward.step_case()
    cases = ((name, "trn1", function, args), ("20 blocks", "trn2", transformer.step, transformer.arguments(20)))
    for name, target, function, args in cases:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.mlir"
            model.write_text(glia.jit(function, target=target).lower(*args))
            cold, warm = (phases(model, target, Path(folder) / "cache") for _ in range(2))
        ratio = sum(warm.values()) / (warm["link"] + warm["verify"])
        details = {"cold": cold, "warm": warm}
        report(f"compile {name} again, against link and verify", ratio, "<= 1.2", ratio <= 1.2, details=details)


def against_xla(exe, function, args, times=3):
    """Wall time of a simulated run over that of XLA on the CPU, both with all threads; the median of pairs."""
    jitted = jax.jit(function)
    placed = jax.device_put(args)
    jax.block_until_ready(jitted(*placed))
    exe.run(*args)
    ratios = []
    for _ in range(times):
        start = time.perf_counter()
        exe.run(*args)
        mine = time.perf_counter() - start
        start = time.perf_counter()
        jax.block_until_ready(jitted(*placed))
        ratios.append(mine / (time.perf_counter() - start))
    return statistics.median(ratios)


def products(jaxpr) -> int:
    """Multiplications of all contractions and convolutions of a jaxpr that touch real elements: no padding, no inserted zeros."""
    total = 0
    for eqn in jaxpr.eqns:
        for value in eqn.params.values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(part, "jaxpr", part)
                total += products(inner) if hasattr(inner, "eqns") else 0
        if eqn.primitive.name == "dot_general":
            (left, _), _ = eqn.params["dimension_numbers"]
            contracted = np.prod([eqn.invars[0].aval.shape[d] for d in left], initial=1)
            total += int(np.prod(eqn.outvars[0].aval.shape, initial=1) * contracted)
        elif eqn.primitive.name == "conv_general_dilated":
            n = eqn.params["dimension_numbers"]
            kernel = eqn.invars[1].aval.shape
            taps = np.prod([kernel[d] for d in n.rhs_spec[1:]], initial=1)
            holes = np.prod(eqn.params["lhs_dilation"], initial=1)
            total += int(np.prod(eqn.outvars[0].aval.shape, initial=1) * taps / holes)
    return total


def pe_bound(function, args, target) -> float:
    """Nanoseconds that the Tensor engine needs at least, in fp32."""
    values = {k: v["value"] for k, v in glia.target(target)["values"].items()}
    rate = 128 * 128 * values["clock.tensor"] / values["cost.fp32_passes"]
    return products(jax.make_jaxpr(function)(*args).jaxpr) / rate


def convolutions(report):
    worst, details = 0.0, []
    for i in range(len(resnet.LAYERS)):
        name, function, args, vendor = conv_backward.case(i)
        _, seconds = compiled(function, args, "trn1")
        details.append(
            {"layer": name, "seconds": seconds, "xla_cpu_seconds": xla_seconds(function, args), "vendor": vendor}
        )
        worst = max(worst, seconds)
    report("compile and verify a layer of the report, forward and backward", worst, "<= 3", worst <= 3, "s", details)
    for (name, function, args, vendor), most in ((conv_backward.layers_case(), 10), (conv_backward.step_case(), 15)):
        exe, seconds = compiled(function, args, "trn1")
        details = {"xla_cpu_seconds": xla_seconds(function, args), "vendor": vendor}
        report(f"compile and verify {name}", seconds, f"<= {most}", seconds <= most, "s", details)
    ratio = against_xla(exe, function, args, times=1)
    report("simulate the training step, against XLA on this CPU", ratio, "<= 1", ratio <= 1)
    profile = exe.program.profile(timeline=False)
    ratio = profile.total / pe_bound(function, args, "trn1")
    report("predicted time of the step on trn1, against its PE bound", ratio, "<= 4", ratio <= 4)
    ratio = sum(profile.hbm_bytes) / exe.bytes_once
    report("HBM traffic of the step, against each tensor once", ratio, "<= 3", ratio <= 3)


def transformers(report):
    seconds, kernels = {}, {}
    for depth in (20, 200):
        args = transformer.arguments(depth)
        exe, seconds[depth] = compiled(transformer.step, args, "trn2")
        kernels[depth] = exe.kernels
        if depth == 20:
            predicted = exe.time() / 1000
            _, loads = transformer.tables(exe)
            simulated = against_xla(exe, transformer.step, args)
    report("compile and verify 20 blocks", seconds[20], "<= 6", seconds[20] <= 6, "s")
    each = 1000 * (seconds[200] - seconds[20]) / 180
    report("each further block", each, "<= 60", each <= 60, "ms")
    ratio = kernels[200] / kernels[20]
    report("distinct kernels at 200 blocks over those at 20", ratio, "<= 3", ratio <= 3)
    report("predicted time of 20 blocks on trn2", predicted, "<= 1000", predicted <= 1000, "us")
    report("loads of an activation table per block", loads / 20, "<= 1", loads <= 20, "")
    report("simulate 20 blocks, against XLA on this CPU", simulated, "<= 3", simulated <= 3)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.mlir"
        model.write_text(glia.jit(transformer.step, target="trn2").lower(*transformer.arguments(200)))
        command = [str(ROOT / "build/bin/glia"), "compile", str(model), "-o", str(Path(folder) / "model.glia")]
        made = subprocess.run([sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True)
        gigabytes = int(made.stdout) / 1e6
    report("peak memory of the compiler, 200 blocks", gigabytes, "<= 3", gigabytes <= 3, "GB")


def dots(report):
    def dot(x, y):
        return x @ y

    n = 4096
    random = np.random.default_rng(0)
    args = tuple(random.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    ratio = against_xla(glia.jit(dot, target="trn2").compile(*args), dot, args, times=1)
    report("simulate a 4096^3 fp32 dot, against XLA on this CPU", ratio, "<= 1.3", ratio <= 1.3)
    narrow = tuple(jax.numpy.asarray(x, jax.numpy.bfloat16) for x in args)
    exe = glia.jit(dot, target="trn2").compile(*narrow)
    peak = 128 * 128 * glia.target("trn2")["values"]["clock.tensor"]["value"]
    share = 100 * n**3 / (peak * exe.time())
    report("predicted use of the PE, 4096^3 bf16 dot, trn2, one core", share, ">= 80", share >= 80, "%")


PARTS = (convolutions, transformers, kept, dots)


if __name__ == "__main__":

    def show(measure, value, target, ok, unit="x", details=None):
        print(f"{measure:66} {value:12.3g} {unit:3} {target:>8}   {'ok' if ok else 'MISSED'}", flush=True)

    for part in PARTS:
        part(show)
