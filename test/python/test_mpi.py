"""Ranks of one program dealt to several processes by MPI: the bytes are those of one process, and nothing hangs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import glia
import numpy as np
import pytest

TOOL = Path(glia.__file__).parents[2] / "bin" / "glia"
# Those that are installed and that glia was built with. On Debian each has a name of its own.
LAUNCHERS = {
    "openmpi": (shutil.which("mpirun.openmpi") or shutil.which("mpirun"), "--oversubscribe"),
    "mpich": (shutil.which("mpirun.mpich"),),
}
HERE = {
    mpi: launcher
    for mpi, launcher in LAUNCHERS.items()
    if launcher[0] and Path(glia.__file__).with_name(f"libglia_{mpi}.so").exists()
}
pytestmark = pytest.mark.skipif(not HERE, reason="no MPI is installed, or glia was built without it")
every_mpi = pytest.mark.parametrize("mpi", sorted(HERE))
MPI = "openmpi" if "openmpi" in HERE else next(iter(HERE), "openmpi")
PLUGIN = Path(glia.__file__).with_name(f"libglia_{MPI}.so")

# A chain of exchanges in groups that lie in one process and across.
PROGRAM = """
target trn2
input x : f32[8, 64]
scratch a : f32[8, 64]
scratch b : f32[4, 8, 64]
scratch c : f32[4, 8, 64]
output y : f32[4, 8, 64]
queue q
semaphore s
gpsimd collective dst=a src=x queue=q kind=all_reduce op=add ranks=8 width=2 groups=[0, 7, 1, 6, 2, 5, 3, 4] then s += 16
gpsimd collective dst=b src=a queue=q kind=all_gather ranks=8 width=4 groups=[0, 1, 2, 3, 4, 5, 6, 7] when s >= 16 consume then s += 16
gpsimd collective dst=c src=b queue=q kind=all_to_all ranks=8 width=4 groups=[0, 2, 4, 6, 1, 3, 5, 7] when s >= 16 consume then s += 16
gpsimd collective dst=y src=c queue=q kind=permute ranks=8 width=2 groups=[0, 4, 4, 1, 1, 0] when s >= 16 consume
"""


def start(processes: int, *command, mpi=MPI, **more) -> subprocess.CompletedProcess:
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}
    environment["OMPI_MCA_plm_rsh_agent"] = "sh"  # on one host nobody is called, but Open MPI wants ssh to be there
    environment["PYTHONPATH"] = str(PLUGIN.parent.parent)
    return subprocess.run(
        [*HERE[mpi], "-n", str(processes), *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def files(tmp_path):
    program = glia.assemble(PROGRAM, target="trn2")
    program.save(str(tmp_path / "p.glia"))
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((8, 8, 64)).astype(np.float32))
    return tmp_path


@every_mpi
@pytest.mark.parametrize("processes", [1, 2, 4, 11])  # 11: some have no rank
def test_the_bytes_are_those_of_one_process(files, processes, mpi):
    run = ["run", files / "p.glia", "--input", f"x={files / 'x.npy'}"]
    subprocess.run([TOOL, *run, "--output", f"y={files / 'alone.npy'}"], check=True)
    made = start(processes, TOOL, *run, "--output", f"y={files / 'together.npy'}", mpi=mpi)
    assert made.returncode == 0, made.stderr
    assert (files / "alone.npy").read_bytes() == (files / "together.npy").read_bytes()


@every_mpi
def test_results_are_said_once(files, mpi):
    made = start(2, TOOL, "run", files / "p.glia", "--input", f"x={files / 'x.npy'}", mpi=mpi)
    assert made.stdout.count("y : f32[8, 4, 8, 64]") == 1, made.stdout + made.stderr


@pytest.mark.skipif("openmpi" not in HERE, reason="Open MPI's launcher serves PMIx")
def test_processes_that_only_pmix_tells_of_find_each_other(files):
    """As srun --mpi=pmix starts them: nothing in the environment is Open MPI's."""
    run = [TOOL, "run", files / "p.glia", "--input", f"x={files / 'x.npy'}"]
    made = start(2, "env", "-u", "OMPI_COMM_WORLD_SIZE", *run, mpi="openmpi")
    assert made.returncode == 0 and made.stdout.count("y : f32[8, 4, 8, 64]") == 1, made.stdout + made.stderr


def test_the_tool_is_found_by_its_name(files):
    path = f"{TOOL.parent}{os.pathsep}{os.environ['PATH']}"
    made = start(2, "glia", "run", files / "p.glia", "--input", f"x={files / 'x.npy'}", PATH=path)
    assert made.returncode == 0 and made.stdout.count("y : f32[8, 4, 8, 64]") == 1, made.stdout + made.stderr


def test_an_mpi_that_is_not_here_is_named(files):
    """A copy of the tool without plugins."""
    tool = files / "glia"
    shutil.copy(TOOL, tool)
    made = start(2, tool, "run", files / "p.glia", "--input", f"x={files / 'x.npy'}")
    assert made.returncode != 0 and f"started by {MPI}" in made.stderr and "RANK-MPI" in made.stderr, made.stderr


