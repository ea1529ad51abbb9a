"""Programs that look right and are not (attacks/), and programs that are right and do not look it (schedules/).

The simulator alone says which is which: an attack faults, traps or has more than one result in strict mode, under some seed;
a schedule has one result under every seed, the bytes of fast mode. Where a program is small enough, every order says the same.
The verifier's verdict is another matter: it must refuse the attacks and prove the schedules. What it does not do yet is listed here,
and the lists can only become shorter.
"""

from __future__ import annotations

from pathlib import Path

import glia
import numpy as np
import pytest
from litmus_programs import head, inputs_of, results

HERE = Path(__file__).resolve().parent
ATTACKS = sorted((HERE / "attacks").glob("*.gasm"))
SCHEDULES = sorted((HERE / "schedules").glob("*.gasm"))

# What the verifier gets wrong today.
PROVED_AND_WRONG: set[str] = set()
RIGHT_AND_REFUSED: set[str] = set()

# Loops that are long to be more than the verifier takes step by step: the simulator gets them shorter, with the same proportions.
SHORTER = {
    "a20_bound_immediate": [("count=1500000", "count=1500"), ("op=shift_right a=r1 b=14", "op=shift_right a=r1 b=4")],
    "c10_large_static_loop_output": [("200000", "200")],
}

# Too many transfers in flight at once for every order.
LARGE = {"a07_nested_apart"}


def load(path, shorter=True):
    text = path.read_text()
    for old, new in SHORTER.get(path.stem, []) if shorter else []:
        assert old in text
        text = text.replace(old, new)
    program = glia.assemble(text, file=path.name)
    return program, inputs_of(program, text), text


def ids(path):
    return path.stem


def listed(paths, names):
    reason = "the verifier's verdict is wrong"
    return [
        pytest.param(p, id=p.stem, marks=[pytest.mark.xfail(strict=True, reason=reason)] if p.stem in names else [])
        for p in paths
    ]


@pytest.mark.parametrize("path", ATTACKS, ids=ids)
def test_attack_misbehaves(path):
    program, inputs, text = load(path)
    seeds = int((head(text, "seeds") or ["10"])[0])
    seen = results(program, inputs, seeds)
    assert len(seen) > 1 or isinstance(next(iter(seen)), str)


@pytest.mark.parametrize("path", [p for p in ATTACKS if p.stem not in LARGE], ids=ids)
def test_attack_misbehaves_in_some_order(path):
    program, inputs, _ = load(path)
    assert not program.every_order(inputs).ok


@pytest.mark.parametrize("path", SCHEDULES, ids=ids)
def test_schedule_has_one_result(path):
    program, inputs, _ = load(path)
    fast = program.run(inputs, verify=False)
    expected = b"".join(v.tobytes() for _, v in sorted(fast.items()))
    assert results(program, inputs, 6) == {expected}


@pytest.mark.parametrize("path", SCHEDULES, ids=ids)
def test_schedule_has_one_result_in_every_order(path):
    program, inputs, _ = load(path)
    orders = program.every_order(inputs)
    assert orders.ok
    for name, made in program.run(inputs, verify=False).items():
        np.testing.assert_array_equal(made, orders.outcomes[0].outputs[name])


@pytest.mark.parametrize("path", listed(ATTACKS, PROVED_AND_WRONG))
def test_attack_is_refused(path):
    program, _, text = load(path, shorter=False)
    assert not program.verify(require_proved="--require-proved" in head(text, "flags")).ok


@pytest.mark.parametrize("path", listed(SCHEDULES, RIGHT_AND_REFUSED))
def test_schedule_is_proved(path):
    program, _, text = load(path, shorter=False)
    assert program.verify(require_proved="--require-proved" in head(text, "flags")).ok
