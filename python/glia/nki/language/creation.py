"""Tensors: new ones, filled ones, constants; and questions about buffers."""

from __future__ import annotations

import os

import numpy as np

from ...printing import placed
from .. import trace as _t
from ..objects import MemoryRegion
from ..source import indices_text, user_frame
from ..tensor import NkiTensor, region_of
from . import memory
from . import tiles as T

sbuf, psum = MemoryRegion.sbuf, MemoryRegion.psum
private_hbm = hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm


def ndarray(shape, dtype, buffer=sbuf, name="", address=None):
    """A new tensor with undefined contents. `address` is (first partition, byte in the partition), on chip."""
    return _t.ndarray(shape, dtype, buffer, name, address)


def full(shape, fill_value, dtype, buffer=sbuf, name=""):
    """A new tensor filled with a number."""
    out = _t.ndarray(shape, dtype, buffer, name)
    if isinstance(fill_value, NkiTensor):
        raise T.failure("fill_value of nl.full is a tensor", "give a number; copy tensors with nl.copy")
    memory.assign(out, fill_value)
    return out


def zeros(shape, dtype, buffer=sbuf, name=""):
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape, dtype, buffer=sbuf, name=""):
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def empty_like(x, dtype=None, buffer=None, name=""):
    """A new tensor with the shape, and unless given the type and buffer, of `x`."""
    return _t.ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def zeros_like(x, dtype=None, buffer=None, name=""):
    """A new tensor of zeros with the shape of `x`."""
    return full(x.shape, 0, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def shared_constant(constant):
    """A tensor in HBM whose contents are part of the program: an array, or the path of an .npy file."""
    if isinstance(constant, (str, os.PathLike)):
        try:
            constant = np.load(constant, allow_pickle=False)
        except (OSError, ValueError) as e:
            raise T.failure(
                f"nl.shared_constant cannot read {constant}: {e}", "give an .npy file or an array"
            ) from None
    return _t.constant(np.asarray(constant))


_RANDOM = "the random number generator of the hardware is not public"


def rand(shape, dtype, buffer=sbuf, name=""):
    """Refused: random numbers are not available."""
    raise T.failure(f"nl.rand is not available: {_RANDOM}", "pass random numbers to the kernel as an input")


def random_seed(seed):
    """Refused: random numbers are not available."""
    raise T.failure(f"nl.random_seed is not available: {_RANDOM}", "pass random numbers to the kernel as an input")


def dropout(x, rate, dtype=None):
    """Refused: random numbers are not available."""
    raise T.failure(f"nl.dropout is not available: {_RANDOM}", "pass a mask to the kernel and multiply with it")


def _region(buffer):
    return buffer.buffer if isinstance(buffer, NkiTensor) else region_of(buffer)


def is_hbm(buffer):
    """Whether a buffer (or the buffer of a tensor) is in HBM."""
    return _region(buffer) in (private_hbm, shared_hbm)


def is_sbuf(buffer):
    """Whether it is SBUF."""
    return _region(buffer) is sbuf


def is_psum(buffer):
    """Whether it is PSUM."""
    return _region(buffer) is psum


def is_on_chip(buffer):
    """Whether it is SBUF or PSUM."""
    return _region(buffer) in (sbuf, psum)


def device_print(print_prefix, tensor):
    """Prints a tensor when the kernel runs: one line with its place, shape, extremes, mean and first elements; with GLIA_PRINT=all
    every element, one line per partition."""
    if not isinstance(print_prefix, str):
        raise T.failure(f"the prefix of nl.device_print is a {type(print_prefix).__name__}", "give a string")
    if not isinstance(tensor, NkiTensor):
        raise T.failure(f"nl.device_print of a {type(tensor).__name__}", "give a tensor")
    frame = user_frame()
    if frame is not None:
        print_prefix = placed(print_prefix, frame.f_code.co_filename, frame.f_lineno, indices_text(frame))
    if tensor.storage.on_chip:
        _t.emit("device_print", (print_prefix, tensor.operand()))
        return
    rows = tensor.shape[0]
    for i in range(0, rows, 128):  # tensors in HBM by way of SBUF
        part = tensor[i : min(i + 128, rows)]
        tile = T.new(part.shape if len(part.shape) > 1 else (part.shape[0], 1), tensor.dtype)
        _t.emit("dma_copy", (tile.operand(), part.operand()))
        _t.emit("device_print", (print_prefix, tile.operand()))
