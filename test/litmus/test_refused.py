"""Programs that are wrong in ways that are easy to miss (refused/). Each goes wrong when it runs; the verifier refuses it, for the reason in
its head (`; refused: RACE`)."""

from __future__ import annotations

from pathlib import Path

import glia
import pytest
from litmus_programs import head, inputs_of, results

FILES = sorted((Path(__file__).resolve().parent / "refused").glob("*.gasm"))

# What a machine has no room or no circuit for: the simulator could run it all the same.
FORM = {
    "bank_crossed_by_a_register",
    "cast_without_the_type",
    "count_too_large",
    "exchange_of_other_types",
    "partition_moved_by_one",
    "partitions_too_many",
    "step_of_half_an_element",
}


# What takes more memory than a test should.
LARGE = {"far_above", "far_below"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_refused(path):
    text = path.read_text()
    found = glia.assemble(text, file=path.name).verify(require_proved="--require-proved" in head(text, "flags"))
    (reason,) = head(text, "refused")
    assert reason in {d.code for d in found.diagnostics}


@pytest.mark.parametrize("path", [p for p in FILES if p.stem not in FORM | LARGE], ids=lambda p: p.stem)
def test_goes_wrong(path):
    text = path.read_text()
    program = glia.assemble(text, file=path.name)
    seen = results(program, inputs_of(program, text), 8)
    assert len(seen) > 1 or isinstance(next(iter(seen)), str)
