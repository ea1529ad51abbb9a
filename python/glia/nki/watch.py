"""Which values a variable of a kernel's source takes: each time that the name is bound to a tile, and each time that the tile it is
bound to is written. The kernel is traced once more while the interpreter tells of every line; what is found are points of the
record, at which the sequential meaning is captured."""

from __future__ import annotations

import enum
import inspect
import os
import re
import sys
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from .. import _glia
from . import trace as _t
from .lower import _WRITES
from .naming import loop_indices
from .registers import VirtualRegister
from .source import _is_internal
from .tensor import NkiTensor

_STANDARD = os.path.dirname(enum.__file__) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep


def _is_library(file: str) -> bool:
    """A file of Python's own or of NumPy's, which glia calls and the author did not write."""
    return file.startswith(_NUMPY) or (file.startswith(_STANDARD) and "-packages" + os.sep not in file)


def _is_others(code) -> bool:
    """Whether code is glia's, JAX's, Python's or NumPy's."""
    return _is_internal(code.co_filename) or _is_library(code.co_filename)


class Wanted(NamedTuple):
    """What is watched: `m`, `m@46` or `m@kernel.py:46`; a variable, or a part of one: `tiles[0]`, `self.acc`."""

    name: str
    file: str = ""
    line: int = 0

    @classmethod
    def parse(cls, text: str) -> Wanted:
        name, at, place = text.partition("@") if isinstance(text, str) else ("", "", "")
        file, _, line = place.rpartition(":")
        if not re.match(r"[^\W\d]", name) or (at and not line.isdigit()):
            raise _t.failure("NKI-WATCH", f"{text!r} is nothing to watch", "Say m, m@46 or m@kernel.py:46.")
        return cls(name, file, int(line) if line else 0)

    def names(self, found: str) -> bool:
        """Whether this is what a value is called: a list stands for its parts."""
        return found == self.name or found.startswith(self.name + "[")

    def is_at(self, place: tuple[str, int]) -> bool:
        file_fits = not self.file or place[0].endswith(os.sep + self.file) or place[0] == self.file
        return file_fits and self.line in (0, place[1])


class Point(NamedTuple):
    """A moment of the record at which a variable has a new value."""

    name: str
    view: NkiTensor
    entry: int  # of Trace.ops: the instruction after (or before) which it is captured
    before: bool
    depth: int  # how many loops of the device are around it; the instruction may be in more
    place: tuple[str, int]
    loops: tuple  # (variable, value or None where the device counts) of the loops around, outermost first


class _Binding(NamedTuple):
    name: str
    view: NkiTensor
    entry: int
    nest: tuple[int, ...]  # loops of the device around it
    place: tuple[str, int]
    loops: tuple
    frame: int  # the call of the function that the variable is in


