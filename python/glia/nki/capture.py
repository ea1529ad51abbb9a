"""Runs kernels by their sequential meaning and captures what variables of their source hold: `exe.run(x, watch=["m"])`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .. import _glia
from ..dtypes import numpy_dtype
from ..printing import show
from ..program import step_limit
from . import trace as _t
from .places import source_text
from .ranks import not_followed
from .runtime import finish, inputs_of, object_of
from .watch import Point, Wanted, array_of, unknown


class Value(NamedTuple):
    """What a variable of a kernel held at one moment."""

    name: str
    value: np.ndarray
    file: str
    line: int
    iteration: dict[
        str, int
    ]  # of the loops around the line, outermost first; a loop of the device by the number of its round
    core: int
    step: int  # how many instructions of the record the core had behind it
    kernel: str
    call: int  # of the kernel, from 0

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {v}" for k, v in self.iteration.items())
        where = f"{source_text((self.file, self.line))}"
        x = self.value.astype(np.float64) if self.value.dtype.kind not in "iub" else self.value
        first = " ".join(f"{v:.7g}" for v in x.reshape(-1)[:4])
        more = " ..." if x.size > 4 else ""
        return (
            f"{self.name}{f' at {at}' if at else ''}: {self.value.dtype}{list(self.value.shape)} min {x.min():.7g} "
            f"max {x.max():.7g} mean {x.mean():.7g} [{first}{more}]  core {self.core}, {where}"
        )


class Captured(Sequence):
    """What was captured, in the order of the run; `captured["m"]` are the values of one variable. `result` is what the function
    returned."""

    def __init__(self, values: list[Value], result):
        self._values, self.result = values, result

    def __getitem__(self, key):
        if isinstance(key, str):
            return [v for v in self._values if Wanted(key).names(v.name)]
        return self._values[key]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values)

    def __repr__(self) -> str:
        names = dict.fromkeys(v.name for v in self._values)
        return f"<captured: {', '.join(f'{n} {len(self[n])} times' for n in names) or 'nothing'}>"


class Observed(NamedTuple):
    """One call of a kernel, run by its sequential meaning."""

    traced: object
    points: list[tuple[int, Point]]  # (core, point), by the number of the capture
    values: list[tuple[int, Value]]  # (number of the capture, value)
    outputs: dict[str, np.ndarray]


def observe(kernel, args, kwargs, wanted: list[Wanted] | None, call: int = 0) -> Observed:
    """Traces and runs one call, and captures what is wanted; None: every variable."""
    names = None if wanted is None else {w.name for w in wanted}
    traced, watchers = kernel.trace_watched(names, args, kwargs)
    if traced.ranks > 1:
        raise not_followed("watch", traced.ranks)
    object_of(traced)  # says what is wrong with it
    points = [
        (core, p)
        for core, w in enumerate(watchers)
        for p in w.points()
        if wanted is None or any(x.names(p.name) and x.is_at(p.place) for x in wanted)
    ]
    captures = [(traced.traces[core].numbers[p.entry], p.view.storage.handle, p.before) for core, p in points]
    data = {name: np.ascontiguousarray(x).tobytes() for name, x in inputs_of(traced).items()}
    seen = traced.kernel.observe(data, step_limit(), captures)
    show(seen["printed"])
    if seen["fault"] is not None:
        raise _glia.error_of([seen["fault"]])
    once = _once(seen["captured"], points)
    values = [(n, _value(traced, *points[n], moment, data, call)) for n, moment, data in once]
    outputs = {
        o.name: np.frombuffer(bytearray(seen["outputs"][o.name]), numpy_dtype(o.dtype.machine)).reshape(o.shape)
        for o in traced.lowered.outputs
    }
    return Observed(traced, points, values, outputs)


def _once(captured: list, points: list) -> list:
    """Of captures at an instruction that is in more loops than its point: the last before the point, or the first after it."""
    keep: dict[tuple, int] = {}
    for k, (n, moment, _) in enumerate(captured):
        key = (n, moment[2][: points[n][1].depth])
        if key not in keep or not points[n][1].before:
            keep[key] = k
    return [captured[k] for k in sorted(keep.values())]


def _value(traced, core: int, p: Point, moment, data: np.ndarray, call: int) -> Value:
    rounds = list(moment[2][: p.depth])
    iteration = {}
    for name, value in p.loops:
        iteration[name] = value if value is not None else rounds.pop(0) if rounds else 0
    iteration |= {"loop" if not n else f"loop_{n}": i for n, i in enumerate(rounds)}
    array = array_of(p.view, data)
    return Value(p.name, array, *p.place, iteration, core, moment[0], traced.name, call)


class Calls:
    """Stands in for a graph while a function of kernels is run: each call is run by its sequential meaning at once."""

    def __init__(self, target: str, wanted: list[Wanted] | None):
        self.target, self.wanted = target, wanted
        self.observed: list[Observed] = []

    def call(self, kernel, args, kwargs):
        seen = observe(kernel.on(self.target), args, kwargs, self.wanted, len(self.observed))
        self.observed.append(seen)
        return finish(seen.traced, seen.outputs)

    def run(self, function, args, kwargs):
        _t._state.graph = self
        try:
            return function(*args, **kwargs)
        finally:
            _t._state.graph = None

    def values(self) -> list[Value]:
        return [v for seen in self.observed for _, v in seen.values]


def captured(function, target: str, watch, args, kwargs) -> Captured:
    """Runs a function of kernels by their sequential meaning; `watch` names variables of the kernels."""
    wanted = [Wanted.parse(w) for w in ([watch] if isinstance(watch, str) else watch)]
    calls = Calls(target, wanted)
    result = calls.run(function, args, kwargs)
    out = Captured(calls.values(), result)
    missing = [w.name for w in wanted if not out[w.name]]
    if missing:
        every = Calls(target, None)
        every.run(function, args, kwargs)
        raise unknown(missing, every.values())
    return out
