"""Kernels in JAX functions that glia.jit compiles: a custom call each, linked with what the graph computes around it."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from small_kernels import add, double

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp

X = np.random.default_rng(0).integers(-8, 8, size=(16, 32)).astype(np.float32)


def between(x):
    y = double(x + 1) - 1
    return add(y, double(y)), y.sum()


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_kernels_between_operations(target):
    exe = glia.jit(between, target=target).compile(X)
    out, y = exe(X), (X + 1) * 2 - 1
    np.testing.assert_array_equal(out[0], 3 * y)
    assert out[1] == y.sum() and exe.verify().ok and exe.target == target and exe.check(X).ok
    assert f"target \\22{target}\\22" in exe.text()
    for a, b in zip(glia.interpret(exe.text(), X), out):  # the reference runs the kernel's own instructions
        np.testing.assert_array_equal(a, b)


def test_a_call_is_where_the_user_makes_it():
    text = glia.jit(between).lower(X)
    line = between.__code__.co_firstlineno + 1
    assert f'"{__file__}":{line}:' in text and "jax_calls.py" not in text


def test_a_kernel_is_compiled_once():
    def deep(x, n):
        for _ in range(n):
            x = double(x) * 0.5
        return x

    few, many = (glia.jit(deep, static_argnums=1).compile(X, n) for n in (2, 12))
    assert many.kernels == few.kernels and many.groups == 6 * few.groups
    assert many.text().count("custom_call @glia.nki") == 1
    np.testing.assert_array_equal(many(X, 12), X)


def test_two_cores():
    """Core c adds the other core's row to its own."""

    @nki.jit
    def swap_and_add(x):
        core = nl.program_id(0)
        mine, other = (nl.ndarray((1, x.shape[1]), x.dtype, buffer=nl.sbuf) for _ in range(2))
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=mine, src=x[core : core + 1])
        nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
        nisa.tensor_tensor(dst=mine, data1=mine, data2=other, op=nl.add)
        nisa.dma_copy(dst=out[core : core + 1], src=mine)
        return out

    def f(x):
        y = swap_and_add[2](x * 2)
        return swap_and_add[2](y - 1), y.max()

    x = X[:2]
    for target in ("trn2", "trn3"):
        exe = glia.jit(f, target=target).compile(x)
        assert exe.program.cores == 2 and exe.verify().ok
        out, total = exe(x), (2 * x).sum(0)
        np.testing.assert_array_equal(out[0], np.stack([2 * total - 2] * 2))
        assert out[1] == total.max()
    shared = glia.jit(lambda x: (f(x), double(x) * 3), lnc=2).compile(x)  # the graph's own work on both cores too
    assert shared.program.cores == 2 and shared.verify().ok and shared.check(x).ok
    np.testing.assert_array_equal(shared(x)[0][0], out[0])
    np.testing.assert_array_equal(shared(x)[1], 6 * x)
    with pytest.raises(glia.Error) as e:
        glia.jit(f, target="trn1").compile(x)
    (d,) = e.value.diagnostics
    assert d.code == "NKI-CORES" and "swap_and_add" in d.message and "trn1" in d.message and d.file == __file__


@nki.jit
def accumulate(total, x):
    """Adds to its argument; gives what was there before."""
    before = nl.load(total)
    old = nl.ndarray(total.shape, total.dtype, buffer=nl.shared_hbm)
    nl.store(old, before)
    nl.store(total, nl.add(before, nl.load(x)))
    return {"new": total, "old": [old]}


def test_kernels_that_write_to_an_argument():
    def f(x):
        r = accumulate(x * 2, x)
        return r["new"], accumulate(r["new"], r["new"])["new"], r["old"][0] + 1

    for a, b in zip(glia.jit(f)(X), (3 * X, 6 * X, 2 * X + 1)):
        np.testing.assert_array_equal(a, b)
    x = X.copy()
    np.testing.assert_array_equal(glia.jit(lambda x: accumulate(x, x)["new"])(x), 2 * X)  # one operand twice
    np.testing.assert_array_equal(x, X)  # the caller's own stays

    @nki.jit
    def forgets(x):
        nl.store(x, nl.multiply(nl.load(x), 2.0))
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    with pytest.raises(glia.Error, match="NKI-UPDATE"):
        glia.jit(lambda x: forgets(x + 1))(X)


def test_what_jax_traced_for_the_host_first():
    """JAX keeps the trace of an inner function: the same one serves the host and every target."""
    inner = jax.jit(lambda x: double(x) + 1)
    np.testing.assert_array_equal(inner(X), 2 * X + 1)
    for target in ("trn3", "trn1"):
        exe = glia.jit(lambda x: inner(x * 2), target=target).compile(X)
        np.testing.assert_array_equal(exe(X), 4 * X + 1)
        assert f"target \\22{target}\\22" in exe.text()
    np.testing.assert_array_equal(inner(X), 2 * X + 1)


