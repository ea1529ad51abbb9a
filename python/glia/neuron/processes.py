"""Several processes of torch_xla, each with a device: not provided. One is run in the process that there is."""

from __future__ import annotations

import os

from ..nki import trace as _t

_ADVICE = (
    'Use torch.compile(backend="glia") under torchrun, or glia.torch_ranks.compile: docs/pytorch.md, Several ranks.'
)
_recording = [False]


def record_only() -> None:
    """From now on torch_xla writes graphs down, and runs nothing on its device."""
    _recording[0] = True


def check_launcher() -> None:
    """Refuses the device of torch_xla in processes of torchrun, each of which would take itself for the only one."""
    count = os.environ.get("WORLD_SIZE", "1")
    if "TORCHELASTIC_RUN_ID" in os.environ and count != "1" and not _recording[0]:
        raise _t.failure("TORCH-PROCESSES", f"torch_xla in {count} processes of torchrun", _ADVICE)


def change_pjrt(module) -> None:
    """torch_xla._internal.pjrt, where torch_xla.launch and xmp.spawn come to."""

    def run_multiprocess(fn, *args, start_method="spawn", **kwargs):
        count = os.environ.get("NEURONCORE_NUM_DEVICES", "1")
        if count != "1":
            raise _t.failure("TORCH-PROCESSES", f"torch_xla in {count} processes (NEURONCORE_NUM_DEVICES)", _ADVICE)
        return {0: module._run_singleprocess(fn, *args, **kwargs)}

    module.run_multiprocess = run_multiprocess
