"""Warnings: what is allowed, and most likely a mistake. Each is shown once on the standard error. `--warn=error`, or
GLIA_WARN=error, makes errors of them; "off" keeps them silent."""

from __future__ import annotations

import os

from . import _glia
from .diagnostics import show

MODES = ("show", "error", "off")
_chosen: list[str] = []
_refused: list[str] = []  # codes that are errors
_shown: set[tuple] = set()
_reported: set = set()


def choose(mode: str | None) -> None:
    """What happens to warnings from now on; None returns to GLIA_WARN."""
    if mode is not None:
        _checked(mode, "the mode of warnings")
    _chosen[:] = [] if mode is None else [mode]


def mode() -> str:
    if _chosen:
        return _chosen[0]
    given = os.environ.get("GLIA_WARN")
    return _checked(given, "GLIA_WARN") if given else MODES[0]


def refuse_nans(refuse: bool) -> None:
    """Whether a NaN in a result is an error, whatever happens to other warnings (`--nan`)."""
    _refused[:] = ["RUN-NAN"] if refuse else []


def _checked(mode: str, what: str) -> str:
    if mode not in MODES:
        raise _glia.make_error("RUN-WARN", f"{what} is {mode!r}", f"Say one of {', '.join(MODES)}.")
    return mode


def warning(code: str, message: str, advice: str = "", place=("", 0), context: str = "", notes=()):
    """A diagnostic that is a warning."""
    return _glia.Diagnostic(code, message, advice, place[0], place[1], context, "", "", list(notes), True)


def asked(about: object) -> bool:
    """Whether somebody wants to know what there is to warn of; `about` names the subject of a `report`, made once."""
    return bool(_refused) or mode() == "error" or (mode() == "show" and about not in _reported)


def report(warnings: list, about: object = None) -> None:
    """Shows warnings that were not shown before, or raises them as errors."""
    refused = [_as_error(w) for w in warnings if w.code in _refused]
    if refused:
        raise _glia.error_of(refused)
    if not warnings or mode() == "off":
        return
    _reported.add(about)
    if mode() == "error":
        raise _glia.error_of([_as_error(w) for w in warnings])
    for w in warnings:
        key = (w.code, w.message, w.file, w.line)
        if key not in _shown:
            _shown.add(key)
            show([w])


def _as_error(w):
    return _glia.Diagnostic(w.code, w.message, w.advice, w.file, w.line, w.context, w.value, w.limit, w.notes)
