"""Products whose operands lie the wrong way and do not fit on chip: each is turned once, and what is not finite stays where it is."""

import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import numpy as np


def product(m, k, n, layout, dtype, target, batch=()):
    """Compares all that is finite, and where NaN and infinities are, with NumPy in double; t: the operand is transposed."""
    random = np.random.default_rng(m + k + n)
    shapes = [(m, k) if layout[0] == "n" else (k, m), (k, n) if layout[1] == "n" else (n, k)]
    x, y = (np.asarray(random.standard_normal((*batch, *s)), np.float32) for s in shapes)
    x.flat[12345], y.flat[54321 % y.size] = np.inf, np.nan
    x, y = x.astype(dtype), y.astype(dtype)

    def f(x, y):
        x = x if layout[0] == "n" else jnp.swapaxes(x, -1, -2)
        y = y if layout[1] == "n" else jnp.swapaxes(y, -1, -2)
        return jnp.matmul(x, y)

    exe = glia.jit(f, target=target).compile(x, y)
    assert exe.verify().ok, str(exe.verify())
    got = np.asarray(exe.run(x, y), np.float64)
    left, right = (np.asarray(v, np.float64) for v in (x, y))
    left = left if layout[0] == "n" else np.swapaxes(left, -1, -2)
    right = right if layout[1] == "n" else np.swapaxes(right, -1, -2)
    with np.errstate(invalid="ignore"):
        want = left @ right
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    rounding = 2.0**-22 if x.dtype == np.float32 else 2.0**-7
    error = np.abs(got[finite] - want[finite]).max()
    assert error < rounding * np.sqrt(k) * max(8, np.sqrt(k) / 8)  # a result, and the roundings of its k sums
    return exe


@pytest.mark.parametrize("layout", ["nn", "nt", "tt"])
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_ragged(layout, dtype):
    product(1531, 1100, 1700, layout, dtype, "trn1")


@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_narrow_products_of_32_bits(layout):
    """Turning is most of the work."""
    product(500, 1300, 40, layout, np.float32, "trn1")


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_every_bit_comes_through(dtype):
    """Any finite number times 1: its own bits, also of the smallest ones."""
    bits = np.random.default_rng(3).integers(0, 65536, (300, 700), np.uint16)
    x = bits.view(dtype)
    x = np.where(np.isfinite(np.asarray(x, np.float32)), x, np.asarray(1, dtype))
    got = glia.jit(jnp.matmul, target="trn1")(x, np.eye(700, dtype=dtype))
    np.testing.assert_array_equal(np.asarray(got, np.float32), np.asarray(x, np.float32))


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("depth", [255, 256, 257, 300, 512, 640, 1281])
def test_two_elements_are_turned_as_one(layout, depth):
    """Whole numbers, whose sums are exact in any order; depths that pairs of blocks do not divide."""
    random = np.random.default_rng(depth)
    for m, n, dtype in ((257, 129, jnp.bfloat16), (640, 513, np.float16)):
        x, y = (random.integers(-4, 5, s).astype(np.float32) for s in ((m, depth), (depth, n)))
        x[m // 2, depth // 2], y[depth - 1, n // 3] = np.inf, np.nan

        def f(x, y):
            return jax.lax.dot_general(
                x, y, (((layout[0] == "n",), (layout[1] == "t",)), ((), ())), preferred_element_type=np.float32
            )

        sides = x if layout[0] == "n" else x.T, y if layout[1] == "n" else y.T
        got = glia.jit(f, target="trn1")(*(v.astype(dtype) for v in sides))
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(np.asarray(got), x @ y)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_two_contracted_dimensions(order):
    """In the other operand they lie the same way, or not: then elements are turned one by one."""
    random = np.random.default_rng(5)
    x = random.integers(-4, 5, (200, 20, 30)).astype(np.float32)
    y = random.integers(-4, 5, (300, 20, 30) if order == (1, 2) else (300, 30, 20)).astype(np.float32)

    def f(x, y):
        return jax.lax.dot_general(x, y, (((1, 2), order), ((), ())), preferred_element_type=np.float32)

    got = glia.jit(f, target="trn1")(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16))
    np.testing.assert_array_equal(np.asarray(got), np.tensordot(x, y, ((1, 2), order)))


