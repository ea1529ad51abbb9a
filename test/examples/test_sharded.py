"""The sharded JAX program, as a user runs it: trained on eight devices and on the CPU, the same parameters come out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import glia
import pytest

pytest.importorskip("jax")
if not hasattr(glia._glia, "link"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

SCRIPT = Path(__file__).resolve().parents[2] / "examples/jax_sharded.py"


def test_trains_as_on_one_device():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "JAX_", "XLA_"))}
    env["PYTHONPATH"] = str(Path(glia.__file__).parents[1])
    done = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    pairs = re.findall(r"loss ([0-9.]+) on 8 devices, ([0-9.]+) on the CPU", done.stdout)
    there, here = ([float(x) for x in column] for column in zip(*pairs))
    assert there == pytest.approx(here, abs=1e-4)
    assert there[-1] < 0.3 * there[0]
    assert "`up` is (64, 256), (64, 128) on each device" in done.stdout
