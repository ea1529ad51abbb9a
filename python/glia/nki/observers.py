"""What `python -m glia profile`, `check`, `compare` and `run --watch` do at each call of a kernel."""

from __future__ import annotations

import os

import numpy as np

from . import runtime
from . import trace as _t
from .capture import observe
from .compare import compare as compare_call
from .watch import Wanted, unknown


def profile(html: str | None):
    counts: dict[str, int] = {}

    def look(kernel, args, kwargs, traced, program, inputs):
        n = counts[traced.name] = counts.get(traced.name, 0) + 1
        predicted = program.profile(inputs)
        print(f"kernel {traced.name}, call {n}, {traced.target}")
        print(predicted.summary())
        if html:
            stem, ending = os.path.splitext(html)
            path = html if len(counts) == 1 and n == 1 else f"{stem}-{traced.name}-{n}{ending}"
            predicted.html(path)
            print(f"timeline: {path}")

    return look


def check(state: dict):
    def look(kernel, args, kwargs, traced, program, inputs):
        if traced.ranks > 1:
            print(f"kernel {traced.name}: {traced.ranks} ranks have no sequential meaning; not compared")
            return
        compiled = program.run(inputs, verify=False)
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
                print(
                    f"kernel {traced.name}: `{o.name}` differs in {different.size} of {a.size} elements, first at "
                    f"{tuple(int(i) for i in at)}: compiled {a[at]}, sequential {b[at]}"
                )
                return
        state["good"] += 1
        print(f"kernel {traced.name}: the compiled program agrees with its sequential meaning, bit for bit")

    return look


def watch(names: list[str]):
    wanted = [Wanted.parse(name) for name in names]

    def look(kernel, args, kwargs, traced, program, inputs):
        values = [value for _, value in observe(kernel, *copies(args, kwargs), wanted).values]
        missing = {w.name for w in wanted if not any(w.names(v.name) for v in values)}
        if missing:
            every = observe(kernel, *copies(args, kwargs), None)
            raise unknown(sorted(missing), [v for _, v in every.values])
        for value in values:
            print(value)

    return look


def compare(reference: str, tolerance: float | None, state: dict):
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
        print(f"kernel {traced.name} and {reference}: {found}")

    return look


def copies(args, kwargs) -> tuple:
    """The arguments, arrays that a kernel may write to as copies."""
    copy = lambda x: x.copy() if isinstance(x, np.ndarray) else x  # noqa: E731
    return tuple(map(copy, args)), {k: copy(x) for k, x in kwargs.items()}