class Watcher:
    """Looks on while one core is traced: `with Watcher(trace, names): function(...)`."""

    def __init__(self, trace: _t.Trace, names: set[str] | None):
        self.trace, self.names = trace, names
        self._roots = None if names is None else {re.match(r"\w+", n)[0] for n in names}
        self._codes: dict[int, bool] = {}  # by identity: whether a code has variables that are watched
        self.bindings: list[_Binding] = []
        self.lines: list[tuple] = []  # (first entry of ops, place, loops) of each line that is run, in order
        self._last: dict = {}  # frame -> (place, loops) of the line it is at
        self._bound: dict = {}  # (frame, name) -> view
        self._frames: list = []  # kept, so that their identities stay their own
        self._nests: dict[int, tuple[int, ...]] = {}  # loops of the device around each instruction of the record

    def __enter__(self):
        self._before = sys.gettrace()
        self._told = _glia.Lines(self._line, self._admits, _is_others)
        self._told.start()
        return self

    def __exit__(self, *_):
        self._told.stop()
        self._told = None  # which knows this object
        sys.settrace(self._before)
        return False

    def _admits(self, frame) -> bool:
        return _t.current() is self.trace

    def _line(self, frame, event, _) -> None:
        key = id(frame)
        if key in self._last:
            self._look(frame, *self._last[key])
        else:
            self._frames.append(frame)
            self._look(frame, (frame.f_code.co_filename, frame.f_code.co_firstlineno), ())  # arguments
        if event == "line":
            place, loops = (frame.f_code.co_filename, frame.f_lineno), _loops_of(frame, self.trace.code)
            self._last[key] = (place, loops)
            self.lines.append((len(self.trace.ops), place, loops))
        elif event == "return":
            caller = self._last.get(id(frame.f_back))
            if caller is not None:  # what the caller's line does after the call is its own
                self.lines.append((len(self.trace.ops), *caller))

    def _look(self, frame, place, loops) -> None:
        """What the line that has just been run bound."""
        if not self._concerns(frame.f_code):
            return
        for name, value in _tiles(frame.f_locals, self.names):
            if self._bound.get((id(frame), name)) is not value:
                self._bound[id(frame), name] = value
                t = self.trace
                self.bindings.append(_Binding(name, value, len(t.ops), t.nest, place, loops, id(frame)))

    def _concerns(self, code) -> bool:
        found = self._codes.get(id(code))
        if found is None:
            variables = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
            found = self._roots is None or not code.co_flags & inspect.CO_OPTIMIZED or bool(self._roots & variables)
            self._codes[id(code)] = found
        return found

    # ---- what was seen

    def points(self) -> list[Point]:
        """In the order of the record."""
        ops = self.trace.ops
        writes: dict = {}  # storage -> entries that write it
        nest: tuple[int, ...] = ()
        loops = 0
        for n, op in enumerate(ops):
            if op[0] in (_t.LOOP, _t.WHILE):
                loops += 1  # numbered as when they were traced
                nest = (*nest, loops)
            elif op[0] in (_t.END_LOOP, _t.END_WHILE):
                nest = nest[:-1]
            if type(op[0]) is str:
                self._nests[n] = nest
                for slot in _WRITES.get(op[0], ()):
                    x = op[1][slot] if slot < len(op[1]) else None
                    if type(x) is tuple and len(x) == 7:
                        writes.setdefault(x[0], []).append(n)
        ends: dict = {}  # (frame, name) -> entry at which the binding ends, from the last one back
        out: dict = {}
        for b in reversed(self.bindings):
            end = ends.get((b.frame, b.name), len(ops))
            ends[b.frame, b.name] = b.entry
            self._points_of(b, end, writes.get(b.view.storage, []), out)
        return sorted(out.values(), key=lambda p: (p.entry, p.name))

    def _points_of(self, b: _Binding, end: int, writes: list[int], out: dict) -> None:
        written = any(n < b.entry for n in writes) or b.view.storage.role in ("input", "constant")
        beside = self._beside(b) if written else None
        if beside is not None:
            out[b.name, beside, b.place, b.loops] = Point(b.name, b.view, *beside, len(b.nest), b.place, b.loops)
        groups: dict = {}  # one point for each line and iteration: after its last write
        for n in writes:
            if b.entry <= n < end:
                groups[self._line_of(n)[0]] = n
        for n in groups.values():
            _, place, loops = self._line_of(n)
            out[b.name, n, place, loops] = Point(b.name, b.view, n, False, len(self._nests[n]), place, loops)

    def _beside(self, b: _Binding) -> tuple[int, bool] | None:
        """The instruction after which, or (True) before which, a binding takes place, as often as it does: in its loops."""
        n, count = len(b.nest), len(self.trace.ops)
        last = next((k for k in range(b.entry - 1, -1, -1) if k in self._nests), None)
        if last is not None and self._nests[last][:n] == b.nest:
            return last, False
        following = next((k for k in range(b.entry, count) if k in self._nests), None)
        if following is not None and self._nests[following][:n] == b.nest:
            return following, True
        return None if last is None else (last, False)

    def _line_of(self, entry: int) -> tuple:
        """Number, place and loops of the line that made an entry of the record."""
        at = bisect_right(self.lines, entry, key=lambda x: x[0]) - 1
        if at < 0:
            return -1, ("", 0), ()
        return at, self.lines[at][1], self.lines[at][2]


def _tiles(scope: dict, names: set[str] | None):
    """The tiles that variables hold, with what they are called: m, tiles[0], self.acc. `names` None: of all variables."""
    for name in scope if names is None else names:
        value = scope.get(name) if name.isidentifier() else _part(scope, name)
        if type(value) is NkiTensor:
            yield name, value
        elif type(value) in (list, tuple):
            for n, part in enumerate(value):
                if type(part) is NkiTensor:
                    yield f"{name}[{n}]", part


def _part(scope: dict, path: str):
    """What `path` names in a scope: a variable, then attributes and numbers in brackets; None if there is no such thing."""
    root, *steps = re.findall(r"\w+", path)
    value = scope.get(root)
    for step in steps:
        try:
            value = value[int(step)] if step.isdigit() else getattr(value, step)
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
    return value


def _loops_of(frame, kernel) -> tuple:
    """Indices of all loops around a line, of the callers' too, up to the kernel (its code)."""
    out: list = []
    while frame is not None:
        if not _is_internal(frame.f_code.co_filename):
            indices = [(n, None if type(v) is VirtualRegister else v) for n, v in loop_indices(frame)]
            out = [(n, v) for n, v in indices if v is None or type(v) is int] + out
        if frame.f_code is kernel:
            break
        frame = frame.f_back
    return tuple(out)


def array_of(view: NkiTensor, data: np.ndarray, start: int | None = None) -> np.ndarray:
    """The elements of a view in the bytes of its storage, not copied; of a view that registers move, the whole storage, unless the byte
    is given that it starts at."""
    storage = view.storage
    size = view.dtype.itemsize
    if start is None:
        if view.terms or view.scalars or view.index is not None:
            return data.view(storage.dtype.numpy).reshape(storage.shape)
        start = view.offset * size
    strides = tuple(s * size for s in view.strides)
    return np.ndarray(view.shape, view.dtype.numpy, data, start, strides)


def unknown(names, values):
    """The error about names that no variable of the kernel has, or not at that line; `values` are those of all variables."""
    seen: dict[str, set[int]] = {}
    for v in values:
        seen.setdefault(v.name, set()).add(v.line)
    known = [f"{n} (line {', '.join(map(str, sorted(seen[n])))})" for n in sorted(seen)]
    missing = ", ".join(f"`{n}`" for n in names)
    message = f"no variable called {missing} holds a tile there"
    return _glia.error_of([_glia.Diagnostic("NKI-WATCH", message, f"What does: {', '.join(known) or 'nothing'}.")])
