"""A product with a matrix that is stored in parts, one on each rank: all_gather brings it together just before it is used. Every rank has
rows of its own of the other matrix, as in data-parallel training whose parameters are divided too."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np

RANKS = 4


@nki.jit
def all_gather_product(x_t, w):
    """x @ (w of all ranks, one below the other) for x_t (128, rows) and w (128 / ranks, columns): rows up to 128, columns up to 512."""
    rows, columns = x_t.shape[1], w.shape[1]
    whole = nl.ndarray((128, columns), dtype=w.dtype, buffer=nl.private_hbm)
    ncc.all_gather([w], [whole], ncc.ReplicaGroup([list(range(RANKS))]), 0)
    left = nl.ndarray(x_t.shape, dtype=x_t.dtype, buffer=nl.sbuf)
    right = nl.ndarray((128, columns), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=x_t)
    nisa.dma_copy(dst=right, src=whole)
    psum = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=psum, stationary=left, moving=right, accumulate=False)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=psum)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out


def reference(x_t, w):
    return np.einsum("rkm,kn->rmn", x_t.astype(np.float64), np.concatenate(w))


def inputs(rng, rows=128, columns=512):
    x_t = rng.standard_normal((RANKS, 128, rows), np.float32)
    return x_t, rng.standard_normal((RANKS, 128 // RANKS, columns), np.float32)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    made = nki.simulate(all_gather_product, ranks=RANKS)(*arrays)
    print("largest error:", np.abs(made - reference(*arrays)).max())
