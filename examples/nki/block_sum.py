"""A loop that the device counts: the sum of the first n blocks of x, where n is data. One compiled program serves every n."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def block_sum(x, n):
    """x (blocks, 128, columns) and n (1, 1) int32; all blocks if n is larger, none if it is negative."""
    columns = x.shape[2]
    total = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    # n is read when the program runs. It is clamped first, so that no block outside of x can be asked for, whatever n is.
    bound = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bound, src=n)
    nisa.tensor_scalar(dst=bound, data=bound, op0=nl.maximum, operand0=0.0, op1=nl.minimum, operand1=float(x.shape[0]))
    count = nisa.register_alloc(bound)
    for i in nl.dynamic_range(count):
        block = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=block, src=x[i])  # i is a register, and every value of it is proved to be in x
        nisa.tensor_tensor(dst=total, data1=total, data2=block, op=nl.add)
    out = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out


def reference(x, n):
    total = np.zeros(x.shape[1:], np.float32)
    for i in range(min(int(n[0, 0]), x.shape[0])):
        total = total + x[i]
    return total


def inputs(rng, blocks=8, columns=512, n=5):
    return rng.standard_normal((blocks, 128, columns), np.float32), np.array([[n]], np.int32)


if __name__ == "__main__":
    x, _ = inputs(np.random.default_rng(0))
    for n in range(9):
        count = np.array([[n]], np.int32)
        print(f"n = {n}: largest error:", np.abs(block_sum(x, count) - reference(x, count)).max())
