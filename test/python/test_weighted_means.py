"""Scores, their softmax and the product with the values are one kernel; what only looks like it is right all the same."""

import glia
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weighted_cases import BF16, F32, TARGETS, expect, numbers, qkv


def attend(mask=None, scale=0.125, masked=-jnp.inf):
    def f(q, k, v):
        s = jnp.einsum("bqd,bkd->bqk", q, k) * scale
        if mask is not None:
            s = jnp.where(mask(jnp.arange(s.shape[1])[:, None], jnp.arange(s.shape[2])[None]), s, masked)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s, -1), v)

    return f


CAUSAL = {"causal": lambda i, j: i >= j, "window": lambda i, j: (i >= j) & (i - j < 70), "later": lambda i, j: i < j}
SIZES = [
    (2, 300, 257, 64, 64, BF16),
    (1, 130, 140, 128, 128, BF16),
    (1, 128, 640, 40, 200, F32),
    (2, 129, 128, 160, 3, F32),
    (1, 700, 128, 2, 1, jnp.float16),
    (1, 200, 1100, 48, 64, F32),  # columns on both halves of the partitions, with a rest
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(target, size):
    expect(attend(), qkv(*size), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("masked", [-jnp.inf, -1e9, -3e38, 0.25])
@pytest.mark.parametrize("name", CAUSAL)
def test_conditions(target, name, masked):
    """`later`: in the last rows no column counts; all of them weigh the same then, or none does."""
    expect(attend(CAUSAL[name], masked=masked), qkv(1, 640, 640, 32, 128, BF16), target)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
@pytest.mark.parametrize("name", CAUSAL)
def test_columns_on_halves_of_the_partitions(target, name):
    """Rows and columns that are not finite, at places of both halves; whole rows without a column; scores that overflow."""
    q, k, v = (np.array(a) for a in qkv(2, 700, 700, 64, 64))
    q[0, 7], q[1, 600, 3] = np.nan, -np.inf
    k[0, 255, 1], k[0, 600, 2], k[1, 256] = np.inf, np.nan, 1e20
    v[1, 511, 5], v[1, 512, 6] = np.inf, np.nan
    for masked in (-jnp.inf, -1e4):
        expect(attend(CAUSAL[name], masked=masked), [jnp.asarray(a) for a in (q, k, v)], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("which", range(3))
def test_what_is_not_finite_stays_in_its_rows(target, which):
    arguments = [np.array(a) for a in qkv(2, 200, 200, 64, 64)]
    arguments[which][0, 7] = np.nan
    arguments[which][1, 130, 3] = np.inf
    expect(attend(CAUSAL["causal"]), [jnp.asarray(a) for a in arguments], target)


@pytest.mark.parametrize("target", [*TARGETS, "trn1,memory.sbuf_bytes=0.25x"])
@pytest.mark.parametrize("deep", [64, 128])
def test_what_is_not_finite_in_16_bits(target, deep):
    """Operands are turned as bytes on trn1, the largest scores by transfers; rows of several blocks, some of them without a column."""
    q, k, v = (np.array(a) for a in qkv(2, 700, 900, deep, deep, BF16))
    q[0, 7] = np.nan
    q[1, 600, 3] = np.inf
    k[0, 899, 1] = np.inf  # which the mask hides
    v[1, 130, 5] = np.inf
    for masked in (-jnp.inf, -1e4):
        expect(attend(lambda i, j: i - 150 >= j, masked=masked), [jnp.asarray(a) for a in (q, k, v)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_scores_of_any_size(target):
    expect(attend(scale=10.0), [10 * a for a in qkv(1, 200, 200, 64, 64)], target)
    expect(attend(scale=1e-3), [1e-2 * a for a in qkv(1, 200, 200, 64, 64)], target)


LONG = {
    "all": None,
    "causal": lambda i, j: i + 8900 >= j,
    "far": lambda i, j: j > 6000,
    "none": lambda i, j: i + j > 9300,
}


@pytest.mark.parametrize("masked", [-jnp.inf, -2.0])
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("size", [(128, 128, BF16), (64, 64, F32)])
def test_rows_of_several_groups_of_columns(name, masked, size):
    """`far`: the first groups have no column that counts. `none`: the first rows have none at all."""
    deep, width, dtype = size
    q, k, v = qkv(1, 300, 9100, deep, width, dtype)
    k = k.at[0, 8000:].multiply(3)  # the largest scores come late
    expect(attend(LONG[name], masked=masked), [q, k, v], "trn2")


BANDS = {
    "ahead": lambda i, j: i + 37 >= j,
    "band": lambda i, j: (i - j < 200) & (j - i < 90),
    "far band": lambda i, j: (j - i > 3900) & (j - i < 6000),
    "corner": lambda i, j: i + j >= 5000,
    "later and not later": lambda i, j: (i >= j + 10) & (j >= i + 10),
}


@pytest.mark.parametrize("target", ["trn2", "trn3"])
@pytest.mark.parametrize("name", BANDS)
@pytest.mark.parametrize("size", [(64, BF16), (128, BF16), (64, F32)])
def test_bounds_of_columns(name, target, size):
    """Rows whose columns lie between bounds, in one group of columns or more. Some rows have none, alone or in a group; what is hidden may be NaN."""
    deep, dtype = size
    q, k, v = qkv(1, 500, 5100, deep, deep, dtype)
    k = k.at[0, 4980:5000].multiply(4).at[0, 300, 2].set(jnp.nan).at[0, 4600, 1].set(jnp.inf)
    expect(attend(BANDS[name], 0.1), [q, k, v], target)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_hidden_numbers_do_not_matter(target):
    """A key of NaN is hidden from all rows before it, also in its own block."""
    q, k, v = qkv(2, 700, 700, 64, 64, BF16)
    exe = expect(attend(CAUSAL["causal"]), [q, k.at[:, 333].set(jnp.nan), v], target)
    got = np.asarray(exe(q, k.at[:, 333].set(jnp.nan), v), np.float32)
    assert np.isfinite(got[:, :333]).all()
    assert np.isnan(got[:, 333:]).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", [0.125, 0.3, 3.0, 2.0**-31])
@pytest.mark.parametrize("kind", ["1e8", "1e19", "of -inf alone"])
def test_bounds_and_scores_of_any_size(target, scale, kind):
    """Large scores are no NaN, and rows that see nothing but -inf are."""
    q, k, v = qkv(2, 384, 384, 64, 64, F32)
    if kind == "of -inf alone":
        q, k = q.at[0].set(abs(q[0]) + 0.1), k.at[0, :40].set(-jnp.inf)
    else:
        k = k.at[1].multiply(float(kind))
    function = attend(CAUSAL["causal"], scale)
    got = np.asarray(glia.jit(function, target=target)(q, k, v))
    own = np.asarray(jax.jit(function)(q, k, v))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(own))
    assert np.isnan(got).any() == (kind == "of -inf alone")
    np.testing.assert_allclose(got[0], own[0], rtol=0, atol=2e-5)  # of larger scores XLA's sums weigh the choice


def test_what_is_not_finite_in_groups_of_columns():
    q, k, v = (np.array(a) for a in qkv(1, 256, 9100, 128, 64))
    q[0, 3] = np.nan
    q[0, 4, 7] = np.inf
    k[0, 5000, 0] = -1e30  # weighs nothing, or all
    v[0, 9000, 5] = np.inf
    expect(attend(), [jnp.asarray(a) for a in (q, k, v)], "trn2")


@pytest.mark.parametrize("target", TARGETS)
def test_heads_that_share_keys(target):
    q, kv = numbers(1, 256, 8, 64, dtype=BF16), numbers(1, 256, 2, 64, dtype=BF16, seed=5)
    expect(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), [q, kv, kv], target)


@pytest.mark.parametrize("target", ["trn1", "trn2"])
def test_many_small_ones_are_a_loop(target):
    few, many = (expect(attend(), qkv(n, 128, 128, 16, 16, BF16), target) for n in (24, 2400))
    assert many.program.instructions < 100 * few.program.instructions / 2  # not written out


def test_operations_behind():
    def f(q, k, v, b):
        return jnp.tanh(attend()(q, k, v) + b)

    expect(f, [*qkv(2, 200, 200, 64, 64), numbers(64)], "trn2")


def test_two_cores():
    f = attend(CAUSAL["causal"])
    arguments = qkv(2, 256, 256, 64, 64)
    got = glia.jit(f, target="trn2", lnc=2)(*arguments)
    np.testing.assert_allclose(got, jax.jit(f)(*arguments), atol=3e-5)


LOOKALIKES = {
    "weights are a result": lambda x: (jax.nn.softmax(x, -1),) * 2,
    "softmax of columns": lambda x: (jax.nn.softmax(x, 1), None),
    "largest of columns": lambda x: (jnp.exp(x - x.max(1, keepdims=True)) / jnp.exp(x - x.max(1, keepdims=True)).sum(-1, keepdims=True), None),
    "sums of columns beside rows": lambda x: (jnp.exp(x - x.max(-1, keepdims=True)) / jnp.exp(x - x.max(-1, keepdims=True)).sum(1)[:, :, None], None),
    "without the largest": lambda x: (jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), None),
    "falling": lambda x: (jax.nn.softmax(-x, -1), None),
    "squares": lambda x: (jax.nn.softmax(x * x, -1), None),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes(name):
    def f(q, k, v):
        weights, also = LOOKALIKES[name](jnp.einsum("bqd,bkd->bqk", q, k) * 0.05)
        out = jnp.einsum("bqk,bkd->bqd", weights, v)
        return out if also is None else jnp.concatenate([out, also], -1)

    expect(f, qkv(2, 150, 150, 64, 64), "trn2", groups=None)


def test_weights_of_themselves():
    def f(q, k):
        weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), -1)
        return jnp.einsum("bqk,bkd->bqd", weights, weights)

    expect(f, qkv(1, 150, 150, 16, 1)[:2], "trn2", groups=None)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", [0.3, 8**-0.5])
@pytest.mark.parametrize("masked", [-1e10, -0.7 * 3.4e38])
def test_rows_without_a_column_are_plain_means(target, scale, masked):
    expect(attend(lambda i, j: j <= i - 3, scale, masked), qkv(1, 256, 256, 16, 16), target)


def test_masks_that_hold_for_no_block_of_rows():
    """Together the 512 rows could reach columns that none of their blocks does."""
    expect(attend(lambda i, j: (j <= i) & (i < 200), masked=-1e9), qkv(1, 512, 512, 16, 16), "trn2")
    expect(attend(lambda i, j: (i >= 300) & (j >= i), masked=-1e9), qkv(1, 512, 512, 16, 16), "trn1")


def test_unsigned_places_wrap():
    def near(i, j):
        return (i.astype(jnp.uint32) - j.astype(jnp.uint32)) < jnp.uint32(20)

    expect(attend(near), qkv(1, 512, 512, 16, 16), "trn2", groups=None)


def test_sums_of_values_that_their_type_does_not_hold():
    q, k, _ = qkv(1, 1024, 1024, 16, 16)
    values = jnp.full((1, 1024, 16), 30000, jnp.float16)
    f = lambda q, k, v: attend(CAUSAL["causal"])(q, k, v.astype(F32)).astype(jnp.float16)  # noqa: E731
    expect(f, [q, k, values], "trn2", groups=None)


def test_wide_values():
    expect(attend(), qkv(1, 700, 1024, 64, 255), "trn1")
    expect(attend(), qkv(1, 200, 300, 64, 256), "trn2")
    expect(attend(CAUSAL["causal"], 0.3), qkv(2, 300, 200, 64, 511, BF16), "trn1")
    expect(attend(), qkv(1, 150, 150, 64, 512), "trn2", groups=None)


def test_weights_that_are_counted_several_times():
    def f(q, k, v):
        x = jnp.einsum("bqd,bkd->bqk", q, k)
        e = jnp.exp(x - x.max(-1, keepdims=True))
        total = jnp.broadcast_to(e[None], (3, *e.shape)).sum((0, -1))
        return jnp.einsum("bqk,bkd->bqd", e / total[..., None], v)

    expect(f, qkv(1, 130, 130, 16, 8), "trn2", groups=None)
