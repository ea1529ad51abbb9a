"""nki.isa: registers, cores, versions

Python never knows the value of a register: it may stand in addresses, in counts of loops and in conditions of loops.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

x = np.random.default_rng(0).standard_normal((4, 128, 64), np.float32)

# %% nisa.register_alloc, nisa.register_move, nisa.register_load, nisa.register_store
# Numbers, registers and tensors of one element.


@nki.jit
def chosen(x, which):
    out = nl.ndarray(x.shape[1:], x.dtype, buffer=nl.shared_hbm)
    told = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
    r, copy = nisa.register_alloc(0), nisa.register_alloc()
    nisa.register_load(dst=r, src=which)
    nisa.register_move(dst=copy, src=r)
    nisa.register_store(dst=told, src=copy)
    nisa.dma_copy(dst=out, src=x.select(0, r))
    return out, told


for n in (1, 3):
    found, told = chosen(x, np.array([[n]], np.int32))
    assert_array_equal(found, x[n])
    assert_array_equal(told, [[n]])

# %% nisa.core_barrier
# The barrier is named after `data`. `cores` is `(0, 1)`; `0` or `(0,)` in a kernel of one core waits for nobody.
# The example is not for trn1: no pairs of cores.


@nki.jit
def exchanged(x):
    """Each core writes one part, and reads what the other core wrote."""
    me = nl.program_id(0)
    between = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=between[me], src=nl.load(x[me]))
    nisa.core_barrier(data=between, cores=(0, 1))
    nisa.dma_copy(dst=out[me], src=nl.load(between[1 - me]))
    return out


assert_array_equal(exchanged[2](x), x[[1, 0]])

# %% nisa.sendrecv
# The ranks are those of the other core.
# The example is not for trn1: no pairs of cores.


@nki.jit
def exchanged(x):
    me = nl.program_id(0)
    out = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
    mine, other = nl.load(x[me]), nl.ndarray((128, 64), x.dtype)
    nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    nisa.dma_copy(dst=out[me], src=other)
    return out


assert_array_equal(exchanged[2](x), x[[1, 0]])

# %% nisa.get_nc_version, nisa.get_nc_sub_version
# Of the target. Versions are ordered, also with numbers; the sub-version is 0.


@nki.jit
def generation():
    out = nl.ndarray((1, 2), nl.int32, buffer=nl.shared_hbm)
    new = nisa.get_nc_version() >= nisa.nc_version.gen3
    nl.store(out[:, 0:1], int(new))
    nl.store(out[:, 1:2], nisa.get_nc_sub_version())
    return out


assert_array_equal(generation.on("trn1")(), [[0, 0]])
assert_array_equal(generation.on("trn2")(), [[1, 0]])

# %% nisa.engine
# The other enumerations are `nisa.dma_engine`, `dge_mode`, `oob_mode`, `reduce_cmd`, `matmul_perf_mode` and `nc_version`, all of them also in `nisa.constants`. `nisa.tensor_engine`, `vector_engine`, `scalar_engine`, `gpsimd_engine` and `unknown_engine` are members of `engine`.
# `nisa.NkiInstruction` and `nisa.VirtualRegister` are for annotations, `nisa.NkiValidationError` is another name of `glia.Error`.
# The example is not for trn1: its Scalar engine has no tensor_copy.


@nki.jit
def either(x, engine):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)
    nisa.tensor_copy(dst=t, src=nl.load(x), engine=engine)
    nisa.dma_copy(dst=out, src=t)
    return out


for engine in (nisa.engine.gpsimd, nisa.vector_engine, "scalar", None):
    assert_array_equal(either(x[0], engine), x[0])
