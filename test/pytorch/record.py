"""Writes test/python/recorded: graphs as torch_xla writes them, with inputs and what torch on the CPU makes of them, for the tests of an
environment without torch. Run it with .venv-torch when cases.py changes."""

import copy
import os
from pathlib import Path

os.environ.setdefault("PJRT_DEVICE", "CPU")

import numpy as np
from cases import cases
from glia import torch_graph
from glia.nki.frameworks import to_numpy

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
        (FOLDER / f"{name}.mlirbc").write_bytes(recorded.module)
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
        print(name, len(recorded.module), len(arrays))


if __name__ == "__main__":
    main()
