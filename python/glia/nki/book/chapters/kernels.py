"""nki: kernels

A kernel is a function with `@nki.jit`. Its array arguments are tensors in HBM, and so is what it returns; everything else (numbers, strings, functions, tuples,
dataclasses) is known while it is traced.

Arguments may be NumPy arrays, torch tensors on any device (also an XLA device) or JAX arrays; results are of the same kind. An argument that the kernel writes to is
updated in place, except in JAX, where the kernel has to return it. Inside of `jax.jit` and `jax.vmap` the kernel is compiled and verified when the function is traced,
and runs when the function does. Neither package is imported by glia. `make venv-torch` makes an environment with torch and torch_xla in `.venv-torch`.
"""

import dataclasses

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_array_equal

x = np.random.default_rng(0).standard_normal((128, 64), np.float32)

# %% nki.jit
# Keywords beyond NKI's: `target` and `schedule`. With `schedule="as_written"` every engine keeps the order of the kernel's text, and every instruction is what was
# written ([codegen.md](codegen.md)); `"best"`, the default, is whatever is fastest. `python -m glia run --schedule as_written kernel.py` does it for kernels that say nothing.


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out


@nki.jit(schedule="as_written", target="trn1")
def twice(x):
    return double(x)  # in another kernel it is an ordinary call


assert_array_equal(double(x), 2 * x)
assert_array_equal(twice(x), 2 * x)

# %% kernel[n], Kernel.on, Kernel.with_schedule
# `kernel[2]` runs on a pair of cores (trn2, trn3). `kernel.on("trn3")` is the kernel for that target (glia's own). `kernel.with_schedule` adds order among instructions
# that have a `name`, as `depends_on` of what calls of nki.isa return does.
# The example is not for trn1: no pairs of cores.


@nki.jit
def add_one(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    half = x.shape[0] // nl.num_programs(0)
    rows = nl.ds(nl.program_id(0) * half, half)
    t = nl.load(x[rows])
    summed = nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0, name="sum")
    nisa.dma_copy(dst=out[rows], src=t, name="store").depends_on(summed)
    return out


assert_array_equal(add_one(x), x + 1)
assert_array_equal(add_one[2](x), x + 1)
assert_array_equal(add_one.on("trn3")(x), x + 1)
assert_array_equal(add_one.with_schedule([("store", "sum")])(x), x + 1)

# %% nki.simulate, nki.cpu_simulate, nki.simulate_kernel
# There is one way to run a kernel, so these are for scripts that call them. `ranks` is for kernels that speak to each other ([nki.collectives](#nkicollectives-ranks)).


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out


assert_array_equal(nki.simulate(double)(x), 2 * x)
assert_array_equal(nki.cpu_simulate(double)(x), 2 * x)
assert_array_equal(nki.simulate_kernel(double, x), 2 * x)
assert_array_equal(nki.simulate(double, ranks=2)(np.stack([x, -x])), np.stack([2 * x, -2 * x]))

# %% nki.assume
# glia's own (`glia.nki.assume`): NKI has no way to say it. The verifier builds on it: a scatter by indices that may repeat is refused (SCATTER-UNIQUE). It appears in the
# kernel IR as `range` and `unique` of the input.
# The example is not for trn1: no transfers by index.


@nki.jit
def scatter(table, rows, x):
    nki.assume(rows, range=(0, table.shape[0] - 1), unique=True)
    n, columns = x.shape
    nisa.dma_copy(dst=table.ap([[columns, n], [1, columns]], vector_offset=nl.load(rows)), src=nl.load(x))
    return table


table, rows = np.zeros((300, 64), np.float32), np.random.default_rng(1).permutation(300)[:128, None].astype(np.int32)
want = table.copy()
want[rows[:, 0]] = x
assert_array_equal(scatter(table, rows, x), want)

# %% nki.NKIObject
# The base of classes that kernels pass around. Fields that are left out are the class's default or None; `nl.NKIObject` is the same class.


@dataclasses.dataclass
class Range(nki.NKIObject):
    low: float = 0.0
    high: float = 1.0


@nki.jit
def clip(x, to):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.minimum(nl.maximum(nl.load(x), to.low), to.high))
    return out


assert_array_equal(clip(x, Range(high=0.5)), np.clip(x, 0, np.float32(0.5)))

# %% nki.NkiTensor, nki.dtype
# What a kernel's tensors are: for annotations. `shape`, `dtype`, `buffer`, `ndim`, `size`, `itemsize`, `strides`, `offset` and `name` are their attributes. `nki.dtype` is the
# class of `nl.float32` and the others (`nl.DType`): a name, with an `itemsize` and a `numpy` type.


@nki.jit
def cast(x: nki.NkiTensor, to: nki.dtype) -> nki.NkiTensor:
    assert x.ndim == 2 and x.size == x.shape[0] * x.shape[1] and x.buffer == nl.shared_hbm
    out = nl.ndarray(x.shape, to, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(nl.load(x), dtype=to))
    return out


assert_array_equal(cast(x, nl.float16), x.astype(np.float16))
