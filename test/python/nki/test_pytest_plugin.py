"""The pytest plugin: when it takes the place of nki, its fixtures, the times at the end, and whose frames a failure shows."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import glia
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]
TESTS = """import numpy as np, pytest

X = np.ones((128, 64), np.float32)


def kernel(factor):
    import nki, nki.language as nl

    @nki.jit
    def scaled(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.multiply(nl.load(x), factor))
        return out

    return scaled


def test_target(glia_target):
    assert glia_target == "trn1"


def test_times(glia_profile):
    first = kernel(2.0)(X)
    assert len(glia_profile) == 1 and glia_profile[0].kernel == "scaled" and glia_profile[0].target == "trn1"
    assert glia_profile.total == glia_profile[0].time > 0
    kernel(2.0)(X)
    kernel(3.0)(X)
    assert len(glia_profile) == 3


def test_quiet():
    kernel(2.0)(X)
"""
BROKEN = """import numpy as np, nki, nki.language as nl

@nki.jit
def broken(x):
    return nl.load(x[:, 0:99])

def test_broken():
    broken(np.ones((128, 64), np.float32))
"""


def run(folder, *words):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_fixtures_and_times(tmp_path):
    (tmp_path / "test_k.py").write_text(TESTS)
    r = run(tmp_path, "-p", "glia.pytest", "--glia-target", "trn1")
    assert r.returncode == 0, r.stdout
    listed = r.stdout.partition("predicted times")[2].splitlines()
    assert listed[1].endswith(" us  test_k.py::test_times") and "test_quiet" not in r.stdout
    assert listed[2].split(" us  ")[1] == "scaled on trn1 x 3"
    every = run(tmp_path, "-p", "glia.pytest", "--glia-target", "trn1", "--glia-times").stdout
    assert " us  test_k.py::test_quiet" in every and " us  test_k.py::test_times" in every


def test_the_target_of_the_configuration(tmp_path):
    (tmp_path / "test_k.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nglia_target = trn1\n")
    r = run(tmp_path, "-p", "glia.pytest")
    assert r.returncode == 0, r.stdout


def test_frames_of_glia_are_not_shown(tmp_path):
    (tmp_path / "test_broken.py").write_text(BROKEN)
    r = run(tmp_path, "-p", "glia.pytest")
    assert r.returncode == 1 and "error[NKI-SLICE]" in r.stdout and "test_broken.py:8:" in r.stdout
    assert "glia/nki/" not in r.stdout
    assert "glia/nki/jit.py" in run(tmp_path, "-p", "glia.pytest", "--full-trace").stdout


def test_as_an_entry_point_it_waits_until_it_is_asked(tmp_path):
    """As pytest loads it where glia is installed: from the entry point of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    name, value = text.partition("[project.entry-points.pytest11]\n")[2].splitlines()[0].replace('"', "").split(" = ")
    assert EntryPoint(name, value, "pytest11").load() is sys.modules["glia.pytest"]
    package = tmp_path / "site" / "glia_here.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: glia-here\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[pytest11]\n{name} = {value}\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_k.py").write_text(TESTS)
    (tests / "conftest.py").write_text("")
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(Path(glia.__file__).parents[1]), str(tmp_path / "site")]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = lambda *words: subprocess.run(  # noqa: E731
        [*command, *words], cwd=tests, env=env, capture_output=True, text=True, timeout=120
    )
    alone = done()
    assert "No module named 'nki'" in alone.stdout and "fixture 'glia_target' not found" not in alone.stdout
    for words in (["--glia-target", "trn1"], ["-p", "glia.pytest", "--glia-target", "trn1"]):
        r = done(*words)
        assert r.returncode == 0, r.stdout + r.stderr
