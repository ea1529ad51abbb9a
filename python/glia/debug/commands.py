"""`python -m glia debug`: the commands of its prompt, over one call of a kernel after the other."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from .. import _glia
from ..command import path as tool_path
from ..nki.observers import copies
from ..nki.ranks import not_followed
from ..nki.runtime import inputs_of
from . import interrupts
from .breakpoints import failure, parse
from .prompt import Prompt
from .record import Recorder
from .session import Session
from .timeline import Timeline
from .touch import Watch

_WATCHES = ("nan", "inf", "denormal", "saturation")
_HELP = """the sequential meaning of the kernel, line by line:
  break 24, break helper.py:24, break m, break helper, break step 500, each with `if j == 1`; tbreak: once
  watch nan | inf | denormal | saturation | range LOW HIGH   stops at the first value that is written so
  delete [N]              that breakpoint or watch, or all;  info breakpoints lists them
  continue, step [N], next, finish, until LINE               until a breakpoint, line by line, past calls, out of a call, to a line
  back [N], back to STEP, reverse-continue, run              lines back, to a step, to the breakpoint before, to the beginning
  print EXPRESSION        of tiles, arguments and loop indices, with NumPy: print acc[0:4, 0], print np.abs(p).max()
  who wrote m[3, 0], who reads m[3, 0]                        the instruction before, the next one
  info locals, where, up, down, list [LINE]
  instr                   the compiled program instruction by instruction (quit comes back);  save NAME keeps it with its inputs
  quit
