"""One call of a kernel under the debugger: where it stands, and what the commands do."""

from __future__ import annotations

import os
import re

from ..nki.places import source_text
from ..nki.registers import VirtualRegister
from ..nki.tensor import NkiTensor
from .breakpoints import Breakpoint, failure, shown
from .lineage import Lineage, located
from .record import Snapshot
from .scope import Scope, summary, text_of
from .timeline import Stop, Timeline
from .touch import Watch, operands


class Session:
    """`marks` are breakpoints and watches by number, which outlive it; `names` those of the kernel's module."""

    def __init__(self, timeline: Timeline, name: str, marks: dict, names: dict):
        self.timeline, self.name, self.marks, self.names = timeline, name, marks, names
        self.lineage = Lineage(timeline)
        self.at = 0
        self.frame = 0  # 0: the innermost call
        timeline.reach(0)

    # ---- where it stands

    @property
    def stop(self) -> Stop:
        return self.timeline.stops[self.at]

    @property
    def ended(self) -> bool:
        return self.stop.line < 0

    def chain(self, stop: Stop) -> list[tuple]:
        """(call, number of its line) from the inside out."""
        record = self.timeline.records[stop.core]
        if stop.line < 0:
            return [(record.calls[0], len(record.lines))]
        number, line, out = record.lines[stop.line].call, stop.line, []
        while number is not None:
            call = record.calls[number]
            out.append((call, line))
            number, line = call.caller, call.line
        return out

    def place(self) -> tuple[str, int]:
        line = self.chain(self.stop)[self.frame][1]
        lines = self.timeline.records[self.stop.core].lines
        return lines[min(line, len(lines) - 1)].place

    def scope(self, stop: Stop | None = None, places: bool = False) -> Scope:
        stop = stop or self.stop
        call, line = self.chain(stop)[self.frame if stop is self.stop else 0]
        return Scope(self.timeline, stop, call.scope(line), places)

    def _indices(self, stop: Stop, line: int) -> str:
        lines = self.timeline.records[stop.core].lines
        if line >= len(lines):
            return ""
        value = Scope(self.timeline, stop, {}).value
        return ", ".join(f"{name} = {value(x)}" for name, x in lines[line].loops)

    def describe(self) -> str:
        """The line it is about to run."""
        stop = self.stop
        who = f"core {stop.core}, " if len(self.timeline.records) > 1 else ""
        if self.ended:
            if self.timeline.fault is not None:
                return f"{self.name} stops after {stop.step} instructions\n{self.timeline.fault}"
            return f"{self.name} has ended after {stop.step} instructions"
        loops = [self._indices(stop, line) for _, line in reversed(self.chain(stop))]
        at = ", ".join(text for text in loops if text)
        return f"{source_text(self.place())}  ({who}{at + ', ' if at else ''}step {stop.step})"

    # ---- going on

    def run(self, wanted=lambda n: "") -> str:
        """Goes on until `wanted(number of a stop)` or a breakpoint says why to stop, or to the end."""
        self.frame = 0
        n = self.at
        try:
            while not self.ended:
                if not self.timeline.reach(n + 1):
                    break
                n += 1
                reason = self.reason(n) or wanted(n)
                if reason or self.timeline.stops[n].line < 0:
                    self.at = n
                    return reason.strip()
        except KeyboardInterrupt:
            self.at = n
            return "interrupted"
        return ""

    def reason(self, n: int) -> str:
        """Why breakpoints and watches stop here; empty: they do not."""
        for number, mark in list(self.marks.items()):
            stop, before = self.timeline.stops[n], self.timeline.stops[n - 1] if n else None
            if isinstance(mark, Watch):
                found = self.lineage.watched(mark, before.step, stop) if before else ""
            else:
                found = self._hit(mark, n, stop, before)
            if found:
                if isinstance(mark, Breakpoint) and mark.once:
                    del self.marks[number]
                return found
        return ""

    def _hit(self, b: Breakpoint, n: int, stop: Stop, before: Stop | None) -> str:
        if b.kind == "line":
            hit = stop.line >= 0 and self.timeline.line(stop).place == (b.file, b.line)
            found = f"breakpoint {b.number}" if hit else ""
        elif b.kind == "step":
            hit = before is not None and before.step < b.line <= stop.step
            found = f"breakpoint {b.number}, step {b.line}" if hit else ""
        else:
            found = self._assigned(b, n, stop)
        if not found or not b.condition:
            return found
        return found if self.scope(stop).holds(b.condition, self.names) else ""

    def _assigned(self, b: Breakpoint, n: int, stop: Stop) -> str:
        """Whether the line before has bound the name to a tile, or has written to the tile it is bound to."""
        call, line = self.chain(stop)[0]
        last = next((m for m in range(n - 1, -1, -1) if self._same_call(self.timeline.stops[m], stop, call)), None)
        if last is None:
            return ""
        old = self.timeline.stops[last]
        before, tiles = _tiles(b.name, call.scope(old.line)), _tiles(b.name, call.scope(line))
        bound = len(before) != len(tiles) or any(x is not y for x, y in zip(before, tiles))
        written = {
            o.storage for k in range(old.step, stop.step) for o in operands(self.lineage.op_of(k)[1]) if o.written
        }
        if tiles and (bound or any(x.storage in written for x in tiles)):
            return f"breakpoint {b.number}, {b.name} is assigned by {source_text(self.timeline.line(old).place)}"
        return ""

    def _same_call(self, earlier: Stop, stop: Stop, call) -> bool:
        record = self.timeline.records[stop.core]
        return earlier.core == stop.core and earlier.line >= 0 and record.calls[record.lines[earlier.line].call] is call

    def step(self, count: int) -> str:
        goal = self.at + count
        return self.run(lambda n: " " if n >= goal else "")

    def next(self) -> str:
        """The next line of this call, or of one around it."""
        around = [call for call, _ in self.chain(self.stop)]
        core = self.stop.core
        return self.run(lambda n: " " if self._is_in(n, core, around) else "")

    def finish(self) -> str:
        around = [call for call, _ in self.chain(self.stop)][1:]
        core = self.stop.core
        return self.run(lambda n: " " if self._is_in(n, core, around) else "")

    def _is_in(self, n: int, core: int, calls: list) -> bool:
        stop = self.timeline.stops[n]
        return stop.core == core and stop.line >= 0 and self.chain(stop)[0][0] in calls

    def back(self, count: int) -> None:
        self.frame = 0
        if not self.at and count == 1:
            raise failure("DEBUG-PLACE", "this is the beginning of the kernel")
        self.at = max(0, self.at - count)

    def back_to(self, step: int) -> None:
        """The line that was about to be run after so many instructions."""
        if step > self.stop.step:
            raise failure("DEBUG-PLACE", f"this is step {self.stop.step}: {step} is not behind it")
        found = [n for n, s in enumerate(self.timeline.stops) if s.step <= step]
        self.at, self.frame = found[-1], 0

    def back_to_mark(self) -> str:
        """The breakpoint before this one, or the beginning."""
        self.frame = 0
        for n in range(self.at - 1, -1, -1):
            reason = self.reason(n)
            if reason or n == 0:
                self.at = n
                return reason
        return ""

    # ---- looking

    def move(self, by: int) -> None:
        frame = self.frame + by
        if not 0 <= frame < len(self.chain(self.stop)):
            raise failure("DEBUG-PLACE", "this is the kernel itself" if by > 0 else "this is the innermost call")
        self.frame = frame

    def where(self) -> str:
        out = []
        for n, (call, line) in enumerate(self.chain(self.stop)):
            lines = self.timeline.records[self.stop.core].lines
            at = self._indices(self.stop, line)
            place = source_text(lines[min(line, len(lines) - 1)].place)
            mark = "->" if n == self.frame else "  "
            out.append(f"{mark} {n}  {call.function} at {place}" + (f"  ({at})" if at else ""))
        return "\n".join(out)

    def print(self, text: str) -> str:
        scope = self.scope()
        value = scope.variables.get(text)
        note = "nothing has written it yet: its bytes mean nothing\n" if self._unwritten(value) else ""
        return note + text_of(scope.evaluate(text, self.names))

    def _unwritten(self, x) -> bool:
        """A tile that no instruction has written."""
        if type(x) is not NkiTensor or x.storage.role in ("input", "constant"):
            return False
        done = (o for k in range(self.stop.step) for o in operands(self.lineage.op_of(k)[1]))
        return not any(o.written and o.storage.handle == x.storage.handle for o in done)

    def who(self, how: str, text: str) -> str:
        place = located(self.scope(places=True).evaluate(text, self.names), text)
        return f"{text}: {getattr(self.lineage, how)(place, self.stop)}"

    def variables(self) -> str:
        scope = self.scope()
        out = []
        for name, x in scope.variables.items():
            if type(x) is NkiTensor:
                text = f"{x.dtype}{list(x.shape)} not written yet" if self._unwritten(x) else summary(scope[name])
                out.append(f"{name}: {text} in {x.storage.region.value}")
            elif type(x) in (list, tuple, dict) and len(x) > 4:
                out.append(f"{name}: {type(x).__name__} of {len(x)}")
            elif type(x) in (list, tuple, dict) or type(x) in (int, float, str, bool, VirtualRegister, Snapshot):
                text = str(x) if type(x) in (list, tuple, dict) else text_of(scope[name])
                out.append(f"{name}: {text if len(text) < 100 else text[:96] + ' ...'}")
        return "\n".join(out) or "no variables yet"

    def list(self, line: int | None) -> str:
        file, at = self.place()
        return (
            shown((file, line or at), 4, 5, at if not self.ended else 0)
            or f"{os.path.basename(file)} has no such lines"
        )


def _tiles(name: str, variables: dict) -> list:
    """The tiles that a name stands for: one, or those of a list; none if it means nothing there."""
    root, *steps = re.findall(r"\w+", name)
    value = variables.get(root)
    for step in steps:
        if type(value) is Snapshot:
            value = value.attributes.get(step)
        elif type(value) in (list, tuple) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if type(value) is dict else None
    return [x for x in (value if type(value) in (list, tuple) else [value]) if type(x) is NkiTensor]
