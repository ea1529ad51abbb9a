"""Which of the cores runs the kernel, and loops that are unrolled."""

from __future__ import annotations

from .. import trace as _t
from ..registers import VirtualRegister


def _axis(axis, call: str) -> None:
    if axis not in (0, None, (0,), [0], -1):
        _t.error("NKI-GRID", f"axis of nl.{call} is {axis!r}", "A grid has one axis, the cores: 0.")


def program_id(axis=0):
    """The core that is traced: 0 or 1."""
    _axis(axis, "program_id")
    return _t.required("nl.program_id").core


def num_programs(axes=0):
    """The number of cores that run the kernel."""
    _axis(axes, "num_programs")
    return _t.required("nl.num_programs").cores


def program_ndim():
    """1 if the kernel was called as kernel[n], else 0."""
    t = _t.required("nl.program_ndim")
    return 1 if getattr(t, "grid", t.cores > 1) else 0


def _integer(n, call: str) -> int:
    if isinstance(n, VirtualRegister):
        raise _t.failure(
            "NKI-LOOP",
            f"a bound of nl.{call} is a register, and the loop is unrolled",
            "Use nl.fori_loop or nl.dynamic_range for a loop whose count is known when the kernel runs.",
        )
    return n


def _static(call: str, doc: str):
    def loop(start, stop=None, step=1):
        start, stop, step = _integer(start, call), _integer(stop, call), _integer(step, call)
        return range(start) if stop is None else range(start, stop, step)

    loop.__name__ = loop.__qualname__ = call
    loop.__doc__ = doc
    return loop


# Loops that Python runs: each iteration is traced. The three names differ in nothing here.
affine_range = _static("affine_range", "range(); iterations are independent of each other.")
sequential_range = _static("sequential_range", "range(); iterations follow each other.")
static_range = _static("static_range", "range().")
