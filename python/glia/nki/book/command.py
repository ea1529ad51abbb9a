"""python -m glia explain nl.softmax: a call of nki, as a script that runs; `python -m glia explain nl.` lists calls."""

from __future__ import annotations

import sys
import textwrap

from . import Cell, cells, close_to, find, plain
from .calls import REFUSED, sentence, signature


def script(cell: Cell) -> str:
    said = [line for call in cell.calls for line in (signature(call), "    " + sentence(call)) if line.strip()]
    said += ["", cell.notes] if cell.notes else []
    comment = "".join(
        "#" + (" " + line if line else "") + "\n"
        for text in said
        for line in textwrap.wrap(text, 110, subsequent_indent="    " if text.startswith("    ") else "") or [""]
    )
    return f"{comment}\n{cell.script}"


def listed(prefix: str) -> str:
    """The calls that begin so, each with its first sentence."""
    names = sorted(call for cell in cells() for call in cell.calls if call.startswith(prefix))
    width = max(map(len, names), default=0)
    return "".join(f"{name:{width}}  {sentence(name).partition('. ')[0].rstrip('.')}\n" for name in names)


def main(argv: list[str]) -> int:
    name = plain(argv[0])
    if name.endswith(".") and listed(name):
        print(listed(name), end="")
        return 0
    cell = find(name)
    if cell is not None:
        print(script(cell), end="")
        return 0
    if name in REFUSED:
        print(f"{name} is refused: {REFUSED[name]}")
        return 0
    close = close_to(name)
    hint = f"; did you mean {close}?" if close else ""
    print(f"error: there is no example of {name}{hint}", file=sys.stderr)
    return 1
