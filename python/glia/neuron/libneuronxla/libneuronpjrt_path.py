"""`libneuronxla.libneuronpjrt_path`: torch_xla asks for it when it is imported, and again when the device is first used."""

from __future__ import annotations

import os

from ...jax_plugin import LIBRARY
from ...nki import trace as _t
from . import configure_environment


def libneuronpjrt_path() -> str:
    if not LIBRARY.exists():
        raise _t.failure("NKI-COMPILER", "this build of glia has no compiler", "Build it with GLIA_COMPILER=ON.")
    configure_environment()
    os.environ["NEURON_LIBRARY_PATH"] = str(LIBRARY)
    return str(LIBRARY)
