"""Special functions of torch in elementary ones. Imported only where torch is."""

from __future__ import annotations

import functools
import math

import torch

from .torch_chebyshev import Fit

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


@functools.cache
def _scaled_tail() -> Fit:
    """(1 + x / 2) exp(x * x) erfc(x) of 1 / (1 + x / 2), 0 <= x."""

    def value(u: float) -> float:
        x = 2 / u - 2
        s = 1 / (2 * x * x) if x else 0.0
        far = (1 - s * (1 - 3 * s)) / (x * math.sqrt(math.pi)) if x > 20 else math.exp(x * x) * math.erfc(x)
        return far / u

    return Fit(value, 0.0, 1.0)


def _erfcx(x):
    narrow, x = x.dtype, x.float()
    u = 1 / (1 + x.abs() / 2)
    made = _scaled_tail()(u) * u
    made = torch.where(x < 0, 2 * torch.exp(x * x) - made, made)
    return torch.where(x.isnan(), x, made).to(narrow)


_TAIL = math.exp(-2)  # a quantile below it is found by its logarithm
_LEAST = 14.5  # sqrt(-2 log p) of what is less than the smallest f32


def _quantile(p: float) -> float:
    """Of the normal distribution, 0 < p <= 1/2."""
    low, high = -40.0, 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2)) / 2 < p else (low, middle)
    return high


@functools.cache
def _quantiles() -> tuple[Fit, Fit]:
    """What makes p - 1/2 of its square a quantile, and what is beside y = sqrt(-2 log p) of 1 / y."""

    def beside(u: float) -> float:
        return -_quantile(math.exp(-0.5 / (u * u))) - 1 / u

    most = (0.5 - _TAIL) ** 2
    middle = Fit(lambda s: -_quantile(0.5 - math.sqrt(s)) / math.sqrt(s), 0.0, most)
    return middle, Fit(beside, 1 / _LEAST, 0.5)


def _ndtri(p):
    narrow, p = p.dtype, p.float()
    middle, beside = _quantiles()
    upper = p > 0.5
    q = torch.where(upper, 1 - p, p)
    y = torch.sqrt(-2 * torch.log(q))
    far = y + beside(1 / y)
    made = torch.where(q > _TAIL, (p - 0.5) * middle((p - 0.5) * (p - 0.5)), torch.where(upper, far, -far))
    made = torch.where(q == 0, torch.where(upper, math.inf, -math.inf), made)
    return torch.where((p < 0) | (p > 1) | p.isnan(), math.nan, made).to(narrow)


OWN = {
    "aten::polygamma": _polygamma,
    "prims::zeta": _zeta,
    "aten::special_zeta": _zeta,
    "prims::erfcx": _erfcx,
    "prims::ndtri": _ndtri,
}
