"""What device_print of kernels shows: core by core, each tile in one line with the place that printed it. GLIA_PRINT=all shows every
element, as the machine prints them."""

from __future__ import annotations

import os
import re
import sys

import numpy as np

_HEAD = re.compile(r"(.*) core (\d+) (\w+)\[(\d+), (\d+)\]")
_PLACE = re.compile(r" \([^()]*:\d+[^()]*\)$")  # that the front adds to the prefix of a kernel's
_FIRST = 6


def placed(prefix: str, file: str, line: int, indices: str) -> str:
    """The prefix of a kernel's device_print, with its place."""
    return f"{prefix} ({os.path.basename(file)}:{line}{', ' if indices else ''}{indices})"


def show(text: str) -> None:
    """To the standard output; what device_print wrote during a run."""
    sys.stdout.write(text if os.environ.get("GLIA_PRINT") == "all" else summarised(text))


def summarised(text: str) -> str:
    """What was printed by kernels in one line per tile, sorted by core; the rest as it is."""
    lines = text.split("\n")
    out: dict[int, list[str]] = {}
    n = 0
    while n < len(lines):
        head = _HEAD.fullmatch(lines[n])
        if head is None or not _PLACE.search(head[1]):
            return text  # of an assembled program, or printed by something else
        prefix, core, kind, rows = head[1], int(head[2]), head[3], int(head[4])
        values = np.array(" ".join(lines[n + 1 : n + 1 + rows]).split(), np.float64)
        out.setdefault(core, []).append(f"{prefix} core {core} {kind}[{rows}, {head[5]}]: {_summary(values)}\n")
        n += 1 + rows
        if lines[n:] == [""]:
            break
    return "".join(line for core in sorted(out) for line in out[core])


def _summary(values: np.ndarray) -> str:
    first = " ".join(f"{v:.7g}" for v in values[:_FIRST])
    if values.size <= _FIRST:
        return f"[{first}]"
    return f"min {values.min():.7g} max {values.max():.7g} mean {values.mean():.7g} [{first} ...]"
