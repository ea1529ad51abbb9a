"""Differences along a time that is divided among ranks: the first element of each part needs the last one of the part before, which
collective_permute brings. Rank 0 has nobody before it and gets zeros. What convolutions and pipelines over ranks do."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np

RANKS = 4
NEIGHBOURS = [(r, r + 1) for r in range(RANKS - 1)]


@nki.jit
def permute_neighbour(x):
    """x[t] - x[t - 1] for x (128, length), a row for each channel."""
    channels, length = x.shape
    held = nl.ndarray((channels, length + 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held[:, 1 : length + 1], src=x)
    last = nl.ndarray((channels, 1), dtype=x.dtype, buffer=nl.private_hbm)
    before = nl.ndarray((channels, 1), dtype=x.dtype, buffer=nl.private_hbm)
    nisa.dma_copy(dst=last, src=x[:, length - 1 : length])
    ncc.collective_permute([last], [before], NEIGHBOURS)
    nisa.dma_copy(dst=held[:, 0:1], src=before)
    result = nl.ndarray((channels, length), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=held[:, 1 : length + 1], data2=held[:, 0:length], op=nl.subtract)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out


def reference(x):
    whole = np.concatenate(x, axis=1).astype(np.float64)
    return np.stack(np.split(np.diff(whole, axis=1, prepend=0), RANKS, axis=1))


def inputs(rng, length=512):
    return (rng.standard_normal((RANKS, 128, length), np.float32),)


if __name__ == "__main__":
    arrays = inputs(np.random.default_rng(0))
    made = nki.simulate(permute_neighbour, ranks=RANKS)(*arrays)
    print("largest error:", np.abs(made - reference(*arrays)).max())
