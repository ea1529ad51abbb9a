"""Programs: made by `assemble`, `load` or a Builder; then verified, run, timed, saved or printed."""

from __future__ import annotations

import html
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import _glia
from .dtypes import numpy_dtype
from .profile import Profile


def step_limit() -> int:
    """After how many instructions a run is stopped: the environment variable GLIA_MAX_STEPS, or 100 million. 0: never."""
    text = os.environ.get("GLIA_MAX_STEPS", "")
    if text and not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise _glia.make_error(
            "RUN-STEPS", "GLIA_MAX_STEPS is not a number of instructions", "Give 1 or more, or 0 for no limit."
        )
    return int(text) if text else _glia.default_max_steps


def _steps(given: int | None) -> int:
    if given is None:
        return step_limit()
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**63:
        raise _glia.make_error(
            "RUN-STEPS", f"max_steps is {given!r}, no number of instructions", "Give 1 or more, or 0 for no limit."
        )
    return given


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a program as its caller sees it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str  # "input", "output", "constant" or "scratch"


@dataclass(frozen=True)
class Verified:
    """What the verifier says. `ok` means proved; otherwise `diagnostics` lists every violation."""

    diagnostics: list
    dynamic_accesses: list  # dictionaries: where, operand, proof ("proved", "skips", "may trap"), why
    instructions: int
    target: str = ""  # its name; of one that is not built in also its file

    @property
    def ok(self) -> bool:
        return not self.diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics)) or f"ok, {self.instructions} instructions on {self.target}"

    def __repr__(self) -> str:
        said = "proved" if self.ok else f"{len(self.diagnostics)} violations, the first {self.diagnostics[0]!r}"
        return f"<verified, {self.instructions} instructions on {self.target}: {said}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class Outcome:
    """One way for a program to end: its outputs, or the diagnostic of what went wrong; and an order that leads to it."""

    outputs: dict[str, np.ndarray] | None
    wrong: object | None
    order: list[str]


@dataclass(frozen=True)
class Orders:
    """What every order of a program comes to. `ok` means one outcome, with outputs. At most 32 outcomes are kept."""

    states: int
    steps: int
    different: int
    outcomes: list[Outcome]

    @property
    def ok(self) -> bool:
        return self.different == 1 and self.outcomes[0].wrong is None


