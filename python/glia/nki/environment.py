"""The environment variables of NKI: which target is meant, and those that have no meaning here, which say so once."""

from __future__ import annotations

import os
import sys

from .. import _glia

PLATFORM = "GLIA_PLATFORM"

DEFAULT_TARGET = "trn2"
_TARGETS = {"inf2": "trn1", "gen2": "trn1", "gen3": "trn2", "gen4": "trn3"}
_VARIABLES = ("GLIA_TARGET", "NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_NC_VERSION")
_NO_MEANING = {
    "NKI_PRECISE_FP": "types are always stored as the machine stores them",
    "NEURON_LOGICAL_NC_CONFIG": "the number of cores is that of kernel[n]",
    "NKI_ARTIFACTS_DIR": "use glia.compile(...) and .save(...)",
    "NKI_DEBUG_INFO": "source lines are always kept",
    "NKI_FRONTEND": "there is one front",
    "NEURON_RT_DEBUG_OUTPUT_DIR": "device_print writes to the standard output",
    "NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE": "dma_transpose stays a transfer",
}
_said: set[str] = set()
_chosen: list[str] = []  # by --target or glia.install(target=...)
SCHEDULES = ("best", "as_written")
_schedule = [SCHEDULES[0]]
_run: dict = {}


def choose_target(name: str | None) -> None:
    """Sets the target of kernels that do not say one; None returns to the environment."""
    _chosen[:] = [] if name is None else [name]


def chosen() -> str | None:
    """What choose_target was told."""
    return _chosen[0] if _chosen else None


def is_chosen() -> bool:
    """Whether a target was chosen, or one of the variables names one."""
    return bool(_chosen) or any(os.environ.get(v) for v in _VARIABLES)


def target_name() -> str:
    """The target of what does not say one: chosen, or the first of _VARIABLES that is set, or trn2."""
    given = _chosen or [os.environ[v] for v in _VARIABLES if os.environ.get(v)]
    name = (given[0] if given else DEFAULT_TARGET).strip()
    return _TARGETS.get(name.lower(), name)


def platform_name() -> str:
    """What JAX and torch_xla call the platform of ours."""
    return os.environ.get(PLATFORM) or "glia"


def choose_schedule(name: str | None) -> None:
    """Sets the schedule of kernels that do not say one; None: the best."""
    _schedule[:] = [SCHEDULES[0] if name is None else name]


def schedule() -> str:
    """What choose_schedule was told."""
    return _schedule[0]


def choose_run(strict: bool, seed: int | None) -> None:
    """How programs of kernels are run from now on: in strict mode, or fast."""
    if seed is not None and not (strict and 0 <= seed < 2**64):
        advice = "Say --strict, too." if not strict else "Give a whole number, 0 or more."
        raise _glia.make_error("RUN-OPTION", f"the seed {seed} is that of a run in strict mode", advice)
    _run.clear()
    if strict:
        _run.update(strict=True, seed=seed or 0)


def run_options() -> dict:
    """What choose_run was told, for Program.run."""
    return _run


def say_what_has_no_meaning() -> None:
    for name, why in _NO_MEANING.items():
        if name in os.environ and name not in _said:
            _said.add(name)
            print(f"glia: {name} has no effect: {why}", file=sys.stderr)
