"""What the tests of collectives share: a kernel that sends its argument through one, and arguments."""

import numpy as np
from glia import nki
from glia.nki import isa as nisa
from glia.nki import language as nl
from glia.nki.collectives import ReplicaGroup

ALL = ReplicaGroup([[0, 1]])


def small(shape, dtype, seed=0):
    """Whole numbers whose sums are exact in every type."""
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


def place(buffer, shape, dtype):
    return nl.ndarray(shape, dtype, buffer=buffer)


@nki.jit
def exchange(x, call, more, shape, buffer):
    """The argument in `buffer`, through `call`, and back."""
    src, dst = place(buffer, x.shape, x.dtype), place(buffer, shape, x.dtype)
    out = nl.ndarray(shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=src, src=x)
    call([src], [dst], *more)
    nisa.dma_copy(dst=out, src=dst)
    return out


def run(x, call, *more, shape=None, buffer=nl.private_hbm):
    return nki.simulate(exchange, ranks=len(x))(x, call, more, x.shape[1:] if shape is None else shape, buffer)
