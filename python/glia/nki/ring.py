"""Steps around the ring of a group, and the sum that one of them sends."""

from __future__ import annotations

from math import prod

from . import trace as _t
from .isa.compute import tensor_tensor
from .isa.movement import dma_copy
from .objects import MemoryRegion
from .ops import OPS
from .tensor import NkiTensor

_COLUMNS = 2048  # of a tile on the way through SBUF


def successors(groups: list[list[int]]) -> list[list[int]]:
    """Pairs of each rank and the next one of its group; the last gives to the first."""
    return [[g[i], g[(i + 1) % len(g)]] for g in groups for i in range(len(g))]


def reduced_pair(a: NkiTensor, b: NkiTensor, op: str) -> NkiTensor:
    """A new tensor in the same memory with op(a, b)."""
    how = OPS[{"add": "add", "max": "maximum", "min": "minimum"}[op]]
    if a.on_chip:
        out = _t.ndarray(a.shape, a.dtype, MemoryRegion.sbuf)
        tensor_tensor(out, a, b, how)
        return out
    out = _t.ndarray(a.shape, a.dtype, MemoryRegion.private_hbm)
    rows = a.shape[0] if len(a.shape) > 1 else 1
    columns = prod(a.shape) // rows
    flat = [x.reshape((rows, columns)) for x in (a, b, out)]
    for r in range(0, rows, 128):
        for c in range(0, columns, _COLUMNS):
            here = (slice(r, min(r + 128, rows)), slice(c, min(c + _COLUMNS, columns)))
            views = [x[here] for x in flat]
            tiles = [_t.ndarray(views[0].shape, a.dtype, MemoryRegion.sbuf) for _ in range(3)]
            for tile, view in zip(tiles, views[:2]):
                dma_copy(tile, view)
            tensor_tensor(tiles[2], tiles[0], tiles[1], how)
            dma_copy(views[2], tiles[2])
    return out
