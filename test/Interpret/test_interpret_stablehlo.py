"""The expected values of a StableHLO checkout (GLIA_STABLEHLO); skipped without one."""

import os
from pathlib import Path

import pytest

pytest.importorskip("glia._glia")
import glia

if not hasattr(glia._glia, "interpret"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
CHECKOUT = os.environ.get("GLIA_STABLEHLO")
if not CHECKOUT:
    pytest.skip("GLIA_STABLEHLO names no checkout of StableHLO", allow_module_level=True)

from stablehlo_data import modules, run

# Where the data itself is off by more steps than it allows: XLA computes these two of f32 from exponentials.
ROUGH = {"cosh_float32_20_20_chlo.mlir", "sinh_float32_20_20_chlo.mlir"}
# What is not implemented, by the words of the refusal.
REFUSED = (
    "rng_bit_generator",
    "dynamic_",
    "ragged_dot",
    "f8E8M0FNU",
    "GRAPH-QUANTISED",
    "GRAPH-DYNAMIC",
    "GRAPH-OPERATION",
    "GRAPH-SYNTAX",
)


def families():
    by_family = {}
    for family, name, text, function in modules(Path(CHECKOUT)):
        by_family.setdefault(family, []).append((name, text, function))
    return by_family


FAMILIES = families()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_expected_values(family):
    wrong = []
    for name, text, function in FAMILIES[family]:
        outcome = run(text, name, function)
        allowed = outcome.startswith("pass") or (outcome.startswith("refused") and any(r in outcome for r in REFUSED))
        if not allowed and name not in ROUGH:
            wrong.append(f"{name}: {outcome}")
    assert not wrong, "\n".join(wrong)
