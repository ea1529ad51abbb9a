"""Who wrote what a variable holds, and who reads it next; and the first values that a watch is about."""

from __future__ import annotations

import linecache

import numpy as np

from ..nki.places import element_text, source_text
from .breakpoints import failure
from .scope import Located
from .timeline import Stop, Timeline, register_value
from .touch import Operand, Watch, elements, meets, operands, row_bytes


class Lineage:
    def __init__(self, timeline: Timeline):
        self.timeline = timeline

    def op_of(self, step: int) -> tuple[int, tuple]:
        """Core and entry of the record of an instruction that has been run."""
        core, entry, _ = self.timeline.executed[step]
        return core, self.timeline.records[core].trace.ops[entry]

    def where(self, step: int) -> str:
        """Line, what is written there, and the instruction."""
        core, op = self.op_of(step)
        place = list(self.timeline.records[core].trace.locations)[op[3]]
        who = f"core {core}, " if len(self.timeline.records) > 1 else ""
        return f"{source_text(place, linecache.getline(*place).strip())}  ({who}{op[0]}, step {step + 1})"

    def _touches(self, step: int, place: Located, kinds) -> bool:
        for o in operands(self.op_of(step)[1]):
            if o.storage.handle != place.storage.handle or not kinds(o):
                continue
            if meets(place.reshape(-1), place.size_of, self._elements(o, step, step), o.dtype.itemsize):
                return True
        return False

    def _elements(self, o: Operand, step: int, now: int) -> np.ndarray:
        """Where the elements of an operand of an instruction lie, by what registers hold after `now` instructions."""
        core, _, rounds = self.timeline.executed[step]
        return elements(o, lambda r: register_value(self.timeline.at(now), r, core, rounds))

    def wrote(self, place: Located, stop: Stop) -> str:
        for step in range(stop.step - 1, -1, -1):
            if self._touches(step, place, lambda o: o.written):
                return f"written by {self.where(step)}"
        role = place.storage.role
        if role in ("input", "constant"):
            return "given by the caller" if role == "input" else "a constant"
        return "nothing has written it"

    def reads(self, place: Located, stop: Stop) -> str:
        step = stop.step
        while self.timeline.reach_step(step + 1):
            if self._touches(step, place, lambda o: o.read):
                return f"read next by {self.where(step)}"
            if self._touches(step, place, lambda o: o.written and not o.indexed):
                return f"nobody reads it before it is written again, by {self.where(step)}"
            step += 1
        return "nobody reads it any more"

    def watched(self, watch: Watch, first: int, stop: Stop) -> str:
        """What a watch is about among what instructions from `first` on have written; empty: nothing."""
        machine = self.timeline.at(stop.step)
        for step in range(first, stop.step):
            core, op = self.op_of(step)
            for o in operands(op):
                if not o.written or o.indexed:
                    continue
                data = machine.read(o.storage.handle, core)
                at = self._elements(o, step, stop.step)
                at = at[(at >= 0) & (at + o.dtype.itemsize <= data.size)]
                values = _gathered(data, at, o.dtype)
                found = np.flatnonzero(watch.find(values, o.dtype))
                if found.size:
                    n = int(found[0])
                    row = row_bytes(o.storage)
                    index = element_text(o.storage, *(divmod(int(at[n]), row) if row else (0, int(at[n]))))
                    return (
                        f"watch {watch}: `{o.storage.name}` {index} is {values[n]}"
                        f" ({found.size} of {at.size} elements), {self.where(step)}"
                    )
        return ""


def _gathered(data: np.ndarray, at: np.ndarray, dtype) -> np.ndarray:
    size = dtype.itemsize
    if not (at % size).any():
        return data.view(dtype.numpy)[at // size]
    return np.ascontiguousarray(data[at[:, None] + np.arange(size)]).view(dtype.numpy).reshape(-1)


def located(value, text: str) -> Located:
    if not isinstance(value, Located) or value.storage is None or not value.size:
        raise failure("DEBUG-VALUE", f"`{text}` is no part of a tile", "Say for example who wrote m[3, 0].")
    return value
