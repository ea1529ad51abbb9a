"""python -m glia lint FILE...: what the vendor's own front end would not take in kernels and what they use, also of files beside them."""

from __future__ import annotations

import argparse
import json
import os

from .. import _glia, diagnostics
from ..warn import MODES
from .file import kernels_and_findings


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m glia lint",
        description=__doc__,
        epilog="example: python -m glia lint kernel.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("file", nargs="+", help="Python files with kernels")
    p.add_argument("--json", action="store_true", help="findings as one JSON array")
    p.add_argument("--warn", choices=MODES, default=MODES[0], help="what only some versions refuse: show, error or off")
    diagnostics.add_option(p)
    return p


def main(argv: list[str]) -> int:
    """0: nothing was found; 1: something, or a file cannot be read."""
    options = parser().parse_args(argv)
    diagnostics.choose(options.diagnostics)
    found, said = {}, []
    try:
        for path in options.file:
            count, findings = kernels_and_findings(path)
            shown = [f for f in findings if not (f.warning and options.warn == "off")]
            for f in shown:  # a file that two of them use is reported once
                key = (os.path.realpath(f.file), f.line, f.column, f.code, f.message)
                found.setdefault(key, f._replace(warning=f.warning and options.warn != "error").diagnostic())
            if not shown:
                said.append(f"{path}: {'nothing found' if count else 'no kernels: nothing has @nki.jit'}")
    except _glia.Error as e:
        diagnostics.show(e.diagnostics)
        return 1
    if options.json:
        print(json.dumps([diagnostics.as_dict(d) for d in found.values()], indent=1))
    else:
        for text in (*map(str, found.values()), *said):
            print(text)
    return 1 if any(d.severity == "error" for d in found.values()) else 0
