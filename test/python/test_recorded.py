"""Graphs as torch_xla writes them (test/pytorch/record.py), compiled and run here, against what torch computed."""

from pathlib import Path

import numpy as np
import pytest
from glia.dtypes import numpy_dtype
from glia.neuron.compile import compile_module

FOLDER = Path(__file__).parent / "recorded"
NAMES = ["block", "choice", "integers", "stem", "words"]
NAMES += [
    "ranks_exchanges",
    "ranks_tensor_parallel",
    "ranks_xla",
]  # of four ranks, whose tensors are one behind the other


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_graphs_give_what_torch_gives(name, target):
    data = np.load(FOLDER / f"{name}.npz")
    ranks = int(data["ranks"]) if "ranks" in data.files else 1
    program, _ = compile_module((FOLDER / f"{name}.mlirbc").read_bytes(), name, target, None, ranks)
    assert program.ranks == ranks
    inputs = {}
    for t in program.tensors:
        if t.kind == "input":
            array = np.ascontiguousarray(data[t.name]).reshape(-1)
            inputs[t.name] = array.view(np.uint8).view(numpy_dtype(t.dtype)).reshape(t.shape)
    outputs = program.run(inputs)
    results = [n for n in data.files if n.startswith("result")]
    assert len(outputs) == len(results)
    for n in results:
        want = data[n]
        got = np.ascontiguousarray(outputs[n]).reshape(-1).view(want.dtype).reshape(want.shape)
        if want.dtype.kind == "f":
            assert (
                np.linalg.norm((got - want).astype(np.float64)) <= 2e-5 * np.linalg.norm(want.astype(np.float64)) + 1e-9
            )
        else:
            np.testing.assert_array_equal(got, want)
