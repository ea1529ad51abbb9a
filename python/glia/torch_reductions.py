"""Reductions, running ones and distances of torch in operations that torch_xla writes down. Imported only where torch is."""

from __future__ import annotations

import math

import torch


def _logcumsumexp(x, dim):
    """Each adds what is 1, 2, 4 ... before it."""
    if x.ndim == 0:
        return x.clone()
    n, step = x.shape[dim], 1
    while step < n:
        before = torch.full_like(x.narrow(dim, 0, step), -math.inf)
        shifted = torch.cat([before, x.narrow(dim, 0, n - step)], dim)
        large = torch.maximum(x, shifted)
        # Two infinities of one sign have no difference, and need none.
        small = torch.where(large.isinf(), 0.0, (torch.minimum(x, shifted) - large).exp())
        x = large + torch.log1p(small)
        step *= 2
    return x


def _nanmedian(x, dim=None, keepdim=False):
    """The lower one of two, of what is a number; NaN if there is none. NaN is sorted behind all others."""
    if dim is None:
        return _nanmedian(x.reshape(-1), 0)[0]
    if x.ndim == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = torch.sort(x, dim=dim, stable=True)
    count = (~x.isnan()).sum(dim, keepdim=True) if x.dtype.is_floating_point else x.shape[dim]
    at = ((count - 1) // 2).clamp(min=0) if isinstance(count, torch.Tensor) else (count - 1) // 2
    if isinstance(at, int):
        found = values.narrow(dim, at, 1), places.narrow(dim, at, 1)
    else:
        found = values.gather(dim, at), places.gather(dim, at)
    return found if keepdim else tuple(v.squeeze(dim) for v in found)


def _mode(x, dim=-1, keepdim=False):
    """The least of those that are there most often: where the first of the longest runs of equals ends, once they are sorted."""
    if x.ndim == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = torch.sort(x, dim=dim, stable=True)
    n, shape = x.shape[dim], [1] * x.ndim
    shape[dim] = -1
    number = torch.arange(n, dtype=torch.int32, device=x.device).reshape(shape).expand(x.shape)
    new = torch.cat(
        [
            number.narrow(dim, 0, 1),
            torch.where(values.narrow(dim, 1, n - 1) == values.narrow(dim, 0, n - 1), 0, number.narrow(dim, 1, n - 1)),
        ],
        dim,
    )
    length = number - torch.cummax(new, dim)[0]
    end = torch.argmax(length, dim, keepdim=True)
    found = values.gather(dim, end), places.gather(dim, end)
    return found if keepdim else tuple(v.squeeze(dim) for v in found)


def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    if x.ndim == 0:
        given = x.reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce
        return _index_reduce(*given, include_self=include_self).reshape(())
    shape = [1] * source.ndim
    if source.ndim:
        shape[dim] = -1
    places = index.to(torch.int64).reshape(shape).expand(source.shape)
    return torch.scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


def _cdist_backward(gradient, a, b, p, distances):
    """Of the first operand."""
    between = a.unsqueeze(-2) - b.unsqueeze(-3)
    sign, size = between.sign(), between.abs()
    distances, gradient = distances.unsqueeze(-1), gradient.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(a)
    if p == 1:
        each = sign
    elif p == math.inf:
        each = sign * (size == distances).to(a.dtype)
    else:
        ratio = torch.where(distances == 0, 0.0, size / distances)
        each = sign * torch.where(size == 0, 0.0, ratio ** (p - 1))
    return (gradient * each).sum(-2)


def _histc(x, bins=100, min=0, max=0):
    """How many are in each of `bins` parts of [min, max], or of what x reaches over."""
    x = x.reshape(-1)
    low, high = (x.new_full((), v) for v in (min, max))
    if min == max and x.numel():
        low, high = x.amin(), x.amax()
    alone = low == high
    low, high = torch.where(alone, low - 1, low), torch.where(alone, high + 1, high)
    inside = (x >= low) & (x <= high)
    part = torch.where(inside, (x - low) / (high - low) * bins, 0.0).to(torch.int32).clamp(max=bins - 1)
    return x.new_zeros(bins).scatter_add(0, part.to(torch.int64), inside.to(x.dtype))


OWN = {
    "aten::logcumsumexp": _logcumsumexp,
    "aten::nanmedian": _nanmedian,
    "aten::nanmedian.dim": _nanmedian,
    "aten::mode": _mode,
    "aten::histc": _histc,
    "aten::index_reduce": _index_reduce,
    "aten::_cdist_backward": _cdist_backward,
}
