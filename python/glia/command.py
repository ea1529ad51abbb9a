"""The command `glia` from Python: it lies beside the interpreter in an installed package, and in the build folder of a source tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import _glia

BOOKS = ("explain", "rules", "targets", "isa")  # commands that need no file
# How calls of nki begin, of which `python -m glia explain` prints an example.
CALLS = ("nki.", "nl.", "nisa.", "ncc.", "tensor.", "Kernel.")


def path() -> str:
    beside = Path(sys.executable).parent / "glia"
    built = Path(os.path.abspath(__file__)).parents[2] / "bin" / "glia"
    for candidate in (built, beside):
        if os.access(candidate, os.X_OK):
            return str(candidate)
    raise _glia.make_error("FILE-READ", "the command glia is not installed", "Build it: ninja -C build glia.")


def tool(argv: list[str]) -> int:
    """Runs `glia argv...` with the standard streams of this process."""
    try:
        return subprocess.run([path(), *argv], check=False).returncode
    except _glia.Error as e:
        print(e, file=sys.stderr)
        return 1


def main() -> int:
    """The script `glia` of a development environment."""
    return tool(sys.argv[1:])
