"""Functions of one variable as sums of Chebyshev polynomials, found from values in double precision. Imported only where torch is."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

_POINTS = 40  # at which a function is looked at: more than the polynomials that matter in f32
_SMALL = 2.0**-30  # of the largest coefficient: beyond f32


class Fit:
    """A function on [low, high]."""

    def __init__(self, function: Callable[[float], float], low: float, high: float):
        self.low, self.high = low, high
        angles = [math.pi * (k + 0.5) / _POINTS for k in range(_POINTS)]
        values = [function(low + (high - low) * (math.cos(a) + 1) / 2) for a in angles]
        made = [2 / _POINTS * math.fsum(v * math.cos(n * a) for v, a in zip(values, angles)) for n in range(_POINTS)]
        made[0] /= 2
        least = _SMALL * max(map(abs, made))
        while len(made) > 1 and abs(made[-1]) < least:
            made.pop()
        self.coefficients = made

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The function at each x; anything outside of [low, high]."""
        x = x.clamp(self.low, self.high)
        t = (x - (self.low + self.high) / 2) * (2 / (self.high - self.low))
        last, before = torch.zeros_like(t), torch.zeros_like(t)
        for c in reversed(self.coefficients[1:]):  # Clenshaw's recurrence
            last, before = 2 * t * last - before + c, last
        return t * last - before + self.coefficients[0]
