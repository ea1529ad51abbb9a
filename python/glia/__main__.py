"""python -m glia [COMMAND] [options] FILE [arguments]: runs a script that imports nki, unmodified.

commands:
  run       the script; the default. --watch NAME prints what a variable of its kernels holds, at each assignment
  profile   also the predicted time of each kernel (--html FILE writes a timeline)
  check     also compares each compiled kernel with its sequential meaning, bit for bit
  compare   also compares each kernel with a function of the script that marks its values (glia.mark), --reference NAME
  debug     stops in the first kernel that is called: break, step, print, go back; -x FILE takes the commands from a file
  tune      the fastest of many versions of a kernel: python -m glia tune k.py:kernel --space tile=128,256 --arg f32[512,128]
  lint      what the vendor's front end would not take
  completion bash   prints a script for the shell
  explain nl.softmax   a call of nki with an example that runs; explain nl. lists them
  explain, rules, targets, isa: as those of the command glia"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import runpy
import sys
import traceback

from . import _glia, diagnostics, hook, tracebacks, warn
from .command import BOOKS, CALLS, tool

_COMMANDS = ("run", "profile", "check", "compare", "debug")
# Commands with arguments of their own: modules with main(argv) and parser().
_OWN = {"tune": "tuning.command", "lint": "linting.command", "completion": "completion"}


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m glia", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", help="trn1, trn2, trn3 or a target file")
    parser.add_argument("--schedule", help="best or as_written: of kernels that do not say one (nki.jit(schedule=...))")
    parser.add_argument("--warn", help="what happens to warnings: show, error or off")
    parser.add_argument("--nan", action="store_true", help="a NaN in a result is an error, with the line that made it")
    parser.add_argument("--full-traceback", action="store_true", help="show the frames of glia itself, too")
    parser.add_argument("--strict", action="store_true", help="kernels run in strict mode, which looks for faults")
    parser.add_argument("--seed", type=int, help="which legal interleaving strict mode takes")
    parser.add_argument(
        "--json",
        action="store_true",
        help="what the command says, one JSON object per line; what the script prints goes to the standard error",
    )
    diagnostics.add_option(parser)
    if command == "profile":
        parser.add_argument("--html", metavar="FILE", help="write a timeline of each kernel")
        parser.add_argument("--trace", metavar="FILE", help="write a Perfetto trace (.pftrace) of each kernel")
        other = parser.add_mutually_exclusive_group()
        other.add_argument(
            "--timeline", action="store_true", help="draw what engines and transfers do, for the terminal"
        )
        other.add_argument(
            "--what-if", metavar="CHANGES", help="time on another machine: dma.fixed_latency=0,clock.vector=2x"
        )
        other.add_argument(
            "--sensitivity", action="store_true", help="time with half and twice of each value of the target"
        )
    if command == "run":
        parser.add_argument(
            "--watch", metavar="NAME", action="append", help="m, m@46 or m@kernel.py:46; may be repeated"
        )
    if command == "compare":
        parser.add_argument("--reference", metavar="NAME", required=True, help="a function of the script")
        parser.add_argument("--tolerance", type=float, help="what may differ, as a share of a tile's largest value")
    if command == "debug":
        parser.add_argument("-x", metavar="FILE", dest="script", help="commands, one in a line")
    parser.add_argument("file", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser


def _observer(command: str, options, state: dict):
    from .nki import observers

    if command == "profile":
        return observers.profile(options)
    if command == "check":
        return observers.check(state, options.json)
    if command == "debug":
        from . import jax_door
        from .debug.commands import Debugger

        debugger = Debugger(options.script)
        jax_door.observers.append(debugger.look_at_graph)
        return debugger.look
    if command == "compare":
        return observers.compare(options.reference, options.tolerance, state, options.json)
    return observers.watch(options.watch, options.json) if options.watch else None


def _missing(file: str) -> str:
    close = difflib.get_close_matches(file, (*_COMMANDS, *_OWN, *BOOKS), 1)
    return f"error: there is no file {file}" + (f"; did you mean the command `{close[0]}`?" if close else "")


def _show(e: BaseException, full: bool) -> None:
    """A traceback of the user's own lines."""
    print("".join(traceback.format_exception(e) if full else tracebacks.lines(e)), end="", file=sys.stderr)
    if not full:
        print("(--full-traceback shows the frames of glia itself)", file=sys.stderr)


def _run(command: str, options) -> int:
    from .nki import environment, runtime
    from .nki.jit import check_schedule
    from .nki.observers import lines_of_json

    if options.schedule is not None:
        check_schedule(options.schedule)
        environment.choose_schedule(options.schedule)
    environment.choose_run(options.strict, options.seed)
    state = {"good": 0, "bad": 0}
    look = _observer(command, options, state)
    if look is not None:
        runtime.observers.append(look)
    sys.argv = [options.file, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
    with lines_of_json() if look is not None and options.json and command != "debug" else contextlib.nullcontext():
        runpy.run_path(options.file, run_name="__main__")
    return 1 if state["bad"] else 0


def _own(module: str, argv: list[str]) -> int:
    try:
        status = importlib.import_module(f".{module}", __package__).main(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _seen_enough()
        return 1
    except KeyboardInterrupt:
        return 130  # as a shell says


def _seen_enough() -> None:
    """Who read the output has gone: the rest goes nowhere, without complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: list[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    if len(argv) == 2 and argv[0] == "explain" and argv[1].startswith(CALLS):
        return _own("nki.book.command", argv[1:])
    if argv and argv[0] in BOOKS:
        return tool(argv)
    if argv and argv[0] in _OWN:
        return _own(_OWN[argv[0]], argv[1:])
    command = argv.pop(0) if argv and argv[0] in _COMMANDS else "run"
    parser = parser_of(command)
    options = parser.parse_args(argv)
    if options.json and getattr(options, "timeline", False):
        parser.error("argument --timeline: not allowed with argument --json")
    if not os.path.exists(options.file):
        print(_missing(options.file), file=sys.stderr)
        return 2
    diagnostics.choose(options.diagnostics)
    try:
        warn.choose(options.warn)
        warn.refuse_nans(options.nan)
        hook.install(options.target)
        status = _run(command, options)
        sys.stdout.flush()
        return status
    except _glia.Error as e:
        if options.full_traceback:
            _show(e, True)
        else:
            diagnostics.show(e.diagnostics)
    except BrokenPipeError:
        _seen_enough()
    except Exception as e:
        _show(e, options.full_traceback)
    return 1


if __name__ == "__main__":
    sys.exit(main())
