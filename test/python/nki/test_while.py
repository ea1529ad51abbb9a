"""Loops that repeat while a register is not 0, from the call to the numbers: how often is data. Every program is verified, run
fast and strict under several seeds, and compared with NumPy."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import runtime

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(1).standard_normal((128, 64)).astype(np.float32)
TARGETS = ["trn1", "trn2", "trn3"]


def number(n):
    return np.array([[n]], np.int32)


def all_ways(kernel, *args, target="trn2"):
    """The outputs of the fast run; the strict runs and the sequential meaning of the kernel must give the same bytes."""
    exe = glia.compile(kernel, *args, target=target)
    assert exe.verify().ok
    out = exe.run(*args)
    inputs = dict(zip([t.name for t in exe.program.tensors if t.kind == "input"], args, strict=True))
    for seed in range(4):
        (again,) = exe.program.run(inputs, strict=True, seed=seed).values()
        np.testing.assert_array_equal(again, out)
    traced = kernel.trace(*args)
    (meant,) = runtime.sequential(traced, runtime.inputs_of(traced)).values()
    np.testing.assert_array_equal(meant, out)
    return out


def counter(n):
    left = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=n)
    return left, nisa.register_alloc(left)


@nki.jit
def several_engines(x, n):
    """Tensor, Vector, Scalar and a DMA in each iteration."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    left, r = counter(n)
    while r:
        nisa.activation(dst=t, op=nl.relu, data=t)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        nisa.dma_copy(dst=out, src=t)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.register_load(r, left)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_several_engines_and_transfers(n, target):
    expected = X
    for _ in range(n):
        expected = np.maximum(expected, 0) + np.float32(1)
    np.testing.assert_array_equal(all_ways(several_engines, X, number(n), target=target), expected)


@nki.jit
def halved_until_small(x):
    """x / 2 until the largest element is below 1. Whether to go on is computed from the data."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    top = nl.ndarray((1, 1), nl.float32, buffer=nl.sbuf)
    more = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=t, axis=1)
    nisa.tensor_scalar(dst=more, data=top, op0=nl.greater_equal, operand0=1.0)
    r = nisa.register_alloc(more)
    while r:
        nisa.activation(dst=t, op=nl.copy, data=t, scale=0.5)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=t, axis=1)
        nisa.tensor_scalar(dst=more, data=top, op0=nl.greater_equal, operand0=1.0)
        nisa.register_load(r, more)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("scale", [0.25, 3.0, 1000.0])
def test_until_the_data_say_so(scale):
    x = (np.abs(X[:1]) * np.float32(scale)).astype(np.float32)
    expected = x
    while expected.max() >= 1:
        expected = expected * np.float32(0.5)
    np.testing.assert_array_equal(all_ways(halved_until_small, x), expected)


@nki.jit
def counted_in_registers(x, n):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    _, r = counter(n)

    def body(i):
        nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)
        nisa.activation(dst=t, op=nl.relu, data=t)
        return i - 1

    nl.while_loop(r, body)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("n", [0, 1, 12])
def test_a_condition_that_is_computed_in_registers(n):
    expected = np.maximum(X, 0) * np.float32(2**n) if n else X
    np.testing.assert_array_equal(all_ways(counted_in_registers, X, number(n)), expected)


@nki.jit
def nested(x, n):
    """Outer: n times, n counted down; inner: as often as is left."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    left, r = counter(n)
    inner = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
    s = nisa.register_alloc(0)
    while r:
        nisa.tensor_copy(dst=inner, src=left)
        nisa.register_load(s, inner)
        while s:
            nisa.activation(dst=t, op=nl.copy, data=t, scale=0.5)
            nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
            nisa.tensor_scalar(dst=inner, data=inner, op0=nl.subtract, operand0=1.0)
            nisa.register_load(s, inner)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.register_load(r, left)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("n", [0, 1, 4])
