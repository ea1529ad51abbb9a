"""Arrays of NumPy, torch and JAX. The latter two are never imported here: an argument of theirs means that they are there."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np

from .symbolic import GraphTensor

_TORCH_BITS = {"bfloat16": ("int16", ml_dtypes.bfloat16), "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2)}
_TORCH_BITS["float8_e4m3fn"] = ("uint8", ml_dtypes.float8_e4m3fn)


def kind_of(x) -> str | None:
    """ "numpy", "torch", "jax" or "graph" (a tensor of a program) for an array, None for anything else."""
    if isinstance(x, np.ndarray):
        return "numpy"
    if isinstance(x, GraphTensor):
        return "graph"
    module = type(x).__module__.split(".", 1)[0]
    if module == "torch" and "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        return "torch"
    if module in ("jax", "jaxlib") and "jax" in sys.modules and isinstance(x, sys.modules["jax"].Array):
        return "jax"
    return None


def is_symbol(x) -> bool:
    """Whether this stands for an array inside of jax.jit and the like: it has a shape and a type, no numbers."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def is_lazy(x) -> bool:
    """Whether this is a tensor on a device of torch_xla: its numbers would have to be computed first."""
    return kind_of(x) == "torch" and x.device.type == "xla"


def to_numpy(x) -> np.ndarray:
    """The array, or one of its shape and type where there are no numbers."""
    if isinstance(x, (np.ndarray, GraphTensor)):
        return x
    if is_symbol(x):
        return np.zeros(x.shape, x.dtype)
    if kind_of(x) == "torch":
        torch = sys.modules["torch"]
        if is_lazy(x):
            return np.zeros(tuple(x.shape), to_numpy(torch.empty(0, dtype=x.dtype)).dtype)
        bits = _TORCH_BITS.get(str(x.dtype).removeprefix("torch."))
        x = x.detach().cpu().contiguous()
        return x.numpy() if bits is None else x.view(getattr(torch, bits[0])).numpy().view(bits[1])
    return np.asarray(x)


def from_numpy(array: np.ndarray, kind: str, like=None):
    if kind == "torch":
        torch = sys.modules["torch"]
        name = array.dtype.name
        if name in _TORCH_BITS:
            bits = _TORCH_BITS[name][0]
            out = torch.from_numpy(array.view(bits).copy()).view(getattr(torch, name))
        else:
            out = torch.from_numpy(np.ascontiguousarray(array))
        return out if like is None else out.to(like.device)
    if kind == "jax":
        return sys.modules["jax"].numpy.asarray(array)
    return array


def update(x, array: np.ndarray) -> bool:
    """Writes `array` into the caller's `x`; false where that cannot be done."""
    kind = kind_of(x)
    if kind == "numpy":
        if not x.flags.writeable:
            return False
        x[...] = array.reshape(x.shape)
        return True
    if kind == "torch":
        x.data.copy_(from_numpy(array, "torch", x).reshape(x.shape))
        return True
    return False
