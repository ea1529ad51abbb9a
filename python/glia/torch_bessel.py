"""Bessel functions of torch in elementary ones: near 0 and far out each is a sum of Chebyshev polynomials (torch_chebyshev.py) beside what makes it
grow, fall or swing. Computed in f32. Imported only where torch is."""

from __future__ import annotations

import functools
import math

import torch

from .torch_chebyshev import Fit

_GAMMA = 0.5772156649015329  # Euler's
_NEAR = 8.0  # where the sums change
_STEPS = 512  # of the trapezoidal rule, which is exact here: what is summed is periodic or falls fast


def _mean(f) -> float:
    """Of a function over [0, pi] whose continuation is even and periodic."""
    inner = math.fsum(f(math.pi * k / _STEPS) for k in range(1, _STEPS))
    return (inner + (f(0.0) + f(math.pi)) / 2) / _STEPS


def _j(n: int, x: float) -> float:
    return _mean(lambda t: math.cos(n * t - x * math.sin(t)))


def _i_scaled(n: int, x: float) -> float:
    """exp(-x) I_n(x)"""
    return _mean(lambda t: math.exp(x * (math.cos(t) - 1)) * math.cos(n * t))


def _k_scaled(n: int, x: float) -> float:
    """exp(x) K_n(x), 0 < x"""
    high = math.acosh(1 + 40 / x) + n
    step = high / _STEPS
    f = [math.exp(-x * (math.cosh(step * k) - 1)) * math.cosh(n * step * k) for k in range(_STEPS)]
    return step * (math.fsum(f) - f[0] / 2)


def _harmonic(k: int) -> float:
    return math.fsum(1 / j for j in range(1, k + 1))


def _series(n: int, x: float, sign: int) -> float:
    """What is beside the logarithm in K_n or (with sign -1) in Y_n, without powers of 1 / x."""
    q = x * x / 4
    terms = []
    for k in range(60):
        psi = _harmonic(k) + _harmonic(k + n) - 2 * _GAMMA
        terms.append(psi * (sign * q) ** k / (math.factorial(k) * math.factorial(k + n)))
    return math.fsum(terms) / 2 * (x / 2) ** n


@functools.cache
def _fit(name: str, n: int) -> Fit:
    """In x * x near 0, over x * x if they are odd; far out in 1 / x, times sqrt(x)."""

    def near(f, most: float = _NEAR) -> Fit:
        return Fit(lambda s: f(math.sqrt(s)) / math.sqrt(s) ** n, 0.0, most * most)

    def far(f, least: float = _NEAR) -> Fit:
        return Fit(lambda u: math.sqrt(1 / u) * f(1 / u), 0.0, 1 / least)

    if name == "j":
        return near(lambda x: _j(n, x))
    if name == "y":
        return near(lambda x: -2 / math.pi * _series(n, x, -1))
    if name == "i":
        return Fit(lambda x: _i_scaled(n, x) / x**n, 0.0, _NEAR)
    if name == "i far":
        return far(lambda x: _i_scaled(n, x))
    if name == "i for k":
        return near(lambda x: _i_scaled(n, x) * math.exp(x), 2.0)
    if name == "k":
        return near(lambda x: (-1) ** n * _series(n, x, 1), 2.0)
    return far(lambda x: _k_scaled(n, x), 2.0)


def _narrow(function):
    """In f32; integers are floats then, as torch has it."""

    def call(x, **more):
        made = function(x.to(torch.float32), **more)
        return made.to(x.dtype) if x.dtype.is_floating_point else made

    return call


