"""nki.language: tensors

Tensors in HBM are what a kernel is given, and what it returns (`nl.shared_hbm`). Tiles are on chip: the first dimension of a tile is the partition, at most 128; the others are
free. `nl.sbuf` holds them while they are worked on; the Tensor engine writes to `nl.psum`. `nl.private_hbm` (`nl.hbm`) is memory of one core. They are members of `nl.MemoryRegion`.

Data types (`nl.float32`; all of them in `nki.dtypes`): `bool_ bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 tfloat32 float32 float8_e4m3 float8_e4m3fn float8_e5m2`. The packed and scale types
(`float4_e2m1fn_x4`, `float8_e4m3fn_x4`, `float8_e5m2_x4`, `float8_e8m0fnu`) are known by name and refused where a tensor of them is made.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

x = np.random.default_rng(0).standard_normal((128, 64), np.float32)

# %% nl.ndarray
# A tile may be given a place; two that overlap share their bytes.


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf, name="t", address=(0, 1024))
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(copied(x), x)

# %% nl.zeros, nl.ones, nl.full, nl.zeros_like, nl.empty_like
# `memset`; in HBM a tile and `dma_copy`. `zeros` in PSUM may be accumulated onto.


@nki.jit
def filled(x):
    t = nl.load(x)
    total = nl.zeros_like(t)
    for tile in (t, nl.ones(t.shape, t.dtype), nl.full(t.shape, 2.0, t.dtype), nl.zeros(t.shape, t.dtype)):
        total = nl.add(total, tile)
    out = nl.empty_like(total, buffer=nl.shared_hbm)
    nl.store(out, total)
    return out


assert_array_equal(filled(x), x + np.float32(1) + np.float32(2))

# %% nl.shared_constant
# An array, or the path of an .npy file, that becomes part of the program.


@nki.jit
def scaled(x, weights):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), nl.load(nl.shared_constant(np.array(weights, np.float32)[:, None]))))
    return out


assert_array_equal(scaled(x, tuple(range(128))), x * np.arange(128, dtype=np.float32)[:, None])

# %% nl.shared_identity_matrix
# `memset` and `affine_select`, one matrix per call of the kernel. In SBUF.


@nki.jit
def identity():
    out = nl.ndarray((32, 32), nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.shared_identity_matrix(32, dtype=nl.float32))
    return out


assert_array_equal(identity(), np.eye(32, dtype=np.float32))

# %% nl.is_hbm, nl.is_sbuf, nl.is_psum, nl.is_on_chip
# Of a buffer or of a tensor. Known while the kernel is traced.


@nki.jit
def places(x):
    t, p = nl.load(x), nl.ndarray((128, 64), nl.float32, buffer=nl.psum)
    known = [nl.is_hbm(x), nl.is_sbuf(t.buffer), nl.is_psum(p.buffer), nl.is_on_chip(t), not nl.is_hbm(t)]
    out = nl.ndarray((1, len(known)), nl.int32, buffer=nl.shared_hbm)
    nl.store(out, nl.full(out.shape, int(all(known)), nl.int32))
    return out


assert_array_equal(places(x), np.ones((1, 5), np.int32))

# %% nl.tile_size
# Numbers of the target: `pmax` (partitions), `psum_fmax` (fp32 elements of a bank's partition), `gemm_stationary_fmax`, `gemm_moving_fmax`, `psum_num_banks`, `sbuf_size_bytes`,
# `sbuf_fmax_bytes`, `sbuf_fmax` and others.


@nki.jit
def rows_at_once(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for start in range(0, x.shape[0], nl.tile_size.pmax):
        rows = nl.ds(start, min(nl.tile_size.pmax, x.shape[0] - start))
        nl.store(out[rows], nl.add(nl.load(x[rows]), 1.0))
    return out


tall = np.tile(x, (3, 1))
assert_array_equal(rows_at_once(tall), tall + 1)

# %% nl.device_print
# When the kernel runs, in the order of the source: one line per tile with place, shape, extremes, mean and first elements; `GLIA_PRINT=all` prints every element.
# Tensors in HBM are loaded first, 128 rows at a time.


@nki.jit
def loud(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.device_print("loaded", t)
    nl.store(out, t)
    return out


assert_array_equal(loud(x), x)
