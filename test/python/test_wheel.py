"""The wheel stands alone: in a fresh environment, with LLVM and the development packages hidden, its commands and doors work."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = [f for name in ("hwy", "z3", "LLVM", "MLIR") for f in glob.glob(f"/usr/lib/*/lib{name}*.so*")]
# In a mount namespace of its own: an empty folder, and files that are no libraries.
HIDE = 'mount -t tmpfs none /usr/lib/llvm-22 && for f in {files}; do mount --bind /dev/null $f; done && exec "$@"'


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The `bin` of an environment with the wheel. What it depends on is taken from the environment of the tests."""
    subprocess.run([ROOT / ".ci" / "make-wheel"], check=True, capture_output=True)
    (wheel,) = (ROOT / "dist").glob("glia-*.whl")
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


@pytest.fixture(scope="module")
def run(installed):
    hide = ["unshare", "--map-root-user", "--mount", "sh", "-c", HIDE.format(files=" ".join(HIDDEN)), "sh"]
    if subprocess.run([*hide, "true"], capture_output=True).returncode:
        hide = []  # no namespaces here: then only the environment is fresh

    def run(command, *args, **variables):
        ours = ("PYTHON", "VIRTUAL_ENV", "JAX", "GLIA", "XLA")  # other tests may have set them
        env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        done = subprocess.run(
            [*hide, installed / command, *args],
            capture_output=True,
            text=True,
            env=env | variables,
            cwd=installed.parent,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_package_is_the_one_in_the_wheel(run, installed):
    assert run("python", "-c", "import glia; print(glia.__file__)").startswith(str(installed.parent))


def test_the_command_verifies_and_compiles(run, tmp_path):
    assert run("glia", "--version").startswith("glia ")
    program = ROOT / "test" / "mutants" / "matmul_small.gasm"
    assert "proved" in run("glia", "verify", "--target", "trn2", str(program))
    graph = tmp_path / "double.mlir"
    graph.write_text(
        "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %y = stablehlo.add %x, %x : tensor<8xf32>\n  return %y : tensor<8xf32>\n}\n"
    )
    run("glia", "compile", str(graph), "-o", str(tmp_path / "double.glia"))
    assert "proved" in run("glia", "verify", str(tmp_path / "double.glia"))


def test_a_jax_program_finds_the_platform(run):
    """No configuration: the entry point of the wheel."""
    program = (
        "import jax; print(jax.default_backend(), jax.devices('glia')[0].platform, jax.jit(lambda x: x * 2)(21.0))"
    )
    assert run("python", "-c", program).split() == ["cpu", "glia", "42.0"]
    program = "import jax; print(jax.default_backend(), jax.jit(lambda x: x * 2)(21.0))"
    assert run("python", "-c", program, JAX_PLATFORMS="glia", GLIA_TARGET="trn2").split() == ["glia", "42.0"]


def test_the_entry_points_of_the_other_doors(run):
    assert "usage" in run("neuronx-cc", "--help").lower()
    names = "import importlib.metadata as m; print([e.value for e in m.entry_points(group='torch_dynamo_backends')])"
    assert "glia.dynamo:backend" in run("python", "-c", names)


def test_pytest_knows_glia(run, installed, tmp_path):
    test = tmp_path / "test_kernel.py"
    test.write_text("import nki\n\ndef test_it(glia_target):\n    assert glia_target == 'trn1'\n")
    said = run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--glia-target", "trn1", str(test))
    assert "1 passed" in said


def test_stubs_are_there(installed):
    (site,) = (installed.parent / "lib").glob("python*/site-packages")
    stubs = {p.name for p in (site / "nki-stubs").iterdir()}
    assert (
        stubs == {p.name for p in (ROOT / "python" / "nki-stubs").iterdir()} and (site / "glia" / "py.typed").exists()
    )


@pytest.mark.skipif(
    not (ROOT / "build/python/glia/libglia_openmpi.so").exists() or shutil.which("mpirun.openmpi") is None,
    reason="Open MPI is not installed, or glia was built without it",
)
def test_its_command_runs_under_mpi(installed, tmp_path):
    program = tmp_path / "sum.gasm"
    program.write_text(
        "target trn2\ninput x : f32[2]\noutput y : f32[2]\nqueue q\n"
        "gpsimd collective dst=y src=x queue=q kind=all_reduce op=add ranks=2 width=2 groups=[0, 1]\n"
    )
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32).reshape(2, 2))
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "sh"}
    run = [installed / "glia", "run", program, "--input", f"x={tmp_path / 'x.npy'}"]
    made = subprocess.run(
        ["mpirun.openmpi", "--oversubscribe", "-n", "2", *run],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0 and made.stdout.count("[2 4 2 4]") == 1, made.stdout + made.stderr
