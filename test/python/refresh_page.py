"""python test/python/refresh_page.py docs/tutorial.md: rewrites the outputs that a page shows with what its commands print today.

For pages that show their files, too. A line that differs in its numbers only is found by itself; what has no such line any more is said, and left out."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from pages import PARTS, changed, output, part_of


def _shape(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.]*", "#", line)).strip()


def again(shown: str, found: list[str]) -> str:
    """The same lines of a newer output; `...` stands for others."""
    kept: list[int] = []
    for line in shown.splitlines():
        if line == "...":
            continue
        after = range(kept[-1] + 1 if kept else 0, len(found))
        at = next((i for i in after if _shape(found[i]) == _shape(line)), None)
        if at is None:
            print(f"is not printed any more: {line}", file=sys.stderr)
        else:
            kept.append(at)
    lines: list[str] = []
    for i, line in enumerate(found):
        if i in kept:
            lines.append(line)
        elif lines[-1:] != ["..."]:
            lines.append("...")
    return "".join(line + "\n" for line in lines)


def refreshed(page: str, folder: Path) -> str:
    out, at, file = "", 0, None
    for m in PARTS.finditer(page):
        part = part_of(m)
        if part.kind == "file":
            file = folder / part.name
            file.write_text(part.text)
        elif part.kind == "diff":
            file.write_text(changed(file.read_text(), part.text))
        elif part.text:
            text = again(part.text, output(part.name, folder, status=None))
            out += page[at : m.start("shown")] + re.sub(r"^(?=.)", "    ", text, flags=re.M)
            at = m.end("shown")
    return out + page[at:]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            Path(name).write_text(refreshed(Path(name).read_text(), Path(folder)))
