"""One candidate: compiled, proved, timed, and held against what it should compute."""

from __future__ import annotations

import multiprocessing.process
import re
from typing import NamedTuple

import numpy as np

from .. import _glia
from ..dtypes import machine_dtype, numpy_dtype
from ..nki.compare import _difference, _leaves
from ..nki.frameworks import kind_of, to_numpy
from ..nki.raised import innermost


class Measured(NamedTuple):
    """What is known of a candidate. It is good if `code` is empty."""

    time: float | None = None  # predicted, nanoseconds
    instructions: int | None = None
    proved: bool = False
    code: str = ""  # of its first error
    message: str = ""
    place: str = ""  # file:line of it


class Described(NamedTuple):
    """An array that is given by its shape and type only."""

    shape: tuple[int, ...]
    dtype: np.dtype


_DESCRIBED = re.compile(r"(\w+)\[([^]]*)\]")


def described(x):
    """`x`, or what it says about an array: "f32[512, 128]", a tuple of sizes (of f32), or anything with a shape and a dtype."""
    if isinstance(x, str):
        m = _DESCRIBED.fullmatch(x.strip())
        return x if m is None else Described(_shape(m[2].split(","), x), _dtype(m[1], x))
    if isinstance(x, tuple) and x and all(type(n) is int for n in x):
        return Described(_shape(x, x), np.dtype(np.float32))
    if kind_of(x) is None and hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, np.generic):
        return Described(_shape(x.shape, x), _dtype(x.dtype, x))
    return x


def _shape(sizes, given) -> tuple[int, ...]:
    try:
        shape = tuple(int(n) for n in sizes)
    except (TypeError, ValueError):
        shape = ()
    if not shape or min(shape) < 1:
        raise _glia.make_error("TUNE-ARGUMENT", f"{given!r} has no shape", 'Say "f32[512, 128]": sizes of 1 or more.')
    return shape


def _dtype(name, given) -> np.dtype:
    try:
        return numpy_dtype(machine_dtype(name))
    except TypeError as e:
        raise _glia.make_error("TUNE-ARGUMENT", f"{given!r}: {e}", 'Say "f32[512, 128]".') from None


def arrays_of(args, numbers: bool) -> list:
    """The arguments with arrays for what is only described: of random numbers, always the same, or of zeros."""
    rng = np.random.default_rng(0)

    def array(x):
        if not isinstance(x, Described):
            return np.array(to_numpy(x)) if kind_of(x) is not None else x
        if not numbers:
            return np.zeros(x.shape, x.dtype)
        if x.dtype.kind in "iu":
            return rng.integers(0, 8, x.shape).astype(x.dtype)
        return rng.standard_normal(x.shape, np.float32).astype(x.dtype)

    return [array(x) for x in args]


def measure(
    function, args: list, values: dict, target: str | None, expected=None, tolerance=None, data=True
) -> Measured:
    """`expected`: the results that it should have; `data`: the arrays in `args` have the numbers that are meant."""
    from ..nki.graph import compile as compile_function

    try:
        exe = compile_function(function, *args, target=target, **values)
        result = Measured(_time(exe, args, values, data), exe.program.instructions, True)
        if expected is None:
            return result
        made = exe.run(*[x.copy() if isinstance(x, np.ndarray) else x for x in args], **values)
        wrong = _wrong(_leaves(made), expected, tolerance)
        return result._replace(code="TUNE-WRONG", message=wrong) if wrong else result
    except Exception as e:
        return failed(e)


def failed(e: BaseException) -> Measured:
    """What is kept of an exception."""
    if isinstance(e, _glia.Error):
        d = e.diagnostics[0]
        return Measured(code=d.code, message=_first(d.message), place=_place(d.file, d.line))
    text = f"{type(e).__name__}: {_first(str(e))}"
    return Measured(code="TUNE-RAISED", message=text, place=_place(*innermost(e, ("", 0))))


def _place(file: str, line: int) -> str:
    """file:line; empty where the outermost line is that of the process that works."""
    return "" if file in ("", multiprocessing.process.__file__) else f"{file}:{line}"


def _first(text: str) -> str:
    return text.split("\n", 1)[0]


def _time(exe, args, values, data: bool) -> float:
    try:
        return exe.time()
    except _glia.Error as e:
        if not data or e.diagnostics[0].code != "TIME-DATA":
            raise
        return exe.profile(*args, **values).total


def _wrong(made: list, expected: list, tolerance) -> str:
    if len(made) != len(expected):
        return f"it returns {len(made)} arrays, the reference {len(expected)}"
    for n, (a, b) in enumerate(zip(made, expected)):
        name = "result" if len(made) == 1 else f"result {n}"
        if a.shape != b.shape:
            return f"the {name} has shape {a.shape}, that of the reference {b.shape}"
        found = _difference(a, b, tolerance, name)
        if found is not None:
            index, is_, should, count, size, _ = found
            return f"the {name} at {list(index)} is {is_:.7g} and should be {should:.7g} ({count} of {size} elements differ)"
    return ""
