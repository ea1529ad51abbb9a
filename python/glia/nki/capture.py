"""Runs kernels by their sequential meaning and captures what variables of their source hold: `exe.run(x, watch=["m"])`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .. import _glia
from ..dtypes import numpy_dtype
from ..printing import show
from ..program import step_limit
from . import trace as _t
from .arguments import Arrays, bind, described, same
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


class Plan:
    """A call of a kernel, traced under watch: what is captured where. It runs the sequential meaning of the kernel for any arrays like
    those it was traced for."""

    def __init__(self, kernel, args, kwargs, wanted: list[Wanted] | None):
        names = None if wanted is None else {w.name for w in wanted}
        self.kernel, self.arguments = kernel, described(bind(kernel.func, args, kwargs).arguments)
        self.traced, watchers = kernel.trace_watched(names, args, kwargs)
        if self.traced.ranks > 1:
            raise not_followed("watch", self.traced.ranks)
        object_of(self.traced)  # says what is wrong with it
        self.points = [
            (core, p)
            for core, w in enumerate(watchers)
            for p in w.points()
            if wanted is None or any(x.names(p.name) and x.is_at(p.place) for x in wanted)
        ]
        numbers = [t.numbers for t in self.traced.traces]
        captures = [(numbers[core][p.entry], p.view.storage.handle, p.before) for core, p in self.points]
        self._runs = _glia.Sequential(self.traced.kernel, captures)

    def fits(self, kernel, args, kwargs) -> bool:
        """Whether this is the same call, with other arrays of the same kinds."""
        return kernel == self.kernel and same(self.arguments, described(bind(kernel.func, args, kwargs).arguments))

    def run(self, args, kwargs, call: int) -> Observed:
        arrays = Arrays(bind(self.kernel.func, args, kwargs), self.traced.arrays.axis)
        traced = dataclasses.replace(self.traced, arrays=arrays)
        data = {name: np.ascontiguousarray(x).reshape(-1).view(np.uint8) for name, x in inputs_of(traced).items()}
        seen = self._runs.run(data, step_limit())
        show(seen["printed"])
        if seen["fault"] is not None:
            raise _glia.error_of([seen["fault"]])
        once = _once(seen["captured"], self.points)
        values = [(n, _value(traced, *self.points[n], moment, data, call)) for n, moment, data in once]
        outputs = {
            o.name: seen["outputs"][o.name].view(numpy_dtype(o.dtype.machine)).reshape(o.shape)
            for o in traced.lowered.outputs
        }
        return Observed(traced, self.points, values, outputs)


def observe(kernel, args, kwargs, wanted: list[Wanted] | None) -> Observed:
    """Traces and runs one call, and captures what is wanted; None: every variable."""
    return Plan(kernel, args, kwargs, wanted).run(args, kwargs, 0)


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
    """Stands in for a graph while a function of kernels is run: each call is run by its sequential meaning at once. `plans` are those
    that an earlier run of the function has left."""

    def __init__(self, target: str, wanted: list[Wanted] | None, plans: list[Plan] | None = None):
        self.target, self.wanted = target, wanted
        self.plans = [] if plans is None else plans
        self.observed: list[Observed] = []

    def call(self, kernel, args, kwargs):
        kernel, number = kernel.on(self.target), len(self.observed)
        if number < len(self.plans) and not self.plans[number].fits(kernel, args, kwargs):
            del self.plans[number:]
        if number == len(self.plans):
            self.plans.append(Plan(kernel, args, kwargs, self.wanted))
        seen = self.plans[number].run(args, kwargs, number)
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


class Plans:
    """What an executable keeps of its runs under watch: the plans of its calls, for the names that were watched last."""

    _MOST = 4

    def __init__(self):
        self._kept: OrderedDict[tuple, list[Plan]] = OrderedDict()

    def of(self, wanted: list[Wanted]) -> list[Plan]:
        found = self._kept.setdefault(tuple(wanted), [])
        self._kept.move_to_end(tuple(wanted))
        while len(self._kept) > self._MOST:
            self._kept.popitem(last=False)
        return found


def captured(function, target: str, watch, args, kwargs, plans: Plans) -> Captured:
    """Runs a function of kernels by their sequential meaning; `watch` names variables of the kernels."""
    wanted = [Wanted.parse(w) for w in ([watch] if isinstance(watch, str) else watch)]
    calls = Calls(target, wanted, plans.of(wanted))
    result = calls.run(function, args, kwargs)
    out = Captured(calls.values(), result)
    missing = [w.name for w in wanted if not out[w.name]]
    if missing:
        every = Calls(target, None)
        every.run(function, args, kwargs)
        raise unknown(missing, every.values())
    return out
