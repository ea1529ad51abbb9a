"""Litmus tests of the ordering model: every statement of docs/ordering.md, over many interleavings of strict mode.

A file is named after its statement's tag (with a variant after a dot). Its head says what may happen:

    ; allowed: ok y=1 2                an outcome: outputs of a run that ended well ...
    ; allowed: RACE at core0.sync#0    ... or the fault and the instruction that it was found at
    ; forbidden: ok y=2 2              an outcome that the statement excludes
    ; several                          the statement leaves a choice: at least two allowed outcomes are seen
    ; refused: RACE                    the verifier refuses the program with this rule (without such a line it is proved)

Inputs hold 0, 1, 2 ... in row-major order, unless the head says otherwise (`; input: n 4`).
"""

from __future__ import annotations

import re
from pathlib import Path

import glia
import pytest
from litmus_programs import head, inputs_of

HERE = Path(__file__).resolve().parent
SEEDS = range(64)
FILES = sorted(HERE.glob("*.gasm"))
ALONE = [f for f in FILES if "gpsimd collective" not in f.read_text()]  # every order is searched for one rank


def text_of(outputs) -> str:
    return " ".join(["ok", *(f"{k}={' '.join(f'{x:g}' for x in v.ravel())}" for k, v in sorted(outputs.items()))])


def outcome(program, inputs, seed: int) -> str:
    try:
        return text_of(program.run(inputs, strict=True, seed=seed, verify=False))
    except glia.Error as e:
        d = e.diagnostics[0]
        at = re.search(r"core (\d+) (\w+) instruction (\d+):", d.context)
        return f"{d.code} at core{at[1]}.{at[2]}#{at[3]}" if at else d.code


def test_every_statement_has_a_file():
    ordering = (HERE.parents[1] / "docs" / "ordering.md").read_text()
    tags = re.findall(r"^- \*\*[A-Z]\d+b? ([a-z0-9-]+)\*\*", ordering, re.M)
    assert len(tags) >= 30
    assert set(tags) == {f.name.split(".")[0] for f in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_outcomes(path):
    text = path.read_text()
    program = glia.assemble(text)
    inputs = inputs_of(program, text)
    allowed, forbidden = head(text, "allowed"), head(text, "forbidden")
    assert allowed, "a litmus test says what is allowed"
    seen = {outcome(program, inputs, seed) for seed in SEEDS}
    assert not seen & set(forbidden)
    assert seen <= set(allowed)
    if re.search(r"^; several$", text, re.M):
        assert len(seen) >= 2, f"only {seen} was seen"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_verifier_agrees(path):
    """What is proved has one outcome, and it is a good one; what the head says is refused is refused for that reason."""
    text = path.read_text()
    program = glia.assemble(text)
    refused = head(text, "refused")
    codes = {d.code for d in program.verify().diagnostics}
    assert set(refused) <= codes if refused else not codes
    if not codes:
        allowed = head(text, "allowed")
        assert len(allowed) == 1 and allowed[0].startswith("ok")


@pytest.mark.parametrize("path", ALONE, ids=lambda p: p.stem)
def test_every_order(path):
    """What is proved has one outcome in every order, the one that is allowed. Whatever is allowed to end well can be seen."""
    text = path.read_text()
    program = glia.assemble(text)
    orders = program.every_order(inputs_of(program, text))
    seen = {text_of(o.outputs) for o in orders.outcomes if o.wrong is None}
    assert {a for a in head(text, "allowed") if a.startswith("ok")} <= seen
    if program.verify().ok:
        assert orders.ok
        assert seen == set(head(text, "allowed"))


@pytest.mark.parametrize("path", ALONE, ids=lambda p: p.stem)
def test_reduction_loses_nothing(path):
    """The orders that are left out end like others: without the reduction the outcomes are the same."""
    text = path.read_text()
    program = glia.assemble(text)
    arrays = program._bytes_of(inputs_of(program, text))
    try:
        full = program._handle.every_order(arrays, 20_000, False)
    except glia.Error as e:
        assert e.diagnostics[0].code == "RUN-ORDERS"
        return
    reduced = program._handle.every_order(arrays, 20_000, True)

    def kinds(orders):
        return {"wrong" if made is None else str(sorted(made.items())) for made, _, _ in orders[3]}

    assert reduced[0] <= full[0]
    # A path ends at its first fault, and which comes first may differ.
    assert kinds(reduced) == kinds(full) if "wrong" not in kinds(full) else "wrong" in kinds(reduced)
