"""What the tests of this folder share: the head of a program's text, inputs, and what runs come to.

A head says which inputs to give (`; input: n 4`), which flags the verifier gets (`; flags: --require-proved`), and more that
each test explains. Fewer numbers than an input has elements are repeated. Inputs that it does not name count 0, 1, 2 ... in row-major order, within their declared range.
"""

from __future__ import annotations

import re

import glia
import numpy as np
from glia.dtypes import numpy_dtype


def head(text: str, key: str) -> list[str]:
    return [m.strip() for m in re.findall(rf"^; {key}:?(.*)$", text, re.M)]


def inputs_of(program, text: str) -> dict[str, np.ndarray]:
    given = {name: [int(v) for v in values] for name, *values in map(str.split, head(text, "input"))}
    ranges = {m[0]: (int(m[1]), int(m[2])) for m in re.findall(r"^input (\w+) .* range (-?\d+) (-?\d+)", text, re.M)}

    def values(t):
        count = np.arange(np.prod(t.shape))
        low, high = ranges.get(t.name, (0, len(count)))
        return np.resize(given.get(t.name, low + count % (high - low + 1)), count.shape)

    return {
        t.name: values(t).astype(numpy_dtype(t.dtype)).reshape(t.shape) for t in program.tensors if t.kind == "input"
    }


def results(program, inputs, seeds):
    """What runs of strict mode come to: outputs as bytes, or the code of what went wrong. Ends at the first fault."""
    seen = set()
    for seed in range(seeds):
        for steered in (False, True):
            try:
                made = program.run(inputs, strict=True, seed=seed, steered=steered, verify=False)
            except glia.Error as e:  # a Trap is one, too
                return seen | {e.diagnostics[0].code}
            seen.add(b"".join(v.tobytes() for _, v in sorted(made.items())))
    return seen
