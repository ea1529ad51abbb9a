"""Quotients that are rounded, remainders, powers and shifts as torch means them: torch_xla divides integers as floats, rounds down what was rounded up before,
and shifts by dividing, so that -1 >> 1 is 0.
Functions of what torch_xla would do, and of the arguments. Imported only where torch is."""

from __future__ import annotations

import torch

from .torch_builder import divisor, quotient, shifted_left


def _operands(x, y) -> tuple[torch.Tensor, torch.Tensor]:
    """Both in the type and shape of the result; one may be a number."""
    kind, device = torch.result_type(x, y), (x if isinstance(x, torch.Tensor) else y).device
    both = (v.to(kind) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=kind, device=device) for v in (x, y))
    return torch.broadcast_tensors(*both)


def _divide(plain, x, y, *, rounding_mode=None):
    if rounding_mode is None:
        return plain(x, y, rounding_mode=rounding_mode)
    x, y = _operands(x, y)
    if x.dtype.is_floating_point:
        return (_down if rounding_mode == "floor" else _towards_zero)(x, y)
    made = quotient(x, y)
    if rounding_mode == "trunc" or not x.dtype.is_signed:
        return made
    return torch.where(((x < 0) != (y < 0)) & (made * y != x), made - 1, made)


def _towards_zero(x, y):
    """A quotient may be off in its last bit, so that one without rest is below the whole number that it is."""
    made = x / y
    return torch.where(torch.fmod(x, y) == 0, made.round(), made.trunc())


def _down(x, y):
    """From what remains, so that 1 // 0.1 is 9, although 1 / 0.1 is rounded up to 10."""
    rest = torch.fmod(x, y)
    times = (x - rest) / y
    times = torch.where((rest != 0) & ((rest < 0) != (y < 0)), times - 1, times)
    whole = times.floor()
    whole = torch.where(times - whole > 0.5, whole + 1, whole)
    return torch.where(y == 0, x / y, torch.where(times == 0, torch.copysign(torch.zeros_like(x), x / y), whole))


def _remainder(plain, x, y):
    """With the sign of y; torch_xla has NaN for an infinite y."""
    if not torch.result_type(x, y).is_floating_point:
        return plain(x, y) if isinstance(x, torch.Tensor) else torch.remainder(*_operands(x, y))
    x, y = _operands(x, y)
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def _power(plain, x, y):
    """Of an integer 0 with an exponent below 0: 0; torch_xla has -1."""
    made = plain(x, y)
    if made.dtype.is_floating_point or made.is_complex() or not y.dtype.is_signed:
        return made
    return torch.where((x == 0) & (y < 0), 0, made)


def _left(_plain, x, by):
    return shifted_left(*_operands(x, by))


def _right(_plain, x, by):
    """A quotient by a power of 2, of what is not below 0: ~x is not where x is."""
    x, by = _operands(x, by)
    info = torch.iinfo(x.dtype)
    all_of_it = (by < 0) | (by >= (info.bits - 1 if info.min else info.bits))
    divisor = shifted_left(torch.ones_like(x), torch.where(all_of_it, 0, by))
    bits = torch.where(all_of_it, 0, quotient(torch.where(x < 0, ~x, x), divisor))
    return torch.where(x < 0, ~bits, bits)


def _prims_divide(plain, x, y):
    """Of integers without what remains."""
    kind = torch.result_type(x, y)
    return plain(x, y) if kind.is_floating_point or kind.is_complex else quotient(*_operands(x, y))


def _gcd(x, y):
    x, y = _operands(x, y)
    return divisor(x.abs(), y.abs()) if x.numel() else torch.zeros_like(x)


def _shifts(way: str, written):
    names = [f"aten::bitwise_{way}_shift.{of}" for of in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")]
    return dict.fromkeys([*names, *[f"aten::__{way[0]}shift__.{of}" for of in ("Tensor", "Scalar")]], written)


INSTEAD = {
    **_shifts("left", _left),
    **_shifts("right", _right),
    "prims::shift_left": _left,
    "prims::shift_right_arithmetic": _right,
    **{f"aten::div.{of}_mode": _divide for of in ("Tensor", "Scalar")},
    **{f"aten::remainder.{of}": _remainder for of in ("Tensor", "Scalar", "Scalar_Tensor")},
    "aten::pow.Tensor_Tensor": _power,
    "prims::div": _prims_divide,
}
OWN = {"prims::gcd": _gcd}
