"""Special functions of torch in elementary ones. Imported only where torch is."""

from __future__ import annotations

import math

import torch

_TERMS = 10
_RATIOS = (-1 / 60, -1 / 42, -1 / 40, -5 / 198, -691 / 27300)  # of B(2k) / (2k)!


def _zeta(s, q):
    """The sum of (q + k)^-s: some terms, and for the rest the formula of Euler and Maclaurin. NaN where q is so far below 0 that the terms
    do not reach what is above it."""
    total = torch.pow(q, -s)
    for k in range(1, _TERMS):
        total = total + torch.pow(q + k, -s)
    a = q + _TERMS
    b = torch.pow(a, -s)
    term = b * (s / a) * (1 / 12)
    rest = b * 0.5 + b * (a / (s - 1)) + term
    for k, ratio in enumerate(_RATIOS):
        term = term * ((s + (2 * k + 1)) / a) * ((s + (2 * k + 2)) / a) * ratio
        rest = rest + term
    y = total + torch.where(b == 0, torch.zeros_like(b), rest)  # factors that overflow have nothing to multiply
    unknown = ((q < 0) & (s != torch.floor(s))) | (q < 1 - _TERMS) | (s < 1)
    pole = (s == 1) | ((s > 1) & (q <= 0) & (q == torch.floor(q)))
    return torch.where(pole, math.inf, torch.where(unknown, math.nan, y))


def _cotangent(n: int) -> list[float]:
    """The n-th derivative of cot(pi x) is this polynomial of c = cot(pi x), the constant first."""
    made = [0.0, 1.0]
    for _ in range(n):
        slope = [k * a for k, a in enumerate(made)][1:]
        made = [0.0] * (len(slope) + 2)
        for k, a in enumerate(slope):
            made[k] -= math.pi * a
            made[k + 2] -= math.pi * a
    return made


def _polygamma(n, x):
    """The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x), and the reflection below 0."""
    if n == 0:
        return torch.digamma(x)
    narrow, x = x.dtype, x.float()
    sign = 1 if n % 2 else -1
    above = torch.where(x < 0, 1 - x, x)
    positive = sign * math.gamma(n + 1) * _zeta(torch.full_like(above, float(n + 1)), above)
    part = x - torch.round(x)
    c, slope = 1 / torch.tan(math.pi * part), torch.zeros_like(x)
    for a in reversed(_cotangent(n)):
        slope = slope * c + a
    negative = torch.where(part == 0, sign * math.inf, -sign * positive - math.pi * slope)
    return torch.where(x < 0, negative, positive).to(narrow)


OWN = {
    "aten::polygamma": _polygamma,
    "prims::zeta": _zeta,
    "aten::special_zeta": _zeta,
}
