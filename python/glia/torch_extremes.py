"""Maxima, minima and bounds as torch means them: torch_xla begins with the largest finite number where torch begins with infinity, and finds another place
where there is NaN. Functions of what torch_xla would do, and of the arguments. Imported only where torch is."""

from __future__ import annotations

import math

import torch

from .torch_builder import reduced


def _extreme(how: str, start: float):
    """amax, amin, and max and min of everything."""

    def written(plain, x, dims=None, keepdim=False):
        if x.ndim == 0:
            return x.clone()
        if not x.dtype.is_floating_point:
            return plain(x) if dims is None else plain(x, dims, keepdim)
        over = tuple(sorted({d % x.ndim for d in dims or range(x.ndim)}))
        made = reduced(x, how, start, over)
        return made.reshape([1 if d in over else n for d, n in enumerate(x.shape)]) if keepdim else made

    return written


def _first(x: torch.Tensor, largest: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
    """The place of the first that is the largest, or of the first NaN."""
    at = (x == largest) | x.isnan() if x.dtype.is_floating_point else x == largest
    shape = [1] * x.ndim
    shape[dim] = -1
    places = torch.arange(x.shape[dim], dtype=torch.int32, device=x.device).reshape(shape)
    return torch.where(at, places, x.shape[dim]).amin(dim, keepdim).to(torch.int64)


def _extreme_and_place(name: str):
    def written(_plain, x, dim, keepdim=False):
        if x.ndim == 0:
            return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
        made = getattr(torch, name)(x, [dim], True)
        place = _first(x, made, dim, keepdim)
        return made if keepdim else made.squeeze(dim), place

    return written


def _place(name: str):
    def written(plain, x, dim=None, keepdim=False):
        if x.ndim == 0:
            return torch.zeros((), dtype=torch.int64, device=x.device)
        if not x.dtype.is_floating_point:
            return plain(x, dim, keepdim)
        if dim is not None:
            return _first(x, getattr(torch, name)(x, [dim], True), dim, keepdim)
        place = _first(x.reshape(-1), getattr(torch, name)(x), 0, False)
        return place.reshape([1] * x.ndim) if keepdim else place

    return written


def _clamp(plain, x, least=None, most=None):
    if not x.dtype.is_floating_point or (least is not None and most is not None):
        return plain(x, least, most)
    return _bound("maximum" if most is None else "minimum")(plain, x, least if most is None else most)


def _bound(how: str):
    def written(plain, x, bound):
        if not x.dtype.is_floating_point or not isinstance(bound, (int, float)):
            return plain(x, bound)
        kind = torch.result_type(x, bound)
        return getattr(torch, how)(x.to(kind), torch.full((), bound, dtype=kind, device=x.device))

    return written


def _running_maximum(plain, x, dim):
    """NaN stays the largest. The place is that of the last that is as large."""
    if x.ndim == 0:
        return x.clone(), torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    shape = [1] * x.ndim
    shape[dim] = -1
    places = torch.arange(x.shape[dim], dtype=torch.int32, device=x.device).reshape(shape)
    if not x.dtype.is_floating_point:
        values = plain(x, dim)[0]
        return values, plain(torch.where(x == values, places, -1), dim)[0].to(torch.int64)
    nan = x.isnan()
    seen = plain(torch.where(nan, places, -1), dim)[0] >= 0
    values = torch.where(seen, math.nan, plain(torch.where(nan, -math.inf, x), dim)[0])
    return values, plain(torch.where((x == values) | nan, places, -1), dim)[0].to(torch.int64)


def _running_minimum(_plain, x, dim):
    reverse = torch.neg if x.dtype.is_floating_point else torch.bitwise_not  # larger becomes smaller
    values, places = torch.cummax(reverse(x), dim)
    return reverse(values), places


INSTEAD = {
    "aten::amax": _extreme("max", -math.inf),
    "aten::amin": _extreme("min", math.inf),
    "aten::max": _extreme("max", -math.inf),
    "aten::min": _extreme("min", math.inf),
    "aten::max.dim": _extreme_and_place("amax"),
    "aten::min.dim": _extreme_and_place("amin"),
    "aten::argmax": _place("amax"),
    "aten::argmin": _place("amin"),
    "aten::clamp": _clamp,
    "aten::clamp_min": _bound("maximum"),
    "aten::clamp_max": _bound("minimum"),
    "aten::cummax": _running_maximum,
    "aten::cummin": _running_minimum,
}
