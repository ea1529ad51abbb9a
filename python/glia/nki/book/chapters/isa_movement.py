"""nki.isa: moving data

One call of nki.isa is one instruction. The call is taken at its word: what the hardware does not do is refused, with the Python line, the rule (`glia explain RULE`) and the value. Nothing
is split, moved or cast on the way. All calls end with `name=None`, the name that `with_schedule` uses, and return an `NkiInstruction` with `.depends_on(...)`; `register_*` return what
NKI says. [isa.md](isa.md) has the instructions, [numerics.md](numerics.md) their arithmetic.

An operation is an object of `nki.language` (`nl.add`), its name (`"add"`), or a NumPy function of that name. A member of an enumeration may be given as its name or its value
(`dge_mode=3`). Engine `None` is `engine.unknown`: the compiler chooses.
"""

import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 128, 64), np.float32)

# %% nisa.dma_copy
# `dge_mode.unknown`: none; `swdge` with a `vector_offset`; with a register in the address `hwdge` where the target has it and no type changes, else `swdge`. `priority` is checked (trn3)
# and changes no result and no predicted time. `oob_mode.skip` is for rows of a `vector_offset`; an address with a register is always checked and traps.
# The example is not for trn1: no transfers by index.


@nki.jit
def kernel(x, rows):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    at, t = nl.ndarray((128, 1), nl.int32), nl.full((128, 64), 9.0, nl.float32)
    nisa.dma_copy(dst=at, src=rows)
    chosen = x.ap([[64, 128], [1, 64]], vector_offset=at)
    nisa.dma_copy(dst=t, src=chosen, oob_mode=nisa.oob_mode.skip)
    nisa.dma_copy(dst=out, src=t, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.scalar)
    return out


rows = rng.integers(-20, 128, (128, 1)).astype(np.int32)
assert_array_equal(kernel(x, rows), np.where(rows < 0, np.float32(9), x[rows[:, 0]]))

# %% nisa.dma_transpose
# `axes` is checked; `dst` has the permuted shape. 4-byte types with `dge_mode` unknown or none.
# The example is not for trn1, which does not have the instruction.


@nki.jit
def kernel(x):
    out = nl.ndarray((64, 128), x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((64, 128), x.dtype)
    nisa.dma_transpose(dst=t, src=x, axes=(1, 0))
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(kernel(x), x.T)

# %% nisa.dma_compute
# `nl.add`, scales of 1. Indexed: two sources, one of them `dst`.


@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)
    nisa.dma_compute(dst=t, srcs=[x, y, x], reduce_op=nl.add)
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(kernel(x, y), x + y + x)

# %% nisa.tensor_copy
# Also from and to PSUM.


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 32), nl.bfloat16, buffer=nl.shared_hbm)
    t, small = nl.load(x), nl.ndarray((128, 32), nl.bfloat16)
    nisa.tensor_copy(dst=small, src=t[:, 0:64:2], engine=nisa.engine.vector)
    nisa.dma_copy(dst=out, src=small)
    return out


assert_array_equal(kernel(x), x[:, ::2].astype(ml_dtypes.bfloat16))

# %% nisa.tensor_copy_predicated
# `src` is a tile or a number.


@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t, mask = nl.load(y), nl.ndarray(x.shape, nl.uint8)
    nisa.tensor_scalar(dst=mask, data=t, op0=nl.less, operand0=0.0)
    nisa.tensor_copy_predicated(dst=t, src=nl.load(x), predicate=mask)
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(kernel(x, y), np.where(y < 0, x, y))

# %% nisa.memset
# Integers that fp32 cannot hold are taken by their bits; a fraction into an integer type is refused.


@nki.jit
def kernel():
    out = nl.ndarray((128, 8), nl.int32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 8), nl.int32)
    nisa.memset(dst=t, value=2**31 - 1)
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(kernel(), np.full((128, 8), 2**31 - 1, np.int32))

# %% nisa.nc_stream_shuffle
# 32 partitions at a time, all of a tile in one instruction.


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)
    nisa.nc_stream_shuffle(dst=t, src=nl.load(x), shuffle_mask=[31 - i for i in range(32)])
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(kernel(x), x.reshape(4, 32, 64)[:, ::-1].reshape(128, 64))

# %% nisa.nc_n_gather
# One instruction of any length. An index out of range is a trap.


@nki.jit
def kernel(x, at):
    out = nl.ndarray(at.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(at.shape, x.dtype)
    nisa.nc_n_gather(dst=t, data=nl.load(x), indices=nl.load(at))
    nisa.dma_copy(dst=out, src=t)
    return out


at = rng.integers(0, 64, (128, 16)).astype(np.uint32)
assert_array_equal(kernel(x, at), np.take_along_axis(x, at.astype(np.int64), axis=1))

# %% nisa.local_gather
# The 16 partitions of a group share their indices, which are read column by column. An index out of range is a trap.


@nki.jit
def kernel(x, at):
    out = nl.ndarray((128, 32), x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 32), x.dtype)
    nisa.local_gather(dst=t, src_buffer=nl.load(x), index=nl.load(at))
    nisa.dma_copy(dst=out, src=t)
    return out


at = rng.integers(0, 64, (128, 2)).astype(np.uint16)
of_group = at.reshape(8, 16, 2).transpose(0, 2, 1).reshape(8, 32).astype(np.int64)
assert_array_equal(kernel(x, at), np.take_along_axis(x, np.repeat(of_group, 16, axis=0), axis=1))