Commands may be shortened (b, tb, c, s, n, u, p, l, rc). Enter repeats the last one."""


class Debugger:
    """An observer of runtime.py, and of jax_door.py."""

    def __init__(self, script: str | None):
        self.prompt = Prompt(script)
        self.marks: dict[int, object] = {}
        self.number = 0
        self.calls = self.graphs = 0  # of kernels, and of functions of glia.jit
        atexit.register(self._say_if_nothing)
        self.commands = {
            "break": lambda rest: self._break(rest, False),
            "tbreak": lambda rest: self._break(rest, True),
            "watch": self._watch,
            "delete": self._delete,
            "info": self._info,
            "continue": self._continue,
            "step": lambda rest: self._on(self.session.step, _count(rest)),
            "next": lambda rest: self._on(self.session.next),
            "finish": lambda rest: self._on(self.session.finish),
            "until": self._until,
            "back": self._back,
            "reverse-continue": lambda rest: self._went(self.session.back_to_mark()),
            "run": lambda rest: self._went(self.session.back(len(self.session.timeline.stops)) or ""),
            "print": self._print,
            "who": self._who,
            "where": lambda rest: print(self.session.where()),
            "up": lambda rest: self._move(1),
            "down": lambda rest: self._move(-1),
            "list": lambda rest: print(self.session.list(_count(rest) if rest else None)),
            "instr": self._instr,
            "save": self._save,
            "help": lambda rest: print(_HELP),
            "quit": self._quit,
        }
        self.short = {
            "b": "break",
            "tb": "tbreak",
            "c": "continue",
            "s": "step",
            "n": "next",
            "u": "until",
            "p": "print",
        }
        self.short |= {
            "l": "list",
            "rc": "reverse-continue",
            "bt": "where",
            "r": "run",
            "exit": "quit",
            "i": "info",
            "d": "delete",
        }

    # ---- calls of kernels

    def look(self, kernel, args, kwargs, traced, program, inputs) -> None:
        self.calls += 1
        if self.calls > 1 and not self.marks:
            return
        if traced.ranks > 1:
            raise not_followed("debug", traced.ranks)
        records: list[Recorder] = []

        def record(t):
            records.append(Recorder(t))
            return records[-1]

        watched = kernel._trace(kernel._call(*copies(args, kwargs)), record)
        timeline = Timeline(watched, records, inputs_of(watched))
        self.session = Session(timeline, traced.name, self.marks, kernel.func.__globals__)
        self.program, self.inputs = program, inputs
        self._over = False
        if self.calls == 1:
            print(
                f"kernel {traced.name} for {traced.target}: its sequential meaning, line by line; `help` lists commands"
            )
            print(self.session.describe())
        else:
            with interrupts.remembered():
                reason = self.session.reason(0) or self.session.run()
            if self.session.ended and not reason:
                return
            print(f"kernel {traced.name}, call {self.calls}")
            self._went(reason)
        while not self._over:
            self._command()
        del self.session  # its runs are large

    def look_at_graph(self, function, args, kwargs) -> None:
        """The first call of a function of glia.jit has a session of its own, over its operations."""
        self.graphs += 1
        if self.graphs > 1:
            return
        with tempfile.TemporaryDirectory(prefix="glia-debug-") as folder:
            self._ended(function.debug(*args, script=self._commands(folder), **kwargs))

    def _commands(self, folder: str) -> str | None:
        """A file with the commands up to the next `quit`, for the debugger of something else; None if they are typed."""
        if self.prompt.typed:
            return None
        script = os.path.join(folder, "commands")
        with open(script, "w") as f:
            f.write("\n".join(self.prompt.rest()) + "\n")
        return script

    def _ended(self, status: int) -> None:
        """Another debugger has: a wrong command there is one here."""
        self.prompt.failed |= bool(status) and not self.prompt.typed

    def _say_if_nothing(self) -> None:
        if not self.calls and not self.graphs:
            print(
                "glia: no call of a kernel or of a function of glia.jit came as far as running, so there was nothing to stop in; "
                "a compiled program is for `glia debug PROGRAM`",
                file=sys.stderr,
            )

    def _command(self) -> None:
        text = self.prompt.read(f"({self.session.name} lines) ")
        if text is None:
            self._quit("")
        word, _, rest = text.partition(" ")
        try:
            with interrupts.remembered():
                self._named(word)(rest.strip())
        except _glia.Error as e:
            self.prompt.fail(e)
        except KeyboardInterrupt:
            print("interrupted")
        sys.stdout.flush()

    def _named(self, word: str):
        word = self.short.get(word, word)
        found = [name for name in self.commands if name == word] or [n for n in self.commands if n.startswith(word)]
        if len(found) == 1:
            return self.commands[found[0]]
        if found:
            raise failure("DEBUG-COMMAND", f"`{word}` may be {' or '.join(found)}")
        raise failure("DEBUG-COMMAND", f"there is no command `{word}`", "`help` lists them.")

    # ---- commands

    def _went(self, reason: str) -> None:
        if reason:
            print(reason)
        print(self.session.describe())

    def _on(self, go, *arguments) -> None:
        if self.session.ended:
            raise failure(
                "DEBUG-PLACE", "the kernel has ended", "`continue` goes on with the script, `back` goes back."
            )
        self._went(go(*arguments))

    def _continue(self, rest: str) -> None:
        self._over = self.session.ended
        if not self._over:
            self._on(self.session.run)

    def _mark(self, mark, text: str) -> None:
        self.marks[self.number] = mark
        print(text)

    def _break(self, rest: str, once: bool) -> None:
        records = self.session.timeline.records
        b = parse(rest, self.number + 1, once, records, self.session.place()[0])
        self.number += 1
        self._mark(b, f"breakpoint {b}")

    def _watch(self, rest: str) -> None:
        words = rest.split()
        if len(words) == 1 and words[0] in _WATCHES:
            watch = Watch(words[0])
        elif len(words) == 3 and words[0] == "range" and all(map(_is_number, words[1:])):
            watch = Watch("range", float(words[1]), float(words[2]))
        else:
            raise failure(
                "DEBUG-COMMAND", "watch what?", "Say watch nan, inf, denormal, saturation, or range LOW HIGH."
            )
        self.number += 1
        self._mark(watch, f"watch {self.number}: {watch}")

    def _delete(self, rest: str) -> None:
        if not rest:
            self.marks.clear()
        elif not rest.isdigit() or self.marks.pop(int(rest), None) is None:
            raise failure("DEBUG-PLACE", f"there is no breakpoint {rest}", "`info breakpoints` lists them.")

    def _info(self, rest: str) -> None:
        if rest and "breakpoints".startswith(rest):
            for number, mark in self.marks.items():
                print(f"watch {number}: {mark}" if isinstance(mark, Watch) else f"breakpoint {mark}")
            if not self.marks:
                print("no breakpoints")
        elif rest and "locals".startswith(rest):
            print(self.session.variables())
        else:
            raise failure("DEBUG-COMMAND", "info about what?", "Say info breakpoints or info locals.")

    def _until(self, rest: str) -> None:
        b = parse(rest, 0, True, self.session.timeline.records, self.session.place()[0])
        if b.kind != "line":
            raise failure("DEBUG-COMMAND", "until takes a line", "Say until 24.")
        stops, line = self.session.timeline.stops, self.session.timeline.line
        here = lambda n: " " if stops[n].line >= 0 and line(stops[n]).place == (b.file, b.line) else ""  # noqa: E731
        self._on(self.session.run, here)

    def _back(self, rest: str) -> None:
        if m := re.fullmatch(r"to\s+(?:step\s+)?(\d+)", rest):
            self.session.back_to(int(m[1]))
        else:
            self.session.back(_count(rest))
        self._went("")

    def _print(self, rest: str) -> None:
        if not rest:
            raise failure("DEBUG-COMMAND", "print what?", "`info locals` lists the variables here.")
        print(self.session.print(rest))

    def _who(self, rest: str) -> None:
        m = re.fullmatch(r"(wrote|reads)\s+(.+?)(\s+next)?", rest)
        if m is None:
            raise failure("DEBUG-COMMAND", "who did what?", "Say who wrote m[3, 0] or who reads m[3, 0].")
        print(self.session.who(m[1], m[2]))

    def _move(self, by: int) -> None:
        self.session.move(by)
        print(self.session.where())

    def _quit(self, rest: str) -> None:
        raise SystemExit(1 if self.prompt.failed else 0)

    # ---- the compiled program

    def _write(self, stem: str) -> list[str]:
        self.program.save(f"{stem}.glia")
        np.savez(f"{stem}.npz", **self.inputs)
        return ["debug", f"{stem}.glia", "--input", f"{stem}.npz"]

    def _save(self, rest: str) -> None:
        if not rest:
            raise failure("DEBUG-COMMAND", "save under which name?", "save k writes k.glia and k.npz.")
        try:
            print(f"glia {' '.join(self._write(rest))}")
        except OSError as e:
            raise failure("FILE-WRITE", f"cannot write {rest}.npz: {e.strerror}") from None

    def _instr(self, rest: str) -> None:
        with tempfile.TemporaryDirectory(prefix="glia-debug-") as folder:
            words = [tool_path(), *self._write(os.path.join(folder, self.session.name))]
            script = self._commands(folder)
            words += [] if script is None else ["-x", script]
            sys.stdout.flush()
            self._ended(subprocess.run(words, check=False).returncode)
        print(self.session.describe())


def _count(rest: str) -> int:
    if not rest:
        return 1
    if not rest.isdigit() or int(rest) < 1:
        raise failure("DEBUG-COMMAND", f"`{rest}` is no number of lines")
    return int(rest)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
