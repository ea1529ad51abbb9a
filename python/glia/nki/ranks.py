"""Kernels of several ranks: the axis of their arrays that counts ranks, and the number of the rank, which is an input that the
machine fills, each rank with its own."""

from __future__ import annotations

import numpy as np

from . import dtypes
from . import trace as _t
from .objects import MemoryRegion
from .registers import VirtualRegister, register_load, register_move
from .source import user_place
from .tensor import NkiTensor, whole

MOST = 4096  # ranks of a program


def check_ranks(ranks) -> int:
    """A number of ranks, or an error at the caller's line."""
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or not 1 <= ranks.__index__() <= MOST:
        raise _t.failure("NKI-RANKS", f"a kernel is run by 1 to {MOST} ranks", value=repr(ranks))
    return ranks.__index__()


def not_followed(what: str, ranks: int):
    """The error of what follows a kernel instruction by instruction, which is done for one rank."""
    return _t.failure(
        "NKI-RANKS",
        f"{what} follows the kernels of one rank, and these are for ranks={ranks}",
        "Call them without ranks, or return from the kernel what you want to see of each rank.",
    )


class RankAxis:
    """The axis in front of arrays that all ranks have together. With a count of 0 there is none: one rank, and its arrays."""

    __slots__ = ("count",)

    def __init__(self, ranks=None):
        self.count = 0 if ranks is None else check_ranks(ranks)

    @property
    def ranks(self) -> int:
        return max(1, self.count)

    @property
    def lead(self) -> tuple[int, ...]:
        return (self.count,) if self.count else ()

    def part(self, name: str, shape) -> tuple[int, ...]:
        """The shape that one rank sees of an argument."""
        if not self.count:
            return tuple(shape)
        if not shape or shape[0] != self.count:
            raise _t.failure(
                "NKI-RANKS",
                f"the argument `{name}` has shape {tuple(shape)}, and its first axis must have a part for each of {self.count} ranks",
                "Give np.stack of the arrays of all ranks; what is the same for all may be a number or np.broadcast_to.",
            )
        return tuple(shape[1:])

    def given(self, array: np.ndarray) -> np.ndarray:
        """An argument as the program takes it: it has no axis for one rank, and no tensors without dimensions."""
        part = array.shape[len(self.lead) :] or (1,)
        return array.reshape((self.count, *part) if self.count > 1 else part)


def _rank_tensor() -> NkiTensor:
    t = _t.required("nki.collectives.rank_id")
    if t.rank is None:
        # Its name is one of its own kind: cores that do not both ask still allocate their shared tensors alike.
        s = _t.Storage(t, MemoryRegion.shared_hbm, t.fresh_name("rank"), False, dtypes.of(np.int32), (1,), "input")
        s.ordinal, s.promise, s.place = -1, (0, t.ranks - 1, False), user_place()
        t.storages.append(s)
        t.rank = s
    return whole(t.rank)


def rank_register() -> VirtualRegister:
    """A new register with the number of the rank."""
    out = _t.register()
    if _t.required().ranks > 1:
        register_load(out, _rank_tensor())
    else:
        register_move(out, 0)
    return out


def rank_table(values: list[int]) -> VirtualRegister:
    """A new register with values[rank]."""
    if len(values) == 1:
        return rank_register()
    table = _t.constant(np.asarray(values, np.int32))
    out = _t.register()
    register_load(out, table.ap([[1, 1]], 0, scalar_offset=rank_register(), indirect_dim=0))
    return out
