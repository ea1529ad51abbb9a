"""torch_xla.launch and xmp.spawn under the hook, on a stand-in for torch_xla."""

import subprocess
import sys

PACKAGE = """
def _run_singleprocess(fn, *args, **kwargs):
    return fn(*args, **kwargs)

def run_multiprocess(fn, *args, start_method="spawn", **kwargs):
    raise AssertionError("processes are started")
"""
SCRIPT = """
import glia
glia.install()
from torch_xla._internal import pjrt
print(pjrt.run_multiprocess(lambda x: x + 1, 2), pjrt.__name__)
"""


def run(tmp_path, **environment):
    folder = tmp_path / "torch_xla" / "_internal"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pjrt.py").write_text(PACKAGE)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_one_process_is_this_one(tmp_path):
    assert run(tmp_path).stdout.split() == ["{0:", "3}", "torch_xla._internal.pjrt"]
    assert run(tmp_path, NEURONCORE_NUM_DEVICES="1").returncode == 0


def test_several_are_refused(tmp_path):
    done = run(tmp_path, NEURONCORE_NUM_DEVICES="4")
    assert done.returncode == 1 and "TORCH-PROCESSES" in done.stderr and "in 4 processes" in done.stderr
