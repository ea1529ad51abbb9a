"""Softmax over the last axis: one pass for the maximum, one for exp with its sum, one to divide."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def softmax(x):
    """x (rows, columns), rows a multiple of 128."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : (i + 1) * 128, :])
        least = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=least, op=nl.maximum, data=tile, axis=1, negate=True)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        power = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(
            dst=power,
            op=nl.exp,
            data=tile,
            bias=least,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=scale, data=total)
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=power, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, :], src=result)
    return out


def reference(x):
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def inputs(rng, rows=256, columns=1024):
    return (rng.standard_normal((rows, columns), np.float32),)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(softmax(*arrays) - reference(*arrays)).max())
