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


def test_batches():
    product(1200, 1024, 1200, "nt", np.float32, "trn1", batch=(2,))


def test_a_contraction_in_pieces():
    """Not even a block of rows with the whole contraction fits."""
    product(600, 20000, 300, "nt", np.float32, "trn1")


def test_turned_by_transfers():
    product(1531, 1100, 1700, "nt", np.float32, "trn2")


def test_each_element_is_turned_once():
    m, k, n = 1536, 1024, 1536
    exe = product(m, k, n, "nt", np.float32, "trn1")
    text = exe.program.disassemble()
    turned = text.count("nc_transpose") * 32**2 + text.count("moving_onezero") * 128**2 // 2  # 16 of 32 bits at a time
    assert turned == m * k + k * n


def test_batches_in_a_loop():
    """So many products that they become a loop over batches, with a left operand that does not fit and is turned before."""
    random = np.random.default_rng(7)
    x = random.integers(-3, 4, (2, 4096, 5120)).astype(np.float32)
    y = random.integers(-3, 4, (2, 5120, 4096)).astype(np.float32)
    exe = glia.jit(jnp.matmul, target="trn1").compile(x, y)
    text = exe.program.disassemble()
    assert "loop" in text and "scratch" in text
    got = np.asarray(exe.run(x, y))
    rows = random.choice(4096, 200)
    for i in range(2):
        np.testing.assert_array_equal(got[i, rows], x[i, rows] @ y[i])


@pytest.mark.parametrize("rows", [2970, 3000])
def test_rows_that_are_left_over_go_through_hbm(rows):
    """Few of the last 128 rows are there: what is turned lies in very many runs."""
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in ((rows, 5000), (5000, 3000))]
    exe = glia.jit(jnp.matmul, target="trn1").compile(*shapes)
    assert exe.verify().ok, str(exe.verify())
