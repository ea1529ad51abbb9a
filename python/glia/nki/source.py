"""Finds the line of the user's file that the front is working for: the innermost frame outside of this package and of
JAX, which calls back."""

from __future__ import annotations

import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_REAL_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
_INTERNAL: dict[str, bool] = {}  # by file name


def _is_internal(filename: str) -> bool:
    found = filename.startswith((_PACKAGE, _REAL_PACKAGE)) or filename.startswith("<frozen")
    jax = sys.modules.get("jax")
    if jax is not None and getattr(jax, "__file__", None):
        found = found or filename.startswith(os.path.dirname(jax.__file__) + os.sep)
    _INTERNAL[filename] = found
    return found


def user_frame(depth: int = 1):
    """The innermost frame that is neither this package's nor JAX's, or None."""
    frame = sys._getframe(depth)
    known = _INTERNAL
    while frame is not None:
        name = frame.f_code.co_filename
        internal = known.get(name)
        if internal is None:
            internal = _is_internal(name)
        if not internal:
            return frame
        frame = frame.f_back
    return None


def user_place(depth: int = 1) -> tuple[str, int]:
    """File and line of the user, ("", 0) if there is none."""
    frame = user_frame(depth + 1)
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
