"""Plays what was recorded into the compiler: one kernel of one or more cores. Here it is known what each tensor in HBM is for the
caller. The machine does not write to inputs, so an input that the kernel writes to becomes an output that begins as it."""

from __future__ import annotations

import dataclasses
import functools
import linecache
from typing import NamedTuple

from .. import _glia
from . import trace as _t
from .forward import forward_loads
from .objects import MemoryRegion
from .promises import declare

_WRITES = {
    i["name"]: tuple(n for n, s in enumerate(i["slots"]) if s["kind"] in ("out", "inout", "opt_out"))
    for i in _glia.instructions()
}


class Output(NamedTuple):
    """A tensor that the program gives back."""

    name: str
    dtype: object  # DType
    shape: tuple[int, ...]
    place: tuple[str, int]  # where it is made


@dataclasses.dataclass(frozen=True)
class Lowered:
    kernel: object  # _glia.Kernel
    inputs: list[str]  # names, in the order of the kernel's tensor arguments
    outputs: list[Output]
    updates: dict[int, Output]  # argument number -> its new contents
    results: list  # per returned tensor: an Output, or the number of the argument that is returned
    tensors: object  # _Tensors
    rank_input: str  # the input with the number of the rank; empty if the kernel does not ask

    @functools.cached_property
    def text(self) -> str:
        """The kernel as a custom call carries it."""
        return self.kernel.text(places=True)


def _check_pair(a: _t.Storage, b: _t.Storage) -> None:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        _t.error(
            "NKI-SHARED",
            f"the cores disagree about the shared tensor `{a.name}`: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}",
            "Shared tensors are paired by name, or in the order of their allocation.",
            place=b.place,
        )


class _Tensors:
    """The HBM tensors of all cores, each once."""

    def __init__(self, traces, returned):
        self.first: dict[tuple, _t.Storage] = {}  # key -> the first core's
        self.keys: dict[_t.Storage, tuple] = {}
        for positions in zip(*returned):  # what is returned is paired by position
            head = positions[0].storage
            for other in positions[1:]:
                if other.storage.role == "scratch" and head.role == "scratch":
                    _check_pair(head, other.storage)
                    self.keys[other.storage] = self._key(head)
        for t in traces:
            for s in t.storages:
                if s.on_chip:
                    continue
                key = self.keys.setdefault(s, self._key(s))
                if key in self.first:
                    _check_pair(self.first[key], s)
                else:
                    self.first[key] = s
        self.written = self._written(traces)
        self.outputs = {self.keys[r.storage] for rs in returned for r in rs if r.storage.role == "scratch"}

    @staticmethod
    def _key(s: _t.Storage) -> tuple:
        if s.role == "input":
            return ("input", s.ordinal)
        if s.role == "constant":
            return ("constant", s.name, s.data)
        if s.region is MemoryRegion.shared_hbm:
            return ("shared", s.pair)
        return ("private", s.trace.core, s.name)

    def _written(self, traces) -> set[tuple]:
        """Keys of the inputs that are written."""
        out = set()
        for t in traces:
            if not any(s.role == "input" for s in t.storages):
                continue
            for op in t.ops:
                if type(op[0]) is str:
                    slots = op[1]
                    for n in _WRITES.get(op[0], ()):
                        if n < len(slots) and type(slots[n]) is tuple and len(slots[n]) == 7:
                            s = slots[n][0]
                            if s.role == "input" and s.trace is t:
                                out.add(self.keys[s])
        return out


def lower(traces: list[_t.Trace], returned: list[list], schedule=(), order: str = "best") -> Lowered | None:
    """The kernel, or None if something is wrong (recorded in the last trace). `returned` are the tensors, per core; `schedule` are
    edges between instructions, `order` is best or as_written."""
    last = traces[-1]
    tensors = _Tensors(traces, returned)
    if last.errors:
        return None
    out = _glia.Trace(last.kernel, last.target.reference, len(traces))
    out.schedule(order)
    locate = _Locations(out)
    inputs: list[str] = []
    rank_input = ""
    made: dict[tuple, Output] = {}
    handles: dict[tuple, int] = {}
    used: set[str] = set()
    for key, s in tensors.first.items():
        kind = "output" if key in tensors.outputs else s.role
        name = _unused(used, s.name if key[0] != "private" or len(traces) == 1 else f"{s.name}_core{key[1]}")
        data = {"data": s.data} if kind == "constant" else {}
        shared = s.region is MemoryRegion.shared_hbm
        handles[key] = out.tensor(kind, name, s.dtype.machine, list(s.shape), shared, **data, loc=locate(s.place))
        if kind == "input":
            if s is s.trace.rank:
                rank_input = name
            else:
                inputs.append(name)
            declare(out, handles[key], [x for x, k in tensors.keys.items() if k == key])
            if key in tensors.written:
                new = made[key] = Output(_unused(used, name + "_out"), s.dtype, s.shape, s.place)
                handle = out.tensor("output", new.name, s.dtype.machine, list(s.shape), True, loc=locate(s.place))
                out.begin(handle, handles[key])
                handles[key] = handle
        elif kind == "output":
            made[key] = Output(name, s.dtype, s.shape, s.place)
    for s, key in tensors.keys.items():
        s.handle = handles[key]
    changed = {s for s, key in tensors.keys.items() if key in tensors.written}
    for t in traces:
        forward_loads(t, _WRITES, changed)
        out.core(t.core)
        _Player(out, locate, t, last).play(schedule)
    if last.errors:
        return None
    updates = {key[1]: o for key, o in made.items() if key[0] == "input"}
    keys = [tensors.keys[r.storage] for r in returned[0]]
    results = [key[1] if key[0] == "input" else made[key] for key in keys]
    return Lowered(out.finish(), inputs, list(made.values()), updates, results, tensors, rank_input)


