"""Operations of torch in others, where neither torch_xla nor torch's own decompositions have a way (OWN), or where torch_xla means something else
(INSTEAD). Imported only where torch is."""

from __future__ import annotations

import math

import torch
import torch._decomp
from torch.utils._python_dispatch import _disable_current_modes

from . import (
    torch_bags,
    torch_bessel,
    torch_extremes,
    torch_fourier,
    torch_linalg,
    torch_max_pools,
    torch_pools,
    torch_quotients,
    torch_reductions,
    torch_special,
)


def _signbit(x):
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.dtype.is_floating_point else x < 0


def _copysign(x, sign):
    return torch.where(_signbit(sign), -x.abs(), x.abs())


def _fmin(a, b):
    return torch.where(a.isnan(), b, torch.where(b.isnan(), a, torch.minimum(a, b)))


def _fmax(a, b):
    return torch.where(a.isnan(), b, torch.where(b.isnan(), a, torch.maximum(a, b)))


def _hypot(a, b):
    a, b = a.abs(), b.abs()
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    ratio = torch.where(large == small, 1.0, small / large)  # also of two zeros and of two infinities
    length = large * torch.sqrt(1 + ratio * ratio)
    return torch.where(
        torch.isinf(large) | (large == 0), large, torch.where(torch.isinf(a) | torch.isinf(b), math.inf, length)
    )


def _abs(x):
    return _hypot(*torch.view_as_real(x).unbind(-1)) if x.is_complex() else NotImplemented


def _complex(real, imaginary):
    return torch.view_as_complex(torch.stack(torch.broadcast_tensors(real, imaginary), -1))


def _broadcast_in_dim(x, shape, dims):
    """Dimension i of x is dims[i] of the result."""
    placed = [1] * len(shape)
    for size, d in zip(x.shape, dims):
        placed[d] = size
    return x.reshape(placed).expand(list(shape))


def _digamma(x):
    """The series at x + 6, and the reflection below 0."""
    y = torch.where(x < 0, 1 - x, x)
    below = sum((1 / (y + k) for k in range(6)), torch.zeros_like(y))
    far = y + 6
    s = 1 / (far * far)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    positive = far.log() - 0.5 / far - series - below
    part = x - x.round()
    negative = torch.where(part == 0, math.nan, positive - math.pi / torch.tan(math.pi * part))
    return torch.where(x == 0, -1 / x, torch.where(x < 0, negative, positive))


def _lgamma(x):
    """Stirling's series at x + 8, and the reflection below 1/2."""
    y = torch.where(x < 0.5, 1 - x, x)
    far = y + 8
    s = 1 / (far * far)
    series = (1 / 12 - s * (1 / 360 - s / 1260)) / far
    product = y
    for k in range(1, 8):  # far out, where it would overflow, the series needs no step
        product = product * torch.where(y < 1e4, y + k, 1.0)
    shifted = (far - 0.5) * far.log() - far + (0.5 * math.log(2 * math.pi) + series) - product.log()
    large = (y - 0.5) * y.log() - y + 0.5 * math.log(2 * math.pi)
    positive = torch.where(y < 1e4, shifted, large)
    part = (x - x.round()).abs()  # small beside a pole, so that its sine is exact there
    reflected = math.log(math.pi) - torch.sin(math.pi * part).log() - positive
    finite = torch.where(x < 0.5, reflected, positive)
    pole = (x <= 0) & (part == 0)
    return torch.where(pole | torch.isinf(x), math.inf, finite)


def _angle(x):
    if x.is_complex():
        real, imaginary = torch.view_as_real(x).unbind(-1)
        return torch.atan2(imaginary, real)
    if not x.dtype.is_floating_point:
        return NotImplemented
    return torch.where(x.isnan(), x, torch.where(x < 0, math.pi, 0.0).to(x.dtype))


def _index_put(x, indices, values, accumulate=False):
    """One number where a mask is true; how many elements another tensor would need hangs on the mask."""
    mask = indices[0]
    if len(indices) != 1 or mask is None or mask.dtype is not torch.bool or values.numel() != 1:
        return NotImplemented
    mask, value = mask.reshape([*mask.shape, *[1] * (x.ndim - mask.ndim)]), values.reshape(())
    return torch.where(mask, x + value if accumulate else value, x)


