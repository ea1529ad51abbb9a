"""nki.language: element by element

Each takes tiles, or a tile and a number, and gives a new tile in SBUF.

**Types.** `dtype=None` gives the type of the tile. For two tiles: equal types stay; a float wins over an integer; the wider of two floats or two integers; fp32 for bf16 with fp16;
signed for signed with unsigned. Comparisons give 1 and 0 in that type too.

**Arithmetic** is fp32, each operation rounded once, then cast (integers: nearest even, saturating). If all tiles are int32 or uint32 and numbers are integers, add, subtract, multiply,
maximum, minimum, comparisons, logical operations and reductions are exact and wrap (GpSimd). Bit operations work on bits and take equal widths; a narrower operand is cast first.

**Branches.** What is in a tile is known when the kernel runs, so `if t:`, `while t:`, `and`, `or`, `not` and `bool` of a tile on chip, and `==` and `!=` of any tensor, are refused
(NKI-TRUTH, NKI-OPERATOR). Choose per element with `where`; branch and loop on registers. A tensor in HBM is true, so that `if bias:` asks whether the argument is there; of a tile ask
`is not None`. `t in [...]` goes by identity.

**Broadcasting** is NumPy's. Along free dimensions it is a stride of 0. From one partition to many it is `nc_stream_shuffle`, one per 32 partitions, and DMA if the source does not begin
at partition 0, 32, 64 or 96: both keep every bit, NaN included. A tile with fewer dimensions broadcasts only from one partition, since its partitions would otherwise become columns.
"""

import math

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 128, 64), np.float32)
i, j = rng.integers(-9, 9, (2, 128, 64), np.int32)


@nki.jit
def one(function, x):
    """A kernel: the function of one tile."""
    t = function(nl.load(x))
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


@nki.jit
def two(function, x, y):
    """A kernel: the function of two tiles."""
    t = function(nl.load(x), nl.load(y))
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


# %% nl.add, nl.subtract, nl.multiply, nl.maximum, nl.minimum
# `tensor_scalar` with a number or an fp32 tile `[P, 1]`, else `tensor_tensor`. One rounding. The vendor's compiler does not broadcast.

assert_array_equal(two(nl.add, x, y[:, 0:1]), x + y[:, 0:1])
assert_array_equal(two(nl.subtract, x, y), x - y)
assert_array_equal(two(nl.multiply, i, j), i * j)
assert_array_equal(two(nl.maximum, x, y), np.maximum(x, y))
assert_array_equal(one(lambda t: nl.minimum(t, 0.5), x), np.minimum(x, np.float32(0.5)))

# %% nl.equal, nl.not_equal, nl.greater, nl.greater_equal, nl.less, nl.less_equal
# 1 and 0, in the type of the tiles unless `dtype` says another one.

assert_array_equal(two(nl.equal, i, j), i == j)
assert_array_equal(two(nl.not_equal, i, j), i != j)
assert_array_equal(two(nl.greater, x, y), x > y)
assert_array_equal(two(nl.greater_equal, i, j), i >= j)
assert_array_equal(two(lambda a, b: nl.less(a, b, dtype=nl.uint8), x, y), x < y)
assert_array_equal(one(lambda t: nl.less_equal(t, 0), i), i <= 0)

# %% nl.logical_and, nl.logical_or, nl.logical_xor, nl.logical_not

assert_array_equal(two(nl.logical_and, i, j), np.logical_and(i, j))
assert_array_equal(two(nl.logical_or, i, j), np.logical_or(i, j))
assert_array_equal(two(nl.logical_xor, i, j), np.logical_xor(i, j))
assert_array_equal(one(nl.logical_not, i), np.logical_not(i))

# %% nl.bitwise_and, nl.bitwise_or, nl.bitwise_xor, nl.invert, nl.left_shift, nl.right_shift
# On Vector; exact. Shifts fill with zeros.

