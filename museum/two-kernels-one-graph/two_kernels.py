"""Two kernels of quantum chemistry, one on the other's result, in one program on every generation; and one that trn1 cannot have.

python -m glia museum/two-kernels-one-graph/two_kernels.py
"""

import sys
from pathlib import Path

import glia
import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import relative_error

NBASIS, NOCC, NVIR, NAUX = 128, 4, 8, 16
TARGETS = ("trn1", "trn2", "trn3")
CLOSE = 2e-6  # relative, L2: fp32 sums of 128 products, and of 64 terms


def on_chip(shape, buffer=nl.sbuf):
    return nl.ndarray(shape, nl.float32, buffer=buffer)


def matmul(stationary, moving):
    """stationary^T @ moving, in SBUF: one product, accumulated onto zeros as kernels of that time do."""
    shape = (stationary.shape[1], moving.shape[1])
    psum = nl.zeros(shape, nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=psum, stationary=stationary, moving=moving, accumulate=True)
    out = on_chip(shape)
    nisa.tensor_copy(dst=out, src=psum)
    return out


@nki.jit
def transform(eri, occupied, virtual):
    """B[i, a, P] = sum over m, n of occupied[m, i] virtual[n, a] eri[m, n, P], one P after the other. The half-transformed
    integrals go through HBM, from where they are loaded transposed."""
    nbasis, _, naux = eri.shape
    nocc, nvir = occupied.shape[1], virtual.shape[1]
    b = nl.ndarray((nocc, nvir, naux), eri.dtype, buffer=nl.shared_hbm)
    half = nl.ndarray((nocc, nbasis, naux), eri.dtype, buffer=nl.shared_hbm)
    c_occ, c_vir = nl.load(occupied), nl.load(virtual)
    for p in range(naux):
        nl.store(half[:, :, p], matmul(c_occ, nl.load(eri[:, :, p])))
        turned = nl.load_transpose2d(half[:, :, p])  # (nbasis, nocc)
        nl.store(b[:, :, p], matmul(turned, c_vir))
    return b


@nki.jit
def pair_energies(b, occupied_levels, virtual_levels):
    """E[i, j] = sum over a, c of T (2 T - T^t) / (e_i + e_j - e_a - e_c) with T[a, c] = sum over P of B[i, a, P] B[j, c, P]."""
    nocc, nvir, _ = b.shape
    out = nl.ndarray((nocc, nocc), nl.float32, buffer=nl.shared_hbm)
    levels = nl.load(virtual_levels)  # (nvir, 1)
    levels_row = nl.load(virtual_levels.reshape((1, nvir)))
    turned = [nl.load_transpose2d(b[i]) for i in range(nocc)]  # each (naux, nvir)
    for i in range(nocc):
        for j in range(nocc):
            t, t_turned = matmul(turned[i], turned[j]), matmul(turned[j], turned[i])
            pair = nl.add(nl.load(occupied_levels[i : i + 1]), nl.load(occupied_levels[j : j + 1]))
            gap = nl.subtract(nl.subtract(pair, levels), levels_row)  # (nvir, nvir)
            exchange = nl.subtract(nl.multiply(t, 2.0), t_turned)
            term = nl.multiply(nl.multiply(t, exchange), nl.reciprocal(gap))
            nl.store(out[i : i + 1, j : j + 1], nl.sum(term, axis=(0, 1)))
    return out


@nki.jit
def transpose_by_dma(x):
    """x^T by the DMA engines' transpose, which came with the generation of trn2."""
    t = nl.ndarray((x.shape[1], x.shape[0]), x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(t.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_transpose(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out


def energy(eri, occupied, virtual, occupied_levels, virtual_levels):
    """Both kernels in one program."""
    return pair_energies(transform(eri, occupied, virtual), occupied_levels, virtual_levels)


def energy_and_transpose(eri, occupied, virtual, occupied_levels, virtual_levels, x):
    """A third kernel, which needs trn2."""
    return energy(eri, occupied, virtual, occupied_levels, virtual_levels), transpose_by_dma(x)


def inputs(seed=1311):
    rng = np.random.default_rng(seed)
    eri = rng.standard_normal((NBASIS, NBASIS, NAUX), dtype=np.float32) / NBASIS
    occupied = rng.standard_normal((NBASIS, NOCC), dtype=np.float32)
    virtual = rng.standard_normal((NBASIS, NVIR), dtype=np.float32)
    # Occupied levels lie below zero and virtual ones above it, so no gap is near zero.
    occupied_levels = -1 - rng.random((NOCC, 1), dtype=np.float32)
    virtual_levels = 1 + rng.random((NVIR, 1), dtype=np.float32)
    return eri, occupied, virtual, occupied_levels, virtual_levels


def reference_transform(eri, occupied, virtual):
    return np.einsum("mi,na,mnP->iaP", *(x.astype(np.float64) for x in (occupied, virtual, eri)), optimize=True)


def reference_energies(b, occupied_levels, virtual_levels):
    b = b.astype(np.float64)
    t = np.einsum("iaP,jcP->ijac", b, b)
    occ, vir = occupied_levels[:, 0].astype(np.float64), virtual_levels[:, 0].astype(np.float64)
    gap = occ[:, None, None, None] + occ[None, :, None, None] - vir[:, None] - vir[None, :]
    return (t * (2 * t - t.swapaxes(2, 3)) / gap).sum(axis=(2, 3))


def programs(target):
    """(name, compiled, arguments, what NumPy says): each kernel alone, and both in one program."""
    args = inputs()
    b = reference_transform(*args[:3])
    rounded = b.astype(np.float32)
    cases = (
        ("transform alone", transform, args[:3], b),
        ("pair_energies alone", pair_energies, (rounded, *args[3:]), reference_energies(rounded, *args[3:])),
        ("both, nothing between them", energy, args, reference_energies(b, *args[3:])),
    )
    for name, function, given, want in cases:
        yield name, glia.compile(function, *given, target=target), given, want


def refusal():
    """What compiling the three kernels for trn1 says."""
    x = np.zeros((16, 128), ml_dtypes.bfloat16)
    try:
        glia.compile(energy_and_transpose, *inputs(), x, target="trn1")
    except glia.Error as e:
        return e
    raise AssertionError("a kernel that needs trn2 was accepted in a program for trn1")


if __name__ == "__main__":
    for target in TARGETS:
        for name, exe, given, want in programs(target):
            error = relative_error(exe.run(*given), want)
            print(
                f"{target} {name:28} {exe.program.instructions:6} instructions {exe.time() / 1000:8.2f} us, error {error:.1e}"
            )
    print(f"\nWith a third kernel, which needs trn2, it is refused for trn1:\n{refusal()}")
