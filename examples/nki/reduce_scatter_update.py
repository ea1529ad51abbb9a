"""A step of gradient descent whose parameters are divided among ranks: every rank has a gradient of all of them, from its own data.
reduce_scatter adds the gradients and leaves each rank the part that it updates."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np

RANKS = 4
RATE = 0.125


@nki.jit
def reduce_scatter_update(parameters, gradient):
    """parameters - RATE * mean of the gradients: parameters (128, columns) of this rank, gradient (ranks * 128, columns) of all."""
    total = nl.ndarray(parameters.shape, dtype=gradient.dtype, buffer=nl.private_hbm)
    ncc.reduce_scatter([gradient], [total], ncc.ReplicaGroup([list(range(RANKS))]), 0, nl.add)
    held = nl.ndarray(parameters.shape, dtype=parameters.dtype, buffer=nl.sbuf)
    slope = nl.ndarray(parameters.shape, dtype=parameters.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=parameters)
    nisa.dma_copy(dst=slope, src=total)
    nisa.tensor_scalar(dst=slope, data=slope, op0=nl.multiply, operand0=-RATE / RANKS)
    nisa.tensor_tensor(dst=held, data1=held, data2=slope, op=nl.add)
    out = nl.ndarray(parameters.shape, dtype=parameters.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=held)
    return out


def reference(parameters, gradient):
    mean = gradient.astype(np.float64).mean(axis=0)
    return parameters - RATE * np.stack(np.split(mean, RANKS))


def inputs(rng, columns=512):
    parameters = rng.standard_normal((RANKS, 128, columns), np.float32)
    return parameters, rng.standard_normal((RANKS, RANKS * 128, columns), np.float32)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    made = nki.simulate(reduce_scatter_update, ranks=RANKS)(*arrays)
    print("largest error:", np.abs(made - reference(*arrays)).max())