bits = i.view(np.uint32)
assert_array_equal(two(nl.bitwise_and, i, j), i & j)
assert_array_equal(two(nl.bitwise_or, i, j), i | j)
assert_array_equal(two(nl.bitwise_xor, i, j), i ^ j)
assert_array_equal(one(nl.invert, i), ~i)
assert_array_equal(one(lambda t: nl.left_shift(t, 3), i), i << 3)
assert_array_equal(one(lambda t: nl.right_shift(t, 28), bits), bits >> 28)

# %% nl.abs_max, nl.abs_min
# trn3 only.

larger = np.abs(x) >= np.abs(y)
assert_array_equal(two.on("trn3")(nl.abs_max, x, y), np.where(larger, x, y))
assert_array_equal(two.on("trn3")(nl.abs_min, x, y), np.where(larger, y, x))

# %% nl.power
# `tensor_tensor` on GpSimd, within 2 ulp. Numbers are taken on either side.

assert_allclose(two(nl.power, np.abs(x), y), np.abs(x) ** y, rtol=1e-6)

# %% nl.divide, nl.reciprocal
# `divide` is a reciprocal and a product, two roundings: within 1.5 ulp where 1/y is a normal number. By a number: the product with its fp32 reciprocal. `reciprocal` (Vector) is correctly
# rounded, and so is 1/y. The vendor's `divide` has no device form.

assert_allclose(two(nl.divide, x, y), x / y, rtol=2e-7)
assert_array_equal(one(nl.reciprocal, x), np.float32(1) / x)

# %% nl.mod, nl.fmod
# About 20 instructions, in fp32 from `x - floor(x * (1/y)) * y`, moved by at most one y; exact while the quotient times y is exact in fp32 (quotients up to about 2^12 of
# 12-bit numbers).

a, b = i.astype(np.float32), np.where(j == 0, 1, j).astype(np.float32)
assert_array_equal(two(nl.mod, a, b), np.mod(a, b))
assert_array_equal(two(nl.fmod, a, b), np.fmod(a, b))

# %% nl.floor, nl.ceil, nl.trunc
# A cast to int32 and back, and a comparison. Exact for every fp32 number; the sign of a zero is lost.

assert_array_equal(one(nl.floor, 9 * x), np.floor(9 * x))
assert_array_equal(one(nl.ceil, 9 * x), np.ceil(9 * x))
assert_array_equal(one(nl.trunc, 9 * x), np.trunc(9 * x))

# %% nl.abs, nl.negative, nl.sign, nl.square, nl.relu, nl.copy
# `abs`, `negative` and `copy` on Vector, the others `activation` on Scalar. Exact, and `square` rounded once. `copy` keeps every bit unless `dtype` changes the type.

assert_array_equal(one(nl.abs, x), np.abs(x))
assert_array_equal(one(nl.negative, x), -x)
assert_array_equal(one(nl.sign, x), np.sign(x))
assert_array_equal(one(nl.square, x), x * x)
assert_array_equal(one(nl.relu, x), np.maximum(x, 0))
assert_array_equal(one(lambda t: nl.copy(t, dtype=nl.float16), x), x.astype(np.float16))

# %% nl.exp, nl.log, nl.sqrt, nl.rsqrt, nl.tanh, nl.sigmoid, nl.arctan, nl.erf, nl.erf_dx
# `activation` on Scalar; [numerics.md](numerics.md) has the error of each. The vendor's `rsqrt` runs on GpSimd.

