"""What the tests of this folder share: the head of a program's text, and inputs.

A head says which inputs to give (`; input: n 4`), which flags the verifier gets (`; flags: --require-proved`), and more that
each test explains. Inputs that it does not name count 0, 1, 2 ... in row-major order, within their declared range.
"""

from __future__ import annotations

import re

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
        return np.array(given.get(t.name, low + count % (high - low + 1)))

    return {
        t.name: values(t).astype(numpy_dtype(t.dtype)).reshape(t.shape) for t in program.tensors if t.kind == "input"
    }
