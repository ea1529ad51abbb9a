"""nki.collectives: ranks

Ranks are logical cores that run one program and speak by collectives ([ordering.md](ordering.md), [devices.md](devices.md)). `nki.simulate(kernel, ranks=8)` is the kernel for eight of them, and so
is what `glia.compile(function, ..., ranks=8)` makes of a function of kernels. **Every array that is given or returned has one more axis, in front, with a part for each rank**: the kernel
sees `x[r]` on rank r. What is no array is the same for all.

Arguments are inputs of the exchange as they are: no copy is needed first. Elements are combined in the order of the group's list, floats in fp32 and rounded once. A destination is no
source of the same call. `priority` is checked (trn3) and changes nothing. Groups name every rank once and have one size.

In a kernel of two cores core 0 speaks for both. Tensors in HBM are shared: both cores wait before and behind the call, which is one exchange. Tensors in SBUF are each core's own:
there is an exchange for each core, through HBM.

A program for several ranks is proved for all of them; where that needs the number of the rank (parts of an output that each rank writes in another order), once for each rank.
"""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

x, y = np.random.default_rng(0).standard_normal((2, 4, 8, 6), np.float32)  # x[r] is what rank r has
EVERY = ncc.ReplicaGroup([[0, 1, 2, 3]])

# %% ncc.ReplicaGroup, ncc.all_reduce
# `nl.add`, `nl.maximum`, `nl.minimum`; HBM or SBUF.


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.all_reduce([x], [out], ncc.ReplicaGroup([[0, 1], [2, 3]]), nl.add)
    return out


pairs = np.stack([x[0] + x[1], x[0] + x[1], x[2] + x[3], x[2] + x[3]])
assert_array_equal(nki.simulate(kernel, ranks=4)(x), pairs)

# %% ncc.reduce_scatter
# As `all_reduce`; along dimension 0.


@nki.jit
def kernel(x):
    out = nl.ndarray((2, 6), x.dtype, buffer=nl.shared_hbm)
    ncc.reduce_scatter([x], [out], EVERY, 0, nl.maximum)
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x), x.max(0).reshape(4, 2, 6))

# %% ncc.all_gather
# Along dimension 0; in SBUF also 1, which goes through HBM.


@nki.jit
def kernel(x):
    out = nl.ndarray((32, 6), x.dtype, buffer=nl.shared_hbm)
    ncc.all_gather([x], [out], EVERY, 0)
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x), np.broadcast_to(x.reshape(32, 6), (4, 32, 6)))

# %% ncc.all_to_all
# HBM, dimension 0.


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.all_to_all([x], [out], EVERY, 0)
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x), x.reshape(4, 4, 2, 6).swapaxes(0, 1).reshape(4, 8, 6))

# %% ncc.collective_permute
# HBM, one tensor. A rank that is no target gets zeros.


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.collective_permute([x], [out], [(0, 1), (1, 0), (2, 3)])
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x), np.stack([x[1], x[0], 0 * x[0], x[2]]))

# %% ncc.collective_permute_implicit, ncc.collective_permute_implicit_current_processing_rank_id
# HBM or SBUF. The ring is the group's list, each rank gives to the next; all channels go that way, one exchange each. The register is the rank itself at iteration 0, then those before it in
# the list; `iteration_id` is known when the kernel is traced.


@nki.jit
def ring(x):
    """Every rank collects all parts, one step of the ring at a time."""
    rows, columns = x.shape
    out = nl.ndarray((4, rows, columns), x.dtype, buffer=nl.shared_hbm)
    here = nl.load(x)
    for step in range(4):
        whose = ncc.collective_permute_implicit_current_processing_rank_id(step, EVERY)
        nisa.dma_copy(dst=out.select(0, whose), src=here)
        there = nl.ndarray(here.shape, here.dtype)
        ncc.collective_permute_implicit([[here]], [[there]], EVERY)
        here = there
    return out


assert_array_equal(nki.simulate(ring, ranks=4)(x), np.broadcast_to(x, (4, 4, 8, 6)))

# %% ncc.collective_permute_implicit_reduce
# HBM or SBUF.


@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.collective_permute_implicit_reduce([[x]], [[y]], [[out]], EVERY, nl.add)
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x, y), np.roll(x + y, 1, axis=0))

# %% ncc.rank_id


@nki.jit
def kernel(table):
    out = nl.ndarray((1, 6), table.dtype, buffer=nl.shared_hbm)
    row = nl.ndarray((1, 6), table.dtype)
    nisa.dma_copy(dst=row, src=table.ap([[6, 1], [1, 6]], 0, scalar_offset=ncc.rank_id(), indirect_dim=0))
    nisa.dma_copy(dst=out, src=row)
    return out


assert_array_equal(nki.simulate(kernel, ranks=4)(x)[:, 0], x[[0, 1, 2, 3], [0, 1, 2, 3]])

# %% A mean over ranks
# What is exchanged is computed with like anything else.


@nki.jit
def mean(x, ranks):
    total = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.all_reduce([x], [total], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    nl.store(out, nl.multiply(nl.load(total), 1.0 / ranks))
    return out


assert_allclose(nki.simulate(mean, ranks=4)(x, 4), np.broadcast_to(x.mean(0), x.shape), atol=1e-6)
