"""A graph under the debugger: `glia debug` on files that are made for it."""

from __future__ import annotations

import os
import sys
import tempfile

import numpy as np

from ..command import tool


def debug_graph(name: str, text: str, arrays: list[np.ndarray], script: str | None) -> int:
    """Steps through a graph (StableHLO) with these arguments; returns the exit status of the command."""
    with tempfile.TemporaryDirectory(prefix="glia-debug-") as folder:
        graph = os.path.join(folder, f"{name}.mlir")
        with open(graph, "w") as f:
            f.write(text)
        words = ["debug", graph]
        for i, x in enumerate(arrays):
            path = os.path.join(folder, f"{i}.npy")
            np.save(path, x)
            words += ["--input", f"{i}={path}"]
        sys.stdout.flush()
        return tool([*words, "-x", os.fspath(script)] if script is not None else words)
