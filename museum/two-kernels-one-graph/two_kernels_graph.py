"""Both kernels in one JAX function, with operations of JAX before, between and after them; and a third one that trn1 cannot have.

python -m glia museum/two-kernels-one-graph/two_kernels_graph.py
"""

import sys
from pathlib import Path

import glia
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from two_kernels import NAUX, NBASIS, NOCC, NVIR, TARGETS, pair_energies, transform, transpose_by_dma

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, row_of, show


def transform_twin(eri, occupied, virtual):
    """What the kernel `transform` computes."""
    return jnp.einsum("mi,na,mnP->iaP", occupied, virtual, eri, precision="highest")


def pair_energies_twin(b, occupied_levels, virtual_levels):
    """What the kernel `pair_energies` computes."""
    t = jnp.einsum("iaP,jcP->ijac", b, b, precision="highest")
    occ, vir = occupied_levels[:, 0], virtual_levels[:, 0]
    gap = occ[:, None, None, None] + occ[None, :, None, None] - vir[:, None] - vir[None, :]
    return (t * (2 * t - t.swapaxes(2, 3)) / gap).sum(axis=(2, 3))


def correlation(eri, metric, orbitals, levels, transform=transform, pair_energies=pair_energies):
    """The energy of a molecule, that of each pair of its orbitals, and the transformed integrals: integrals are symmetric, orbitals
    come in one table with the occupied ones first, and each auxiliary function has a weight."""
    eri = 0.5 * (eri + eri.swapaxes(0, 1))
    occupied, virtual = orbitals[:, :NOCC], orbitals[:, NOCC:]
    b = transform(eri, occupied, virtual)
    b = b * jax.lax.rsqrt(metric)
    pairs = pair_energies(b, levels[:NOCC], levels[NOCC:])
    return jnp.sum(pairs), 0.5 * (pairs + pairs.T), b


def twin(eri, metric, orbitals, levels):
    """The same without the kernels."""
    return correlation(eri, metric, orbitals, levels, transform_twin, pair_energies_twin)


def correlation_and_transpose(eri, metric, orbitals, levels, x):
    """With a third kernel, which needs trn2."""
    return correlation(eri, metric, orbitals, levels), transpose_by_dma(x + x)


def inputs(seed=1311):
    rng = np.random.default_rng(seed)
    eri = rng.standard_normal((NBASIS, NBASIS, NAUX), dtype=np.float32) / NBASIS
    metric = 1 + rng.random(NAUX, dtype=np.float32)
    orbitals = rng.standard_normal((NBASIS, NOCC + NVIR), dtype=np.float32)
    levels = np.concatenate([-1 - rng.random(NOCC, np.float32), 1 + rng.random(NVIR, np.float32)])[:, None]
    return (
        eri,
        metric,
        orbitals,
        levels,
    )  # occupied levels lie below zero and virtual ones above it: no gap is near zero


def measured(target, vendor=""):
    """(compiled, arguments, its row); the twin is fp32, too."""
    args = inputs()
    exe, seconds = compiled(lambda: glia.jit(correlation, target=target).compile(*args))
    function = jax.jit(twin)
    error, allowed = against_twin(exe.run(*args), function(*args), float64(function, *args))
    return exe, args, row_of(exe, "both kernels", seconds=seconds, error=error, allowed=allowed, vendor=vendor)


def rows(everything=False):
    for target in TARGETS:
        vendor = "a program that trn1 does not load" if target == "trn1" else "not reported"
        yield measured(target, vendor)[2]


def refusal():
    """What compiling the three kernels for trn1 says."""
    try:
        glia.jit(correlation_and_transpose, target="trn1").compile(*inputs(), np.zeros((16, 128), ml_dtypes.bfloat16))
    except glia.Error as e:
        return e
    raise AssertionError("a kernel that needs trn2 was accepted in a program for trn1")


if __name__ == "__main__":
    wrong = show(rows(everything=True))
    print(f"\nWith a third kernel, which needs trn2, it is refused for trn1:\n{refusal()}")
    sys.exit(wrong != 0)