def test_nested(n):
    expected = X
    for _ in range(n * (n + 1) // 2):
        expected = expected * np.float32(0.5) + np.float32(1)
    np.testing.assert_array_equal(all_ways(nested, X, number(n)), expected)


@nki.jit
def through_hbm(x, n):
    """The condition is an element in HBM that the body writes with a DMA; a run-time loop with a count is inside."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    left, r = counter(n)
    flag = nl.ndarray((1, 1), nl.int32, buffer=nl.private_hbm)
    t = nl.load(x)
    while r:
        for i in nl.dynamic_range(4):
            nisa.tensor_scalar(dst=t[:, nl.ds(i * 16, 16)], data=t[:, nl.ds(i * 16, 16)], op0=nl.add, operand0=1.0)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.dma_copy(dst=flag, src=left)
        nisa.register_load(r, flag)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("n", [0, 1, 7])
def test_an_element_in_hbm(n):
    expected = X
    for _ in range(n):
        expected = expected + np.float32(1)
    np.testing.assert_array_equal(all_ways(through_hbm, X, number(n)), expected)


@nki.jit
def by_position(x, n):
    """Rows n to 1, row by row: an address that moves with the condition."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=nl.zeros(x.shape, x.dtype))
    left, r = counter(n)
    while r:
        t = nl.load(x[r])
        nl.store(out[r], nl.add(t, t))
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.register_load(r, left)
    return out


@pytest.mark.parametrize("n", [0, 1, 5, 127])
def test_addresses_from_the_condition(n):
    expected = np.zeros_like(X)
    expected[1 : n + 1] = X[1 : n + 1] * 2
    np.testing.assert_array_equal(all_ways(by_position, X, number(n)), expected)


@nki.jit
def averaged(x, n):
    """Two cores meet twice in each iteration and take the mean of what they hold."""
    me = nl.program_id(0)
    out = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
    shared = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
    t, other = nl.load(x), nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=float(me))

    def body(i):
        nisa.dma_copy(dst=shared[me], src=t)
        nisa.core_barrier(shared, (0, 1))
        nisa.dma_copy(dst=other, src=shared[1 - me])
        nisa.tensor_tensor(dst=t, data1=t, data2=other, op=nl.add)
        nisa.activation(dst=t, op=nl.copy, data=t, scale=0.5)
        nisa.core_barrier(shared, (0, 1))
        return i - 1

    nl.while_loop(nisa.register_alloc(n), body)
    nisa.dma_copy(dst=out[me], src=t)
    return out


@pytest.mark.parametrize("n", [0, 1, 7])
def test_two_cores_that_meet(n):
    a, b = X, X + np.float32(1)
    for _ in range(n):
        a, b = (a + b) * np.float32(0.5), (b + a) * np.float32(0.5)
    np.testing.assert_array_equal(all_ways(averaged[2], X, number(n)), np.stack([a, b]))


def test_kernels_in_one_program():
    """Loops of one kernel called twice, and of another, in one linked program; its time follows the data."""

    def all_of_them(x, n, m):
        return several_engines(nested(several_engines(x, n), m), m)

    args = X, number(3), number(2)
    exe = glia.compile(all_of_them, *args)
    assert exe.verify().ok
    expected = X
    for n in (3, -3, 2):
        for _ in range(abs(n)):
            expected = np.maximum(expected, 0) if n > 0 else expected * np.float32(0.5)
            expected = expected + np.float32(1)
    np.testing.assert_array_equal(exe.run(*args), expected)
    short, long = exe.profile(*args).total, exe.profile(X, number(30), number(2)).total
    assert long > short + 27 * 1000  # a transfer of each iteration alone takes longer than 1000 ns


def unending(x, n, again):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    _, r = counter(n)
    while r:
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        if again:
            nisa.register_move(r, 1)
    nisa.dma_copy(dst=out, src=t)
    return out


WHILE = unending.__code__.co_firstlineno + 4


def test_a_body_that_does_not_set_its_condition():
    with pytest.raises(glia.Error) as e:
        nki.jit(unending)(X, number(1), False)
    (d,) = e.value.diagnostics
    assert (d.code, d.line) == ("KERNEL-WHILE", WHILE)
    assert d.file == __file__


def test_a_run_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setenv("GLIA_MAX_STEPS", "10000")
    with pytest.raises(glia.Error) as e:
        nki.jit(unending)(X, number(1), True)
    (d,) = e.value.diagnostics
    assert d.code == "SIM-STEPS"
    assert d.file == __file__
    assert WHILE <= d.line <= WHILE + 3
    monkeypatch.setenv("GLIA_MAX_STEPS", "many")
    with pytest.raises(glia.Error, match="RUN-STEPS"):
        nki.jit(unending)(X, number(0), True)


def test_a_run_that_does_not_begin():
    np.testing.assert_array_equal(nki.jit(unending)(X, number(0), True), X)
