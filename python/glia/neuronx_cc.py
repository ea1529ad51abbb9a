"""neuronx-cc: the command line of the vendor's compiler, answered by glia. `neuronx-cc compile --framework=XLA model.hlo_module.pb
--target trn2 --output model.neff` writes a program of glia's (docs/program-format.md) under that name, proved, which `glia run`,
`glia profile` and `glia verify` take. It is no NEFF, and no machine of the vendor's loads it. docs/neuron-compat.md lists the options."""

from __future__ import annotations

import argparse
import datetime
import os
import sys

from . import __version__, _glia
from .neuron import flags
from .neuron.compile import compile_module
from .neuron.operators import OPERATORS

_FAILED = 70  # what callers look for when a program is refused
_USAGE = 2
_LOGGER = "glia.neuronx_cc"


class _Log:
    """Lines for the log file, and on the standard streams what --verbose asks for."""

    def __init__(self, level: int, path: str | None):
        self._level, self._file = level, None if path is None else open(path, "a", encoding="utf-8")

    def say(self, level: str, text: str) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds")
        line = f"{now}Z {level.upper()} {os.getpid()} [{_LOGGER}]: {text}"
        if self._file:
            print(line, file=self._file, flush=True)
        if flags.LEVELS[level] >= self._level and level != "error":  # errors are printed in full
            print(line, file=sys.stdout if flags.LEVELS[level] < flags.LEVELS["warning"] else sys.stderr, flush=True)

    def close(self) -> None:
        if self._file:
            self._file.close()


def _level(text: str) -> int:
    if text.lower() in flags.LEVELS:
        return flags.LEVELS[text.lower()]
    if text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no level: give {', '.join(flags.LEVELS)} or a number")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="neuronx-cc", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"glia {__version__}, in the place of neuronx-cc")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{compile,list-operators}")
    c = commands.add_parser("compile", help="compile a module", allow_abbrev=False)
    c.add_argument("file", nargs="+", help="HloModuleProto, or StableHLO as text or bytecode")
    c.add_argument("--framework", choices=("XLA",), required=True)
    c.add_argument("--output", default="file.neff", help="the program to write (default file.neff)")
    c.add_argument("--verbose", type=_level, default=flags.LEVELS["warning"], help="a level, or its number")
    c.add_argument("--logfile", default="log-neuron-cc.txt")
    flags.add_options(c)
    o = commands.add_parser("list-operators", help="the operators that can be read", allow_abbrev=False)
    o.add_argument("--framework", choices=("XLA",), required=True)
    return parser


def _command_first(arguments: list[str]) -> list[str]:
    """The arguments, the command before the options: callers write it anywhere."""
    for i, a in enumerate(arguments):
        if a in ("compile", "list-operators") and (i == 0 or arguments[i - 1] != "--pipeline"):
            return [a, *arguments[:i], *arguments[i + 1 :]]
    return arguments


def _compile(options, log: _Log) -> int:
    with open(options.file[0], "rb") as f:
        module = f.read()
    try:
        program, counts = compile_module(
            module,
            options.file[0],
            flags.target_of(options.target),
            options.lnc,
            auto_cast=flags.auto_cast_of(options),
            effort=flags.effort_of(options),
        )
        program.save(options.output)
    except _glia.Error as e:
        print(e, file=sys.stderr)
        for d in e.diagnostics:
            log.say("error", f"[{d.code}] {d.message}")
        log.say("info", f"Subcommand returned with exitcode={_FAILED}")
        return _FAILED
    log.say(
        "info",
        f"{counts['operations']} operations in {counts['groups']} groups, {counts['kernels']} kernels, for {program.target}",
    )
    print(".\nCompiler status PASS", flush=True)
    log.say("info", "Compiler status PASS")
    return 0


def main(argv: list[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(flags.glued(_command_first(given)))
    if options.command == "list-operators":
        print("\n".join(OPERATORS))
        return 0
    if len(options.file) != 1:
        parser.error(f"one module is compiled at a time, {len(options.file)} are given")
    log = None
    try:
        log = _Log(options.verbose, options.logfile)
        log.say("info", "neuronx-cc " + " ".join(given))
        for text in flags.without_effect(options):
            log.say("warning", text)
        return _compile(options, log)
    except OSError as e:
        print(f"neuronx-cc: error: {e.filename}: {e.strerror}", file=sys.stderr)
        return _USAGE
    finally:
        if log:
            log.close()


if __name__ == "__main__":
    sys.exit(main())
