"""python -m glia tune FILE:KERNEL: the fastest of many versions of a kernel. Without a kernel, candidates are JSON lines on the standard input."""

from __future__ import annotations

import argparse
import ast
import sys

from .. import _glia, diagnostics, hook
from .files import function_in
from .lines import answer
from .search import TIMEOUT, tune
from .workers import checked_count

_EXAMPLE = """example:
  python -m glia tune k.py:kernel --space tile=128,256,512 --arg 'f32[512,128]'
  echo '{"file": "k.py", "function": "kernel", "keywords": {"tile": 128}, "args": ["f32[512,128]"]}' | python -m glia tune"""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m glia tune",
        description=__doc__,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("kernel", nargs="?", metavar="FILE:KERNEL", help="a kernel, or a function that calls kernels")
    p.add_argument(
        "--space", action="append", default=[], metavar="NAME=V,V", help="values of a keyword; may be repeated"
    )
    p.add_argument("--arg", action="append", default=[], metavar="ARG", help="f32[512,128] or a constant, in order")
    p.add_argument("--cores", type=int, metavar="N", help="as kernel[N]")
    p.add_argument("--target", help="trn1, trn2, trn3 or a target file")
    p.add_argument("--check", metavar="NAME", help="a function of the file whose results candidates must have")
    p.add_argument("--tolerance", type=float, help="what may differ, as a share of the largest value")
    p.add_argument("--limit", type=int, metavar="N", help="so many candidates, at random")
    p.add_argument("--seed", type=int, default=0, help="which ones")
    p.add_argument("--workers", type=int, metavar="N", help="processes; one for each processor")
    p.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS", help="for one candidate (%(default)s)")
    p.add_argument("--journal", metavar="FILE", help="what is in it is not done again")
    p.add_argument("--json", action="store_true", help="the table as JSON lines")
    diagnostics.add_option(p)
    return p


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    diagnostics.choose(options.diagnostics)
    try:
        hook.install(options.target)
        if options.kernel is None:
            return _lines(options)
        table = _table(options)
    except _glia.Error as e:
        diagnostics.show(e.diagnostics)
        return 1
    print(table.json_lines() if options.json else table, end="" if options.json else "\n")
    return 0 if table.best is not None else 1


def _lines(options) -> int:
    for name in ("space", "arg", "check", "cores", "limit"):
        if getattr(options, name):
            raise _option(f"--{name} is for a kernel, and none is given", "Say FILE:KERNEL.")
    if sys.stdin.isatty():
        parser().print_usage(sys.stderr)
        return 2
    return answer(checked_count(options.workers), options.timeout, options.target, options.journal)


def _table(options):
    file, _, name = options.kernel.rpartition(":")
    if not file:
        raise _option(f"{options.kernel!r} names no kernel", "Say FILE:KERNEL, for example k.py:attention.")
    kernel = function_in(file, name)
    if options.cores is not None:
        kernel = kernel[options.cores]
    table = tune(
        kernel,
        dict(_values(text) for text in options.space),
        [_constant(text) for text in options.arg],
        target=options.target,
        workers=options.workers,
        journal=options.journal,
        limit=options.limit,
        seed=options.seed,
        check=None if options.check is None else function_in(file, options.check),
        tolerance=options.tolerance,
        timeout=options.timeout,
        progress=_progress if sys.stderr.isatty() else None,
    )
    return table


def _progress(done: int, total: int) -> None:
    end = "\n" if done == total else "\r"
    print(f"{done} of {total} candidates", end=end, file=sys.stderr, flush=True)


def _values(text: str) -> tuple[str, list]:
    name, equals, values = text.partition("=")
    if not equals or not name:
        raise _option(f"--space {text!r} is no name with values", "Say --space tile=128,256.")
    try:
        found = ast.literal_eval(f"({values},)") if values else ()
    except (ValueError, SyntaxError):
        found = [_constant(value) for value in values.split(",")]
    return name.strip(), list(found)


def _constant(text: str):
    """A Python constant, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.strip()


def _option(message: str, advice: str):
    return _glia.make_error("TUNE-OPTION", message, advice)
