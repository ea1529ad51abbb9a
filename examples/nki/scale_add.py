"""The smallest useful kernel: 2 x + y, 128 rows at a time. Each tile is loaded, scaled on one engine, added on another and stored;
the compiler overlaps the tiles."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def scale_add(x, y):
    """x and y (rows, columns), rows a multiple of 128."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(rows // 128):
        part = slice(i * 128, (i + 1) * 128)
        a = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        b = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=x[part, :])
        nisa.dma_copy(dst=b, src=y[part, :])
        nisa.activation(dst=a, op=nl.copy, data=a, scale=2.0)
        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
        nisa.dma_copy(dst=out[part, :], src=a)
    return out


def reference(x, y):
    return 2 * x + y


def inputs(rng, rows=512, columns=1024):
    return rng.standard_normal((rows, columns), np.float32), rng.standard_normal((rows, columns), np.float32)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(scale_add(*arrays) - reference(*arrays)).max())
