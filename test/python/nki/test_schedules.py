"""Hand-written kernels against their bound: none is predicted to be faster than any order of its instructions can be, and they come
near it. Predicted times are deterministic."""

import statistics
import sys
from pathlib import Path

import glia
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
import schedules

LARGE = ("1024", "2048")  # these take seconds; `make bench` has them


def test_kernels_come_near_their_bound():
    found = {
        (name, target): schedules.measured(kernel, arguments, target)
        for name, kernel, arguments in schedules.rows()
        if not any(part in name for part in LARGE)
        for target in schedules.TARGETS
        if kernel.lnc == 1 or target != "trn1"
    }
    for key, f in found.items():
        assert 0 < f["total"] <= f["predicted"] + 1, key  # the replay counts whole picoseconds
        assert f["ratio"] <= 1.4, (key, f)
    assert statistics.median(f["ratio"] for f in found.values()) <= 1.1
