"""What the caller of a kernel gets, of the outputs of its program."""

from __future__ import annotations

import numpy as np

from . import trace as _t
from .frameworks import from_numpy, update
from .jit import Traced


def unpack(traced: Traced, outputs: dict[str, np.ndarray]):
    """What the caller of a kernel gets, from the outputs of its program; updates the arguments that the kernel wrote to."""
    arrays, lowered = traced.arrays, traced.lowered
    for n, o in lowered.updates.items():
        if not update(arrays.originals[n], outputs[o.name]):
            require_returned(traced, n)
    results = []
    for tensor, r in zip(traced.tensors, lowered.results):
        if type(r) is int and (r not in lowered.updates or arrays.kind != "jax"):
            results.append(arrays.originals[r])  # the caller's own array, updated
        else:
            results.append(from_numpy(result_of(traced, tensor, r, outputs), arrays.kind, arrays.like))
    return traced.rebuild(results)


def require_returned(traced: Traced, n: int) -> None:
    """An argument that cannot be changed can be written to only if the kernel returns it."""
    if n not in [r for r in traced.lowered.results if type(r) is int]:
        raise _t.failure(
            "NKI-UPDATE",
            f"the kernel writes to its argument `{traced.arrays.names[n]}`, which cannot be changed",
            "Pass a copy, or return the argument from the kernel.",
        )


def result_of(traced: Traced, tensor, r, outputs: dict[str, np.ndarray]) -> np.ndarray:
    """One tensor that the kernel returned, from the outputs of its program."""
    o = traced.lowered.updates[r] if type(r) is int else r
    array = outputs[o.name]
    if tensor.dtype != o.dtype:
        array = array.view(tensor.dtype.numpy)
    return array.reshape((*traced.arrays.axis.lead, *tensor.shape))