class Program:
    """A program for one target. It does not change after it is made."""

    def __init__(self, handle):
        self._handle = handle

    @property
    def target(self) -> str:
        return self._handle.target

    @property
    def cores(self) -> int:
        return self._handle.cores

    @property
    def ranks(self) -> int:
        """How many ranks it is for. Inputs and outputs are whole tensors; each rank gets its part of them."""
        return self._handle.ranks

    @property
    def instructions(self) -> int:
        return self._handle.instructions

    @property
    def tensors(self) -> list[TensorInfo]:
        return [TensorInfo(n, t, tuple(s), k) for n, t, s, k in self._handle.tensors]

    def save(self, path) -> None:
        """Writes the program file."""
        self._handle.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The program file."""
        with tempfile.TemporaryDirectory(prefix="glia-") as folder:
            path = os.path.join(folder, "program.glia")
            self.save(path)
            with open(path, "rb") as f:
                return f.read()

    def disassemble(self) -> str:
        """Assembly text that assembles to the same program."""
        return self._handle.disassemble()

    def verify(self, require_proved: bool = False, certificate: bytes | None = None) -> Verified:
        """Proves the program against every rule. `require_proved` also refuses dynamic accesses that may trap.

        With what `certificate()` returned no search is needed; raises Error if that does not prove the program.
        """
        return Verified(*self._handle.verify(require_proved, certificate), self._handle.target_title)

    def certificate(self) -> bytes:
        """What a proof of this program rests on, for `verify`. Raises Error if the program is not proved."""
        return self._handle.certificate()

    def run(
        self,
        inputs: Mapping[str, np.ndarray] | None = None,
        strict: bool = False,
        seed: int = 0,
        verify: bool = True,
        max_steps: int | None = None,
        threads: int | None = None,
        steered: bool = False,
        fault_on_range: bool = False,
        hold: str = "",
    ) -> dict[str, np.ndarray]:
        """Runs the program and returns its outputs. Types and shapes of inputs must match exactly.

        `strict` looks for faults and picks the legal interleaving `seed`; it gives the same bytes as the fast mode. With it:
        `steered` holds engines and queues back for long stretches instead of drawing every step, `hold` one instruction
        ("core0.vector#12"); `fault_on_range` raises where an argument leaves its function's documented range.
        The fast mode gives the same bytes with any number of `threads`; without it, GLIA_THREADS or one for each processor.
        `verify` refuses a program that is not proved. Raises Error for a fault and Trap for a guarded trap.
        Nothing proves that a `while` ends: a run stops with SIM-STEPS after `max_steps` instructions. 0: never; without it,
        GLIA_MAX_STEPS or 100 million.
        """
        if threads is not None and threads < 1:
            raise _glia.make_error("RUN-THREADS", f"a run has 1 thread or more, not {threads}", "Leave `threads` out.")
        if verify:
            self._handle.require_verified()
        arrays = self._bytes_of(inputs or {})
        outputs, steps = [t for t in self.tensors if t.kind == "output"], _steps(max_steps)
        if strict:
            made, *_ = self._handle.run(arrays, strict, seed, steps, threads or 0, steered, fault_on_range, hold)
            made = {name: np.frombuffer(bytearray(data), np.uint8) for name, data in made.items()}
        else:
            made = {t.name: np.zeros(math.prod(t.shape) * numpy_dtype(t.dtype).itemsize, np.uint8) for t in outputs}
            self._handle.run_into(arrays, made, steps, threads or 0)
        return {t.name: made[t.name].view(numpy_dtype(t.dtype)).reshape(t.shape) for t in outputs}

    def every_order(self, inputs: Mapping[str, np.ndarray] | None = None, max_states: int = 200_000) -> Orders:
        """Runs a small program in every legal order, proved or not. Raises Error RUN-ORDERS if it has too many states."""
        states, steps, different, outcomes = self._handle.every_order(self._bytes_of(inputs or {}), max_states, True)
        kinds = {t.name: t for t in self.tensors if t.kind == "output"}
        return Orders(
            states,
            steps,
            different,
            [
                Outcome(
                    None
                    if made is None
                    else {n: np.frombuffer(made[n], numpy_dtype(t.dtype)).reshape(t.shape) for n, t in kinds.items()},
                    wrong,
                    list(order),
                )
                for made, wrong, order in outcomes
            ],
        )

    def profile(
        self, inputs: Mapping[str, np.ndarray] | None = None, timeline: bool = True, max_steps: int | None = None
    ) -> Profile:
        """Predicts the time. Inputs are needed only where the control flow depends on data. `max_steps`: as in `run`."""
        arrays = self._bytes_of(inputs or {})
        return Profile(_glia.predict(self._handle, inputs is not None, arrays, timeline, _steps(max_steps)))

    def _bytes_of(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The inputs as plain bytes, in the caller's own memory where it is in order."""
        tensors = {t.name: t for t in self.tensors if t.kind == "input"}
        out = {}
        for name, array in inputs.items():
            array = np.asarray(array)
            t = tensors.get(name)
            if t is None:
                known = ", ".join(f"`{n}`" for n in tensors) or "none"
                raise _glia.make_error("RUN-INPUT", f"the program has no input `{name}`", f"Its inputs: {known}.")
            if array.dtype != numpy_dtype(t.dtype):
                raise _glia.make_error(
                    "RUN-INPUT",
                    f"input `{name}` has type {array.dtype} and must have {numpy_dtype(t.dtype)} ({t.dtype})",
                    "Convert it first, for example with array.astype.",
                )
            if array.shape != t.shape:
                raise _glia.make_error(
                    "RUN-INPUT", f"input `{name}` has shape {array.shape} and must have {t.shape}", ""
                )
            out[name] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return out

    def __repr__(self) -> str:
        return f"<glia.Program for {self._handle.target_title}, {self.cores} core(s), {self.instructions} instructions>"


def assemble(text: str, target: str | None = None, file: str = "<text>") -> Program:
    """Assembles `text`. `target` (a name or the path of a target file) wins over the text's own `target` line."""
    return Program(_glia.assemble(text, "" if target is None else os.fspath(target), file))


def load(path) -> Program:
    """Opens a program file."""
    return Program(_glia.load(os.fspath(path)))


def from_bytes(data: bytes) -> Program:
    """The program in the bytes of a program file."""
    with tempfile.TemporaryDirectory(prefix="glia-") as folder:
        path = os.path.join(folder, "program.glia")
        with open(path, "wb") as f:
            f.write(data)
        return load(path)
