"""docs/nki-api.md, made from the book."""

from __future__ import annotations

import re

from . import Cell, Chapter, chapters
from .calls import REFUSED, sentence, signature, where

_HEAD = """# The NKI API

Made by `python -m glia.nki.book` from python/glia/nki/book/chapters; do not edit.

`nki`, `nki.isa`, `nki.language` and `nki.collectives` of NKI 0.6, as glia has them: every call, what differs from the vendor's, and an example of each, which a test runs and
compares with NumPy. Python records; every number comes from the compiled, verified program. `python -m glia explain nl.` lists those of `nl`, and `python -m glia explain nl.softmax` prints one as a script that runs:

    python -m glia explain nl.softmax > example.py
    python -m glia example.py

Calls of nki.isa are one instruction each. Functions of nki.language may take several, and emit only legal ones: a slice that begins where no engine can start is first copied by DMA, a row that
is too long for one instruction is cut, two operands in PSUM become one. They give new tiles in SBUF, unless the text says otherwise.

"""
_TAIL = """
## Public kernels

`test/external/run_public_kernels.py` runs the kernels of four public repositories, unmodified, from checkouts of yours, on each target: every one compiled, verified, compared bit for bit with
its sequential meaning and with a reference in NumPy.
"""


def anchor(title: str) -> str:
    """What a link to a heading says, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _index(c: Chapter) -> str:
    links = ", ".join(f"[{cell.title}](#{anchor(cell.title)})" for cell in c.cells)
    return f"| [{c.title}](#{anchor(c.title)}) | {links} |\n"


def _cell(cell: Cell) -> str:
    calls = ""
    for call in cell.calls:
        said = " ".join(x for x in (sentence(call), where(call)) if x)
        calls += f"- `{signature(call)}`" + (f": {said}" if said else "") + "\n"
    parts = [f"### {cell.title}", calls.rstrip("\n"), cell.notes, f"```python\n{cell.example}```"]
    return "\n\n".join(p for p in parts if p) + "\n"


def _refused() -> str:
    reasons: dict[str, list[str]] = {}
    for call, why in REFUSED.items():
        reasons.setdefault(why, []).append(f"`{call}`")
    rows = "".join(f"| {', '.join(calls)} | {why} |\n" for why, calls in reasons.items())
    return f"## Refused\n\nAt the line that calls them, by name:\n\n| | |\n|---|---|\n{rows}"


def page() -> str:
    out = _HEAD + "| | |\n|---|---|\n" + "".join(_index(c) for c in chapters())
    for c in chapters():
        out += f"\n## {c.title}\n\n{c.text}\n\nThe examples of this section begin with\n\n```python\n{c.start}```\n"
        out += "".join("\n" + _cell(cell) for cell in c.cells)
    return f"{out}\n{_refused()}{_TAIL}"
