"""Traced kernels, kept for further calls that would trace the same: what they read is compared (reads.py)."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

import numpy as np

from .reads import reads

_MOST = 64  # traced kernels
_INSTRUCTIONS = 200_000  # in all of them: a record takes about a kilobyte for each
_kept: OrderedDict[tuple, object] = OrderedDict()
_lock = threading.RLock()  # to compare keys is Python's, so other threads may run meanwhile


def key_of(function, arguments: dict, arrays, options: tuple):
    """What a call is found by; None where it has to be traced, or somebody follows its lines."""
    if _is_followed():
        return None
    found = reads(function, arguments, arrays)
    if found is None:
        return None
    key = (options, tuple(np.geterr().values()), found)
    try:
        hash(key)
    except TypeError:  # options that the trace will refuse
        return None
    return key


def find(key):
    with _lock:
        traced = _kept.get(key)
        if traced is not None:
            _kept.move_to_end(key)
        return traced


def keep(key, traced) -> None:
    if _size(traced) > _INSTRUCTIONS // 4:
        return
    with _lock:
        _kept[key] = traced
        while len(_kept) > _MOST or sum(map(_size, _kept.values())) > _INSTRUCTIONS:
            _kept.popitem(last=False)


def _size(traced) -> int:
    return sum(len(t.ops) for t in traced.traces)


def _is_followed() -> bool:
    """Whether a debugger looks at lines of Python."""
    monitoring = getattr(sys, "monitoring", None)
    return sys.gettrace() is not None or (
        monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    )
