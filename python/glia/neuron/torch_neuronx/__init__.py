"""`torch_neuronx`: what scripts for inference and kernels use of it."""

from __future__ import annotations

from ...nki.jit import jit as nki_jit
from ..missing import names_of
from . import xla
from .trace import async_load, lazy_load, move_trace_to_device, replace_weights, set_multicore, set_neuron_cores, trace

__getattr__ = names_of("torch_neuronx")
__all__ = [
    "async_load",
    "lazy_load",
    "move_trace_to_device",
    "nki_jit",
    "replace_weights",
    "set_multicore",
    "set_neuron_cores",
    "trace",
    "xla",
]
