"""A predicted run: how long it takes, where the time goes, and what it waits for."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from . import _glia


class Table(tuple):
    """Rows of one kind, as named tuples."""

    def to_pandas(self):
        """The same as a pandas.DataFrame; pandas must be installed."""
        import pandas

        return pandas.DataFrame([row._asdict() for row in self])


class Lane(NamedTuple):
    """How long an engine or a DMA queue was at work. Times are nanoseconds, here and below."""

    name: str  # "core 0 vector", "core 0 queue q0"
    busy: float
    instructions: int
    bytes: int  # queues


class Place(NamedTuple):
    """What a line, an operation of a graph or a kernel took."""

    name: str  # "attention.py:24"
    file: str  # lines only
    line: int
    critical: float  # of the critical path
    tensor: float
    vector: float
    scalar: float
    gpsimd: float
    sync: float
    transfers: float
    bytes: int  # moved by them
    instructions: int


class Step(NamedTuple):
    """One event of the critical path. The next one starts after `work` and `latency`."""

    start: float
    work: float
    latency: float
    lane: str
    where: str  # "core0.vector#12"
    place: str


class Stall(NamedTuple):
    """An instruction that waited, by the length of its waits."""

    where: str
    start: float
    length: float
    count: int
    reason: str


class Wait(NamedTuple):
    """All waits of one line on one engine for another, of one kind."""

    kind: str  # "data", "buffer reuse", "queue" ...
    place: str
    awaited: str  # the place it waited for
    tile: str
    gain: float  # what the run would take less without them; 0, too, for what is not among the 20 longest of the critical path
    critical: float
    length: float
    count: int
    copies: int  # buffer reuse: places for the tile with which it would not wait, about
    text: str


class Proposal(NamedTuple):
    """Something that could be done, and the time it is about."""

    place: str
    text: str
    about: str  # "vector", "tensor", "transfers", "the run"
    time: float  # of that which it would save at most


class Tile(NamedTuple):
    name: str
    bytes: int
    start: float  # first use
    end: float  # last


class Memory(NamedTuple):
    """SBUF or PSUM of a core."""

    space: str
    core: int
    capacity: int
    peak: int
    peak_at: float
    in_peak: Table
    tiles: Table


class Link(NamedTuple):
    """What exchanges between ranks share: links along an axis of the chips, EFA, the engines and the HBM of a rank."""

    name: str  # "links along x"
    busy: float  # at its full rate
    most: float  # the largest share of its rate at a time
    shares: list  # (time, share): when it changes, and to what


class Point(NamedTuple):
    """What a kernel computes and moves; the first is the whole program, whose name is "".

    An operation is one element that an instruction goes over; in a product a multiplication with its addition is two."""

    name: str
    operations: float
    bytes: float  # of HBM; of a kernel all that its transfers move
    time: float  # of a kernel its share of the critical path


class Roofline(NamedTuple):
    roofs: dict[str, float]  # operations per second, the highest first
    points: Table
    bytes_per_second: float  # to and from HBM


class Sensitivity(NamedTuple):
    """The predicted time with half and with twice of a value of the target; None: there is no such machine."""

    key: str
    value: float
    unit: str
    half: float | None
    twice: float | None


class WhatIf(NamedTuple):
    """The predicted time on another machine; None where it cannot run or cannot be compiled, and the text says why."""

    before: float
    as_it_is: float | None
    compiled: float | None  # again, for the other machine
    text: str


def changes_text(changes: str | Mapping[str, float | str]) -> str:
    """Changes to a target, as `--what-if` takes them."""
    if isinstance(changes, Mapping):
        return ",".join(f"{key}={value}" for key, value in changes.items())
    return changes if isinstance(changes, str) else repr(changes)  # which is refused


class Profile:
    """A predicted run. Times are nanoseconds."""

    def __init__(self, result):
        self._result = result

    total = property(lambda self: self._result.total, doc="Predicted time.")
    instructions = property(lambda self: self._result.instructions, doc="Instructions executed.")
    timeline = property(lambda self: self._result.timeline, doc="Intervals: name of the lane, start, end.")
    launch = property(
        lambda self: self._result.launch, doc="What the runtime needs before and after; not in the total."
    )
    origins = property(lambda self: self._result.origins, doc="Share of the time by how well its parameters are known.")
    hbm_bytes = property(lambda self: self._result.hbm_bytes, doc="Bytes read from and written to HBM.")

    @property
    def lanes(self) -> Table:
        """Use of each engine and queue."""
        return Table(Lane(*row) for row in self._result.lanes)

    @property
    def stalls(self) -> Table:
        """The instructions that waited longest, at most 20."""
        return Table(Stall(*row) for row in self._result.stalls)

    def _places(self, by: int) -> Table:
        return Table(Place(*row) for row in self._result.places(by))

    # These need the timeline: they are empty for `profile(timeline=False)`.
    @property
    def lines(self) -> Table:
        """What each line of the source took, the most critical first."""
        return self._places(0)

    @property
    def operations(self) -> Table:
        """What each operation took."""
        return self._places(1)

    @property
    def kernels(self) -> Table:
        """What each kernel took."""
        return self._places(2)

    @property
    def critical_path(self) -> Table:
        """The events that the total consists of, in the order of time."""
        return Table(Step(*row) for row in self._result.critical_path)

    @property
    def waits(self) -> Table:
        """What engines waited for; those first without which the run would be faster."""
        return Table(Wait(*row) for row in self._result.waits)

    @property
    def proposals(self) -> Table:
        """What the author could do to make it faster: first what concerns the busiest engine."""
        return Table(Proposal(*row) for row in self._result.proposals)

    @property
    def roofline(self) -> Roofline:
        """Operations, bytes and time of the program and its kernels, and what the machine does at most."""
        roofs, points, bandwidth = self._result.roofline
        return Roofline(dict(roofs), Table(Point(*row) for row in points), bandwidth)

    @property
    def memory(self) -> Table:
        """What lay in SBUF and PSUM, and when."""
        return Table(
            Memory(*head, Table(Tile(*t) for t in peak), Table(Tile(*t) for t in tiles))
            for head, peak, tiles in self._result.memory
        )

    @property
    def links(self) -> Table:
        """What exchanges between ranks ask of the links, of EFA, and of a rank's engines and HBM."""
        return Table(Link(*row) for row in self._result.links)

    def what_if(self, changes: str | Mapping[str, float | str]) -> float:
        """The predicted time of this very program on another machine: `{"dma.fixed_latency": 0, "clock.vector": "2x"}`, or that as
        text. Any value of the target can change; what only the compiler looks at, such as sizes of memories, is seen with
        `exe.what_if`, which compiles again."""
        return self._result.retimed(changes_text(changes))

    def _what_if(self, changes: str, again: Callable[[], Profile]) -> tuple[WhatIf, dict]:
        """Also as a program sees it. `again` compiles for the other machine."""
        try:
            *row, as_json = self._result.what_if(changes, again()._result, None)
        except _glia.Error as e:
            *row, as_json = self._result.what_if(changes, None, e.diagnostics[0])
        return WhatIf(*row), json.loads(as_json)

    def sensitivities(self) -> Table:
        """The predicted time with half and twice of each value of the target that matters, most important first."""
        return Table(
            Sensitivity(key, value, unit, half or None, twice or None)
            for key, value, unit, half, twice in self._result.sensitivities()
        )

    def sensitivity(self) -> str:
        """The same as text."""
        return self._result.sensitivity_text()

    def diff(self, other: Profile) -> str:
        """What became faster in `other`, by line, as text."""
        return _glia.diff(self._result, other._result)

    def summary(self) -> str:
        """The text that `glia profile` prints."""
        return self._result.summary()

    def draw(self, columns: int = 100) -> str:
        """The timeline for a terminal: what engines and transfers do, a column for each slice of the time."""
        return self._result.drawn(columns)

    def to_json(self) -> dict:
        """What `glia profile --json` prints."""
        return json.loads(self._result.json())

    def __repr__(self) -> str:
        return f"<predicted run: {self.total / 1000:.2f} us, {self.instructions} instructions>"

    def _repr_html_(self) -> str:
        """For notebooks: the page, in a frame of its own."""
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 600px; border: 0"></iframe>'

    def html(self, path=None) -> str:
        """One self-contained page with a zoomable timeline; written to `path` if one is given."""
        page = self._result.html()
        if path is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(page)
        return page

    def trace(self) -> bytes:
        """A Perfetto trace."""
        return self._result.trace()
