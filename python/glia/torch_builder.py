"""Operations that torch has no name for, written with torch_xla's own builder. Imported only where torch is."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes


def _built(name: str, write, *tensors: torch.Tensor) -> torch.Tensor:
    from torch_xla.core import xla_op_registry

    with _disable_current_modes():
        return xla_op_registry.register(f"glia_{name}", write)(*tensors)


def reduced(x: torch.Tensor, how: str, start: float, dims: tuple[int, ...]) -> torch.Tensor:
    """The reduction `how` ("max", "min") over some dimensions, which begins with `start`."""
    from torch_xla.core import xla_builder as xb

    def write(operand):
        number = xb.mkshape(operand.shape().dtype, ())
        computation = xb.create_computation(how, lambda a, b: getattr(a, how)(b), (number, number))
        first = xb.Op.scalar(operand.builder(), start, operand.shape().dtype)
        return operand.reduce(first, computation, dims)

    return _built(f"{how}_{'_'.join(map(str, dims))}", write, x)


def shifted_left(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Integers of one type and shape; by all bits or more, or by less than 0, everything goes. The builder has no other shift."""
    return _built("shift", lambda a, b: a << b, x, by)


def quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Of integers of one type and shape, without what remains."""
    return _built("quotient", lambda a, b: a / b, x, y)
