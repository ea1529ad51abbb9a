"""Finds the line of the user's file that the front is working for: the innermost frame outside of this package and of
JAX, which calls back; and how the kernel came there: its calls and the indices of its loops."""

from __future__ import annotations

import os
import sys

from .naming import loop_indices

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_REAL_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
_INTERNAL: dict[str, bool] = {}  # by file name


def _is_internal(filename: str) -> bool:
    found = _INTERNAL.get(filename)
    if found is not None:
        return found
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


def way_to(frame, kernel) -> list[str]:
    """How the kernel (its code) came to the line that a frame is at, for notes: loop indices, and the calls from the inside out."""
    out = []
    indices = indices_text(frame)
    if indices:
        out.append(f"with {indices}")
    while frame is not None and frame.f_code is not kernel:
        frame = frame.f_back
        if frame is None:
            return []  # not under way in the kernel
        if not _is_internal(frame.f_code.co_filename):
            indices = indices_text(frame)
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            out.append(f"called from {frame.f_code.co_name} at {place}" + (f", with {indices}" if indices else ""))
    return out


def indices_text(frame) -> str:
    """ "i = 3, j = 0": the loops around the line that a frame is at, as far as their indices are known."""
    return ", ".join(f"{name} = {value}" for name, value in loop_indices(frame) if type(value) in (int, str))
