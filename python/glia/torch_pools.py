"""Average pools with a divisor of their own, or whose last windows reach over the edge (ceil_mode): torch_xla counts other elements than torch.
They are convolutions with ones, divided by what torch divides by. Adaptive ones whose windows differ are products with matrices. Imported only where torch is."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes


class _Windows:
    """Where windows are, and what each is divided by. `given` is what follows the input in torch's arguments."""

    def __init__(
        self, n: int, like: torch.Tensor, kernel, stride=(), padding=0, ceil=False, include=True, divisor=None
    ):
        def every(x):
            x = [x] if isinstance(x, int) else list(x)
            return x * n if len(x) == 1 else x

        self.n, self.size, self.kernel = n, list(like.shape[-n:]), every(kernel)
        self.stride, self.padding = every(stride) if stride else self.kernel, every(padding)
        pool = getattr(torch.ops.aten, f"avg_pool{n}d").default
        with _disable_current_modes():
            ones = torch.ones([1, 1, *self.size])
            average = pool(ones, self.kernel, self.stride, self.padding, ceil, include)
            number = pool(ones, self.kernel, self.stride, self.padding, ceil, True, 1)
            by = (
                torch.where(number == 0, 1.0, torch.round(number / average))
                if divisor is None
                else number * 0 + divisor
            )
        self.windows, self.divisors = list(number.shape[-n:]), by.to(like.dtype).to(like.device)
        ends = [(w - 1) * s + k for w, s, k in zip(self.windows, self.stride, self.kernel)]
        self.pads = [(p, e - p - d) for p, e, d in zip(self.padding, ends, self.size)]
        self.ones = torch.ones([1, 1, *self.kernel], dtype=like.dtype, device=like.device)

    def padded(self, x: torch.Tensor, sign: int) -> torch.Tensor:
        return torch.nn.functional.pad(x, [sign * p for pair in reversed(self.pads) for p in pair])

    def planes(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape([-1, 1, *x.shape[-self.n :]])


def _needed(ceil=False, include=True, divisor=None) -> bool:
    return ceil or divisor is not None


def average(n: int):
    def written(plain, x, *given):
        if not _needed(*given[3:]):
            return plain(x, *given)
        w = _Windows(n, x, *given)
        convolution = getattr(torch.nn.functional, f"conv{n}d")
        sums = convolution(w.padded(w.planes(x), 1), w.ones, stride=w.stride)
        return (sums / w.divisors).reshape([*x.shape[:-n], *w.windows])

    return written


def average_backward(n: int):
    def written(plain, gradient, x, *given):
        if not _needed(*given[3:]):
            return plain(gradient, x, *given)
        w = _Windows(n, x, *given)
        convolution = getattr(torch.nn.functional, f"conv_transpose{n}d")
        return w.padded(convolution(w.planes(gradient) / w.divisors, w.ones, stride=w.stride), -1).reshape(x.shape)

    return written


def _means(size: int, windows: int, like: torch.Tensor) -> torch.Tensor:
    """[window, element]: adaptive windows begin and end where their share of the elements does, and may overlap."""
    rows = torch.zeros(windows, size)
    for w in range(windows):
        begin, end = w * size // windows, -(-(w + 1) * size // windows)
        rows[w, begin:end] = 1 / (end - begin)
    return rows.to(like.dtype).to(like.device)


def _by_matrices(x, matrices):
    for i, m in enumerate(reversed(matrices)):
        x = torch.matmul(x.movedim(-1 - i, -1), m.mT).movedim(-1, -1 - i)
    return x


def _adaptive(n: int):
    def written(x, sizes):
        with _disable_current_modes():
            matrices = [_means(a, b, x) for a, b in zip(x.shape[-n:], sizes)]
        return _by_matrices(x, matrices)

    return written


def _adaptive_backward(n: int):
    def written(gradient, x):
        with _disable_current_modes():
            matrices = [_means(a, b, x) for a, b in zip(x.shape[-n:], gradient.shape[-n:])]
        return _by_matrices(gradient, [m.mT for m in matrices])

    return written


OWN = {
    **{f"aten::_adaptive_avg_pool{n}d": _adaptive(n) for n in (2, 3)},
    **{f"aten::_adaptive_avg_pool{n}d_backward": _adaptive_backward(n) for n in (2, 3)},
}
