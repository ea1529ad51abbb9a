"""The rows of `make bench` about ranks in two processes under MPI.

python bench/rank_processes.py        these rows alone
"""

import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import glia
import ml_dtypes
import numpy as np

ELEMENTS = 16 << 20  # 64 MB of fp32
PAIRS = 5
ROUNDS = 4
# The same sum by MPI itself, in seconds.
ALLREDUCE = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int n = atoi(argv[1]), rounds = atoi(argv[2]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; ++i)
    a[i] = i % 7, b[i] = 0;
  MPI_Allreduce(a, b, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i)
    MPI_Allreduce(i % 2 ? b : a, i % 2 ? a : b, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.6f\\n", (MPI_Wtime() - start) / rounds);
  MPI_Finalize();
}
"""
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "sh"}


def launcher():
    """The MPI that glia was built with and that is here: its name, its launcher and its compiler."""
    for mpi in ("openmpi", "mpich"):
        found = [shutil.which(f"{tool}.{mpi}") for tool in ("mpirun", "mpicc")]
        if all(found) and Path(glia.__file__).with_name(f"libglia_{mpi}.so").exists():
            return mpi, *found
    return None


def said(*command):
    """The numbers that a command prints."""
    done = subprocess.run(list(map(str, command)), env=os.environ | ROOT, capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]


def in_two(mpirun, *command):
    """The first number that the first of two processes prints."""
    return said(mpirun, "-n", "2", *command)[0]


def sums(rounds):
    """A program of two ranks that add 64 MB up, so many times after each other, between two places as the other program does."""
    shape = f"f32[{ELEMENTS // 4096}, 4096]"
    places = ["x", *(f"a{i % 2}" for i in range(rounds - 1)), "y"]
    lines = ["target trn2", f"input x : {shape}", f"output y : {shape}", "queue q", "semaphore s"]
    lines += [f"scratch {a} : {shape}" for a in sorted({*places[1:-1]})]
    for i, (src, dst) in enumerate(itertools.pairwise(places)):
        wait, then = " when s >= 16 consume" * (i > 0), " then s += 16" * (i < rounds - 1)
        lines.append(
            f"gpsimd collective dst={dst} src={src} queue=q kind=all_reduce op=add ranks=2 width=2 groups=[0, 1]{wait}{then}"
        )
    return glia.assemble("\n".join(lines) + "\n", target="trn2")


def seconds(program, arrays, **options):
    start = time.perf_counter()
    program.run(arrays, verify=False, **options)
    return time.perf_counter() - start


def say(*numbers):
    """Once, by the first process."""
    if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")) == "0":
        print(*numbers)


def run_sums():
    """What a further sum takes: arguments and results cost what they do once."""
    x = {"x": np.ones((2, ELEMENTS // 4096, 4096), np.float32)}
    one, more = sums(1), sums(1 + ROUNDS)
    seconds(one, x), seconds(more, x)
    say(max(statistics.median(seconds(more, x) - seconds(one, x) for _ in range(3)) / ROUNDS, 1e-6))


def run_step(path, inputs):
    plain = np.load(inputs)  # which knows no bf16
    arrays = {name: a.view(ml_dtypes.bfloat16) if a.dtype.kind == "V" else a for name, a in plain.items()}
    program = glia.load(path)
    seconds(program, arrays, threads=1)
    used = time.process_time()
    taken = [seconds(program, arrays, threads=1) for _ in range(3)]
    say(min(taken), (time.process_time() - used) / len(taken))


def reduction(report):
    mpi, mpirun, mpicc = launcher()
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "allreduce.c", Path(folder) / "allreduce"
        source.write_text(ALLREDUCE)
        subprocess.run([mpicc, "-O2", source, "-o", binary], check=True)
        pairs = [
            (in_two(mpirun, sys.executable, __file__, "sums"), in_two(mpirun, binary, ELEMENTS, ROUNDS))
            for _ in range(PAIRS)
        ]
    ratio = statistics.median(a / b for a, b in pairs)
    details = {"mpi": mpi, "seconds": pairs}
    report(
        "all_reduce of 64 MB between 2 MPI processes, against MPI_Allreduce", ratio, "<= 2", ratio <= 2, "x", details
    )


def step(report):
    """On a busy machine ranks that wait for each other now and then get the processor sooner than one that never waits, and the
    ratio says little: then see the processor seconds of a rank in the details."""
    import ranks

    mpi, mpirun, _ = launcher()
    args = ranks.transformer.arguments(ranks.BLOCKS)
    with tempfile.TemporaryDirectory() as folder:
        for n in (1, 2):
            ranks.built(ranks.transformer_graph(n)).save(f"{folder}/{n}.glia")
            np.savez(f"{folder}/{n}.npz", **ranks.inputs(args, n))
        pairs = []
        for _ in range(PAIRS):
            together = said(mpirun, "-n", 2, sys.executable, __file__, f"{folder}/2.glia", f"{folder}/2.npz")
            alone = said(sys.executable, __file__, f"{folder}/1.glia", f"{folder}/1.npz")
            pairs.append((together, alone))
    ratio = statistics.median(a[0] / b[0] for a, b in pairs)
    details = {"mpi": mpi, "seconds_and_processor_seconds": pairs}
    report("simulate 2 ranks in 2 MPI processes, against 1 alone", ratio, "<= 1.4", ratio <= 1.4, "x", details)


PARTS = (reduction, step) if launcher() else ()


if __name__ == "__main__":
    if sys.argv[1:] == ["sums"]:
        run_sums()
    elif len(sys.argv) == 3:
        run_step(*sys.argv[1:])
    else:

        def show(measure, value, target, ok, unit="x", details=None):
            print(f"{measure:66} {value:12.3g} {unit:3} {target:>8}   {'ok' if ok else 'MISSED'}  {details or ''}")

        for part in PARTS:
            part(show)