def test_what_passes_by_is_kept_in_two_passes():
    """Many panels of rows or columns stay one after the other; half of what passes them is turned twice."""
    random = np.random.default_rng(9)
    x, y = (random.integers(-3, 4, s).astype(np.float32) for s in ((4096, 4096), (4096, 4096)))
    exe = glia.jit(lambda x, y: x @ y.T, target="trn1").compile(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16))
    assert "scratch" in exe.program.disassemble()
    got = np.asarray(exe.run(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)), np.float32)
    rows = random.choice(4096, 100)
    np.testing.assert_array_equal(got[rows], np.asarray((x[rows] @ y.T).astype(jnp.bfloat16), np.float32))


def test_batches():
    product(1200, 1024, 1200, "nt", np.float32, "trn1", batch=(2,))


def test_a_contraction_in_pieces():
    """Not even a block of rows with the whole contraction fits."""
    product(600, 20000, 300, "nt", np.float32, "trn1")


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_deep_contractions(layout, dtype):
    """What passes by comes in pieces of the contraction; the last block of columns would be a narrow one."""
    product(900, 6001, 1050, layout, dtype, "trn1")


def test_turned_beside_the_first_panel_of_a_loop():
    random = np.random.default_rng(8)
    x = random.integers(-2, 3, (4224, 8192)).astype(jnp.bfloat16)
    y = random.integers(-2, 3, (5120, 8192)).astype(jnp.bfloat16)

    def f(x, y):
        return jnp.einsum("ik,jk->ij", x, y, preferred_element_type=np.float32)

    exe = glia.jit(f, target="trn1").compile(x, y)
    text = exe.program.disassemble()
    assert "loop" in text and "scratch" in text
    got = np.asarray(exe.run(x, y))
    rows = np.unique(np.concatenate([random.choice(4224, 100), [0, 511, 512, 4095, 4096, 4223]]))
    np.testing.assert_array_equal(got[rows], x[rows].astype(np.float32) @ y.T.astype(np.float32))


def test_turned_by_transfers():
    product(1531, 1100, 1700, "nt", np.float32, "trn2")


def test_each_element_is_turned_once():
    m, k, n = 1536, 1024, 1536
    exe = product(m, k, n, "nt", np.float32, "trn1")
    text = exe.program.disassemble()
    turned = text.count("nc_transpose") * 32**2 + text.count("moving_onezero") * 128**2 // 2  # 16 of 32 bits at a time
    assert turned == m * k + k * n


def test_batches_in_a_loop():
    """So many products that they become a loop over batches, with operands that do not fit, one of them turned before."""
    random = np.random.default_rng(7)
    x = random.integers(-3, 4, (2, 4096, 5120)).astype(np.float32)
    y = random.integers(-3, 4, (2, 4096, 5120)).astype(np.float32)
    exe = glia.jit(lambda x, y: jnp.einsum("bik,bjk->bij", x, y), target="trn1").compile(x, y)
    text = exe.program.disassemble()
    assert "loop" in text and "scratch" in text
    got = np.asarray(exe.run(x, y))
    rows = random.choice(4096, 200)
    for i in range(2):
        np.testing.assert_array_equal(got[i, rows], x[i, rows] @ y[i].T)


@pytest.mark.parametrize("rows", [2970, 3000])
def test_rows_that_are_left_over_go_through_hbm(rows):
    """Few of the last 128 rows are there: what is turned lies in very many runs."""
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in ((rows, 5000), (5000, 3000))]
    exe = glia.jit(jnp.matmul, target="trn1").compile(*shapes)
    assert exe.verify().ok, str(exe.verify())
