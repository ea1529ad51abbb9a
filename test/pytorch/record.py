"""Writes test/python/recorded: graphs as torch_xla writes them, with inputs and what torch on the CPU makes of them, for the tests of an
environment without torch. Run it with .venv-torch when cases.py changes."""

import copy
import os
from pathlib import Path

os.environ.setdefault("PJRT_DEVICE", "CPU")

import numpy as np
import rank_cases
from cases import cases
from glia import torch_graph, torch_ranks
from glia.nki.frameworks import to_numpy
from torch.utils import _pytree as pytree

FOLDER = Path(__file__).parents[1] / "python" / "recorded"


def main():
    device = torch_graph.lazy_device()
    for name, (module, inputs) in cases().items():
        moved = copy.deepcopy(module).to(device)
        named = {**dict(moved.named_parameters()), **dict(moved.named_buffers())}
        recorded = torch_graph.record(moved, [x.to(device) for x in inputs], named)
        arrays = {}
        for i, a in enumerate(recorded.arguments):
            arrays[f"arg{i}"] = to_numpy(a.value if a.input is None else inputs[a.input])
        for i, x in enumerate(module(*inputs)):
            arrays[f"result{i}"] = to_numpy(x)
        _write(name, recorded.module, arrays)
    for name, case in rank_cases.cases().items():
        made = torch_ranks.compile(case.make, *case.inputs, ranks=case.ranks)
        results = pytree.tree_leaves(case.expected(*case.inputs))
        arrays = {**made.inputs(*case.inputs), **{f"result{i}": to_numpy(x) for i, x in enumerate(results)}}
        arrays = {n: x.view(np.uint16) if x.dtype.name == "bfloat16" else x for n, x in arrays.items()}
        _write(f"ranks_{name}", made.module, {"ranks": np.array(case.ranks), **arrays})


def _write(name: str, module: bytes, arrays: dict) -> None:
    (FOLDER / f"{name}.mlirbc").write_bytes(module)
    np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
    print(name, len(module), len(arrays))


if __name__ == "__main__":
    main()
