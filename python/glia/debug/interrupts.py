"""Ctrl-C while a command runs: remembered, and raised only where the run can be left and gone on with."""

from __future__ import annotations

import contextlib
import signal
import threading

_pressed = False


def _note(*_) -> None:
    global _pressed
    _pressed = True


@contextlib.contextmanager
def remembered():
    """In this block KeyboardInterrupt comes from `check` only."""
    global _pressed
    _pressed = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def check() -> None:
    global _pressed
    if _pressed:
        _pressed = False
        raise KeyboardInterrupt
