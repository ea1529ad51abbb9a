"""Two cores on one tensor: each sums half of the rows, then they exchange their results. Launched as two_core_sum[2]; trn1 has no
pairs of cores."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

CORES = 2
TARGETS = ("trn2", "trn3")


@nki.jit
def two_core_sum(x):
    """The sum over the rows of x (rows, columns): rows a multiple of 256, columns up to 512."""
    rows, columns = x.shape
    core = nl.program_id(0)
    half = rows // 2
    ones = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    # A product with ones sums over partitions; PSUM adds up the tiles.
    psum = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.psum)
    for i in range(half // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        start = core * half + i * 128
        nisa.dma_copy(dst=tile, src=x[start : start + 128, :])
        nisa.nc_matmul(dst=psum, stationary=ones, moving=tile, accumulate=i > 0)
    mine = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=mine, src=psum)
    nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(dst=mine, data1=mine, data2=other, op=nl.add)
    out = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    if core == 0:
        nisa.dma_copy(dst=out, src=mine)
    return out


def reference(x):
    return x.astype(np.float64).sum(axis=0, keepdims=True)


def inputs(rng, rows=1024, columns=512):
    return (rng.standard_normal((rows, columns), np.float32),)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(two_core_sum[CORES](*arrays) - reference(*arrays)).max())
