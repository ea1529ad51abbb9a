"""Kernels from the call to the numbers, against NumPy: loops with counts that only the run knows, indices in memory, arguments
that are updated, two cores, addresses that alias."""

import inspect

import glia
import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(1).standard_normal((128, 64)).astype(np.float32)


def number(n):
    return np.array([[n]], np.int32)


def load_register(n):
    t = nl.ndarray((1, 1), nl.int32)
    nisa.dma_copy(dst=t, src=n)
    return nisa.register_alloc(t)


def blank(x):
    """A new output that holds zeros."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=nl.zeros(x.shape, x.dtype))
    return out


def rows_doubled(x, n, load):
    """The first 16 n rows doubled, the others 0."""
    out = blank(x)
    for i in nl.dynamic_range(load(n)):
        t = nl.load(x[nl.ds(i * 16, 16)])
        nl.store(out[nl.ds(i * 16, 16)], nl.add(t, t))
    return out


@pytest.mark.parametrize("load", [nisa.register_alloc, load_register], ids=["from HBM", "through SBUF"])
@pytest.mark.parametrize("n", [0, 1, 3, 8])
def test_a_loop_whose_count_is_data(n, load):
    expected = np.zeros_like(X)
    expected[: 16 * n] = X[: 16 * n] * 2
    np.testing.assert_array_equal(nki.jit(rows_doubled)(X, number(n), load), expected)


@nki.jit
def strided(x, first, last):
    out = blank(x)
    r, s = load_register(first), load_register(last)

    def body(i):
        t = nl.load(x[i])
        nl.store(out[i], t)

    nl.fori_loop(r, s, body, step=7)
    return out


@pytest.mark.parametrize("first,last", [(0, 128), (3, 100), (50, 51), (9, 9), (100, 3)])
def test_fori_loop_with_both_bounds_from_data(first, last):
    expected = np.zeros_like(X)
    expected[first:last:7] = X[first:last:7]
    np.testing.assert_array_equal(strided(X, number(first), number(last)), expected)


@nki.jit
def powers(x, n):
    """x * 2**n by a loop that counts down in SBUF."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    left = nl.ndarray((1, 1), nl.int32)
    nisa.dma_copy(dst=left, src=n)
    r = nisa.register_alloc()
    nisa.register_load(r, left)
    while r:
        nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.register_load(r, left)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("n", [0, 1, 5])
def test_while(n):
    np.testing.assert_array_equal(powers(X, number(n)), X * np.float32(2**n))


@nki.jit
def picked(x, at):
    """Row `at` of x, chosen by an index in SBUF and by a register."""
    i = nl.ndarray((1, 1), nl.int32)
    nisa.dma_copy(dst=i, src=at)
    a, b = nl.ndarray((1, 64), nl.float32), nl.ndarray((1, 64), nl.float32)
    nisa.dma_copy(dst=a, src=x.select(0, i))
    nisa.dma_copy(dst=b, src=x.ap([[64, 1], [1, 64]], scalar_offset=nisa.register_alloc(i), indirect_dim=0))
    out = nl.ndarray((2, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[0:1], src=a)
    nisa.dma_copy(dst=out[1:2], src=b)
    return out


@pytest.mark.parametrize("at", [0, 5, 127])
def test_an_index_in_memory(at):
    np.testing.assert_array_equal(picked(X, number(at)), X[[at, at]])


def test_an_index_out_of_range_traps():
    with pytest.raises(glia.Error):
        picked(X, number(128))


@nki.jit(target="trn2")
def gathered(x, rows):
    i, t = nl.ndarray((128, 1), nl.int32), nl.ndarray((128, 64), nl.float32)
    nisa.dma_copy(dst=i, src=rows)
    nisa.dma_copy(dst=t, src=x.ap([[64, 128], [1, 64]], vector_offset=i))
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_rows_chosen_by_a_tensor():
    rows = np.random.default_rng(2).integers(0, 128, (128, 1)).astype(np.int32)
    np.testing.assert_array_equal(gathered(X, rows), X[rows[:, 0]])


@nki.jit
def update(x, y):
    nl.store(x[0:64], nl.add(nl.load(x[0:64]), nl.load(y[0:64])))
    return x, y


def test_an_argument_is_updated_in_place():
    x = X.copy()
    a, b = update(x, X)
    expected = X.copy()
    expected[:64] *= 2
    assert a is x and b is X
    np.testing.assert_array_equal(x, expected)
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(glia.Error, match="NKI-UPDATE"):
        nki.jit(lambda x: nl.store(x, nl.load(x)))(frozen)


@nki.jit
def halves(x):
    """Each core does its half, then reads the other's through shared memory."""
    me = nl.program_id(0)
    shared = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[me * 64 : me * 64 + 64])
    nisa.dma_copy(dst=shared[me * 64 : me * 64 + 64], src=nl.add(t, t))
    nisa.core_barrier(shared, (0, 1))
    other = nl.load(shared[(1 - me) * 64 : (1 - me) * 64 + 64])
    nl.store(out[me * 64 : me * 64 + 64], other)
    return out


