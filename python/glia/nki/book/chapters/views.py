"""nki.language: views

Slices and methods of a tensor make views: no instruction, the same memory. What no access pattern can say, and what would change the partitions of a tile, is refused; so are
bounds outside of the tensor, which are not clipped. `glia explain NKI-VIEW` says more.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

x = np.random.default_rng(0).standard_normal((128, 6, 8), np.float32)


@nki.jit
def viewed(make, x):
    """A kernel: loads x, and copies the view that `make` gives of the tile."""
    t = make(nl.load(x))
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(t))
    return out


# %% tensor[...], nl.ds
# Integers, slices with steps and `...`; None is refused. `nl.ds(start, size)` also from a register. `t[...] = value` copies, casts and broadcasts; an overlapping assignment
# reads everything first. The vendor's parser refuses it.


@nki.jit
def assigned(x):
    t = nl.load(x)
    t[0:64, 0, :] = t[0:64, 1, :]
    t[:, nl.ds(2, 2), 0:8:2] = 1.0
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


assert_array_equal(viewed(lambda t: t[32:64, ..., 1:8:3], x), x[32:64, ..., 1:8:3])
want = x.copy()
want[0:64, 0, :] = x[0:64, 1, :]
want[:, 2:4, 0:8:2] = 1
assert_array_equal(assigned(x), want)

# %% tensor.permute, tensor.reshape, tensor.reshape_dim, tensor.flatten_dims
# A `reshape` of a tile that changes its partitions is a copy by DMA into a new tile: functions of nl read it; nki.isa refuses it, and so does an assignment to it.

assert_array_equal(viewed(lambda t: t.permute((0, 2, 1)), x), x.transpose(0, 2, 1))
assert_array_equal(viewed(lambda t: t.reshape((128, 48)), x), x.reshape(128, 48))
assert_array_equal(viewed(lambda t: t.reshape_dim(2, (2, 4)), x), x.reshape(128, 6, 2, 4))
assert_array_equal(viewed(lambda t: t.flatten_dims(1, 2), x), x.reshape(128, 48))

# %% tensor.expand_dim, tensor.squeeze_dim, tensor.broadcast
# `broadcast` repeats a dimension of size 1, by a step of 0.

assert_array_equal(viewed(lambda t: t.expand_dim(1), x), x[:, None])
assert_array_equal(viewed(lambda t: t[:, 0:1].squeeze_dim(1), x), x[:, 0])
assert_array_equal(viewed(lambda t: t[:, 0:1].broadcast(1, 3), x), np.repeat(x[:, 0:1], 3, axis=1))

# %% tensor.slice, tensor.select
# One dimension. `select` also takes a register, and a tensor of one element.

assert_array_equal(viewed(lambda t: t.slice(2, 1, 7, step=2), x), x[:, :, 1:7:2])
assert_array_equal(viewed(lambda t: t.select(1, 3), x), x[:, 3])

# %% tensor.rearrange
# Patterns as of einops, with tuples for groups: `("p", ("a", "b"), "c")`.

found = viewed(lambda t: t.rearrange(("p", ("a", "b"), "c"), ("p", "b", "a", "c"), {"a": 2}), x)
assert_array_equal(found, x.reshape(128, 2, 3, 8).transpose(0, 2, 1, 3))

# %% tensor.ap
# An access pattern, [[step, count], ...], the first pair of a tile is its partitions. `scalar_offset` is a register or a tensor of one element, `vector_offset` a tile with a row
# number for each partition; they count in steps of `indirect_dim`. Both are for `dma_copy` and its like.
# The example is not for trn1: no transfers by index.


@nki.jit
def gathered(x, rows):
    out = nl.ndarray((32, 48), x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((32, 48), x.dtype)
    nisa.dma_copy(dst=t, src=x.ap([[48, 32], [1, 48]], vector_offset=nl.load(rows)))
    nisa.dma_copy(dst=out, src=t)
    return out


assert_array_equal(viewed(lambda t: t.ap([[48, 128], [1, 6], [8, 6]]), x), x.transpose(0, 2, 1)[:, 0:6])
rows = np.random.default_rng(1).integers(0, 128, (32, 1)).astype(np.int32)
assert_array_equal(gathered(x.reshape(128, 48), rows), x.reshape(128, 48)[rows[:, 0]])

# %% tensor.vector_select
# Rows of a tensor in HBM, by a tile of row numbers.
# The example is not for trn1: no transfers by index.


@nki.jit
def chosen(x, rows):
    out = nl.ndarray((32, 48), x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((32, 48), x.dtype)
    nisa.dma_copy(dst=t, src=x.vector_select(0, nl.load(rows)))
    nisa.dma_copy(dst=out, src=t)
    return out


rows = np.random.default_rng(1).integers(0, 128, (32, 1)).astype(np.int32)
assert_array_equal(chosen(x.reshape(128, 48), rows), x.reshape(128, 48)[rows[:, 0]])

# %% tensor.view, tensor.reinterpret_cast
# The same bytes as another type. The last dimension grows or shrinks with the size of the type.

assert_array_equal(viewed(lambda t: t.view(nl.int32), x), x.view(np.int32))
assert_array_equal(viewed(lambda t: t.reinterpret_cast(nl.uint16), x), x.view(np.uint16))

# %% tensor.is_contiguous, tensor.get_pattern


@nki.jit
def known(x):
    t = nl.load(x)
    assert t.is_contiguous() and not t[:, :, 0:8:2].is_contiguous()
    assert t[:, 0, 0:8:2].get_pattern() == [[48, 128], [2, 4]]
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


assert_array_equal(known(x), x)
