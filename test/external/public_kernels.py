"""What the drivers of public kernels share: finding a checkout, loading a file of it unchanged, and running one kernel on each
target, compiled and verified, against a reference and against its own sequential meaning."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TARGETS = ("trn1", "trn2", "trn3")
CHECKOUTS = {  # name: (environment variable, a file by which a checkout is known)
    "aws-neuron-sdk": ("GLIA_NEURON_SDK", "nki/examples"),
    "neuronx-distributed-inference": ("GLIA_NXDI", "contrib/models/Qwen3.5-35B-A3B/src/nki_kernels"),
    "trntensor": ("GLIA_TRNTENSOR", "trntensor/nki/_kernels.py"),
    "nki-library": ("GLIA_NKI_LIBRARY", "src/nkilib_src/nkilib"),
}


def checkout(name: str) -> Path | None:
    """The folder of a checkout, from its environment variable; None where there is none."""
    variable, known = CHECKOUTS[name]
    path = Path(os.environ.get(variable, "/nowhere"))
    return path if (path / known).exists() else None


def load(path: Path, **environment: str):
    """A Python file as a module of its own, loaded with these environment variables; its folder is importable meanwhile."""
    name = path.stem.replace("-", "_") + "".join(f"_{v}" for v in environment.values())
    with _environment(environment):
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(path.parent))
    return module


@contextlib.contextmanager
def _environment(values: dict[str, str]):
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:  # also undoes what the file itself set
        os.environ.clear()
        os.environ.update(before)


@dataclasses.dataclass
class Case:
    """One kernel with arguments. `reference` gives what it must return; `post` makes comparable arrays of what it returned."""

    origin: str
    name: str
    kernel: object
    arguments: tuple
    reference: Callable[[], tuple]
    compared: str  # what the reference is, in words
    tolerance: float = 2e-5
    cores: int = 1
    ranks: int | None = None  # None: one, whose arrays have no axis for ranks
    targets: tuple[str, ...] = TARGETS
    keywords: dict = dataclasses.field(default_factory=dict)
    post: Callable = lambda *outputs: outputs
    refused: str | None = None  # the code of the error that it must give


@dataclasses.dataclass
class Outcome:
    case: Case
    target: str
    error: float | None = None  # largest difference, relative to the largest magnitude of the reference
    refused: str = ""
    failure: str = ""
    instructions: int = 0
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        if self.failure:
            return False
        return self.case.refused == self.refused if self.case.refused else self.error <= self.case.tolerance


def run(case: Case, target: str) -> Outcome:
    """Traces, compiles, verifies and runs a case; compares with the executor, bit for bit, and with the reference."""
    import glia
    import nki
    from glia.nki import runtime

    out, began = Outcome(case, target), time.perf_counter()
    try:
        kernel = nki.simulate(case.kernel, case.ranks).on(target)[case.cores]
        arguments = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments)
        traced = kernel.trace(*arguments, **case.keywords)
        program = runtime.program_of(traced)  # raises unless the verifier proves it
        out.instructions = traced.kernel.text().count("\n")
        inputs = runtime.inputs_of(traced)
        outputs = program.run(inputs, verify=False)
        for name, expected in runtime.sequential(traced, inputs).items() if case.ranks is None else ():
            if outputs[name].tobytes() != expected.tobytes():
                out.failure = f"`{name}`: the compiled program differs from its sequential meaning"
                return out
        results = runtime.finish(traced, outputs)
        results = case.post(*(results if isinstance(results, (tuple, list)) else (results,)))
        reference = case.reference()
        assert len(results) == len(reference)
        out.error = max(distance(r, e) for r, e in zip(results, reference))
    except glia.Error as e:
        out.refused = e.diagnostics[0].code
        if out.refused != case.refused:
            out.failure = str(e)
    except Exception as e:
        out.failure = f"{type(e).__name__}: {e}"
        if os.environ.get("GLIA_EXTERNAL_TRACEBACK"):
            raise
    out.seconds = time.perf_counter() - began
    return out


def distance(result, expected) -> float:
    """The largest difference over the largest magnitude; infinite for other shapes or undefined values."""
    result, expected = np.asarray(result).astype(np.float64), np.asarray(expected).astype(np.float64)
    if result.shape != expected.shape or not np.isfinite(result).all():
        return float("inf")
    return float(np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30))


def random(seed: int = 0):
    """A maker of float32 arrays of a shape, normally distributed."""
    rng = np.random.default_rng(seed)
    return lambda *shape, scale=1.0: (rng.standard_normal(shape) * scale).astype(np.float32)
