"""Kernels of trntensor, called with NumPy arrays: its module of kernels is loaded by itself, so torch is not needed."""

from __future__ import annotations

import numpy as np
from public_kernels import Case, checkout, load, random

ORIGIN = "trntensor"


def cases() -> list[Case]:
    root = checkout(ORIGIN)
    if root is None:
        return []
    m, normal = load(root / "trntensor/nki/_kernels.py"), random(30)
    a, b = normal(256, 384), normal(384, 512)
    stack, other = normal(2, 128, 128), normal(2, 128, 64)
    amplitudes, occupied, virtual = (
        normal(5, 19, 72, scale=0.1),
        -np.abs(normal(5, 1)) - 0.5,
        np.abs(normal(19, 1)) + 0.1,
    )
    integrals, left, right = normal(256, 256, 4, scale=0.1), normal(256, 8), normal(256, 16)

    def energy():
        t = np.einsum("iap,jbp->ijab", amplitudes.astype(np.float64), amplitudes)
        levels = occupied[:, None, None, None, 0] + occupied[None, :, None, None, 0]
        gap = levels - virtual[None, None, :, None, 0] - virtual[None, None, None, :, 0]
        return ((t * (2 * t - t.transpose(0, 1, 3, 2)) / gap).sum((2, 3)),)

    def case(name, arguments, reference, **more):
        return Case(ORIGIN, name, getattr(m, name), arguments, reference, "NumPy float64", **more)

    return [
        case("matmul_kernel", (a, b), lambda: (a.astype(np.float64) @ b,)),
        case("batched_matmul_kernel", (stack, other), lambda: (stack.astype(np.float64) @ other,)),
        case("mp2_energy_kernel", (amplitudes, occupied, virtual), energy),
        case(
            "ao_to_mo_transform_kernel",
            (integrals, left, right),
            lambda: (np.einsum("mi,na,mnp->iap", left.astype(np.float64), right, integrals, optimize=True),),
        ),
    ]
