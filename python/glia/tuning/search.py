"""glia.tune: every combination of values, or some of them, in processes side by side."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping

import numpy as np

from .. import _glia, warn
from ..nki import environment
from ..nki.compare import _leaves
from ..nki.trace import find_target
from .journal import Journal, key_of, text_of
from .measure import Described, Measured, arrays_of, described, measure
from .table import Table, row_type
from .workers import Lost, Workers, checked_count

TIMEOUT = 120.0  # seconds for one candidate


def tune(
    kernel,
    space: Mapping,
    args=(),
    *,
    target: str | None = None,
    workers: int | None = None,
    journal=None,
    limit: int | None = None,
    seed: int = 0,
    check: Callable | None = None,
    tolerance: float | None = None,
    timeout: float | None = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Compiles, proves and times a kernel (or a function of kernels) with every combination of the values in `space`, which it gets
    as keywords. `args` are its other arguments: arrays, or what describes one ("f32[512, 128]", a tuple of sizes for f32).

    What comes back is a table, the best first: `.best.keywords`. A candidate that does not compile, is refused or raises is in it
    with its error. `check` is a reference: a function of `args` whose results a candidate must have, within `tolerance` (a share of
    the largest value; without it, what the type allows). `limit` takes so many at random, always the same for one `seed`.
    `journal` names a file: what is in it is not done again. `timeout` is in seconds, for each."""
    if not callable(kernel):
        raise _glia.make_error("TUNE-ARGUMENT", f"{kernel!r} is no kernel", "Give what nki.jit made, or a function.")
    chosen = _chosen(_checked(space), limit, seed)
    given = [described(x) for x in _list(args)]
    reference = find_target(target or getattr(kernel, "target", None) or environment.target_name())
    arrays = arrays_of(given, numbers=check is not None)
    expected = None if check is None else _expected(check, given)
    real = not any(isinstance(x, Described) for x in given)

    def work(n: int) -> Measured:
        quiet()
        return measure(kernel, arrays, chosen[n], reference.reference, expected, tolerance, real)

    with Journal(journal) as kept:
        keys = _keys(kernel, chosen, arrays, reference, expected, tolerance) if kept.kept else [""] * len(chosen)
        found = {n: result for n, key in enumerate(keys) if (result := kept.get(key)) is not None}
        with Workers(work, min(checked_count(workers), len(chosen)), timeout) as running:
            for n, result in _each(running, [n for n in range(len(chosen)) if n not in found]):
                found[n] = Measured(code=result.code, message=result.message) if isinstance(result, Lost) else result
                if not isinstance(result, Lost):  # another time it may end well
                    kept.add(keys[n], {"kernel": _name(kernel), "keywords": chosen[n]}, result)
                if progress is not None:
                    progress(len(found), len(chosen))
    return Table(_name(kernel), str(reference), tuple(space), [(values, found[n]) for n, values in enumerate(chosen)])


def _each(running: Workers, numbers: list[int]):
    """Numbers and results, as they are done."""
    waiting = iter(numbers)
    left = len(numbers)
    while left:
        while running.free and (n := next(waiting, None)) is not None:
            running.give(n, n)
        done, _ = running.finished()
        left -= len(done)
        yield from done


def quiet() -> None:
    if warn.mode() == "show":
        warn.choose("off")


def _checked(space) -> dict[str, list]:
    if not isinstance(space, Mapping) or not space:
        raise _glia.make_error(
            "TUNE-SPACE", f"the space is {space!r}", 'Give names and values: {"tile": [128, 256], "buffers": [2, 3]}.'
        )
    row_type(tuple(space))
    out = {}
    for name, values in space.items():
        out[name] = list(values) if hasattr(values, "__iter__") and not isinstance(values, str) else []
        if not out[name]:
            raise _glia.make_error("TUNE-SPACE", f"`{name}` has the values {values!r}", "Give a list of one or more.")
    return out


def _chosen(space: dict[str, list], limit: int | None, seed: int) -> list[dict]:
    """The combinations that are tried, in the order of the space, the last name varying fastest."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise _glia.make_error("TUNE-OPTION", f"limit is {limit!r}", "Give 1 or more, or None for all.")
    total = math.prod(map(len, space.values()))
    if limit is None or limit >= total:
        return [dict(zip(space, values)) for values in itertools.product(*space.values())]
    return [_combination(space, n) for n in sorted(random.Random(seed).sample(range(total), limit))]


def _combination(space: dict[str, list], n: int) -> dict:
    out = {}
    for name, values in reversed(space.items()):
        n, k = divmod(n, len(values))
        out[name] = values[k]
    return {name: out[name] for name in space}


def _list(args) -> list:
    if isinstance(args, (list, tuple)) and not isinstance(described(args), Described):
        return list(args)
    return [args]  # one array, or one shape


def _expected(check: Callable, given: list) -> list:
    return _leaves(check(*arrays_of(given, numbers=True)))


def _keys(kernel, chosen, arrays, target, expected, tolerance) -> list[str]:
    signature = [_signature(x) for x in arrays]
    checked = None if expected is None else [x.tobytes() for x in expected]
    about = (text_of(kernel), getattr(kernel, "lnc", 1), str(target), environment.schedule(), signature)
    return [key_of(*about, checked, tolerance, sorted(values.items())) for values in chosen]


def _signature(x):
    """What a time depends on: loops are counted by integers."""
    if not isinstance(x, np.ndarray):
        return repr(x)
    return x.shape, str(x.dtype), x.tobytes() if x.dtype.kind in "iu" else b""


def _name(kernel) -> str:
    return getattr(kernel, "__name__", "function")
