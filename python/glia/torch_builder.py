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


def divisor(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The greatest common one of what is not below 0, integers of one type and shape: Euclid's, until nothing remains anywhere."""
    from torch_xla.core import xla_builder as xb

    def remains(_, b):
        number = xb.mkshape("pred", ())
        either = xb.create_computation("or", lambda p, q: p | q, (number, number))
        nothing = xb.Op.scalar(b.builder(), False, "pred")
        return (b != b.scalar_like(0)).reduce(nothing, either, range(b.shape().rank))

    def step(a, b):
        done = b == b.scalar_like(0)
        by = done.select(b.scalar_like(1), b)
        return done.select(a, b), done.select(b, a - a / by * by)

    return _built("divisor", lambda a, b: xb.Op.mkwhile((a, b), remains, step).get_tuple_element(0), x, y)
