"""examples/torch_tensor_parallel.py, as a user runs it: where torch is, and where it is not."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import glia
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples/torch_tensor_parallel.py"
THERE = all(importlib.util.find_spec(name) for name in ("torch", "torch_xla"))


def done():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "NEURON_", "PJRT_", "XLA_"))}
    env["PYTHONPATH"] = str(Path(glia.__file__).parents[1])
    return subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, timeout=900)


@pytest.mark.skipif(not THERE, reason="torch and torch_xla are not installed")
def test_four_ranks_do_what_one_process_does():
    made = done()
    assert made.returncode == 0, made.stdout + made.stderr
    there, here = map(float, re.search(r"loss ([0-9.]+) on 4 ranks, ([0-9.]+) on the CPU", made.stdout).groups())
    assert there == pytest.approx(here, abs=1e-5)


@pytest.mark.skipif(THERE, reason="torch and torch_xla are installed")
def test_without_torch_it_says_how_to_get_it():
    made = done()
    assert made.returncode == 1 and made.stdout == ""
    assert "not found here" in made.stderr and "make venv-torch" in made.stderr and "Traceback" not in made.stderr
