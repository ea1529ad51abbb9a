"""Kernels on tensors of torch_xla: a call is a custom call in the lazy graph, which carries the kernel, and is compiled with it into one
program. Imported only where such a tensor is."""

from __future__ import annotations

import torch
import torch_xla

from . import trace as _t
from .frameworks import from_numpy, is_lazy
from .jit import Traced

TARGET = "glia.nki"  # the name of the custom call
_VERSION = 2  # of the interface of custom calls: backend_config is a string


def call(traced: Traced):
    """A call of a traced kernel; what it returns are tensors of the same device. Arguments that it writes to are updated."""
    lowered, arrays = traced.lowered, traced.arrays
    device = next(x for x in arrays.originals if is_lazy(x)).device
    operands = [x if is_lazy(x) else _on(device, x) for x in arrays.originals]
    made = dict(zip([o.name for o in lowered.outputs], _Call.apply(traced, *operands)))
    for n, o in lowered.updates.items():
        if not isinstance(arrays.originals[n], torch.Tensor):
            raise _t.failure(
                "NKI-UPDATE",
                f"the kernel writes to its argument `{arrays.names[n]}`, which is not a tensor of torch",
                "Pass a tensor.",
            )
        arrays.originals[n].data.copy_(made[o.name].reshape(arrays.originals[n].shape))
    results = []
    for tensor, r in zip(traced.tensors, lowered.results):
        if type(r) is int:
            results.append(arrays.originals[r])
        else:
            x = made[r.name]
            dtype = _dtype(tensor.dtype.numpy)
            if x.dtype != dtype:
                x = x.to(dtype) if dtype is torch.bool else x.view(dtype)
            results.append(x.reshape(tensor.shape))
    return traced.rebuild(results)


def _on(device, x):
    return (x if isinstance(x, torch.Tensor) else from_numpy(x, "torch")).to(device)


def _dtype(numpy) -> torch.dtype:
    return getattr(torch, str(numpy))


class _Call(torch.autograd.Function):
    """Keeps torch from taking a kernel's results for constants: a derivative is its author's."""

    @staticmethod
    def forward(ctx, traced: Traced, *operands):
        ctx.name = traced.name
        outputs = traced.lowered.outputs
        return tuple(
            torch_xla._XLAC._xla_custom_call(
                list(operands),
                TARGET,
                [list(o.shape) for o in outputs],
                [_dtype(o.dtype.numpy) for o in outputs],
                False,  # no side effect
                traced.lowered.text,
                _VERSION,
                {},
            )
        )

    @staticmethod
    def backward(ctx, *gradients):
        raise _t.failure(
            "NKI-GRADIENT",
            f"the kernel `{ctx.name}` is differentiated, and torch does not know its derivative",
            "Call it in a torch.autograd.Function with a backward of its own.",
        )
