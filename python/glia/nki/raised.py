"""Exceptions that a kernel raised while it was traced, as diagnostics at the line of the user's that they came from."""

from __future__ import annotations

import inspect
import re

from . import trace as _t
from .source import _is_internal


def innermost(e: BaseException, place) -> tuple[str, int]:
    """The innermost line of the user's that an exception came through, else `place`."""
    tb = e.__traceback__
    while tb is not None:
        if not _is_internal(tb.tb_frame.f_code.co_filename):
            place = (tb.tb_frame.f_code.co_filename, tb.tb_lineno)
        tb = tb.tb_next
    return place


def endless_recursion(e: RecursionError, place):
    text = "a function of the kernel calls itself without end"
    return _t.diagnostic("NKI-ENDLESS", text, place=innermost(e, place))


def argument_error(e: TypeError):
    """A diagnostic for a call of nki.isa or nki.language with arguments that it does not take, else None."""
    m = re.match(r"(?:\w+\.)?(\w+)\(\) (got|missing|takes)", str(e))
    place = innermost(e, None)
    if m is None or place is None:
        return None
    from . import isa, language

    function = getattr(isa, m[1], None) or getattr(language, m[1], None)
    if function is None:
        return None
    try:
        advice = f"It is {m[1]}{inspect.signature(function)}."
    except (TypeError, ValueError):
        advice = ""
    return _t.diagnostic("NKI-ARGUMENT", str(e), advice, place=place)
