"""`t[...] = value`: a copy, as an instruction."""

from __future__ import annotations

from . import trace as _t
from .tensor import NkiTensor


def assign(dst: NkiTensor, value) -> None:
    """Copies a tensor of the same shape, or fills with a number."""
    if not isinstance(value, NkiTensor):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _t.failure(
                "NKI-ASSIGN", f"a {type(value).__name__} is assigned to `{dst.name}`", "Assign a tensor or a number."
            )
        if not dst.on_chip:
            raise _t.failure(
                "NKI-ASSIGN", f"a number is assigned to `{dst.name}` in HBM", "Fill a tile in SBUF and copy it."
            )
        _t.emit("memset", (dst.operand(), value))
        return
    if dst.shape != value.shape:
        raise _t.failure("NKI-ASSIGN", f"a tensor of shape {value.shape} is assigned to one of shape {dst.shape}")
    if dst.on_chip and value.on_chip:
        _t.emit("tensor_copy", (dst.operand(), value.operand()))
    else:
        _t.emit("dma_copy", (dst.operand(), value.operand()))
