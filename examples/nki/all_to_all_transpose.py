"""The transpose of a matrix whose rows are divided among ranks, so that in the end each rank has some of its columns: all_to_all sends
block j of a rank to rank j, then each rank transposes its blocks. What a mixture of experts and distributed FFTs do."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np

RANKS = 4


@nki.jit
def all_to_all_transpose(x):
    """Rows of the transpose (128, ranks * 128), for x (ranks, 128, 128): this rank's 128 rows, a block of columns for each rank."""
    blocks = x.shape[0]
    mine = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.private_hbm)
    ncc.all_to_all([x], [mine], ncc.ReplicaGroup([list(range(RANKS))]), 0)
    out = nl.ndarray((128, blocks * 128), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(blocks):
        block = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
        turned = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
        result = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=block, src=mine[i])
        nisa.nc_transpose(dst=turned, data=block)
        nisa.tensor_copy(dst=result, src=turned)
        nisa.dma_copy(dst=out[:, i * 128 : (i + 1) * 128], src=result)
    return out


def reference(x):
    whole = x.transpose(0, 2, 1, 3).reshape(RANKS * 128, RANKS * 128)
    return whole.T.reshape(RANKS, 128, RANKS * 128)


def inputs(rng):
    return (rng.standard_normal((RANKS, RANKS, 128, 128), np.float32),)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    made = nki.simulate(all_to_all_transpose, ranks=RANKS)(*arrays)
    print("largest error:", np.abs(made - reference(*arrays)).max())
