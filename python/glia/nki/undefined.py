"""Undefined data, said where they come from: the tile that was never written, its first reader, the output that it reaches. The
verifier knows that undefined bytes reach something; the sequential meaning of the kernel shows on which way."""

from __future__ import annotations

import numpy as np

from .. import _glia
from ..program import step_limit
from .places import range_text, source_text

_CODES = ("UNDEFINED-OUTPUT", "OUTPUT-UNWRITTEN", "UNDEFINED-ADDRESS", "UNDEFINED-CONTROL")


def explained(diagnostics: list, traced) -> list:
    """The diagnostics, those about undefined data with their origin where a run with the arguments shows it."""
    if traced.ranks > 1 or not any(d.code in _CODES for d in diagnostics):
        return diagnostics
    arrays = zip(traced.lowered.inputs, traced.arrays.arrays)
    data = {name: x.tobytes() if isinstance(x, np.ndarray) else bytes(_size(x)) for name, x in arrays}
    found = traced.kernel.observe(data, step_limit(), undefined=True)["undefined"]
    out, said = [], set()
    for d in diagnostics:
        new = [_with_origin(d, traced, o) for o in found if d.code in _CODES and _explains(d, traced, o)]
        for x in new or [d]:
            key = (x.code, x.message, x.file, x.line)
            if key not in said:
                said.add(key)
                out.append(x)
    return out


def _size(symbol) -> int:
    """Bytes of an array that stands for a tensor of a program: it has no numbers, and zeros must do."""
    return int(np.prod(symbol.shape, dtype=np.int64)) * np.dtype(symbol.dtype).itemsize


def _explains(d, traced, origin) -> bool:
    _, _, _, reader, output, stored = origin
    if d.code == "OUTPUT-UNWRITTEN":
        return f"output `{output}`" in d.message
    if d.code == "UNDEFINED-OUTPUT":
        return stored is not None and f"`{output}`" in d.message and traced.place_of(stored)[0] == (d.file, d.line)
    return reader is not None and traced.place_of(reader)[0] == (d.file, d.line)


def _with_origin(d, traced, origin):
    number, partitions, bytes_, reader, output, stored = origin
    storage = traced.storage_of(number)
    where = range_text(storage, partitions, bytes_)
    context = f"kernel {traced.name}"
    if reader is None:
        text, notes = f"output `{output}` is not written at {where}", [d.message]
    else:
        text = f"`{storage.name}` is never written at {where}"
        notes = [f"first read by {source_text(*traced.place_of(reader))}"]
        if stored is not None:
            text += f", and reaches output `{output}`"
            notes.append(f"stored to `{output}` by {source_text(*traced.place_of(stored))}")
        else:
            text += ", and becomes an address or a count"
    return _glia.Diagnostic(d.code, text, d.advice, *storage.place, context, d.value, d.limit, notes)
