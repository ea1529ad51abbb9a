"""nki.language: loops and cores

`range` and its like are unrolled when the kernel is traced. Loops of the program are traced once; their variable is a register, which may stand in addresses, not in Python conditions.
"""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

x = np.random.default_rng(0).standard_normal((4, 128, 64), np.float32)

# %% nl.affine_range, nl.sequential_range, nl.static_range, nl.range
# Python's `range`: no difference here.


@nki.jit
def total(x):
    acc = nl.zeros(x.shape[1:], x.dtype)
    for i in nl.affine_range(x.shape[0]):
        for _ in nl.sequential_range(1):
            for j in nl.static_range(0, 64, 32):
                for _ in nl.range(1):
                    part = acc[:, nl.ds(j, 32)]
                    nisa.tensor_tensor(dst=part, data1=part, data2=nl.load(x[i, :, nl.ds(j, 32)]), op=nl.add)
    out = nl.ndarray(acc.shape, acc.dtype, buffer=nl.shared_hbm)
    nl.store(out, acc)
    return out


assert_allclose(total(x), x.sum(0), atol=1e-6)

# %% nl.dynamic_range
# A loop of the program; its count may be a register. One program then serves every count.


@nki.jit
def total(x, n):
    acc, t = nl.zeros(x.shape[1:], x.dtype), nl.ndarray(x.shape[1:], x.dtype)
    for i in nl.dynamic_range(nisa.register_alloc(n)):
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)
    out = nl.ndarray(acc.shape, acc.dtype, buffer=nl.shared_hbm)
    nl.store(out, acc)
    return out


for n in (1, 3):
    assert_allclose(total(x, np.array([[n]], np.int32)), x[:n].sum(0), atol=1e-6)

# %% nl.fori_loop
# The same as a function: `body_fun(i)` gives nothing back; what it carries on is in tiles.


@nki.jit
def total(x):
    acc, t = nl.zeros(x.shape[1:], x.dtype), nl.ndarray(x.shape[1:], x.dtype)

    def body(i):
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)

    nl.fori_loop(0, x.shape[0], body)
    out = nl.ndarray(acc.shape, acc.dtype, buffer=nl.shared_hbm)
    nl.store(out, acc)
    return out


assert_allclose(total(x), x.sum(0), atol=1e-6)

# %% nl.while_loop
# `body_fun(register)` gives the next value of the register; the loop ends when it is 0. `while register:` is taken, too. That a `while` ends is not proved: a run stops after 100 million
# instructions, or as many as `GLIA_MAX_STEPS` says (0: never).


@nki.jit
def doubled(x, times):
    """Twice as much, so many times."""
    t, left, one = nl.load(x), nl.load(times), nl.full((1, 1), 1, nl.int32)

    def body(_):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
        nisa.tensor_tensor(dst=left, data1=left, data2=one, op=nl.subtract, engine=nisa.engine.gpsimd)
        return nisa.register_alloc(left)

    nl.while_loop(nisa.register_alloc(left), body)
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


assert_array_equal(doubled(x[0], np.array([[3]], np.int32)), 8 * x[0])

# %% nl.program_id, nl.num_programs, nl.program_ndim
# Known while the kernel is traced, once for each core.
# The example is not for trn1: no pairs of cores.


@nki.jit
def numbered():
    out = nl.ndarray((2, 4), nl.int32, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    assert nl.num_programs(0) == 2 and nl.program_ndim() == 1
    nl.store(out[nl.ds(me, 1)], nl.full((1, 4), me, nl.int32))
    return out


assert_array_equal(numbered[2](), np.repeat([[0], [1]], 4, axis=1))

# %% nl.no_reorder
# Instructions of the block run in the order of the program.


@nki.jit
def in_order(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    with nl.no_reorder():
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        nisa.activation(dst=t, op=nl.square, data=t)
    nl.store(out, t)
    return out


assert_array_equal(in_order(x[0]), (x[0] + 1) ** 2)
