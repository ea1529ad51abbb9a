"""Tracebacks of the user's own lines: the frames of glia itself are left out, wherever an exception is shown. GLIA_FULL_TRACEBACK=1 keeps them."""

from __future__ import annotations

import os
import sys
import traceback

from . import _glia

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_REAL_PACKAGE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_NOTEBOOK = os.path.join("", "IPython", "core", "")  # its frames stand before those of a cell
_before: list = []  # the hook of the process, while ours is in its place


def is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, _REAL_PACKAGE, "<frozen runpy"))


def _is_shown(file: str) -> bool:
    return not is_ours(file) and _NOTEBOOK not in file


def wanted() -> bool:
    return os.environ.get("GLIA_FULL_TRACEBACK", "0") in ("", "0")


def lines(e: BaseException) -> list[str]:
    """The traceback without the frames of glia; causes and contexts likewise."""
    shown = traceback.TracebackException.from_exception(e)
    at = shown
    while at is not None:
        at.stack = traceback.StackSummary.from_list([f for f in at.stack if _is_shown(f.filename)])
        at = at.__cause__ or at.__context__
    return list(shown.format())


def _hook(kind, e, tb) -> None:
    frames = traceback.extract_tb(tb)
    if wanted() and any(is_ours(f.filename) for f in frames) and any(not is_ours(f.filename) for f in frames):
        sys.stderr.write("".join(lines(e)))
    else:
        _before[0](kind, e, tb)


def install() -> None:
    """For exceptions that nobody catches; a hook of somebody else stays."""
    if sys.excepthook is sys.__excepthook__:
        _before[:] = [sys.excepthook]
        sys.excepthook = _hook


def uninstall() -> None:
    if sys.excepthook is _hook:
        sys.excepthook = _before.pop()


def _for_notebooks(self) -> list[str]:
    return "".join(lines(self) if wanted() else traceback.format_exception(self)).splitlines()


_glia.Error._render_traceback_ = _for_notebooks  # what IPython shows