def _swings(n: int, x):
    """Hankel's expansion: (P, Q) of J_n = sqrt(2 / (pi x)) (P cos a - Q sin a), a = x - (n / 2 + 1 / 4) pi."""
    a, parts = 1.0, [[1.0], []]
    for k in range(1, 2 * int(_NEAR)):
        a *= (4 * n * n - (2 * k - 1) ** 2) / (8 * k)
        parts[k % 2].append((-1) ** (k // 2) * a)
    s = 1 / (x * x)
    p, q = (functools.reduce(lambda made, c: made * s + c, reversed(cs), torch.zeros_like(x)) for cs in parts)
    return p, q / x


def _far(n: int, x, second: bool):
    """J_n, or Y_n, of x from 8 on."""
    p, q = _swings(n, x)
    c, s = torch.cos(x), torch.sin(x)
    cosine, sine = (c + s, s - c) if n == 0 else (s - c, -s - c)  # times sqrt(2)
    return (p * sine + q * cosine if second else p * cosine - q * sine) * torch.rsqrt(math.pi * x)


@_narrow
def _bessel_j(x, n: int):
    a = x.abs()
    near = _fit("j", n)(a * a) * (a if n else 1.0)
    made = torch.where(a < _NEAR, near, _far(n, a.clamp(min=_NEAR), False))
    return torch.where(x < 0, -made, made) if n else made


@_narrow
def _bessel_y(x, n: int):
    inside = x.clamp(0.0, _NEAR)
    first = _fit("j", n)(inside * inside)
    near = 2 / math.pi * torch.log(x / 2) * first + _fit("y", n)(inside * inside)
    if n:
        near = near * x - 2 / math.pi / x
    made = torch.where(x < _NEAR, near, _far(n, x.clamp(min=_NEAR), True))
    return torch.where(x == 0, -math.inf, torch.where(x < 0, math.nan, made))


def _scaled_i(x, n: int):
    """exp(-|x|) I_n(x)"""
    a = x.abs()
    near = _fit("i", n)(a) * (a if n else 1.0)
    inverse = 1 / a.clamp(min=_NEAR)
    made = torch.where(a < _NEAR, near, _fit("i far", n)(inverse) * torch.sqrt(inverse))
    made = torch.where(x.isnan(), x, made)
    return torch.where(x < 0, -made, made) if n else made


@_narrow
def _bessel_i(x, n: int):
    return _scaled_i(x, n) * torch.exp(x.abs())


@_narrow
def _bessel_k(x, n: int, scaled: bool):
    inside = x.clamp(0.0, 2.0)
    square = inside * inside
    sign = -1 if n % 2 == 0 else 1
    near = _fit("k", n)(square) + sign * torch.log(x / 2) * _fit("i for k", n)(square)
    if n:
        near = near * x + 1 / x
    inverse = 1 / x.clamp(min=2.0)
    far = _fit("k far", n)(inverse) * torch.sqrt(inverse)
    made = torch.where(x < 2, near * torch.exp(inside) if scaled else near, far if scaled else far * torch.exp(-x))
    return torch.where(x == 0, math.inf, torch.where((x < 0) | x.isnan(), math.nan, made))


@_narrow
def _spherical_bessel_j0(x):
    near = 1 - x * x / 6 * (1 - x * x / 20 * (1 - x * x / 42))
    return torch.where(x.isinf(), 0.0, torch.where(x.abs() < 0.5, near, torch.sin(x) / x))


def _both(function, names: tuple[str, ...], **more) -> dict:
    """The functions of order 0 and 1 under their names."""
    return {name.format(n): functools.partial(function, n=n, **more) for name in names for n in (0, 1)}


OWN = {
    "prims::spherical_bessel_j0": _spherical_bessel_j0,
    **_both(_bessel_j, ("prims::bessel_j{}",)),
    **_both(_bessel_y, ("aten::special_bessel_y{}",)),
    **_both(_bessel_i, ("prims::bessel_i{}", "aten::special_modified_bessel_i{}")),
    **_both(_narrow(_scaled_i), ("prims::bessel_i{}e",)),
    **_both(_bessel_k, ("aten::special_modified_bessel_k{}",), scaled=False),
    **_both(_bessel_k, ("aten::special_scaled_modified_bessel_k{}",), scaled=True),
}
