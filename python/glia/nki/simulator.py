"""nki.simulator: the names under which kernels are run without a device."""

from .jit import simulate, simulate_kernel

__all__ = ["simulate", "simulate_kernel"]
