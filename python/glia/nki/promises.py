"""glia.nki.assume: what the author of a kernel promises of an input. The verifier believes it, and the simulator checks it on the
arrays of each call. NKI itself has no way to say that indices are distinct or in range."""

from __future__ import annotations

from . import trace as _t
from .tensor import NkiTensor


def assume(tensor: NkiTensor, range: tuple[int, int] | None = None, unique: bool = False) -> NkiTensor:
    """Promises that all values of an integer argument of the kernel are within `range` (lowest, highest), or that no value occurs
    twice in it. A call with other values is refused before it runs. Returns the tensor."""
    _t.required("assume")
    if not isinstance(tensor, NkiTensor) or tensor.storage.role != "input":
        what = f"`{tensor.name}`" if isinstance(tensor, NkiTensor) else f"a {type(tensor).__name__}"
        _t.error(
            "NKI-ASSUME",
            f"assume takes an argument of the kernel, not {what}",
            "Only inputs can be checked when it runs.",
        )
        return tensor
    storage = tensor.storage
    if storage.dtype.is_float:
        _t.error("NKI-ASSUME", f"assume takes integers, and `{storage.name}` has {storage.dtype}")
        return tensor
    if range is not None and not _is_range(range):
        _t.error("NKI-ASSUME", "a range is (lowest, highest), two integers", value=repr(range))
        return tensor
    lowest, highest, distinct = storage.promise or (None, None, False)
    if range is not None:
        lowest = int(range[0]) if lowest is None else max(lowest, int(range[0]))
        highest = int(range[1]) if highest is None else min(highest, int(range[1]))
        if lowest > highest:
            _t.error("NKI-ASSUME", f"what is assumed of `{storage.name}` cannot be true: nothing is left of its range")
            return tensor
    storage.promise = (lowest, highest, distinct or bool(unique))
    return tensor


def _is_range(x) -> bool:
    return isinstance(x, (tuple, list)) and len(x) == 2 and all(hasattr(v, "__index__") for v in x) and x[0] <= x[1]


def declare(out, handle: int, storages: list) -> None:
    """Plays the promises of one input, on all cores, into the compiler."""
    given = [s.promise for s in storages if s.promise]
    if given:
        lows, highs = [p[0] for p in given if p[0] is not None], [p[1] for p in given if p[1] is not None]
        out.promise(handle, (max(lows), min(highs)) if lows else None, any(p[2] for p in given))