def test_derivatives_are_the_authors():
    @jax.custom_vjp
    def twice(x):
        return double(x)

    twice.defvjp(lambda x: (double(x), None), lambda _, g: (double(g),))
    value, gradient = glia.jit(jax.value_and_grad(lambda x: (twice(x) ** 2).sum()))(X)
    assert value == (4 * X * X).sum()
    np.testing.assert_array_equal(gradient, 8 * X)
    for f in (glia.jit(jax.grad(lambda x: double(x).sum())), jax.grad(lambda x: double(x).sum())):
        with pytest.raises(glia.Error) as e:
            f(X)
        (d,) = e.value.diagnostics
        assert d.code == "NKI-GRADIENT" and "double" in d.message and d.file == __file__


@nki.jit
def rows_by_index(table, index):
    """Rows of a table, by numbers that are data: an indexed transfer, which trn1 does not have."""
    i = nl.ndarray((32, 1), nl.int32, buffer=nl.sbuf)
    t = nl.ndarray((32, table.shape[1]), table.dtype, buffer=nl.sbuf)
    out = nl.ndarray((32, table.shape[1]), table.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=i, src=index)
    nisa.tensor_scalar(dst=i, data=i, op0=nl.maximum, operand0=0, op1=nl.minimum, operand1=table.shape[0] - 1)
    nisa.dma_copy(dst=t, src=table.ap([[table.shape[1], 32], [1, table.shape[1]]], vector_offset=i, indirect_dim=0))
    nisa.dma_copy(dst=out, src=t)
    return out


def test_a_kernel_that_the_target_cannot_run():
    index = np.arange(32, dtype=np.int32)[::-1, None] % 16

    def f(table, index):
        return rows_by_index(table * 2, index) + 1

    np.testing.assert_array_equal(glia.jit(f, target="trn2")(X, index), 2 * X[index[:, 0]] + 1)
    with pytest.raises(glia.Error) as e:
        glia.jit(lambda t, i: (f(t, i), jax.ffi.ffi_call("nobodys", t)(t)), target="trn1").compile(X, index)
    kernel = [d for d in e.value.diagnostics if d.file == __file__ and "rows_by_index" in d.context]
    assert (
        kernel and "dma_copy" in kernel[0].context and "kernel `rows_by_index` is compiled for trn1" in kernel[0].notes
    )
    assert any("@nobodys" in d.message for d in e.value.diagnostics)  # everything at once


def test_loops():
    known = glia.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: double(y), x))  # unrolled
    np.testing.assert_array_equal(known(X), 8 * X)
    np.testing.assert_array_equal(glia.jit(jax.vmap(double))(np.stack([X, X + 1])), 2 * np.stack([X, X + 1]))
    with pytest.raises(glia.Error) as e:
        glia.jit(lambda x: jax.lax.while_loop(lambda y: y.sum() < 1000, double, x))(X)
    assert "a kernel in a loop or a branch that depends on data" in e.value.diagnostics[0].message


def test_a_kernel_for_another_target():
    with pytest.raises(glia.Error, match="GRAPH-TARGET"):
        glia.jit(lambda x: nki.jit(double.func, target="trn2")(x), target="trn3")(X)


def test_promises_hold_in_programs():
    @nki.jit
    def scatter(rows, index, out):
        nki.assume(index, range=(0, 15), unique=True)
        i = nl.ndarray((16, 1), nl.int32, buffer=nl.sbuf)
        t = nl.ndarray(rows.shape, rows.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=i, src=index)
        nisa.dma_copy(dst=t, src=rows)
        nisa.dma_copy(dst=out.ap([[32, 16], [1, 32]], vector_offset=i, indirect_dim=0), src=t)
        return out

    order = np.random.default_rng(3).permutation(16).astype(np.int32)[:, None]
    f = glia.jit(lambda rows, index: scatter(rows * 2, index, jnp.zeros_like(rows)))
    expected = np.zeros_like(X)
    expected[order[:, 0]] = 2 * X
    np.testing.assert_array_equal(f(X, order), expected)
    with pytest.raises(glia.Error, match="RUN-INPUT"):
        f(X, order * 0)
    with pytest.raises(glia.Error, match="SCATTER-UNIQUE"):  # of a value that is computed nobody knows
        glia.jit(lambda rows, index: scatter(rows, 15 - index, jnp.zeros_like(rows)))(X, order)
