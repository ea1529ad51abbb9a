"""What `python -m glia profile`, `check`, `compare` and `run --watch` do at each call of a kernel."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator

import numpy as np

from .. import _glia
from . import environment, runtime
from . import trace as _t
from .capture import observe
from .compare import compare as compare_call
from .watch import Wanted, unknown

_lines: list = []  # where lines of JSON go, while what the script prints goes elsewhere


@contextlib.contextmanager
def lines_of_json() -> Iterator[None]:
    """The standard output is for lines of JSON alone: what else is printed goes to the standard error."""
    _lines.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _lines.pop()


def _say(as_json: bool, entry: dict, text: str) -> None:
    """One line of JSON, or text for people."""
    print(json.dumps(_finite(entry), allow_nan=False) if as_json else text, file=_lines[-1] if _lines else None)


def _finite(x):
    """JSON has no NaN and no infinity: they are strings."""
    if isinstance(x, dict):
        return {k: _finite(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_finite(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return x


def profile(options):
    """`options` are those of the command: html, trace, timeline, what_if, sensitivity, json."""
    counts: dict[str, int] = {}
    for given in filter(None, (options.html, options.trace)):  # found before the work, not after it
        folder = os.path.dirname(given)
        if folder and not os.path.isdir(folder):
            message = f"cannot write {given}: there is no folder {folder}"
            raise _glia.make_error("FILE-WRITE", message, "Make it, or write elsewhere.")

    def path(given: str, name: str, n: int) -> str:
        stem, ending = os.path.splitext(given)
        return given if len(counts) == 1 and n == 1 else f"{stem}-{name}-{n}{ending}"

    def said(predicted, again) -> tuple[dict, str]:
        if options.what_if:
            row, entry = predicted._what_if(options.what_if, again)
            return entry, row.text
        if options.sensitivity:
            rows = [row._asdict() for row in predicted.sensitivities()]
            return {"total_ns": predicted.total, "sensitivities": rows}, predicted.sensitivity()
        return predicted.to_json(), predicted.summary() + ("\n" + predicted.draw() if options.timeline else "")

    def look(kernel, args, kwargs, traced, program, inputs):
        def again():
            other = kernel.on(f"{traced.target.reference},{options.what_if}").trace(*args, **kwargs)
            return runtime.program_of(other).profile(inputs)

        n = counts[traced.name] = counts.get(traced.name, 0) + 1
        head = {"kernel": traced.name, "call": n}
        predicted = program.profile(inputs)
        entry, text = said(predicted, again)
        title = f"kernel {traced.name}, call {n}, {traced.target}\n"
        _say(options.json, {**head, "target": str(traced.target), **entry}, title + text)
        if options.html:
            page = path(options.html, traced.name, n)
            predicted.html(page)
            _say(options.json, {**head, "timeline": page}, f"timeline: {page}")
        if options.trace:
            file = path(options.trace, traced.name, n)
            with open(file, "wb") as f:
                f.write(predicted.trace())
            _say(options.json, {**head, "trace": file}, f"trace: {file}")

    return look


def check(state: dict, as_json: bool = False):
    def look(kernel, args, kwargs, traced, program, inputs):
        if traced.ranks > 1:
            text = f"kernel {traced.name}: {traced.ranks} ranks have no sequential meaning; not compared"
            _say(as_json, {"kernel": traced.name, "agrees": None}, text)
            return
        compiled = program.run(inputs, verify=False, **environment.run_options())
        expected = runtime.sequential(traced, inputs)
        for o in traced.lowered.outputs:
            a, b = compiled[o.name], expected[o.name]
            different = np.flatnonzero(
                (np.ascontiguousarray(a).view(np.uint8) != np.ascontiguousarray(b).view(np.uint8))
                .reshape(a.size, -1)
                .any(1)
            )
            if different.size:
                at = np.unravel_index(different[0], a.shape)
                state["bad"] += 1
                index = tuple(int(i) for i in at)
                text = (
                    f"kernel {traced.name}: `{o.name}` differs in {different.size} of {a.size} elements, first at "
                    f"{index}: compiled {a[at]}, sequential {b[at]}"
                )
                first = {"output": o.name, "different": different.size, "size": a.size, "index": index}
                values = {"compiled": float(a[at]), "sequential": float(b[at])}
                _say(as_json, {"kernel": traced.name, "agrees": False, **first, **values}, text)
                return
        state["good"] += 1
        text = f"kernel {traced.name}: the compiled program agrees with its sequential meaning, bit for bit"
        _say(as_json, {"kernel": traced.name, "agrees": True}, text)

    return look


def watch(names: list[str], as_json: bool = False):
    wanted = [Wanted.parse(name) for name in names]

    def look(kernel, args, kwargs, traced, program, inputs):
        values = [value for _, value in observe(kernel, *copies(args, kwargs), wanted).values]
        missing = {w.name for w in wanted if not any(w.names(v.name) for v in values)}
        if missing:
            every = observe(kernel, *copies(args, kwargs), None)
            raise unknown(sorted(missing), [v for _, v in every.values])
        for value in values:
            _say(as_json, _value_entry(value), str(value))

    return look


def _value_entry(value) -> dict:
    known = {name: getattr(value, name) for name in ("kernel", "call", "name", "file", "line", "iteration", "core")}
    kind = {"dtype": str(value.value.dtype), "shape": value.value.shape}
    return known | kind | {"value": value.value.astype(np.float64).tolist()}


def compare(reference: str, tolerance: float | None, state: dict, as_json: bool = False):
    def look(kernel, args, kwargs, traced, program, inputs):
        function = kernel.func.__globals__.get(reference)
        if not callable(function):
            raise _t.failure(
                "NKI-COMPARE",
                f"there is no function `{reference}` beside the kernel `{traced.name}`",
                "Define it before the kernel is called.",
                place=("", 0),
            )
        args, kwargs = copies(args, kwargs)
        found = compare_call(kernel, traced.target.reference, function, args, kwargs, tolerance)
        state["good" if found.ok else "bad"] += 1
        difference = None if found.ok else found.difference._asdict()
        entry = {"kernel": traced.name, "reference": reference, "ok": found.ok, "difference": difference}
        _say(as_json, entry | {"compared": found.compared}, f"kernel {traced.name} and {reference}: {found}")

    return look


def copies(args, kwargs) -> tuple:
    """The arguments, arrays that a kernel may write to as copies."""
    copy = lambda x: x.copy() if isinstance(x, np.ndarray) else x  # noqa: E731
    return tuple(map(copy, args)), {k: copy(x) for k, x in kwargs.items()}
