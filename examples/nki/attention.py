"""One attention head: 128 queries at a time against all keys. The weights are transposed on the Tensor engine, because the second
product needs the keys on partitions; the sum of the weights divides the result at the end, where there is less of it."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def attention(q_t, k_t, v):
    """softmax(q @ k.T / sqrt(d)) @ v for q_t and k_t (d, length) and v (length, d); d up to 128, length a multiple of 512."""
    d, length = q_t.shape
    blocks = length // 128
    out = nl.ndarray((length, d), dtype=v.dtype, buffer=nl.shared_hbm)
    queries = nl.ndarray((d, length), dtype=q_t.dtype, buffer=nl.sbuf)
    keys = nl.ndarray((d, length), dtype=k_t.dtype, buffer=nl.sbuf)
    values = nl.ndarray((128, blocks, d), dtype=v.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=queries, src=q_t)
    nisa.dma_copy(dst=keys, src=k_t)
    for j in range(blocks):
        nisa.dma_copy(dst=values[:, j, :], src=v[j * 128 : (j + 1) * 128, :])
    factor = d**-0.5
    for i in range(blocks):
        rows = slice(i * 128, (i + 1) * 128)
        scores = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.psum)
        for j in range(length // 512):
            part = slice(j * 512, (j + 1) * 512)
            nisa.nc_matmul(dst=scores[:, part], stationary=queries[:, rows], moving=keys[:, part], accumulate=False)
        least = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=least, op=nl.maximum, data=scores, axis=1, negate=True)
        shift = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shift, data=least, op0=nl.multiply, operand0=factor)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        weights = nl.ndarray((128, length), dtype=v.dtype, buffer=nl.sbuf)
        nisa.activation(
            dst=weights,
            op=nl.exp,
            data=scores,
            bias=shift,
            scale=factor,
            reduce_op=nl.add,
            reduce_res=total,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        turned = nl.ndarray((128, blocks, 128), dtype=v.dtype, buffer=nl.sbuf)
        for j in range(0, blocks, 4):
            squares = nl.ndarray((128, 4, 128), dtype=v.dtype, buffer=nl.psum)
            for s in range(4):
                nisa.nc_transpose(dst=squares[:, s, :], data=weights[:, (j + s) * 128 : (j + s + 1) * 128])
            nisa.tensor_copy(dst=turned[:, j : j + 4, :], src=squares)
        mixed = nl.ndarray((128, d), dtype=nl.float32, buffer=nl.psum)
        for j in range(blocks):
            nisa.nc_matmul(dst=mixed, stationary=turned[:, j, :], moving=values[:, j, :], accumulate=j > 0)
        share = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=share, data=total)
        result = nl.ndarray((128, d), dtype=v.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=mixed, op0=nl.multiply, operand0=share)
        nisa.dma_copy(dst=out[rows, :], src=result)
    return out


def reference(q_t, k_t, v):
    scores = (q_t.T @ k_t) * np.float32(q_t.shape[0] ** -0.5)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ v


def inputs(rng, d=128, length=512):
    return tuple(rng.standard_normal(s, np.float32) for s in ((d, length), (d, length), (length, d)))


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    print("largest error:", np.abs(attention(*arrays) - reference(*arrays)).max())
