"""A product whose contraction is divided among ranks: each has some columns of x and the same rows of w, and all_reduce adds what they
made. The layer behind a nonlinearity in tensor-parallel training."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np

RANKS = 4


@nki.jit
def all_reduce_product(x_t, w):
    """x @ w on every rank, for this rank's x_t (128, rows) and w (128, columns): rows up to 128, columns up to 512."""
    rows, columns = x_t.shape[1], w.shape[1]
    left = nl.ndarray(x_t.shape, dtype=x_t.dtype, buffer=nl.sbuf)
    right = nl.ndarray(w.shape, dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=x_t)
    nisa.dma_copy(dst=right, src=w)
    psum = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=psum, stationary=left, moving=right, accumulate=False)
    part = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    whole = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=part, src=psum)
    # Collectives take tensors in SBUF as well as in HBM.
    ncc.all_reduce([part], [whole], ncc.ReplicaGroup([list(range(RANKS))]), nl.add)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=whole)
    return out


def reference(x_t, w):
    product = np.einsum("rkm,rkn->mn", x_t.astype(np.float64), w)
    return np.repeat(product[None], RANKS, axis=0)


def inputs(rng, rows=128, columns=512):
    return rng.standard_normal((RANKS, 128, rows), np.float32), rng.standard_normal((RANKS, 128, columns), np.float32)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    made = nki.simulate(all_reduce_product, ranks=RANKS)(*arrays)
    print("largest error:", np.abs(made - reference(*arrays)).max())
