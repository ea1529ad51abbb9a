"""What glia.tune found: one row for each candidate, the best first."""

from __future__ import annotations

import html
import json
from collections import namedtuple

from .. import _glia
from ..notebook import table
from ..profile import Table as Rows
from .measure import Measured

_SHOWN = 20
_OWN = (*Measured._fields, "keywords", "ok")


def row_type(names):
    """Named tuples of the values that a candidate has, and what is known of it."""
    for name in names:
        if name in _OWN or not name.isidentifier() or name.startswith("_"):
            text = f"the space has the name {name!r}"
            raise _glia.make_error(
                "TUNE-SPACE", text, f"Names are keywords of the kernel, and none of {', '.join(_OWN)}."
            )

    class Candidate(namedtuple("Candidate", (*names, *Measured._fields))):
        __slots__ = ()

        @property
        def keywords(self) -> dict:
            """The values, for a call: kernel(*args, **best.keywords)."""
            return {name: getattr(self, name) for name in names}

        @property
        def ok(self) -> bool:
            """Whether it compiles, is proved, and is right as far as that was asked."""
            return not self.code

    return Candidate


class Table(Rows):
    """Candidates as named tuples: good ones first, the fastest first; then those that are wrong, then those that failed."""

    def __new__(cls, name: str, target: str, names: tuple[str, ...], measured: list[tuple[dict, Measured]]):
        kind = row_type(names)
        rows = [kind(*values.values(), *result) for values, result in measured]
        self = super().__new__(cls, sorted(rows, key=_rank))  # stable: what is equal stays in the order of the space
        self.name, self.target, self.names = name, target, names
        return self

    @property
    def best(self):
        """The fastest good candidate, None if there is none."""
        return self[0] if self and self[0].ok else None

    def json_lines(self) -> str:
        """One JSON object for each candidate."""
        return "".join(
            json.dumps({"keywords": row.keywords, **Measured(*row[len(self.names) :])._asdict()}, default=repr) + "\n"
            for row in self
        )

    def __repr__(self) -> str:
        cells = [[*self.names, "time", "instructions", ""], *(self._cells(row) for row in self[:_SHOWN])]
        widths = [max(len(line[n]) for line in cells) for n in range(len(cells[0]) - 1)]
        lines = [
            "  ".join([*(text.rjust(width) for text, width in zip(line, widths)), line[-1]]).rstrip() for line in cells
        ]
        return "\n".join([self._title(), *lines, *self._more()])

    def _repr_html_(self) -> str:
        rows = table([self._cells(row) for row in self[:_SHOWN]], (*self.names, "time", "instructions", ""))
        return "".join([f"<p>{html.escape(self._title())}</p>", rows, *(f"<p>{x}</p>" for x in self._more())])

    def _title(self) -> str:
        good = sum(row.ok for row in self)
        count = f"{len(self)} candidate{'' if len(self) == 1 else 's'}"
        return f"{self.name} on {self.target}: {count}, {good} good"

    def _cells(self, row) -> list[str]:
        time = "" if row.time is None else f"{row.time / 1000:.2f} us"
        said = f"{row.code}: {row.message}" if row.code else ""
        place = f" ({row.place})" if row.place else ""
        return [*(_text(x) for x in row[: len(self.names)]), time, _text(row.instructions), said + place]

    def _more(self) -> list[str]:
        return [f"... and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []


def _text(x) -> str:
    return "" if x is None else str(x)


def _rank(row) -> tuple:
    return (bool(row.code), row.time is None, row.time or 0.0)
