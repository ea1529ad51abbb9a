"""nki.language: loads, stores and shapes

Between HBM and the chip, and from one shape to another.
"""

import ml_dtypes
import nki
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

x = np.random.default_rng(0).standard_normal((128, 64), np.float32)

# %% nl.load, nl.store
# `dma_copy`. A cast goes through fp32. `store` takes PSUM (a copy first) and numbers.


@nki.jit
def halves(x):
    out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
    nl.store(out[:, 0:32], nl.load(x[:, 0:32], dtype=nl.bfloat16))
    nl.store(out[:, 32:64], 1.0)
    return out


want = np.ones_like(x)
want[:, 0:32] = x[:, 0:32].astype(ml_dtypes.bfloat16)
assert_array_equal(halves(x), want)

# %% nl.load_transpose2d
# `dma_transpose`, one per 128 rows (2- and 4-byte types, trn2 and newer); else a load and a transpose. Bit exact; trn1 as `transpose`.


@nki.jit
def turned(x):
    out = nl.ndarray(x.shape[::-1], x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load_transpose2d(x))
    return out


assert_array_equal(turned(x), x.T)

# %% nl.transpose
# `nc_transpose`; in blocks of 32 x 32 on Vector for types that Tensor does not transpose. The result is in PSUM, up to 128 columns. Bit exact; on trn1 floats go through a
# multiplication: NaN and infinity spoil their row, -0 becomes 0.


@nki.jit
def transposed(x):
    out = nl.ndarray(x.shape[::-1], x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.transpose(nl.load(x)))
    return out


assert_array_equal(transposed(x), x.T)

# %% nl.broadcast_to, nl.expand_dims
# Shuffles or a copy; a view. Bit exact.


@nki.jit
def repeated(x):
    row = nl.load(x[0:1])
    out = nl.ndarray((128, 1, 64), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.expand_dims(nl.broadcast_to(row, (128, 64)), 1))
    return out


assert_array_equal(repeated(x), np.broadcast_to(x[0], (128, 1, 64)))

# %% nl.gather_flattened
# `nc_n_gather`. Indices of 32 bits are used as they are, others cast.


@nki.jit
def gathered(x, at):
    out = nl.ndarray(at.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.gather_flattened(nl.load(x), nl.load(at)))
    return out


at = np.random.default_rng(1).integers(0, 64, (128, 16)).astype(np.uint32)
assert_array_equal(gathered(x, at), np.take_along_axis(x, at.astype(np.int64), axis=1))
