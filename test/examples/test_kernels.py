"""Every example in examples/nki against NumPy, on each target that can run it: proved, fast, and strict in several legal orders, and
equal to its sequential meaning bit for bit (several ranks have none); refused elsewhere."""

import sys
from pathlib import Path

import glia
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import kernels

if not hasattr(glia._glia, "link"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

MODULES = {p.stem: (p, kernels.module_of(p)) for p in kernels.examples()}
RUNS = [(name, t) for name, (_, m) in MODULES.items() for t in kernels.targets(m)]
ALONE = [(name, t) for name, t in RUNS if not hasattr(MODULES[name][1], "RANKS")]
REFUSALS = [(name, t) for name, (_, m) in MODULES.items() for t in kernels.EVERY if t not in kernels.targets(m)]


def test_they_are_found():
    assert {"block_sum", "scale_add", "two_core_sum"} <= set(MODULES)


@pytest.mark.parametrize("name,target", RUNS)
def test_matches_numpy(name, target):
    path, module = MODULES[name]
    exe, arrays, want = kernels.compiled(path, module, target)
    verdict = exe.program.verify(require_proved=True)
    assert verdict.ok, str(verdict)
    got = exe.run(*arrays)
    assert kernels.error_of(got, want) <= getattr(module, "TOLERANCE", kernels.TOLERANCE)
    inputs = dict(zip((n for n, *_ in exe._inputs), arrays))
    for seed in (1, 2):
        (strict,) = exe.program.run(inputs, strict=True, seed=seed, verify=False).values()
        assert strict.tobytes() == got.tobytes()


@pytest.mark.parametrize("name,target", ALONE)
def test_equals_its_sequential_meaning(name, target):
    from glia.nki import runtime

    path, module = MODULES[name]
    kernel = getattr(module, path.stem)[getattr(module, "CORES", 1)].on(target)
    arrays = module.inputs(np.random.default_rng(3))
    traced = kernel.trace(*arrays)
    (want,) = runtime.sequential(traced, runtime.inputs_of(traced)).values()
    assert np.asarray(kernel(*arrays)).tobytes() == want.tobytes()


@pytest.mark.parametrize("name,target", REFUSALS)
def test_refused_where_the_target_lacks_something(name, target):
    path, module = MODULES[name]
    with pytest.raises(glia.Error):
        kernels.compiled(path, module, target)


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 7, 8, 9, 2**31 - 1])
def test_one_program_for_every_count(n):
    path, module = MODULES["block_sum"]
    exe, (x, _), _ = kernels.compiled(path, module, "trn2")
    count = np.array([[n]], np.int32)
    np.testing.assert_array_equal(exe.run(x, count), module.reference(x, count))
