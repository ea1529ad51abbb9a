"""glia.nki: kernels in the NKI language. `glia.install()` makes it importable as `nki`.

There is no eager mode: a call of a kernel traces it, compiles it, verifies the program and runs that."""

import importlib

from . import dtypes
from .dtypes import DType as dtype
from .jit import Kernel, jit, simulate, simulate_kernel
from .objects import MemoryRegion, NKIObject
from .promises import assume
from .tensor import NkiTensor

cpu_simulate = simulate
__version__ = "0.6.0"  # of the language that is implemented
_SUBMODULES = {"collectives", "compiler", "isa", "language", "simulator", "typing"}

__all__ = [
    "Kernel",
    "MemoryRegion",
    "NKIObject",
    "NkiTensor",
    "assume",
    "cpu_simulate",
    "dtype",
    "dtypes",
    "jit",
    "simulate",
    "simulate_kernel",
]


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'nki' has no attribute {name!r}")
