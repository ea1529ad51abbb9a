"""Names that nki.language and nki.isa do not have: what to use instead of those of older versions, and what a mistyped one may have
been meant to be."""

from __future__ import annotations

import difflib

_OLDER = {
    "arange": "Index with slices: t[0:128, i : i + 512], t[nl.ds(start, size)]. Numbers in a tile: nisa.iota.",
    "mgrid": "Index with slices: t[0:128, 0:512].",
    "par_dim": "The first dimension of a shape is the partition: nl.ndarray((128, 512), ...).",
    "float64": "The machine has no floats of 64 bits: nl.float32.",
    "double": "The machine has no floats of 64 bits: nl.float32.",
    "int64": "Tiles have integers of up to 32 bits: nl.int32.",
    "uint64": "Tiles have integers of up to 32 bits: nl.uint32.",
    "nc": "Launch on cores with kernel[2].",
    "spmd_dim": "Launch on cores with kernel[2].",
    "tensor_copy": "It is nisa.tensor_copy.",
    "loop_reduce": "Add in the loop with nisa.tensor_tensor, or let nisa.nc_matmul accumulate.",
}


_SHORT = 3  # letters of a name that stand for more than chance


def _meant(name: str, known) -> str | None:
    """What it is short for (`mul`, `sub`), or nearly spelt like."""
    longer = [x for x in known if len(name) >= _SHORT and x.startswith(name)]
    if longer:
        return min(longer, key=lambda x: (len(x), x))
    return next(iter(difflib.get_close_matches(name, known, 1)), None)


class MissingName(AttributeError):
    """An AttributeError that knows its advice."""

    def __init__(self, module: str, name: str, known):
        close = _meant(name, known)
        self.advice = _OLDER.get(name) or (f"Did you mean `{close}`?" if close else "docs/nki-api.md lists its names.")
        self.text = f"{module} has no `{name}`"
        super().__init__(f"{self.text}. {self.advice}", name=name)
