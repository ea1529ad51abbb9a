"""The table of run_public_kernels.py as tests. Without checkouts there is nothing to test."""

import sys
from pathlib import Path

import glia
import pytest

sys.path.insert(0, str(Path(__file__).parent))
glia.install()

from public_kernels import run
from run_public_kernels import all_cases

PAIRS = [(case, target) for case in all_cases() for target in case.targets]


@pytest.mark.parametrize("case, target", PAIRS, ids=[f"{c.name}-{t}" for c, t in PAIRS])
def test_kernel(case, target):
    outcome = run(case, target)
    assert outcome.good, outcome.failure or f"error {outcome.error}, tolerated {case.tolerance}"
