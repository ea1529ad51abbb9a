"""nki.language: reductions and products

Sums are fp32 in the order of [numerics.md](numerics.md), over partitions in their order, and cast once at the end. Any axes, also 0, in one call (the vendor: the last free ones). Axis 0 stays
with size 1, and results have two dimensions or more. int32 and uint32 exactly.
"""

import nki
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

rng = np.random.default_rng(0)
x = rng.standard_normal((128, 64), np.float32)


@nki.jit
def one(function, x):
    """A kernel: the function of one tile."""
    t = function(nl.load(x))
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


# %% nl.sum, nl.mean, nl.prod
# Free axes: `tensor_reduce`. Sums over partitions: a matmul with ones and a copy. Products over partitions: DMA to one partition, `tensor_reduce`.

assert_allclose(one(lambda t: nl.sum(t, axis=1, keepdims=True), x), x.sum(1, keepdims=True), atol=1e-5)
assert_allclose(one(lambda t: nl.mean(t, axis=(0, 1)), x), [[x.mean()]], atol=1e-6)
near = 1 + x / 100
assert_allclose(one(lambda t: nl.prod(t, axis=1, keepdims=True), near), near.prod(1, keepdims=True), rtol=1e-5)

# %% nl.max, nl.min
# Over partitions: `tensor_partition_reduce` (minima: of the negated).

assert_array_equal(one(lambda t: nl.max(t, axis=1, keepdims=True), x), x.max(1, keepdims=True))
assert_array_equal(one(lambda t: nl.min(t, axis=0), x), x.min(0, keepdims=True))

# %% nl.all
# 1 and 0.

signs = (x > -2).astype(np.float32)
assert_array_equal(one(lambda t: nl.all(t, axis=1), signs), signs.all(1, keepdims=True))

# %% nl.var
# Mean, differences, mean of squares: two passes in fp32, divided by n. The axes always stay, as the vendor's.

assert_allclose(one(lambda t: nl.var(t, axis=1), x), x.var(1, keepdims=True), rtol=1e-5)

# %% nl.softmax
# `tensor_reduce`, `activation` with the sum, `reciprocal`, `tensor_scalar`. Exponentials and sum in fp32; free axes.

e = np.exp(x - x.max(1, keepdims=True))
assert_allclose(one(lambda t: nl.softmax(t, axis=1), x), e / e.sum(1, keepdims=True), rtol=1e-5)

# %% nl.rms_norm
# `activation` with the sum of squares, `rsqrt`, two multiplications. fp32 inside (`compute_dtype` is the type after the first product); `w` broadcasts. `n` is the number of elements of
# the mean.


@nki.jit
def normed(x, w):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.rms_norm(nl.load(x), nl.load(w), axis=1, n=x.shape[1]))
    return out


w = rng.standard_normal((1, 64), np.float32)
assert_allclose(normed(x, w), x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * w, rtol=1e-5)

# %% nl.matmul
# `nc_matmul`, one per 512 columns; without `transpose_x` a transpose first. fp32 in PSUM. Rows and inner size up to 128. fp32 with a narrower type, and integers, are cast to fp32.


@nki.jit
def product(a, b):
    out = nl.ndarray((a.shape[1], b.shape[1]), nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.matmul(nl.load(a), nl.load(b), transpose_x=True))
    return out


b = rng.standard_normal((128, 512), np.float32)
assert_allclose(product(x, b), x.T @ b, atol=1e-4)
