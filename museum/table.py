"""The table of the museum: a row per program, with the same columns for every case.

A case is a folder. One module in it or more have `rows(everything=False)`, a generator of Row: the rows that the demo shows, a few seconds'
worth of work, or with `everything` also those that are left to `make bench`. Such a module finds this file in the folder above:

    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from table import against_twin, compiled, float64, row_of, show

and ends with `if __name__ == "__main__": show(rows(everything=True))`. Names of modules are unique over the folders.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
MANY = 1000  # results of one program

# For the cases of several ranks; JAX has as many devices as there are when it is first used.
os.environ.setdefault("GLIA_DEVICES", "8")


class Row(NamedTuple):
    """One program on one target."""

    program: str
    target: str
    seconds: float  # to trace, compile, link and verify it; processor time
    instructions: int
    groups: int  # calls in the program: of groups of operations, and of kernels written by hand
    kernels: int  # distinct ones among them, each compiled once
    hbm_bytes: int  # read from HBM and written to it
    microseconds: float  # predicted
    assumed: float  # share of that time that rests on assumed parameters of the target
    busiest: str  # the engine
    use: float  # share of the time in which it is busy
    error: float  # relative, in the L2 norm, against float64: the largest of the results
    allowed: float
    verified: bool
    vendor: str  # what the vendor's compiler did, as far as it was reported

    @property
    def ok(self) -> bool:
        return self.verified and self.error <= self.allowed


def relative_error(got, want) -> float:
    """|got - want| / |want| in the L2 norm: the largest over the arrays of a tree."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), (got.keys(), want.keys())
        return max(relative_error(got[k], want[k]) for k in want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), (len(got), len(want))
        return max(relative_error(g, w) for g, w in zip(got, want))
    got, want = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    assert got.shape == want.shape, (got.shape, want.shape)
    size = np.linalg.norm(want)
    error = np.linalg.norm(got - want) / (size if size > 0 else 1.0)
    return float("inf") if np.isnan(error) else float(error)


def _leaves(got, twin, want):
    if isinstance(want, dict):
        for k in want:
            yield from _leaves(got[k], twin[k], want[k])
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want) == len(twin), (len(got), len(twin), len(want))
        for three in zip(got, twin, want):
            yield from _leaves(*three)
    else:
        yield got, twin, want


def against_twin(got, twin, want) -> tuple[float, float]:
    """(error, allowed) of the result that is closest to what is allowed: twice the error of a twin on the CPU that has the same types.
    Never less than one rounding to the result's type, because a result of few numbers can be right by luck, nor than two units of fp32:
    the CPU adds up in many lanes at once, which is more precise than one number after the other.

    A result that the twin misses by more than its size (zero in exact arithmetic, say) has no digit: both are rounding noise, and how
    two samples of noise compare is chance. Of these the root mean square of the error over the twin's is held against 2, and each one
    alone against 4. Likewise of a thousand results and more, the largest of whose errors is far from the usual one by chance: the root mean square
    of the error over the twin's is held against 1.5, and each one alone against 3."""
    pairs, noise = [], []
    for g, t, w in _leaves(got, twin, want):
        mine, other = relative_error(g, w), relative_error(t, w)
        if other >= 1:
            noise.append(mine / other)
            pairs.append((mine, 4 * other))
        else:
            rounding = float(ml_dtypes.finfo(np.asarray(t).dtype).eps) / 2
            pairs.append((mine, max(2 * other, rounding, 2.0**-22)))
    if len(pairs) >= MANY:
        usual = float(np.sqrt(np.mean([np.square(2 * mine / allowed) for mine, allowed in pairs])))
        pairs = [(mine, 1.5 * allowed) for mine, allowed in pairs] + [(usual, 1.5)]
    if noise:
        pairs.append((float(np.sqrt(np.mean(np.square(noise)))), 2.0))
    return max(pairs, key=lambda pair: pair[0] / pair[1])


def float64(function, *args):
    """What `function` (jitted, or made of jitted parts) gives on the CPU in float64. Arguments that are no floats stay as they are."""
    import jax

    def wide(x):
        return np.asarray(x, np.float64) if jax.dtypes.issubdtype(x.dtype, np.floating) else x

    if not hasattr(jax, "enable_x64"):  # before JAX 0.8
        from jax.experimental import enable_x64
    else:
        enable_x64 = jax.enable_x64
    with enable_x64(True):
        return jax.tree.map(np.asarray, function(*jax.tree.map(wide, args)))


def compiled(make: Callable):
    """(what make() gives, seconds of processor time)."""
    start = time.process_time()
    exe = make()
    return exe, time.process_time() - start


def row_of(exe, program: str, *, seconds: float, error: float, allowed: float, vendor: str = "", proved=True) -> Row:
    """The row of what glia.jit(f).compile(...) gave. `proved`: every access by an index must be proved to stay in bounds."""
    verdict, more = compiled(lambda: exe.program.verify(require_proved=proved))
    profile = exe.program.profile(timeline=False)
    busiest = max((lane for lane in profile.lanes if " queue " not in lane.name), key=lambda lane: lane.busy)
    return Row(
        program=program,
        target=exe.target,
        seconds=seconds + more,
        instructions=exe.program.instructions,
        groups=exe.groups,
        kernels=exe.kernels,
        hbm_bytes=sum(profile.hbm_bytes),
        microseconds=profile.total / 1000,
        assumed=profile.origins["assumed"],
        busiest=busiest.name.split()[-1],
        use=busiest.busy / profile.total,
        error=error,
        allowed=allowed,
        verified=verdict.ok,
        vendor=vendor,
    )


def cases() -> Iterator[tuple[str, Callable]]:
    """(name of the folder, rows) of every module that has them."""
    import glia

    glia.install()
    for path in sorted(HERE.glob("*/*.py")):
        if path.name.startswith("test_") or "def rows(" not in path.read_text(encoding="utf-8"):
            continue
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        yield path.parent.name, importlib.import_module(path.stem).rows


HEAD = (
    f"{'target':6} {'compile':>9} {'instr.':>8} {'groups':>6} {'kernels':>7} {'HBM':>9} {'predicted':>12} {'assumed':>7}  "
    f"{'busiest':>11}  {'error':>7} {'allowed':>7}  verified  vendor's compiler"
)


def _bytes(n: int) -> str:
    return f"{n / 1e9:.2f} GB" if n >= 1e9 else f"{n / 1e6:.2f} MB"


def line(r: Row) -> str:
    error, allowed = ("exact" if e == 0 else f"{e:.1e}" for e in (r.error, r.allowed))
    return (
        f"{r.program:32} {r.target:6} {r.seconds:7.2f} s {r.instructions:8} {r.groups:6} {r.kernels:7} {_bytes(r.hbm_bytes):>9} "
        f"{r.microseconds:9.1f} us {100 * r.assumed:5.0f} %  {r.busiest:>6} {100 * r.use:2.0f} %  {error:>7} {allowed:>7}  "
        f"{'yes' if r.verified else 'NO':8}  {r.vendor}{'' if r.ok else '  WRONG'}"
    )


def show(rows: Iterable[Row], title: str = "program") -> int:
    """Prints the rows as they come; how many are not as they should be."""
    print(f"{title:32} {HEAD}")
    wrong = 0
    for r in rows:
        print(line(r), flush=True)
        wrong += not r.ok
    return wrong