@every_mpi
def test_a_script_of_jax_runs_as_it_is(files, mpi):
    script = files / "step.py"
    script.write_text("""
import sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
place = lambda a, *s: jax.device_put(a, NamedSharding(mesh, P(*s)))
r = np.random.default_rng(0)
x, w, v = (r.integers(-3, 4, s).astype(np.float32) for s in [(16, 32), (32, 64), (64, 8)])
step = jax.jit(lambda x, w, v: jax.nn.relu(x @ w) @ v)
for _ in range(3):
    y = step(place(x, "x"), place(w, None, "y"), place(v, "y"))
np.testing.assert_array_equal(np.asarray(y), np.maximum(x @ w, 0) @ v)

# Results in the place of arguments, step after step.
update = jax.jit(lambda w, x: w - 2 * x.T @ (x @ w), donate_argnums=0)
placed = place(w, "x", "y")
for _ in range(120):  # the ends of ranks meet the last exchange of others in every way
    placed = update(placed, place(np.eye(32, dtype=np.float32), "x"))
np.testing.assert_array_equal(np.asarray(placed), w)
print("right")
""")
    made = start(2, sys.executable, script, mpi=mpi, GLIA_DEVICES="8", JAX_PLATFORMS="glia")
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("right") == 2


@every_mpi
def test_processes_with_different_files_end_with_an_error(files, mpi):
    other = PROGRAM.replace("kind=all_reduce op=add", "kind=all_reduce op=max")
    glia.assemble(other, target="trn2").save(str(files / "other.glia"))
    script = files / "pick.sh"
    script.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 0 ] && file=p.glia || file=other.glia
exec {TOOL} run {files}/$file --input x={files}/x.npy --timeout 5
""")
    made = start(2, "sh", script, mpi=mpi)
    assert made.returncode != 0
    assert "RANK-MISMATCH" in made.stderr, made.stderr


def test_processes_with_different_inputs_end_with_an_error(files):
    np.save(files / "z.npy", np.ones((8, 8, 64), np.float32))
    script = files / "pick.sh"
    script.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 0 ] && file=x.npy || file=z.npy
exec {TOOL} run {files}/p.glia --input x={files}/$file --output y={files}/y.npy --timeout 5
""")
    made = start(2, "sh", script)
    assert made.returncode != 0
    assert "RANK-MISMATCH" in made.stderr and "other inputs" in made.stderr, made.stderr
    assert not (files / "y.npy").exists()


@every_mpi
def test_a_failure_in_one_process_reaches_the_others(files, mpi):
    script = files / "fail.sh"
    script.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && few="--max-steps 1"
exec {TOOL} run {files}/p.glia --input x={files}/x.npy --timeout 20 $few
""")
    made = start(2, "sh", script, mpi=mpi)
    assert made.returncode != 0
    assert "SIM-STEPS" in made.stderr, made.stderr


RUN_IN_PYTHON = "import sys, glia, numpy; glia.load(sys.argv[1]).run({'x': numpy.load(sys.argv[2])})"


@pytest.mark.parametrize("door", ["--timeout", "the tool", "Python"])
def test_a_process_that_does_not_come_is_named(files, door):
    come = f"{TOOL} run {files}/p.glia --input x={files}/x.npy"
    if door == "Python":
        come = f'{sys.executable} -c "{RUN_IN_PYTHON}" {files}/p.glia {files}/x.npy'
    if door == "--timeout":
        come += " --timeout 2"
    script = files / "late.sh"
    script.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && exec {sys.executable} -c "
import ctypes, time
table = ctypes.CDLL('{PLUGIN}').glia_mpi_table
table.restype = ctypes.POINTER(ctypes.c_void_p)
begin = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(table()[1])
begin(ctypes.byref(ctypes.c_int()), ctypes.byref(ctypes.c_int()))
time.sleep(30)"
exec {come}
""")
    made = start(2, "sh", script, GLIA_TIMEOUT="600" if door == "--timeout" else "2")
    assert made.returncode != 0
    assert "RANK-TIMEOUT" in made.stderr and "of process 1 has not come" in made.stderr, made.stderr


def test_a_process_that_ends_while_others_go_on(files):
    """What they still send to it is of no use to anybody."""
    script = files / "early.py"
    script.write_text("""
import os, sys, time
import glia, numpy as np
run = lambda: glia.load(sys.argv[1]).run({"x": np.load(sys.argv[2])})
run()
if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1":
    time.sleep(0.5)
    print("first has ended")
    sys.exit(0)
for _ in range(2):
    try:
        run()
    except glia.Error as e:
        print(e)
""")
    made = start(2, sys.executable, script, files / "p.glia", files / "x.npy", GLIA_TIMEOUT="1", MALLOC_PERTURB_="165")
    assert "first has ended" in made.stdout and "RANK-TIMEOUT" in made.stdout, made.stdout + made.stderr
    assert "Signal" not in made.stderr and "SEGV" not in made.stderr, made.stderr
