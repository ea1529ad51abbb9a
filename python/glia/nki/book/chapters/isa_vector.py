"""nki.isa: Vector, Scalar, GpSimd

Arithmetic is fp32, each operation rounded once, and cast to the type of `dst`.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 128, 64), np.float32)
p = rng.standard_normal((128, 1), np.float32)

# %% nisa.tensor_tensor
# `power` on GpSimd only; bit operations on Vector only.


@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)
    nisa.tensor_tensor(dst=t, data1=nl.load(x), data2=nl.load(y), op=nl.maximum)
    nl.store(out, t)
    return out


assert_array_equal(kernel(x, y), np.maximum(x, y))

# %% nisa.tensor_scalar
# `reverse0=True` exchanges the operands of op0. An immediate of a bit operation holds 24 bits; wider ones are refused, not rounded.


@nki.jit
def kernel(x, p):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.tensor_scalar(
        dst=t, data=t, op0=nl.subtract, operand0=nl.load(p), reverse0=True, op1=nl.multiply, operand1=2.0
    )
    nl.store(out, t)
    return out


assert_array_equal(kernel(x, p), (p - x) * 2)

# %% nisa.scalar_tensor_tensor


@nki.jit
def kernel(x, p, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.scalar_tensor_tensor(dst=t, data=t, op0=nl.multiply, operand0=nl.load(p), op1=nl.add, operand1=nl.load(y))
    nl.store(out, t)
    return out


assert_array_equal(kernel(x, p, y), x * p + y)

# %% nisa.tensor_tensor_scan


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t, running = nl.load(x), nl.ndarray(x.shape, x.dtype)
    ones = nl.ones(x.shape, x.dtype)
    nisa.tensor_tensor_scan(dst=running, data0=ones, data1=t, initial=0.0, op0=nl.multiply, op1=nl.add)
    nl.store(out, running)
    return out


assert_allclose(kernel(x), np.cumsum(x, axis=1), atol=1e-5)

# %% nisa.tensor_reduce
# `axis`: the last free axes, as numbers from the front or the end; `dst` has one element per group. `keepdims` changes nothing, since `dst` is given.


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 4), x.dtype, buffer=nl.shared_hbm)
    t, most = nl.load(x), nl.ndarray((128, 4), x.dtype)
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=t.reshape((128, 4, 16)), axis=2, negate=True)
    nl.store(out, most)
    return out


assert_array_equal(kernel(x), -x.reshape(128, 4, 16).max(axis=2))

# %% nisa.tensor_partition_reduce
# add, average, max, bitwise_or, bitwise_and.


@nki.jit
def kernel(x):
    out = nl.ndarray((1, 64), x.dtype, buffer=nl.shared_hbm)
    most = nl.ndarray((1, 64), x.dtype)
    nisa.tensor_partition_reduce(dst=most, op=nl.max, data=nl.load(x))
    nl.store(out, most)
    return out


assert_array_equal(kernel(x), x.max(axis=0, keepdims=True))

# %% nisa.tensor_scalar_reduce
# `reduce_cmd` says what happens to the accumulator registers, so that several instructions can reduce together. `reverse0` is refused. With a `reduce_res`, a `dst` whose pattern has a
# step of 0 is a place to throw results away: it keeps its contents.


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 65), x.dtype, buffer=nl.shared_hbm)
    t, most = nl.load(x), nl.ndarray((128, 1), x.dtype)
    nisa.tensor_scalar_reduce(dst=t, data=t, op0=nl.add, operand0=1.0, reduce_op=nl.maximum, reduce_res=most)
    nl.store(out[:, 0:64], t)
    nl.store(out[:, 64:65], most)
    return out


assert_array_equal(kernel(x), np.append(x + 1, (x + 1).max(1, keepdims=True), axis=1))

# %% nisa.activation
# The sum is over the fp32 results, before they are rounded to the type of `dst`; `reduce_op` is `nl.add`. With a `reduce_res`, `dst` may throw results away, as in
# `tensor_scalar_reduce`. A number as `bias`: not on trn1.


@nki.jit
def kernel(x, p):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.activation(dst=t, op=nl.exp, data=t, bias=nl.load(p), scale=0.5)
    nl.store(out, t)
    return out


assert_allclose(kernel(x, p), np.exp(x / 2 + p), rtol=1e-6)

# %% nisa.activation_reduce
# As `activation` with `reduce_cmd.reset_reduce`.


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 1), x.dtype, buffer=nl.shared_hbm)
    t, total = nl.load(x), nl.ndarray((128, 1), x.dtype)
    nisa.activation_reduce(dst=t, op=nl.square, data=t, reduce_op=nl.add, reduce_res=total)
    nl.store(out, total)
    return out


assert_allclose(kernel(x), (x**2).sum(1, keepdims=True), rtol=1e-5)

# %% nisa.reciprocal
# Correctly rounded.


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.reciprocal(dst=t, data=t)
    nl.store(out, t)
    return out


assert_array_equal(kernel(x), 1 / x)

# %% nisa.bn_stats, nisa.bn_aggr
# Six numbers of each partition, then its mean and variance.


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 2), x.dtype, buffer=nl.shared_hbm)
    stats, result = nl.ndarray((128, 6), x.dtype), nl.ndarray((128, 2), x.dtype)
    nisa.bn_stats(dst=stats, data=nl.load(x))
    nisa.bn_aggr(dst=result, data=stats)
    nl.store(out, result)
    return out


assert_allclose(kernel(x), np.stack([x.mean(1), x.var(1)], axis=1), atol=1e-5)

# %% nisa.max8, nisa.nc_find_index8, nisa.nc_match_replace8
# The eight largest; where they are; and the tile without them, so that the next eight can be found.


@nki.jit
def kernel(x):
    values, where = (
        nl.ndarray((128, 8), nl.float32, buffer=nl.shared_hbm),
        nl.ndarray((128, 8), nl.uint32, buffer=nl.shared_hbm),
    )
    rest = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t, most, at = nl.load(x), nl.ndarray((128, 8), x.dtype), nl.ndarray((128, 8), nl.uint32)
    nisa.max8(dst=most, src=t)
    nisa.nc_find_index8(dst=at, data=t, vals=most)
    nisa.nc_match_replace8(dst=t, data=t, vals=most, imm=-9.0)
    for tensor, tile in ((values, most), (where, at), (rest, t)):
        nl.store(tensor, tile)
    return values, where, rest


values, where, rest = kernel(x)
order = np.argsort(-x, axis=1, kind="stable")[:, :8]
assert_array_equal(values, np.take_along_axis(x, order, axis=1))
assert_array_equal(where, order)
want = x.copy()
np.put_along_axis(want, order, -9, axis=1)
assert_array_equal(rest, want)

# %% nisa.range_select
# `on_false_value` is the lowest fp32, `reduce_op` a maximum.
# The example is not for trn1, which does not have the instruction.


@nki.jit
def kernel(x, low, high):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)
    nisa.range_select(
        dst=t,
        on_true_tile=nl.load(x),
        comp_op0=nl.greater_equal,
        comp_op1=nl.less,
        bound0=nl.load(low),
        bound1=nl.load(high),
    )
    nl.store(out, t)
    return out


low, high = np.full((128, 1), 4, np.float32), np.arange(128, dtype=np.float32)[:, None]
at = np.arange(64)[None]
assert_array_equal(kernel(x, low, high), np.where((at >= low) & (at < high), x, np.finfo(np.float32).min))

# %% nisa.affine_select
# All six comparisons: `less` and `less_equal` are the others with the signs changed. `offset` is a number, not a register.


@nki.jit
def causal(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.affine_select(
        dst=t,
        pattern=[[-1, 64]],
        channel_multiplier=1,
        on_true_tile=t,
        on_false_value=-1e9,
        cmp_op=nl.greater_equal,
    )
    nl.store(out, t)
    return out


assert_array_equal(causal(x), np.where(np.arange(128)[:, None] >= np.arange(64), x, np.float32(-1e9)))

# %% nisa.iota


@nki.jit
def kernel():
    out = nl.ndarray((128, 64), nl.int32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), nl.int32)
    nisa.iota(dst=t, pattern=[[1, 64]], offset=5, channel_multiplier=64)
    nl.store(out, t)
    return out


assert_array_equal(kernel(), 5 + np.arange(128 * 64, dtype=np.int32).reshape(128, 64))

# %% nisa.nonzero_with_count
# Partitions 0, 16, 32 ... of `src` and of `dst`, which has one column more.
# The example is not for trn1, which does not have the instruction.


@nki.jit
def kernel(flags):
    out = nl.ndarray((128, 65), nl.int32, buffer=nl.shared_hbm)
    found = nl.zeros((128, 65), nl.int32)
    nisa.nonzero_with_count(dst=found, src=nl.load(flags), padding_val=-1)
    nl.store(out, found)
    return out


flags = rng.integers(0, 2, (128, 64)).astype(np.int32)
found = kernel(flags)
for row in range(0, 128, 16):
    there = np.flatnonzero(flags[row])
    assert_array_equal(found[row], [*there, *[-1] * (64 - len(there)), len(there)])
