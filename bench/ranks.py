"""The rows of `make bench` about programs of several ranks: what more ranks cost where they are equal, and where they are not.

python bench/ranks.py        these rows alone
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in ("museum", "museum/conv7x7-backward", "museum/activation-tables"):
    sys.path.append(str(ROOT / folder))

import glia
import jax
import numpy as np
import resnet
import transformer
from glia import _glia
from glia.program import Program
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

TARGET, TOPOLOGY = "trn2", "trn2.48xlarge"
BLOCKS = 20
PAIRS = 5


def mean_step(loss):
    """The mean of the losses of all ranks, and its gradients."""
    return jax.value_and_grad(lambda *args: lax.pmean(loss(*args), "data"))


def numbered_step(parameters, x, target):
    """The same where each rank weighs its loss by its number."""

    def loss(parameters, x, target):
        return transformer.loss(parameters, x, target) * (1 + lax.axis_index("data"))

    return mean_step(loss)(parameters, x, target)


def graph(step, alone, args, ranks):
    """The graph of a step whose first argument all ranks share, the others are divided; of `alone` for one rank. No devices are needed."""
    if ranks == 1:
        return glia.jit(alone, target=TARGET).lower(*args)
    shared, *parts = args
    parts = [np.repeat(a, ranks, axis=0) for a in parts]
    specs = P(), *(P("data") for _ in parts)
    sharded = jax.shard_map(step, mesh=AbstractMesh((ranks,), ("data",)), in_specs=specs, out_specs=P())
    text = glia.jit(sharded, target=TARGET).lower(shared, *parts)
    return text.replace("mhlo.num_partitions = 1 ", f"mhlo.num_partitions = {ranks} ")


def transformer_graph(ranks, step=None):
    return graph(step or mean_step(transformer.loss), transformer.step, transformer.arguments(BLOCKS), ranks)


def resnet_args():
    random = np.random.default_rng(38)
    x = random.standard_normal((1, 3, 32, 64)).astype(np.float32)
    return resnet.parameters(random), x, np.array([17], np.int32)


def resnet_graph(ranks):
    def step(parameters, x, label):
        value, gradients = mean_step(resnet.loss)(parameters, x, label)
        return value, resnet.descended(parameters, gradients)

    return graph(step, resnet.step, resnet_args(), ranks)


def inputs(args, ranks):
    """The arguments of a graph by name."""
    shared, *parts = args
    leaves = jax.tree.leaves((shared, [np.repeat(a, ranks, axis=0) for a in parts]))
    return {f"arg{i}": np.asarray(x) for i, x in enumerate(leaves)}


def built(text, topology=""):
    return Program(_glia.compile_graph(text, "bench", TARGET, "", 1, 1, topology, False)[0])


def seconds(call, clock=time.process_time):
    start = clock()
    call()
    return clock() - start


def ratio_of(many, one):
    """The median over pairs measured one after the other."""
    many(), one()
    return statistics.median(many() / one() for _ in range(PAIRS))


def equal_ranks(report):
    def compiled(text, topology):
        return lambda: seconds(lambda: built(text, topology)._handle.require_verified("graph"))

    one, many = transformer_graph(1), transformer_graph(64)
    ratio = ratio_of(compiled(many, TOPOLOGY), compiled(one, ""))
    report(f"compile + verify {BLOCKS} blocks on 64 equal ranks, against 1", ratio, "<= 1.3", ratio <= 1.3)
    alone, together = built(one), built(many, TOPOLOGY)

    def predicted(program):
        return lambda: seconds(lambda: program.profile(timeline=False))

    ratio = ratio_of(predicted(together), predicted(alone))
    report("predict their time, 64 ranks against 1", ratio, "<= 3", ratio <= 3)


def many_ranks(report):
    for what, step in (("", None), (", which use their number", numbered_step)):
        program = built(transformer_graph(1024, step))
        taken = seconds(lambda program=program: program._handle.require_verified("graph"))
        title = f"verify 1,024 ranks of {BLOCKS} blocks{what}"
        report(title, taken, "<= 10", taken <= 10, "s")


def two_threads(report):
    args = transformer.arguments(BLOCKS)

    def run(ranks):
        program, arrays = built(transformer_graph(ranks)), inputs(args, ranks)
        return lambda clock: seconds(lambda: program.run(arrays, verify=False, threads=ranks), clock)

    both, one = run(2), run(1)
    wall, work = (ratio_of(lambda c=c: both(c), lambda c=c: one(c)) for c in (time.perf_counter, time.process_time))
    details = {"processor_time_per_rank": work / 2}
    report("simulate 2 ranks on 2 threads, against 1 on 1", wall, "<= 1.25", wall <= 1.25, "x", details)


def memory(report):
    """Of a process that runs ResNet-34's step from a program file, the inputs included."""

    def peak(ranks):
        done = subprocess.run([sys.executable, __file__, str(ranks)], capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1])

    one, many = peak(1), peak(64)
    ratio, details = many / one, {"kilobytes": (one, many)}
    report("memory of 64 ranks of ResNet-34's step, against 1", ratio, "<= 8", ratio <= 8, "x", details)


def run_resnet(ranks):
    """Compiles in a process of its own, so that only the run is seen; prints the kilobytes that it had at most."""
    import os
    import resource
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.glia"
        child = os.fork()
        if child == 0:
            built(resnet_graph(ranks)).save(path)
            os._exit(0)
        os.waitpid(child, 0)
        glia.load(path).run(inputs(resnet_args(), ranks), verify=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


PARTS = (equal_ranks, many_ranks, two_threads, memory)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_resnet(int(sys.argv[1]))
        sys.exit()

    def show(measure, value, target, ok, unit="x", details=None):
        print(
            f"{measure:66} {value:12.3g} {unit:3} {target:>8}   {'ok' if ok else 'MISSED'}  {details or ''}", flush=True
        )

    for part in PARTS:
        part(show)
