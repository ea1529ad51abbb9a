"""The NKI examples: where they are, and how one is compiled, run and compared with NumPy.

A file in examples/nki has a kernel of its own name, `inputs(rng)` and `reference(*arrays)`; it may say TARGETS, CORES, RANKS and TOLERANCE.
Arrays of a kernel of several ranks have an axis for them in front.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import glia
import numpy as np

HERE = Path(__file__).resolve().parent
EVERY = ("trn1", "trn2", "trn3")
TOLERANCE = 1e-5  # relative to the largest element of the reference


class Row(NamedTuple):
    """A line of the table."""

    name: str
    target: str
    instructions: int
    microseconds: float
    least: float  # of any order of its instructions, microseconds
    limit: str  # by what
    error: float
    verified: bool
    tolerance: float

    @property
    def ok(self) -> bool:
        return self.verified and self.error <= self.tolerance


def module_of(path: Path):
    """The module in a file; nki in it is glia's."""
    glia.install()
    spec = importlib.util.spec_from_file_location(f"glia_example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples() -> list[Path]:
    return sorted((HERE / "nki").glob("*.py"))


def targets(module) -> tuple[str, ...]:
    return getattr(module, "TARGETS", EVERY)


def compiled(path: Path, module, target: str, seed: int = 7):
    """(executable, arguments, what NumPy says)"""
    kernel = getattr(module, path.stem)
    arrays = module.inputs(np.random.default_rng(seed))
    cores, ranks = getattr(module, "CORES", 1), getattr(module, "RANKS", None)
    exe = glia.compile(kernel[cores], *arrays, target=target, ranks=ranks)
    return exe, arrays, module.reference(*arrays)


def error_of(got, want) -> float:
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, (got.shape, want.shape)
    error = np.abs(got - want).max() / max(np.abs(want).max(), np.finfo(np.float64).tiny)
    return float("inf") if np.isnan(error) else float(error)


def example_rows() -> Iterator[Row]:
    """Every example on every target that can run it."""
    for path in examples():
        module = module_of(path)
        for target in targets(module):
            exe, arrays, want = compiled(path, module, target)
            error = error_of(exe.run(*arrays), want)
            time = exe.profile(*arrays).total / 1000
            close = getattr(module, "TOLERANCE", TOLERANCE)
            bound = exe.bound()
            least = bound["total"] / 1000, bound["reason"]
            yield Row(path.stem, target, exe.program.instructions, time, *least, error, exe.verify().ok, close)
