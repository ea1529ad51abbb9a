"""Where a run stops: at lines, calls of functions and assignments of tiles, after a number of instructions, under a condition."""

from __future__ import annotations

import linecache
import os
import re
from typing import NamedTuple

from .. import _glia


def failure(code: str, message: str, advice: str = ""):
    return _glia.error_of([_glia.Diagnostic(code, message, advice)])


class Breakpoint(NamedTuple):
    number: int
    kind: str  # line, name, step
    file: str
    line: int  # or the number of instructions
    name: str
    condition: str
    once: bool

    def __str__(self) -> str:
        what = {
            "line": f"{os.path.basename(self.file)}:{self.line}",
            "name": f"assignments of {self.name}",
            "step": f"step {self.line}",
        }[self.kind]
        return (
            f"{self.number}: {what}"
            + (f" if {self.condition}" if self.condition else "")
            + (" (once)" if self.once else "")
        )


def parse(text: str, number: int, once: bool, records, here: str) -> Breakpoint:
    """`24`, `kernel.py:24`, `m`, `helper`, `step 500`, each with ` if CONDITION`; `here` is the file that a line alone is in."""
    where, _, condition = (x.strip() for x in re.sub(r"\s+if\s+", "\0", text.strip(), count=1).partition("\0"))
    if condition:
        try:
            compile(condition, "<condition>", "eval")
        except SyntaxError as e:
            raise failure("DEBUG-VALUE", f"`{condition}` is no expression: {e.msg}") from None
    rest = (condition, once)
    if m := re.fullmatch(r"(?:step|\*)\s*(\d+)", where):
        return Breakpoint(number, "step", "", int(m[1]), "", *rest)
    if m := re.fullmatch(r"(?:(.+):)?(\d+)", where):
        return Breakpoint(number, "line", *_line(m[1], int(m[2]), records, here), "", *rest)
    names = {name for r in records for call in r.calls for changed in call.changes for name in changed}
    functions = {call.function: (call.file, call.first) for r in records for call in r.calls}
    if re.split(r"[.\[]", where)[0] in names:
        return Breakpoint(number, "name", "", 0, where, *rest)
    if where in functions:
        file, first = functions[where]
        return Breakpoint(number, "line", *_line(file, first + 1, records, here), "", *rest)
    if not where:
        raise failure("DEBUG-COMMAND", "break where?", "Say break 24, break kernel.py:24, break m, break step 500.")
    known = ", ".join(sorted(names | functions.keys()))
    raise failure("DEBUG-PLACE", f"there is no line, variable or function `{where}` in this kernel", f"It has {known}.")


def _line(file: str | None, line: int, records, here: str) -> tuple[str, int]:
    """The first line from there on that is run."""
    places = {line.place for r in records for line in r.lines}
    files = {f for f, _ in places}
    wanted = here if file is None else next((f for f in files if f == file or f.endswith(os.sep + file)), None)
    if wanted is None:
        known = ", ".join(sorted(map(os.path.basename, files)))
        raise failure("DEBUG-PLACE", f"the kernel runs no line of a file {file}", f"It runs lines of {known}.")
    lines = sorted(n for f, n in places if f == wanted)
    found = next((n for n in lines if n >= line), None)
    if found is None:
        message = f"the kernel runs no line from {os.path.basename(wanted)}:{line} on"
        raise failure("DEBUG-PLACE", message, f"Its lines there are {lines[0]} to {lines[-1]}.")
    return wanted, found


def shown(place: tuple[str, int], before: int, after: int, marked: int) -> str:
    """Lines of the source around one."""
    file, line = place
    out = []
    for n in range(max(1, line - before), line + after + 1):
        text = linecache.getline(file, n)
        if text:
            out.append(f"{'->' if n == marked else '  '} {n:4}  {text.rstrip()}".rstrip())
    return "\n".join(out)