def _unused(used: set[str], name: str) -> str:
    stem, n = name, 0
    while name in used:
        n += 1
        name = f"{stem}_{n}"
    used.add(name)
    return name


class _Locations:
    """Places in the user's files, each once."""

    def __init__(self, out):
        self.out = out
        self.known: dict[tuple[str, int], int] = {("", 0): 0}

    def __call__(self, place: tuple[str, int]) -> int:
        n = self.known.get(place)
        if n is None:
            n = self.known[place] = self.out.location(*place, linecache.getline(*place).strip())
        return n


class _Player:
    """Plays one core's record."""

    def __init__(self, out, locate: _Locations, t: _t.Trace, errors: _t.Trace):
        self.out, self.locate, self.t, self.errors = out, locate, t, errors
        self.places = list(t.locations)
        self.locations = [locate(place) for place in self.places]
        self.nest: tuple[int, ...] = ()
        self.loops = 0

    def error(self, code: str, message: str, advice: str, loc: int) -> None:
        self.errors.record(_t.diagnostic(code, message, advice, place=self.places[loc]))

    def operand(self, slot: tuple, loc: int) -> tuple:
        s, dtype, partition, byte, partitions, dims, terms = slot
        if s.trace is not self.t:
            self.error(
                "NKI-PURITY",
                f"`{s.name}` is a tensor of another call of a kernel",
                "A tensor lives in one call. Do not keep it in a global, and return data through HBM.",
                loc,
            )
        elif s.nest and s.nest != self.nest[: len(s.nest)]:
            self.error(
                "NKI-SCOPE",
                f"`{s.name}` is used outside of the run-time loop that it is allocated in",
                "Allocate it before the loop.",
                loc,
            )
        if terms:
            terms = tuple(self.register(x, loc) if type(x) is _t.Register else x for x in terms)
        return (s.handle, dtype, partition, byte, partitions, dims, terms)

    def register(self, r: _t.Register, loc: int) -> int:
        if r.trace is not self.t:
            self.error(
                "NKI-PURITY", "a register of another call of a kernel is used", "A register lives in one call.", loc
            )
        elif r.nest and r.nest != self.nest[: len(r.nest)]:
            self.error(
                "NKI-SCOPE", "a loop variable is used outside of its loop", "Copy it into a register in the loop.", loc
            )
        return r.handle

    def play(self, schedule=()) -> None:
        out, t = self.out, self.t
        for r in t.registers:
            r.handle = out.register()
        emit, locations, operand = out.emit, self.locations, self.operand
        numbers: dict[int, int] = {}  # of the record -> of the compiler
        named: dict[str, list[int]] = {}
        for n, op in enumerate(t.ops):
            what = op[0]
            if type(what) is not str:
                self.control(op, numbers)
                continue
            _, slots, engine, loc, name = op
            slots = tuple(
                x if type(x) is not tuple else operand(x, loc) if len(x) == 7 else (self.register(x[0], loc),)
                for x in slots
            )
            if self.errors.errors:
                continue  # what is wrong is found; playing goes on to find more of it
            try:
                numbers[n] = emit(what, slots, engine, locations[loc], name)
            except _glia.Error as e:
                for d in e.diagnostics:
                    self.error(d.code, d.message, d.advice, loc)
                continue
            if name:
                named.setdefault(name, []).append(numbers[n])
        t.numbers = numbers
        self.order(schedule, named)

    def control(self, op: tuple, numbers: dict) -> None:
        out, what = self.out, op[0]
        if what == _t.ALLOC:
            s = op[1]
            at = s.address or (-1, -1)
            s.handle = out.alloc(
                s.region.value, s.name, s.dtype.machine, list(s.shape), at[0], at[1], self.locate(s.place)
            )
        elif what == _t.LOOP:
            _, count, loc, iv = op
            count = count if type(count) is int else (self.register(count[0], loc),)
            iv.handle = out.loop(count, self.locations[loc])
            self.enter()
        elif what == _t.WHILE:
            out.while_(self.register(op[1][0], op[2]), self.locations[op[2]])
            self.enter()
        elif what == _t.END_LOOP:
            out.end_loop()
            self.nest = self.nest[:-1]
        elif what == _t.END_WHILE:
            out.end_while()
            self.nest = self.nest[:-1]
        elif what == _t.CHAIN:
            out.chain(op[1])
        elif what == _t.AFTER and op[1] in numbers and op[2] in numbers:
            out.after(numbers[op[1]], [numbers[op[2]]])

    def enter(self) -> None:
        self.loops += 1  # loops are numbered as they were when the kernel was traced
        self.nest = (*self.nest, self.loops)

    def order(self, schedule, named: dict[str, list[int]]) -> None:
        """Edges that the author gave by name."""
        for consumer, producers in schedule:
            producers = [producers] if isinstance(producers, str) else list(producers)
            found = [named.get(name, []) for name in (consumer, *producers)]
            for name, numbers in zip((consumer, *producers), found):
                if len(numbers) != 1 and not self.errors.errors:
                    what = "no instruction has" if not numbers else f"{len(numbers)} instructions have"
                    self.errors.record(
                        _t.diagnostic(
                            "NKI-SCHEDULE", f"with_schedule: {what} the name `{name}`", "Give it to one instruction."
                        )
                    )
            if all(len(numbers) == 1 for numbers in found):
                self.out.after(found[0][0], [numbers[0] for numbers in found[1:]])
