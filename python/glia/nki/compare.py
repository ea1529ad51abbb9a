"""Holds the variables of kernels against a reference: the first one that differs, in the order of the kernel, with its iteration,
its element, and the lines that its value came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .. import _glia
from ..marks import Mark, collecting
from .capture import Calls, Observed, Plans, Value
from .frameworks import kind_of, to_numpy
from .lower import _WRITES
from .places import source_text
from .watch import Wanted, unknown

_TOLERANCE = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-3}  # of the largest value of a tile; integers are equal
_NARROW = 0.13  # fp8
_LINES = 6  # of what a value came from


class Difference(NamedTuple):
    """The first value of a kernel that is not the reference's."""

    name: str
    file: str  # "" of a result
    line: int
    iteration: dict[str, int]
    core: int
    index: tuple[int, ...]
    found: float
    expected: float
    count: int  # elements of the tile that differ
    size: int
    tolerance: float
    lines: list[tuple[str, int]]  # that the value came from, the last one first

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {v}" for k, v in self.iteration.items())
        out = [
            f"`{self.name}` differs{f' first at {at}' if at else ''}: element {list(self.index)} is {self.found:.7g} and should "
            f"be {self.expected:.7g} ({self.count} of {self.size} elements differ by more than {self.tolerance:.2g})"
        ]
        if self.file:
            out.append(f"  --> {source_text((self.file, self.line))}")
        if self.lines:
            out.append("  its value came from")
            out += [f"      {source_text(place)}" for place in self.lines]
        return "\n".join(out)


class Comparison(NamedTuple):
    """What a comparison found: `ok`, and the first `difference`."""

    difference: Difference | None
    compared: dict[str, int]  # how many values of each variable were compared

    @property
    def ok(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        names = ", ".join(f"{name} ({n} values)" for name, n in self.compared.items())
        return f"equal: {names}" if self.ok else f"{self.difference}\n  compared before: {names}"


def compare(
    function, target: str, reference, args, kwargs, tolerance: float | None = None, plans: Plans | None = None
) -> Comparison:
    """`reference` is a function of the same arguments that marks its values, or a mapping of names to arrays; `plans` are those of
    earlier runs."""
    if tolerance is not None and not tolerance >= 0:
        raise _failure(f"the tolerance is {tolerance!r}", "Give a share of the largest value: 1e-4, or 0 for equal.")
    results, marks = _expected(reference, args, kwargs)
    names = dict.fromkeys(m.name for m in marks)
    wanted = [Wanted(name) for name in names]
    calls = Calls(target, wanted, plans and plans.of(wanted))
    made = calls.run(function, args, kwargs)
    values = [(seen, n, v) for seen in calls.observed for n, v in seen.values]
    missing = names.keys() - {v.name for _, _, v in values}
    if missing:
        every = Calls(target, None)
        every.run(function, args, kwargs)
        raise unknown(sorted(missing), every.values())
    pairs = [
        (k, m)
        for name in names
        for k, m in _paired(
            name, [(k, v) for k, (_, _, v) in enumerate(values) if v.name == name], [m for m in marks if m.name == name]
        )
    ]
    counted: dict[str, int] = {}
    for k, m in sorted(pairs, key=lambda p: p[0]):
        seen, n, value = values[k]
        found = _difference(value.value, m.value, tolerance, value.name)
        if found is not None:
            lines = _lines_behind(seen, n)
            where = (value.name, value.file, value.line, value.iteration, value.core)
            return Comparison(Difference(*where, *found, lines), counted)
        counted[value.name] = counted.get(value.name, 0) + 1
    found_results = _leaves(made)
    _check_results(found_results, results, marks)
    for n, (a, b) in enumerate(zip(found_results, results)):
        name = _result_name(n, len(results))
        found = _difference(a, b, tolerance, name)
        if found is not None:
            return Comparison(Difference(name, "", 0, {}, 0, *found, _lines_of_result(calls, n)), counted)
        counted[name] = 1
    return Comparison(None, counted)


def _result_name(n: int, count: int) -> str:
    return "result" if count == 1 else f"result {n}"


def _check_results(made: list, expected: list, marks: list[Mark]) -> None:
    """What cannot be held against each other is no agreement."""
    if not expected and not marks:
        raise _failure(
            "the reference returns nothing and marks nothing: there is nothing to compare with",
            'Return what the kernel returns, or mark values: glia.mark("m", m).',
        )
    if expected and len(made) != len(expected):
        raise _failure(
            f"the kernel returns {len(made)} arrays and the reference {len(expected)}",
            "Return the same arrays in the same order, or None where only marks are meant.",
        )
    for n, (a, b) in enumerate(zip(made, expected)):
        if [d for d in a.shape if d != 1] != [d for d in b.shape if d != 1]:
            raise _failure(
                f"the {_result_name(n, len(expected))} has shape {a.shape}, that of the reference {b.shape}",
                "Return arrays of the kernel's shapes.",
            )


def _expected(reference, args, kwargs) -> tuple[list, list[Mark]]:
    """Results and marks of a reference."""
    if isinstance(reference, Mapping):
        marks = [
            Mark(name, np.asarray(x), {})
            for name, given in reference.items()
            for x in (given if isinstance(given, (list, tuple)) else [given])
        ]
        return [], marks
    if not callable(reference):
        raise _failure(
            f"the reference is {reference!r}", "Give a function of the same arguments, or names and arrays: {'m': m}."
        )
    with collecting() as marks:
        out = reference(*[np.array(to_numpy(x)) if kind_of(x) else x for x in args], **kwargs)
    return _leaves(out), marks


def _leaves(value) -> list[np.ndarray]:
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in _leaves(v)]
    if isinstance(value, dict):
        return [x for v in value.values() for x in _leaves(v)]
    return [np.asarray(to_numpy(value))]


