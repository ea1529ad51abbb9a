"""Layer normalisation over the last axis: statistics in pieces of 512, then one pass that subtracts the mean and scales."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

EPSILON = 1e-5


@nki.jit
def layer_norm(x):
    """x (rows, columns), rows a multiple of 128, columns of 512."""
    rows, columns = x.shape
    pieces = columns // 512
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    epsilon = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon, value=EPSILON)
    for i in range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : (i + 1) * 128, :])
        statistics = nl.ndarray((128, pieces * 6), dtype=nl.float32, buffer=nl.sbuf)
        for j in range(pieces):
            nisa.bn_stats(dst=statistics[:, j * 6 : (j + 1) * 6], data=tile[:, j * 512 : (j + 1) * 512])
        moments = nl.ndarray((128, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments, data=statistics)
        scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon)
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=result, data=tile, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=scale
        )
        nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, :], src=result)
    return out


def reference(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(EPSILON))


def inputs(rng, rows=256, columns=1024):
    return (rng.standard_normal((rows, columns), np.float32),)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(layer_norm(*arrays) - reference(*arrays)).max())