def test_two_cores():
    expected = np.concatenate([X[64:], X[:64]]) * 2
    np.testing.assert_array_equal(halves[2](X), expected)
    np.testing.assert_array_equal(nki.simulate(halves[2])(X), expected)


@nki.jit
def types(x, flags):
    t = nl.load(x)
    half = nl.ndarray((128, 64), nl.bfloat16, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=half, src=nl.copy(t, dtype=nl.bfloat16))
    same = nl.ndarray((128, 64), nl.bool_, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=same, src=nl.load(flags))
    bits = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=bits, src=t)
    return [half, (same, bits.view(nl.uint8))]


def test_types_and_structure_of_results():
    half, (same, bits) = types(X, X > 0)
    np.testing.assert_array_equal(half, X.astype(ml_dtypes.bfloat16))
    assert same.dtype == np.bool_
    np.testing.assert_array_equal(same, X > 0)
    np.testing.assert_array_equal(bits, X.view(np.uint8))


@nki.jit
def aliased(x):
    """A ring of two places: the third tile lies where the first one was."""
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    for n in range(4):
        t = nl.ndarray((128, 16), nl.float32, address=(0, 64 * (n % 2)))
        nisa.dma_copy(dst=t, src=x[:, n * 16 : n * 16 + 16])
        nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.add)
        nisa.dma_copy(dst=out[:, n * 16 : n * 16 + 16], src=t)
    return out


def test_addresses_that_alias():
    np.testing.assert_array_equal(aliased(X), X * 2)


@nki.jit
def overlapping(x):
    """Two names of the same bytes."""
    a = nl.ndarray((128, 64), nl.float32, address=(0, 0))
    b = nl.ndarray((128, 32), nl.float32, address=(0, 128))
    nisa.dma_copy(dst=a, src=x)
    nisa.memset(dst=b, value=7.0)
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    return out


def test_overlapping_addresses_are_one_memory():
    expected = X.copy()
    expected[:, 32:] = 7
    np.testing.assert_array_equal(overlapping(X), expected)


def test_rules_of_the_machine_point_into_the_kernel(fails):
    @nki.jit
    def k(x):
        t = nl.load(x)
        u = nl.ndarray((128, 64), nl.float32)
        nisa.tensor_tensor(dst=u[1:33], data1=t[0:32], data2=t[0:32], op=nl.add)  # starts at partition 1
        return blank(x)

    found = fails(k, X)
    with open(__file__) as f:
        line = 1 + next(n for n, text in enumerate(f) if "# starts at partition 1" in text)
    assert [(d.code, d.file, d.line) for d in found] == [("PARTITION-START", __file__, line)]


def unwritten(x):
    return nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)  # OUTPUT-UNWRITTEN


def undefined(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype)  # UNDEFINED-OUTPUT
    nisa.dma_copy(dst=out, src=t)
    return out


def too_large(x):
    t = nl.ndarray((128, 60000), nl.float32)  # ALLOC-BOUNDS
    nisa.memset(dst=t, value=0.0)


def wrong_shape(x):
    u = nl.ndarray((64, 64), nl.float32)
    t = nl.load(x)
    nisa.tensor_tensor(dst=u, data1=t, data2=t, op=nl.add)  # SAME-SHAPE


def matmul_to_sbuf(x):
    t, u = nl.load(x), nl.ndarray((64, 64), nl.float32)
    nisa.nc_matmul(dst=u, stationary=t, moving=t, accumulate=False)  # ENGINE-REACH


@pytest.mark.parametrize("kernel", [unwritten, undefined, too_large, wrong_shape, matmul_to_sbuf])
def test_bad_kernels(fails, kernel):
    lines, first = inspect.getsourcelines(kernel)
    n, text = next((n, text) for n, text in enumerate(lines) if "  # " in text)
    found = fails(nki.jit(kernel), X)
    assert {d.code for d in found} == {text.split("# ")[1].strip()}
    assert {(d.file, d.line) for d in found} == {(__file__, first + n)}
