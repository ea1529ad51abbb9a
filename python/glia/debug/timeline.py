"""Where a run of a kernel's sequential meaning has been and goes: before each line, in the order in which the lines are run on the
device. Lines of a loop that the device runs come round as often as the loop does. The run is made as far as somebody asks; values at
an earlier moment are found by running again to there, since every run is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .. import _glia
from ..nki import trace as _t
from ..program import step_limit
from .interrupts import check
from .record import Line, Recorder

_CHUNK = 1024  # instructions between two looks at the keyboard


class Stop(NamedTuple):
    """A moment: a line is about to be run."""

    core: int
    line: int  # its number in the record of the core; -1: the kernel has ended
    step: int  # how many instructions have been run, of all cores
    rounds: tuple[int, ...]  # of the loops of the device around it, outermost first


class _Walk:
    """One core on its way through its record."""

    def __init__(self, core: int, record: Recorder, value):
        self.core, self.record = core, record
        self._value = value  # of a register now, in rounds of the loops
        self.entry = 0
        self._told = False  # the lines that begin here have been passed
        self.loops: list[
            list
        ] = []  # of those around it: its entry, number of the round, how many there are (None: while)
        self.ops = record.trace.ops
        self.at: dict[int, list[int]] = {}  # entry -> lines that begin there
        for n, line in enumerate(record.lines):
            self.at.setdefault(line.entry, []).append(n)
        self._ends = _loop_ends(self.ops)

    def rounds(self) -> tuple[int, ...]:
        return tuple(loop[1] for loop in self.loops)

    def value(self, register) -> int:
        return self._value(register, self.rounds())

    def lines(self) -> Iterator[int]:
        """Goes on to the next instruction, or to the end, past lines."""
        while True:
            if not self._told:
                self._told = True
                yield from self.at.get(self.entry, ())
            if self.entry >= len(self.ops) or type(self.ops[self.entry][0]) is str:
                return
            self._control(self.ops[self.entry])
            self._told = False

    def ran(self) -> None:
        """The instruction it stands at has been run."""
        self.entry += 1
        self._told = False

    def _control(self, op: tuple) -> None:
        what, entry = op[0], self.entry
        if what == _t.LOOP:
            count = op[1] if type(op[1]) is int else self.value(op[1][0])
            self._enter(count > 0, count)
        elif what == _t.WHILE:
            self._enter(bool(self.value(op[1][0])), None)
        elif what in (_t.END_LOOP, _t.END_WHILE):
            loop = self.loops[-1]
            begin, done, count = loop
            if done + 1 < count if count is not None else self.value(self.ops[begin][1][0]):
                loop[1] += 1
                self.entry = begin + 1
            else:
                self.loops.pop()
                self.entry = entry + 1
        else:
            self.entry = entry + 1

    def _enter(self, runs: bool, count) -> None:
        if runs:
            self.loops.append([self.entry, 0, count])
            self.entry += 1
        else:
            self.entry = self._ends[self.entry] + 1


def register_value(machine, register, core: int, rounds: tuple[int, ...]) -> int:
    """What a register holds; one that counts a loop is the number of the round, which the machine may yet have to begin."""
    depth = len(register.nest)
    return rounds[depth - 1] if 0 < depth <= len(rounds) else machine.register(register.handle, core)


def _loop_ends(ops: list) -> dict[int, int]:
    out, begun = {}, []
    for n, op in enumerate(ops):
        if op[0] in (_t.LOOP, _t.WHILE):
            begun.append(n)
        elif op[0] in (_t.END_LOOP, _t.END_WHILE):
            out[begun.pop()] = n
    return out


class Timeline:
    """One call of a kernel. `stops` are the moments that the run has come past."""

    def __init__(self, traced, records: list[Recorder], inputs: dict[str, np.ndarray]):
        self.traced, self.records = traced, records
        self._inputs = {name: np.ascontiguousarray(x).tobytes() for name, x in inputs.items()}
        self.stops: list[Stop] = []
        self.executed: list[tuple[int, int, tuple]] = []  # core, entry and rounds of each instruction that was run
        self._run, self._run_step = self._fresh(), 0
        self._reader, self._reader_step = None, 0
        self.fault, self.printed = None, ""
        self._more = self._go()

    def _fresh(self):
        return _glia.Execution(self.traced.kernel, self._inputs, step_limit())

    def line(self, stop: Stop) -> Line:
        return self.records[stop.core].lines[stop.line]

    def reach(self, n: int) -> bool:
        """Runs until there is a stop of this number; False: there is none."""
        while len(self.stops) <= n:
            check()  # not in the middle of what makes stops
            stop = next(self._more, None)
            if stop is None:
                return False
            self.stops.append(stop)
        return True

    def reach_step(self, step: int) -> bool:
        """Runs until so many instructions are behind."""
        while len(self.executed) < step:
            if not self.reach(len(self.stops)):
                return len(self.executed) >= step
        return True

    def _go(self) -> Iterator[Stop]:
        walks = [
            _Walk(core, r, lambda r, rounds, core=core: register_value(self._run, r, core, rounds))
            for core, r in enumerate(self.records)
        ]
        walk, step = walks[0], 0
        while True:
            for n in walk.lines():
                yield Stop(walk.core, n, step, walk.rounds())
            moment = self._run.step()
            if moment is None:
                break
            self._run_step += 1
            if moment[1] != walk.core:  # it waits: the other one's turn, whose lines come before what it has just run
                walk = walks[moment[1]]
                for n in walk.lines():
                    yield Stop(walk.core, n, step, walk.rounds())
            self.executed.append((walk.core, walk.entry, moment[2]))
            walk.ran()
            step += 1
        for other in walks:
            if other is not walk and self._run.fault is None:
                for n in other.lines():
                    yield Stop(other.core, n, step, other.rounds())
        self.fault = self._run.fault
        self.printed = self._run.printed
        yield Stop(walk.core, -1, step, ())

    def at(self, step: int):
        """The machine after so many instructions."""
        if self._run_step == step:
            return self._run
        if self._reader is None or self._reader_step > step:
            self._reader, self._reader_step = self._fresh(), 0
        while self._reader_step < step:
            check()
            self._reader_step += self._reader.advance(min(step - self._reader_step, _CHUNK))
        return self._reader
