"""A matrix product in blocks: the stationary side is kept in SBUF, results leave PSUM while the next ones accumulate."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def matmul(lhs_t, rhs):
    """lhs_t.T @ rhs for lhs_t (K, M) and rhs (K, N); K and M multiples of 128, N of 512."""
    k, m = lhs_t.shape
    n = rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    lhs = []
    for i in range(k // 128):
        tile = nl.ndarray((128, m), dtype=lhs_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=lhs_t[i * 128 : (i + 1) * 128, :])
        lhs.append(tile)
    for j in range(n // 512):
        columns = slice(j * 512, (j + 1) * 512)
        moving = []
        for i in range(k // 128):
            tile = nl.ndarray((128, 512), dtype=rhs.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=rhs[i * 128 : (i + 1) * 128, columns])
            moving.append(tile)
        for row in range(m // 128):
            rows = slice(row * 128, (row + 1) * 128)
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for i in range(k // 128):
                nisa.nc_matmul(dst=total, stationary=lhs[i][:, rows], moving=moving[i], accumulate=i > 0)
            result = nl.ndarray((128, 512), dtype=lhs_t.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out[rows, columns], src=result)
    return out


def reference(lhs_t, rhs):
    return np.matmul(lhs_t.T, rhs)


def inputs(rng, k=512, m=256, n=1024):
    return rng.standard_normal((k, m), np.float32), rng.standard_normal((k, n), np.float32)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(matmul(*arrays) - reference(*arrays)).max())
