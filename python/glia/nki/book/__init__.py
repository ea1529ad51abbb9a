"""The book of calls: what each public call of nki, nki.isa, nki.language and nki.collectives does, with an example that runs.

A chapter is a Python file. Its docstring is the title and what holds for all of its calls; what stands before the first `# %%` is the start of each example. A cell
begins with `# %%` and the calls it is about; comments below are what is to be said of them, and the rest is the example."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHAPTERS = (
    "kernels",
    "isa_movement",
    "isa_vector",
    "isa_tensor",
    "isa_registers",
    "tensors",
    "views",
    "movement",
    "elementwise",
    "reductions",
    "loops",
    "collectives",
)
_HERE = Path(__file__).parent / "chapters"
_LONG = {"nki.language.": "nl.", "nki.isa.": "nisa.", "nki.collectives.": "ncc."}


@dataclass(frozen=True)
class Cell:
    title: str
    notes: str  # Markdown
    example: str
    start: str  # what the chapter's examples have in common

    @property
    def calls(self) -> list[str]:
        """nl.add ... as kernels write them."""
        return [name for name in self.title.split(", ") if re.fullmatch(r"\w+\.\w+", name)]

    @property
    def script(self) -> str:
        return f"{self.start}\n{self.example}"


@dataclass(frozen=True)
class Chapter:
    title: str
    text: str  # Markdown
    start: str
    cells: tuple[Cell, ...]


def _split(comment_first: str) -> tuple[str, str]:
    """The comment at the beginning of a text, and the rest."""
    found = re.match(r"(?:#[^\n]*\n)*", comment_first)[0]
    return " ".join(line.lstrip("# ") for line in found.splitlines()), comment_first[len(found) :]


@cache
def chapter(name: str) -> Chapter:
    source = (_HERE / f"{name}.py").read_text()
    title, _, text = ast.get_docstring(ast.parse(source)).partition("\n\n")
    head, *rest = re.split(r"^# %% ", source, flags=re.M)
    start = head.split('"""', 2)[2].strip("\n") + "\n"
    cells = []
    for part in rest:
        about, _, body = part.partition("\n")
        notes, example = _split(body)
        cells.append(Cell(about.strip(), notes, example.strip("\n") + "\n", start))
    return Chapter(title, text, start, tuple(cells))


def chapters() -> list[Chapter]:
    return [chapter(name) for name in CHAPTERS]


def cells() -> list[Cell]:
    return [cell for c in chapters() for cell in c.cells]


def plain(name: str) -> str:
    """nki.language.add as nl.add."""
    for long, short in _LONG.items():
        if name.startswith(long):
            return short + name[len(long) :]
    return name


def find(name: str) -> Cell | None:
    return next((c for c in cells() if name in c.calls), None)


def close_to(name: str) -> str | None:
    known = [call for cell in cells() for call in cell.calls]
    return next(iter(difflib.get_close_matches(name, known, 1)), None)