def _addbmm(x, a, b, *, beta=1, alpha=1):
    product = alpha * torch.bmm(a, b).sum(0)
    return product if beta == 0 else beta * x + product


def _below(boundaries, x, right):
    """How many of the last dimension of `boundaries` are below each x; NaN is above all."""
    if x.numel() == 0:
        return torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    beside = boundaries.unsqueeze(-2), x.unsqueeze(-1)
    return (~(beside[0] > beside[1]) if right else ~(beside[0] >= beside[1])).sum(-1)


def _bucketize(x, boundaries, *, out_int32=False, right=False):
    return _below(boundaries, x.reshape(-1), right).reshape(x.shape).to(torch.int32 if out_int32 else torch.int64)


def _searchsorted(ordered, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        ordered = torch.gather(ordered, -1, sorter)
    right = side == "right" if side is not None else right
    number = x.ndim == 0
    found = _below(ordered, x.reshape(1) if number else x if ordered.ndim > 1 else x.reshape(-1), right)
    return found.reshape(x.shape).to(torch.int32 if out_int32 else torch.int64)


def _median(x, dim=None, keepdim=False):
    """The lower one of two; NaN if there is one."""
    if dim is None:
        return _median(x.reshape(-1), 0)[0]
    n = x.shape[dim] if x.ndim else 1
    values, places = torch.sort(x, dim=dim, stable=True)
    at = (n - 1) // 2
    if not x.dtype.is_floating_point or x.ndim == 0:
        found = values.narrow(dim, at, 1), places.narrow(dim, at, 1)
    else:  # NaN is sorted behind all others
        nan = x.isnan()
        some = nan.any(dim, keepdim=True)
        first = torch.argmax(nan.to(torch.int32), dim, keepdim=True)
        found = (
            torch.where(some, math.nan, values.narrow(dim, at, 1)),
            torch.where(some, first, places.narrow(dim, at, 1)),
        )
    return found if keepdim else tuple(v.squeeze(dim) for v in found)


def _rrelu_with_noise(x, noise, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    """A slope below 0 for each element, which is random while training, and that slope: 1 above."""
    if not training:
        return torch.where(x > 0, x, x * ((lower + upper) / 2)), noise
    slopes = torch.rand(x.shape, device=x.device) * (upper - lower) + lower
    slopes = torch.where(x > 0, 1, slopes).to(x.dtype)
    return x * slopes, slopes


def _round(x, *, decimals):
    power = 10.0 ** abs(decimals)
    return torch.round(x * power) / power if decimals >= 0 else torch.round(x / power) * power


def _soft_margin_loss_backward(gradient, x, target, reduction):
    """torch's own way is the difference of 1 and what is nearly 1."""
    made = -target * gradient * torch.sigmoid(-target * x)
    return made / x.numel() if reduction == 1 else made  # 1: a mean


# While torch traces a graph, instead of its own.
TRACED = {
    **torch_linalg.TRACED,
    torch.ops.aten.soft_margin_loss_backward.default: _soft_margin_loss_backward,
}
OWN = {
    "aten::abs": _abs,
    "aten::complex": _complex,
    "aten::polar": lambda length, angle: _complex(length * angle.cos(), length * angle.sin()),
    "prims::broadcast_in_dim": _broadcast_in_dim,
    "aten::median": _median,
    "aten::median.dim": _median,
    "aten::round.decimals": _round,
    "aten::signbit": _signbit,
    "aten::copysign.Tensor": _copysign,
    "prims::fmin": _fmin,
    "prims::fmax": _fmax,
    "prims::hypot": _hypot,
    "prims::digamma": _digamma,
    "prims::lgamma": _lgamma,
    "prims::exp2": lambda x: torch.pow(torch.full_like(x, 2.0), x),
    "aten::angle": _angle,
    "aten::addbmm": _addbmm,
    "aten::index_put": _index_put,
    "aten::rrelu_with_noise_functional": _rrelu_with_noise,
    "aten::bucketize.Tensor": _bucketize,
    "aten::searchsorted.Tensor": _searchsorted,
    **torch_linalg.OWN,
    **torch_fourier.OWN,
    **torch_bags.OWN,
    **torch_bessel.OWN,
    **torch_max_pools.OWN,
    **torch_pools.OWN,
    **torch_quotients.OWN,
    **torch_reductions.OWN,
    **torch_special.OWN,
}


def _batch_norm(name: str):
    """torch_xla divides the running variance by n, not by n - 1."""

    def written(plain, *args, **kwargs):
        if len(args) > 5 and not args[5]:  # nothing runs
            return plain(*args, **kwargs)
        return torch._decomp.decomposition_table[getattr(torch.ops.aten, name).default](*args, **kwargs)

    return written


def _unfold(plain, x, dim, size, step):
    """Windows as a gather: torch_xla has no way for those that overlap."""
    if x.ndim == 0:
        return x.reshape(1)[:size]
    if step >= size:
        return plain(x, dim, size, step)
    dim %= x.ndim
    windows = (x.shape[dim] - size) // step + 1
    places = [w * step + i for w in range(windows) for i in range(size)]
    taken = x.index_select(dim, torch.tensor(places, device=x.device))
    return taken.reshape([*x.shape[:dim], windows, size, *x.shape[dim + 1 :]]).movedim(dim + 1, -1)


_NEUTRAL = {"sum": 0, "mean": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}


def _scatter_reduce(plain, x, dim, index, source, reduce, *, include_self=True):
    """Means, and what leaves out the elements that it writes to."""
    if include_self and reduce != "mean":
        return plain(x, dim, index, source, reduce)
    if not include_self and not x.dtype.is_floating_point and reduce.startswith("am"):
        return NotImplemented
    start = x if include_self else torch.scatter(x, dim, index, _NEUTRAL[reduce])
    made = plain(start, dim, index, source, "sum" if reduce == "mean" else reduce)
    if reduce != "mean":
        return made
    one = torch.ones_like(source)
    number = plain(
        torch.ones_like(x) if include_self else torch.scatter(torch.ones_like(x), dim, index, 0), dim, index, one, "sum"
    )
    rounding = None if x.dtype.is_floating_point else "floor"
    return torch.div(made, number, rounding_mode=rounding)


def _compare(plain, x, number):
    """With the number in the tensor's type; torch_xla compares in f64."""
    if isinstance(number, float) and x.dtype.is_floating_point:
        with _disable_current_modes():
            number = torch.tensor(number, dtype=x.dtype).item()
    return plain(x, number)


def _native_dropout(_plain, x, p, train):
    """torch_xla divides by the share that is dropped instead of the one that stays."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    stays = torch.rand(x.shape, device=x.device) >= p
    return torch.where(stays, x * (1 / (1 - p) if p < 1 else 0.0), 0), stays


def _randperm(_plain, n, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.rand(n, device=device).argsort().to(dtype or torch.int64)


def _multinomial(plain, weights, count, replacement=False, **kwargs):
    """Without replacement: those whose clocks, which run as fast as they are heavy, ring first."""
    if replacement or kwargs.get("generator") is not None:
        return plain(weights, count, replacement, **kwargs)
    clocks = -torch.log1p(-torch.rand(weights.shape, device=weights.device))
    return torch.topk(weights.float() / clocks.clamp(min=2**-30), count).indices


# Functions of what torch_xla would do, and of the arguments.
INSTEAD = {
    "aten::native_dropout": _native_dropout,
    "aten::randperm": _randperm,
    **torch_quotients.INSTEAD,
    "aten::multinomial": _multinomial,
    "aten::unfold": _unfold,
    "aten::unfold_copy": _unfold,
    "aten::scatter_reduce.two": _scatter_reduce,
    **{f"aten::{how}.Scalar": _compare for how in ("eq", "ne", "lt", "le", "gt", "ge")},
    **torch_extremes.INSTEAD,
    **{
        f"aten::{name}": _batch_norm(name)
        for name in ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional")
    },
    **{f"aten::avg_pool{n}d": torch_pools.average(n) for n in (2, 3)},
    **{f"aten::avg_pool{n}d_backward": torch_pools.average_backward(n) for n in (2, 3)},
}
