"""What the tests of pages share: the files and commands that a page shows, and how an output is held against what a command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from glia.command import path as tool_path

PARTS = re.compile(
    r"`(?P<file>[\w.]+\.py)`[^`]*?:\n\n```python\n(?P<text>.*?)```"
    r"|```diff\n(?P<diff>.*?)```"
    r"|^    \$ (?P<command>[^\n]*)\n(?P<shown>(?:    (?!\$ )[^\n]*\n|\n(?=    (?!\$ )))*)",
    re.S | re.M,
)


class Part(NamedTuple):
    """A file that a page shows, a change of the last one, or a command with its output."""

    kind: str
    name: str  # of the file, or the command
    text: str


def part_of(m: re.Match) -> Part:
    if m["file"]:
        return Part("file", m["file"], m["text"])
    if m["diff"]:
        return Part("diff", "", m["diff"])
    return Part("command", m["command"], re.sub(r"^    ", "", m["shown"], flags=re.M))


def parts(page: str) -> list[Part]:
    """In the order of the page."""
    return [part_of(m) for m in PARTS.finditer(page)]


def changed(text: str, diff: str) -> str:
    """The text with what a diff says; it may leave out lines that stay."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    assert text.count(old) == 1, old
    return text.replace(old, new)


def output(command: str, folder: Path, status: int | None = 0) -> list[str]:
    """The lines that a command of python or of glia prints, errors last. Any exit status will do if none is given."""
    words = command.split()
    words[:1] = [sys.executable] if words[0] == "python" else [tool_path()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert status is None or done.returncode == status, done.stderr
    return [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


def occurs(shown: str, found: list[str]) -> None:
    """The lines of a page are the output; a line `...` stands for any number of others."""
    at, gap = 0, False
    for piece in re.split(r"^\.\.\.\n", shown, flags=re.M):
        lines = [line.rstrip() for line in piece.splitlines()]
        places = range(at, len(found) - len(lines) + 1) if gap else [at]
        place = next((p for p in places if found[p : p + len(lines)] == lines), None)
        assert place is not None, "\n".join([*lines, "is not in", *found[at:]])
        at, gap = place + len(lines), True
    assert at == len(found) or shown.endswith("...\n"), "\n".join(["more is printed:", *found[at:]])
