"""Typical mistakes of kernel authors: what the first line says, and that the advice is what helps. The line that must be named ends
with `# here`."""

import inspect

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.ones((128, 64), np.float32)


def stored(t):
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nl.store(out, t)
    return out


def short_name(x):
    t = nl.load(x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.mul, operand0=2.0)  # here
    return stored(t)


def a_row_is_added(x):
    t, row = nl.load(x), nl.load(x[0:1, :])
    nisa.tensor_tensor(dst=t, data1=t, data2=row, op=nl.add)  # here
    return stored(t)


def computes_in_hbm(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.tensor_scalar(dst=out, data=nl.load(x), op0=nl.add, operand0=1.0)  # here
    return out


def product_in_sbuf(x):
    t, acc = nl.load(x), nl.ndarray((64, 64), nl.float32)
    nisa.nc_matmul(dst=acc, stationary=t, moving=t)  # here
    return stored(acc)


def product_is_stored_from_psum(x):
    t, acc = nl.load(x), nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    out = nl.ndarray((64, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.nc_matmul(dst=acc, stationary=t, moving=t)
    nisa.dma_copy(dst=out, src=acc)  # here
    return out


def operand_is_not_turned(x):
    t, acc = nl.load(x), nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=t, moving=t[0:64, :])  # here
    return stored(nl.copy(acc))


def product_of_integers(x):
    t, acc = nl.load(x), nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    t = nl.copy(t, dtype=nl.int32)
    nisa.nc_matmul(dst=acc, stationary=t, moving=t)  # here
    return stored(nl.copy(acc))


def instruction_is_stored(x):
    t = nl.load(x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nisa.activation(dst=t, op=nl.exp, data=t))  # here
    return out


def instruction_is_used(x):
    t = nl.load(x)
    return stored(nl.exp(nisa.reciprocal(dst=t, data=t)))  # here


def store_the_other_way(x):
    t = nl.load(x)
    nl.store(t, x)  # here
    return stored(t)


def mistyped_type(x):
    t = nl.ndarray((128, 64), "flaot32")  # here
    nisa.memset(dst=t, value=0.0)
    return stored(t)


def backwards(x):
    return stored(nl.load(x)[:, ::-1])  # here


def function_of_jax(x):
    import jax.numpy as jnp

    return stored(jnp.exp(nl.load(x)))  # here


def too_far_in_a_loop(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(5):
        nl.store(out[:, nl.ds(i * 16, 16)], nl.load(x[:, nl.ds(i * 16, 16)]))  # here
    return out


def exchange_on_one_core(x):
    t, u = nl.load(x), nl.ndarray((128, 64), nl.float32)
    nisa.sendrecv(src=t, dst=u, send_to_rank=1, recv_from_rank=1, pipe_id=0)  # here
    return stored(u)


def no_such_float(x):
    return stored(nl.load(x, dtype=nl.float64))  # here


def text_as_a_number(x):
    return stored(nl.multiply(nl.load(x), "two"))  # here


def wrong_reshape(x):
    return stored(nl.load(x).reshape((128, 50)))  # here


def pattern_too_long(x):
    return stored(nl.copy(nl.load(x).ap([[64, 128], [1, 80]])))  # here


MISTAKES = [
    (exchange_on_one_core, "an exchange needs two cores", "kernel[2]"),
    (no_such_float, "nki.language has no `float64`", "nl.float32"),
    (text_as_a_number, "the second operand of nl.multiply is a str and must be a tile or a number", "nl.load"),
    (
        wrong_reshape,
        "reshape to (128, 50): 8192 elements do not make that shape (found (128, 50); allowed 8192)",
        "multiply",
    ),
    (
        pattern_too_long,
        "the pattern leaves `load` of shape (128, 64) (found partitions 0 to 127, elements 0 to 79; allowed partitions 0 to 127, "
        "elements 0 to 63)",
        "step",
    ),
    (short_name, "nki.language has no `mul`", "Did you mean `multiply`?"),
    (a_row_is_added, "`row` (data2) has 1 x 64 elements and `t` (dst) has 128 x 64", "nl.broadcast_to"),
    (computes_in_hbm, "`out` (dst) is in HBM, which the vector engine cannot write", "nl.store writes it back"),
    (product_in_sbuf, "`acc` (dst) is in SBUF, which the tensor engine cannot write", "buffer=nl.psum"),
    (product_is_stored_from_psum, "`acc` (src) is in PSUM, which DMA cannot read", "nl.copy"),
    (operand_is_not_turned, "moving has 64 partitions and stationary 128", "nc_transpose"),
    (product_of_integers, "the Tensor engine does not multiply i32", "to floats"),
    (instruction_is_stored, "a NkiInstruction is assigned to a tensor", "in its dst"),
    (instruction_is_used, "x of nl.exp is a NkiInstruction and must be a tile", "in its dst"),
    (store_the_other_way, "dst of nl.store is on chip: `t`", "nl.store(dst, value)"),
    (mistyped_type, "'flaot32' is no element type of NKI", "Did you mean 'float32'?"),
    (backwards, "the step of a slice is positive (found -1; allowed 1)", "forwards"),
    (function_of_jax, "a function of JAX is called on a tensor", "nl"),
    (
        too_far_in_a_loop,
        "`x` (src) reaches from byte 256 to 32832, and the object has 32768 bytes",
        "nisa.oob_mode.skip",
    ),
]


@pytest.mark.parametrize("function, message, advice", MISTAKES, ids=[f.__name__ for f, *_ in MISTAKES])
def test_the_first_line_and_the_advice(function, message, advice):
    with pytest.raises(glia.Error) as raised:
        nki.jit(function)(X)
    found = raised.value.diagnostics[0]
    lines, first = inspect.getsourcelines(function)
    assert found.message == message
    assert advice in found.advice
    assert (found.file, found.line) == (__file__, first + next(n for n, x in enumerate(lines) if "# here" in x))


def test_what_the_advice_says_works():
    def broadcast(x):
        t, row = nl.load(x), nl.broadcast_to(nl.load(x[0:1, :]), (128, 64))
        nisa.tensor_tensor(dst=t, data1=t, data2=row, op=nl.add)
        return stored(t)

    x = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float32)
    np.testing.assert_array_equal(nki.jit(broadcast)(x), x + x[0:1])


def test_an_empty_array():
    with pytest.raises(glia.Error, match="`x` is an empty array") as raised:
        nki.jit(backwards)(X[:0])
    assert raised.value.diagnostics[0].advice
