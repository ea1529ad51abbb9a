"""nki.isa: Tensor

The Tensor engine multiplies matrices from SBUF into PSUM. What it takes as `stationary` has up to 128 columns, `moving` up to 512 (trn3: 4096); the rows of both, up to 128, are the partitions that it sums over.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

rng = np.random.default_rng(0)

# %% nisa.nc_matmul
# `accumulate=None` decides element by element. `is_transpose` overwrites. fp32 takes four passes, bf16 one. `perf_mode="double_row"` is for fp8.


@nki.jit
def kernel(a, b):
    out = nl.ndarray((a.shape[1], b.shape[1]), nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray(out.shape, nl.float32, buffer=nl.psum)
    for k in range(0, a.shape[0], 128):
        nisa.nc_matmul(
            dst=acc, stationary=nl.load(a[nl.ds(k, 128)]), moving=nl.load(b[nl.ds(k, 128)]), accumulate=k > 0
        )
    nl.store(out, acc)
    return out


a, b = rng.standard_normal((256, 64), np.float32), rng.standard_normal((256, 512), np.float32)
assert_allclose(kernel(a, b), a.T @ b, atol=1e-4)

# %% nisa.nc_transpose
# Engine unknown: by place and size. trn1 multiplies by an identity into fp32.


@nki.jit
def kernel(a):
    out = nl.ndarray((64, 128), a.dtype, buffer=nl.shared_hbm)
    turned = nl.ndarray((64, 128), a.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=nl.load(a), engine=nisa.engine.tensor)
    nl.store(out, turned)
    return out


a = rng.standard_normal((128, 64), np.float32)
assert_array_equal(kernel(a), a.T)