def _paired(name: str, values: list[tuple[int, Value]], marks: list[Mark]) -> list[tuple[int, Mark]]:
    """Which value of a variable each mark is about: that of its iteration, or the one in its place in the sequence."""
    if all(m.indices for m in marks):
        out = []
        for m in marks:
            fitting = [
                k for k, v in values if all((v.iteration | {"core": v.core}).get(i) == n for i, n in m.indices.items())
            ]
            if not fitting:
                at = ", ".join(f"{i} = {n}" for i, n in m.indices.items())
                known = sorted({i for _, v in values for i in v.iteration})
                raise _failure(
                    f"`{name}` has no value at {at}", f"Its loops count {', '.join(known) or 'nothing'}; or say core=0."
                )
            out.append((fitting[-1], m))
        return out
    last = list({(v.core, v.call, *v.iteration.items()): k for k, v in values}.values())  # of each iteration
    deepest = max(len(v.iteration) for _, v in values)
    inner = [
        k for k, v in values if len(v.iteration) == deepest
    ]  # not what a variable begins with, outside of the loop
    for chosen in ([k for k, _ in values], inner, last, [k for k in last if k in inner]):
        if len(chosen) == len(marks):
            return list(zip(chosen, marks))
    if len(marks) == 1:
        return _unstacked(name, [k for k in last if k in inner], dict(values), marks[0])
    raise _failure(
        f"`{name}` takes {len(values)} values in the kernel and {len(marks)} in the reference",
        f'Say which: glia.mark("{name}", value, i=i), with the names of the kernel\'s loop variables.',
    )


def _unstacked(name: str, chosen: list[int], values: dict[int, Value], m: Mark) -> list[tuple[int, Mark]]:
    """One array for all iterations: they are along its first dimension."""
    if m.value.size == sum(values[k].value.size for k in chosen):
        parts = m.value.reshape(len(chosen), -1)
        return [(k, Mark(name, part, {})) for k, part in zip(chosen, parts)]
    return [(chosen[-1], m)]


def _failure(message: str, advice: str):
    return _glia.error_of([_glia.Diagnostic("NKI-COMPARE", message, advice)])


def _difference(found: np.ndarray, expected: np.ndarray, tolerance: float | None, name: str):
    """Index, both values, how many differ, the number of elements and what is allowed; None if they agree."""
    turned = found.ndim == 2 and found.shape != expected.shape and found.shape == expected.shape[::-1]
    if found.size != expected.size or (turned and 1 not in found.shape):
        raise _failure(
            f"`{name}` has shape {found.shape} in the kernel and {expected.shape} in the reference",
            "Mark what one tile holds, in the layout of the tile.",
        )
    exact = found.dtype.kind in "iub"
    share = tolerance if tolerance is not None else 0.0 if exact else _TOLERANCE.get(found.dtype.name, _NARROW)
    a, b = found.astype(np.float64), expected.astype(np.float64).reshape(found.shape)
    finite = np.abs(b[np.isfinite(b)])
    allowed = share * (finite.max() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(wrong.reshape(-1).argmax()), found.shape))
    return index, float(a[index]), float(b[index]), int(wrong.sum()), found.size, allowed


def _lines_behind(seen: Observed, number: int) -> list[tuple[str, int]]:
    """Lines that the value of a capture was computed by."""
    core, point = seen.points[number]
    return _writers(seen.traced.traces[core], point.view.storage, point.entry + (not point.before))


def _lines_of_result(calls: Calls, n: int) -> list[tuple[str, int]]:
    """Lines that a result was computed by, if one kernel made it."""
    if len(calls.observed) != 1 or n >= len(calls.observed[0].traced.tensors):
        return []
    storage = calls.observed[0].traced.tensors[n].storage
    return _writers(storage.trace, storage, len(storage.trace.ops))


def _writers(t, storage, before: int) -> list[tuple[str, int]]:
    """Lines that wrote what a tensor holds before an entry of the record: its last writer, the last writers of what that read, and so
    on."""
    places = list(t.locations)
    wanted = [(storage, before)]
    out: dict[tuple[str, int], None] = {}
    while wanted and len(out) < _LINES:
        storage, before = wanted.pop(0)
        for n in range(before - 1, -1, -1):
            op = t.ops[n]
            tensors = [x for x in op[1] if type(x) is tuple and len(x) == 7] if type(op[0]) is str else []
            if any(op[1][s][0] is storage for s in _WRITES.get(op[0], ()) if s < len(op[1]) and op[1][s] in tensors):
                out.setdefault(places[op[3]])
                wanted += [(x[0], n) for x in tensors if x[0] is not storage]
                break
    return list(out)