positive, wide = np.abs(x) + np.float32(0.1), x.astype(np.float64)
assert_allclose(one(nl.exp, x), np.exp(wide), rtol=1e-6)
assert_allclose(one(nl.log, positive), np.log(positive.astype(np.float64)), rtol=1e-6, atol=1e-7)
assert_allclose(one(nl.sqrt, positive), np.sqrt(positive), rtol=1e-6)
assert_allclose(one(nl.rsqrt, positive), 1 / np.sqrt(positive), rtol=1e-6)
assert_allclose(one(nl.tanh, x), np.tanh(wide), rtol=1e-6)
assert_allclose(one(nl.sigmoid, x), 1 / (1 + np.exp(-wide)), rtol=1e-6)
assert_allclose(one(nl.arctan, x), np.arctan(wide), rtol=1e-6)
assert_allclose(one(nl.erf, x), np.vectorize(math.erf)(wide), rtol=1e-6)
assert_allclose(one(nl.erf_dx, x), 2 / np.sqrt(np.pi) * np.exp(-(wide**2)), rtol=1e-6)

# %% nl.gelu, nl.gelu_dx, nl.gelu_apprx_tanh, nl.gelu_apprx_sigmoid, nl.gelu_apprx_sigmoid_dx, nl.silu, nl.silu_dx, nl.softplus, nl.mish
# `activation` on Scalar.


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def d(f, z, h=1e-6):
    """The derivative of f."""
    return (f(z + h) - f(z - h)) / (2 * h)


wide = x.astype(np.float64)
gelu = np.vectorize(lambda z: z * (1 + math.erf(z / math.sqrt(2))) / 2)
assert_allclose(one(nl.gelu, x), gelu(wide), rtol=1e-6)
assert_allclose(one(nl.gelu_dx, x), d(gelu, wide), atol=1e-6)
want = wide / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
assert_allclose(one(nl.gelu_apprx_tanh, x), want, rtol=1e-6)
assert_allclose(one(nl.gelu_apprx_sigmoid, x), wide * sigmoid(1.702 * wide), rtol=1e-6)
assert_allclose(one(nl.gelu_apprx_sigmoid_dx, x), d(lambda z: z * sigmoid(1.702 * z), wide), atol=1e-6)
assert_allclose(one(nl.silu, x), wide * sigmoid(wide), rtol=1e-6)
assert_allclose(one(nl.silu_dx, x), d(lambda z: z * sigmoid(z), wide), atol=1e-6)
assert_allclose(one(nl.softplus, x), np.log1p(np.exp(wide)), rtol=1e-6)
assert_allclose(one(nl.mish, x), wide * np.tanh(np.log1p(np.exp(wide))), rtol=1e-6)

# %% nl.sin, nl.cos, nl.tan
# About 80 instructions (`tan`: 160): half turns are taken off, then `activation`. Within 4 ulp (`tan`: 8) for every finite fp32 number; infinities and NaN give NaN. As an operand,
# `nisa.activation(op=nl.sin)`, `sin` is the engine's own, for [-pi, pi], and beyond it no sine at all: sin(9) is 27.65, as the vendor documents.

angles = 100 * x
assert_allclose(one(nl.sin, angles), np.sin(angles.astype(np.float64)), rtol=5e-7)
assert_allclose(one(nl.cos, angles), np.cos(angles.astype(np.float64)), rtol=5e-7)
assert_allclose(one(nl.tan, angles), np.tan(angles.astype(np.float64)), rtol=1e-6)

# %% nl.where
# `tensor_copy`, a comparison, `tensor_copy_predicated`. Copies: NaN passes through.

assert_array_equal(two(lambda a, b: nl.where(nl.greater(a, b), a, 0.0), x, y), np.where(x > y, x, 0))

# %% nl.average, nl.bypass
# Only operands of nki.isa.


@nki.jit
def mean_of_partitions(x):
    out = nl.ndarray((1, x.shape[1]), x.dtype, buffer=nl.shared_hbm)
    t, mean = nl.load(x), nl.ndarray((1, x.shape[1]), x.dtype)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.bypass, operand0=None, op1=nl.multiply, operand1=2.0)
    nisa.tensor_partition_reduce(dst=mean, op=nl.average, data=t)
    nl.store(out, mean)
    return out


assert_allclose(mean_of_partitions(x), 2 * x.mean(axis=0, keepdims=True), atol=1e-6)
