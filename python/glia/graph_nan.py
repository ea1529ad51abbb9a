"""A NaN in a result of a graph though no argument had one: the first operation that gives one, found by the reference interpreter."""

from __future__ import annotations

import re

import numpy as np

from .reference import interpret
from .values import has_nan
from .warn import asked, report, warning

_PLACE = re.compile(r'"([^"]+\.py)":(\d+)')


def check(about: object, name: str, text: str, inputs: list[np.ndarray], outputs: dict[str, np.ndarray]) -> None:
    """Warns of NaNs in the outputs of a compiled graph (`text` is StableHLO) whose inputs have none."""
    if not asked(about) or not any(map(has_nan, outputs.values())) or any(map(has_nan, inputs)):
        return
    first: list[tuple[str, str, np.ndarray]] = []

    def look(operation, place, result, value):
        if not first and has_nan(value):
            first.append((operation, place, value))

    interpret(text, *inputs, watcher=look)
    bad = next(n for n, x in outputs.items() if has_nan(x))
    message = f"`{bad}` has a NaN, and no argument has one"
    if not first:  # the reference has none: the machine rounds, or saturates, otherwise
        advice = "The reference gives no NaN: a value leaves the range of its type on the machine. See check()."
        report([warning("RUN-NAN", message, advice, context=f"function {name}")], about)
        return
    operation, place, value = first[0]
    found = _PLACE.search(place)
    at = (found[1], int(found[2])) if found else ("", 0)
    index = [int(i) for i in np.unravel_index(int(np.isnan(value.astype(np.complex128)).argmax()), value.shape)]
    notes = [f"the first operation that gives a NaN: {operation}, at {index} of its result"]
    report([warning("RUN-NAN", message, "", at, f"function {name}", notes)], about)
