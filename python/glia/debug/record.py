"""What is remembered of the lines of a kernel while it is traced: each line that is run, the call it is in, and how the variables of
that call change from line to line. With it a debugger can stand at any line later, forwards and backwards."""

from __future__ import annotations

import sys
import types
from bisect import bisect_right
from typing import NamedTuple

from ..nki.naming import loop_indices
from ..nki.registers import VirtualRegister
from ..nki.source import _is_internal
from ..nki.watch import Watcher, _is_library

_GONE = object()  # a variable that was deleted


class Line(NamedTuple):
    """A line about to be run."""

    entry: int  # of Trace.ops: what it makes comes from here on
    place: tuple[str, int]
    call: int  # of a function: its number in Recorder.calls
    loops: tuple  # (name, value) of the loops of that function around it, outermost first


class Call:
    """A call of a function: of the kernel itself, or under way in it."""

    def __init__(self, frame, caller: int | None, line: int | None):
        self.function, self.file = frame.f_code.co_name, frame.f_code.co_filename
        self.first = frame.f_code.co_firstlineno
        self.caller, self.line = caller, line  # number of the caller, and of its line that makes the call
        self.numbers: list[int] = []  # of lines at which variables have changed ...
        self.changes: list[dict] = []  # ... and to what
        self.now: dict = {}
        self._merged, self._scope = 0, {}  # so many of the changes, together

    def look(self, line: int, scope) -> None:
        changed = {name: _kept(v) for name, v in scope.items() if not _same(self.now.get(name, _GONE), v)}
        changed |= {name: _GONE for name in self.now if name not in scope}
        if changed:
            self.numbers.append(line)
            self.changes.append(changed)
            self.now = {name: v for name, v in (self.now | changed).items() if v is not _GONE}

    def scope(self, line: int) -> dict:
        """Variables before a line is run."""
        count = bisect_right(self.numbers, line)
        if count < self._merged:  # mostly one goes forwards
            self._merged, self._scope = 0, {}
        for changed in self.changes[self._merged : count]:
            self._scope |= changed
        self._merged = count
        return {name: v for name, v in self._scope.items() if v is not _GONE}


class Snapshot(NamedTuple):
    """An object of the kernel's author, with its attributes at a moment."""

    of: object
    attributes: dict


_authors: dict[type, bool] = {}  # whether a class is one of the author's


def _is_authors(value) -> bool:
    kind = type(value)
    if kind not in _authors:
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None) or ""
        plain = isinstance(value, (type, types.ModuleType, types.FunctionType))
        _authors[kind] = not plain and bool(file) and not _is_internal(file) and not _is_library(file)
    return _authors[kind] and hasattr(value, "__dict__")


def _kept(value):
    """Containers and objects may be changed later."""
    if type(value) in (list, dict):
        return value.copy()
    return Snapshot(value, dict(vars(value))) if _is_authors(value) else value


def _same(kept, value) -> bool:
    if type(kept) is Snapshot:
        return kept.of is value and _same(kept.attributes, vars(value))
    if type(value) is list and type(kept) is list:
        return len(kept) == len(value) and all(a is b for a, b in zip(kept, value))
    if type(value) is dict and type(kept) is dict:
        return kept.keys() == value.keys() and all(kept[k] is value[k] for k in value)
    return kept is value or (type(kept) is type(value) and type(value) in (int, float, str, bool) and kept == value)


class Recorder(Watcher):
    """Looks on while one core is traced: `with Recorder(trace): function(...)`."""

    def __init__(self, trace):
        super().__init__(trace, set())
        self.lines: list[Line] = []
        self.calls: list[Call] = []
        self._numbers: dict[int, int] = {}  # frame -> call
        self._at: dict[int, int] = {}  # call -> its line

    def _line(self, frame, event, _) -> None:
        number = self._numbers.get(id(frame))
        if number is None:
            caller = self._caller(frame)
            number = self._numbers[id(frame)] = len(self.calls)
            self.calls.append(Call(frame, caller, self._at.get(caller)))
            self._frames.append(frame)  # kept, so that its identity stays its own
        call = self.calls[number]
        if event == "line":
            self._at[number] = len(self.lines)
            call.look(len(self.lines), frame.f_locals)
            place = (frame.f_code.co_filename, frame.f_lineno)
            loops = tuple((n, v) for n, v in loop_indices(frame) if type(v) in (int, VirtualRegister))
            self.lines.append(Line(len(self.trace.ops), place, number, loops))
        elif event == "return":
            call.look(len(self.lines), frame.f_locals)  # what its last line has done

    def _caller(self, frame) -> int | None:
        frame = frame.f_back
        while frame is not None and id(frame) not in self._numbers:
            frame = frame.f_back
        return None if frame is None else self._numbers[id(frame)]
