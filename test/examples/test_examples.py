"""Every example against NumPy: on each target that can run it, fast, and strict under several seeds; refused elsewhere."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import glia
from catalogue import EVERY, EXAMPLES, HERE, error

RUNS = [(e, t) for e in EXAMPLES for t in e.targets]
REFUSALS = [(e, t) for e in EXAMPLES for t in EVERY if t not in e.targets]


def assemble(example, target):
    return glia.assemble(example.path.read_text(), target=target, file=example.path.name)


def label(pair):
    return f"{pair[0].name}-{pair[1]}"


@pytest.mark.parametrize("pair", RUNS, ids=label)
def test_verifies(pair):
    verdict = assemble(*pair).verify(require_proved=True)
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("pair", RUNS, ids=label)
def test_matches_numpy(pair):
    example, target = pair
    program = assemble(example, target)
    for seed in (1, 2):
        inputs = example.inputs(np.random.default_rng(seed))
        outputs = program.run(inputs, verify=False)
        assert error(outputs, example.reference(inputs)) <= example.tolerance


@pytest.mark.parametrize("pair", RUNS, ids=label)
def test_strict_gives_the_same_bytes(pair):
    example, target = pair
    program = assemble(example, target)
    inputs = example.inputs(np.random.default_rng(3))
    want = program.run(inputs, verify=False)
    for seed in range(4):
        got = program.run(inputs, strict=True, seed=seed, verify=False)
        assert {n: a.tobytes() for n, a in got.items()} == {n: a.tobytes() for n, a in want.items()}


@pytest.mark.parametrize("pair", REFUSALS, ids=label)
def test_refused_where_the_target_lacks_something(pair):
    verdict = assemble(*pair).verify()
    assert not verdict.ok


@pytest.mark.parametrize("n", [0, 1, 8])
def test_dynamic_loop_trip_counts(n):
    example = next(e for e in EXAMPLES if e.name == "dynamic_loop")
    inputs = example.inputs(np.random.default_rng(4)) | {"n": np.array([n], np.int32)}
    program = assemble(example, "trn2")
    for strict in (False, True):
        assert error(program.run(inputs, strict=strict), example.reference(inputs)) == 0


def test_broken_promises_are_refused():
    example = next(e for e in EXAMPLES if e.name == "gather_scatter")
    inputs = example.inputs(np.random.default_rng(5))
    program = assemble(example, "trn2")
    for name, value in (("rows", 1000), ("rows", -1), ("places", int(inputs["places"][1, 0]))):
        changed = inputs[name].copy()
        changed[0, 0] = value
        with pytest.raises(glia.Error) as e:
            program.run(inputs | {name: changed})
        assert e.value.diagnostics[0].code == "RUN-INPUT"


def test_every_file_is_in_the_catalogue():
    assert {p.stem for p in HERE.glob("*.gasm")} == {e.name for e in EXAMPLES}
