"""Maximum pools whose windows torch_xla does not write down: dilated, adaptive and fractional ones, with the places of the maxima. Windows are
gathered, and the derivative goes to the places. Imported only where torch is."""

from __future__ import annotations

import itertools
import math

import torch
from torch.utils._python_dispatch import _disable_current_modes


def _every(n: int, x) -> list[int]:
    x = [x] if isinstance(x, int) else list(x)
    return x * n if len(x) == 1 else x


def _lowest(dtype: torch.dtype):
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _largest(windows: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of [..., window, element] and the place of each element in its plane, -1 for what is none. NaN is the largest; of equals the first."""
    there = places >= 0
    largest = torch.where(there, windows, _lowest(windows.dtype)).amax(-1)
    at = windows == largest.unsqueeze(-1)
    if windows.dtype.is_floating_point:
        nan = windows.isnan()
        at = torch.where((nan & there).any(-1, keepdim=True), nan, at)
    first = torch.argmax((at & there).to(torch.int32), -1, keepdim=True)
    found = places.expand(windows.shape).gather(-1, first).squeeze(-1)
    return largest, found


def _pooled(x: torch.Tensor, windows: list[list[list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """windows[d][w]: the elements of window w of dimension d, those outside of the tensor left out."""
    n, sizes, shape = len(windows), x.shape[-len(windows) :], [len(w) for w in windows]
    lengths = [max([1, *[len(w) for w in of]]) for of in windows]
    filled = [[w + [-1] * (length - len(w)) for w in of] for of, length in zip(windows, lengths)]
    with _disable_current_modes():
        place, there = torch.zeros([1] * (2 * n), dtype=torch.int32), torch.ones([1] * (2 * n), dtype=torch.bool)
        for d, of in enumerate(filled):
            along = torch.tensor(of, dtype=torch.int32)
            along = along.reshape([*[1] * d, shape[d], *[1] * (n - 1), lengths[d], *[1] * (n - 1 - d)])
            place, there = place * sizes[d] + along.clamp(min=0), there & (along >= 0)
        places = torch.where(there, place, -1).reshape([*shape, -1]).to(x.device)
    for d, of in enumerate(filled):  # [..., window, element] in the place of each dimension
        along = x.ndim - n + d
        x = x.index_select(along, torch.tensor([max(i, 0) for i in itertools.chain(*of)], device=x.device))
    leading = list(x.shape[: x.ndim - n])
    x = x.reshape([*leading, *[v for pair in zip(shape, lengths) for v in pair]])
    order = [
        *range(len(leading)),
        *[len(leading) + 2 * d for d in range(n)],
        *[len(leading) + 2 * d + 1 for d in range(n)],
    ]
    return _largest(x.permute(order).reshape([*leading, *shape, -1]), places)


def _regular(n: int):
    def written(x, kernel, stride=(), padding=0, dilation=1, ceil=False):
        pool = getattr(torch.ops.aten, f"max_pool{n}d_with_indices").default
        kernel, padding, dilation = (_every(n, v) for v in (kernel, padding, dilation))
        stride = _every(n, stride) if stride else kernel
        with _disable_current_modes():
            counts = pool(torch.zeros([1, *x.shape[-n:]]), kernel, stride, padding, dilation, ceil)[0].shape[1:]
        windows = [
            [[e for i in range(k) if 0 <= (e := w * s - p + i * d) < size] for w in range(count)]
            for count, size, k, s, p, d in zip(counts, x.shape[-n:], kernel, stride, padding, dilation)
        ]
        values, places = _pooled(x, windows)
        return values, places.to(torch.int64)

    return written


def _adaptive(n: int):
    def written(x, counts):
        windows = [
            [list(range(w * size // count, -(-(w + 1) * size // count))) for w in range(count)]
            for size, count in zip(x.shape[-n:], counts)
        ]
        values, places = _pooled(x, windows)
        return values, places.to(torch.int64)

    return written


def _fractional(n: int):
    """Windows begin where the random numbers say, and the last ones at the end."""

    def written(x, kernel, counts, samples):
        leading, sizes = x.shape[:-n], x.shape[-n:]
        numbers = samples.reshape([*leading, n])
        place = torch.zeros([1] * (len(leading) + 2 * n), dtype=torch.int64, device=x.device)
        for d in range(n):
            count, k, size = counts[d], kernel[d], sizes[d]
            number = numbers[..., n - 1 - d if n == 2 else d].unsqueeze(-1)
            alpha = (size - k) / (count - 1) if count > 1 else 0.0
            w = torch.arange(count, device=x.device)
            begin = ((w.to(number.dtype) + number) * alpha).to(torch.int64) - (number * alpha).to(torch.int64)
            begin = torch.where(w == count - 1, size - k, begin)
            along = begin.unsqueeze(-1) + torch.arange(k, device=x.device)
            shape = [*leading, *[1] * d, count, *[1] * (n - 1), k, *[1] * (n - 1 - d)]
            place = place * size + along.reshape(shape)
        places = place.reshape([*leading, *counts, -1])
        taken = torch.gather(x.reshape([*leading, -1]), -1, places.reshape([*leading, -1])).reshape(places.shape)
        return _largest(taken, places)

    return written


def _backward(n: int):
    """What follows the input in torch's arguments ends with the places."""

    def written(gradient, x, *given):
        places, planes = given[-1], list(x.shape[:-n])
        wide = torch.float32 if x.dtype in (torch.bfloat16, torch.float16) else x.dtype
        start = torch.zeros([*planes, math.prod(x.shape[-n:])], dtype=wide, device=x.device)
        flat = [*planes, -1]
        return start.scatter_add(-1, places.reshape(flat), gradient.to(wide).reshape(flat)).to(x.dtype).reshape(x.shape)

    return written


OWN = {
    **{f"aten::max_pool{n}d_with_indices": _regular(n) for n in (2, 3)},
    **{f"aten::max_pool{n}d_with_indices_backward": _backward(n) for n in (2, 3)},
    **{f"aten::adaptive_max_pool{n}d": _adaptive(n) for n in (2, 3)},
    **{f"aten::adaptive_max_pool{n}d_backward": _backward(n) for n in (2, 3)},
    **{f"aten::fractional_max_pool{n}d": _fractional(n) for n in (2, 3)},
    **{f"aten::fractional_max_pool{n}d_backward": _backward(n) for n in (2, 3)},
}
