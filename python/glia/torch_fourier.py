"""Fourier transforms of torch as products with matrices of sines and cosines: torch_xla has none. Imported only where torch is."""

from __future__ import annotations

import math

import numpy as np
import torch

_LONGEST = 1024  # elements of a transform: it costs their square


def _waves(rows: int, columns: int, length: int, device, weights=1.0):
    """Cosines and sines of 2 pi j k / length."""
    angles = np.outer(np.arange(rows), np.arange(columns)) % length * (2 * math.pi / length)
    return [torch.from_numpy((weights * f(angles)).astype(np.float32)).to(device) for f in (np.cos, np.sin)]


def _along(x, dim, matrix):
    return torch.matmul(x.movedim(dim, -1), matrix).movedim(-1, dim)


def _turned(parts, dim, sign):
    """The transform of a real and an imaginary part; sign: of the exponent."""
    real, imaginary = parts
    n = real.shape[dim]
    cosines, sines = _waves(n, n, n, real.device)
    sines = sign * sines
    return (
        _along(real, dim, cosines) - _along(imaginary, dim, sines),
        _along(real, dim, sines) + _along(imaginary, dim, cosines),
    )


def _scale(length: int, normalization: int) -> float:
    return (1.0, length**-0.5, 1 / length)[normalization]


def _length(x, dims) -> int:
    return math.prod(x.shape[d] for d in dims)


def _parts(x):
    return torch.view_as_real(x).unbind(-1)


def _joined(parts, scale):
    return torch.view_as_complex(torch.stack([p * scale for p in parts], -1))


def _too_long(x, dims) -> bool:
    return x.dtype not in (torch.float32, torch.complex64) or any(x.shape[d] > _LONGEST for d in dims)


def _c2c(x, dims, normalization, forward):
    if _too_long(x, dims):
        return NotImplemented
    parts = _parts(x)
    for d in dims:
        parts = _turned(parts, d, -1 if forward else 1)
    return _joined(parts, _scale(_length(x, dims), normalization))


def _r2c(x, dims, normalization, onesided):
    if _too_long(x, dims):
        return NotImplemented
    *others, last = dims
    n = x.shape[last]
    cosines, sines = _waves(n, n // 2 + 1 if onesided else n, n, x.device)
    parts = _along(x, last, cosines), -_along(x, last, sines)
    for d in others:
        parts = _turned(parts, d, -1)
    return _joined(parts, _scale(_length(x, dims), normalization))


def _c2r(x, dims, normalization, last_dim_size):
    if _too_long(x, dims) or last_dim_size > _LONGEST:
        return NotImplemented
    *others, last = dims
    parts = _parts(x)
    for d in others:
        parts = _turned(parts, d, 1)
    n, half = last_dim_size, last_dim_size // 2 + 1
    # Each but the first one, and the middle one, stands for itself and its conjugate.
    weights = np.array([1.0 if 2 * k in (0, n) else 2.0 for k in range(half)])[:, None]
    cosines, sines = _waves(half, n, n, x.device, weights)
    real, imaginary = (p.narrow(last, 0, half) for p in parts)
    made = _along(real, last, cosines) - _along(imaginary, last, sines)
    return made * _scale(_length(x, others) * n, normalization)


OWN = {"aten::_fft_c2c": _c2c, "aten::_fft_r2c": _r2c, "aten::_fft_c2r": _c2r}
