"""The gradients of scores, their softmax and the product with the values are one kernel; what only looks like it is right all the same."""

import glia
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weighted_cases import BF16, F32, numbers

TARGETS = ("trn1", "trn2", "trn3")  # trn1: turning multiplies
PLACES = {
    "all": None,
    "causal": lambda i, j: i >= j,
    "window": lambda i, j: (i >= j) & (i - j < 70),
    "later": lambda i, j: i < j,
}


def attend(q, k, v, scale=0.125, places=None, masked=-jnp.inf):
    """Heads in groups that share k and v."""
    s = jnp.einsum("bgqd,bkd->bgqk", q, k) * scale
    if places:
        s = jnp.where(places(jnp.arange(s.shape[2])[:, None], jnp.arange(s.shape[3])[None]), s, masked)
    return jnp.einsum("bgqk,bkd->bgqd", jax.nn.softmax(s, -1), v)


def gradients(**how):
    return lambda q, k, v, g: jax.vjp(lambda *a: attend(*a, **how), q, k, v)[1](g)


def data(batches, groups, rows, columns, deep, width, dtype):
    shapes = (
        (batches, groups, rows, deep),
        (batches, columns, deep),
        (batches, columns, width),
        (batches, groups, rows, width),
    )
    return [numbers(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes)]


def off(got, want):
    return np.linalg.norm(np.asarray(got, np.float64) - want) / np.linalg.norm(want)


def expect(f, arguments, target, groups=1):
    """Each result is off from an evaluation in f64 by at most twice what JAX is in the graph's own types, or by one rounding."""
    exe = glia.jit(f, target=target).compile(*arguments)
    assert groups is None or exe.groups == groups
    got, own = (jax.tree.leaves(r) for r in (exe(*arguments), jax.jit(f)(*arguments)))
    with jax.enable_x64(True):
        exact = jax.tree.leaves(f(*[jnp.asarray(np.asarray(a, np.float64)) for a in arguments]))
    least = 2**-8 if any(a.dtype == BF16 for a in arguments) else 2**-19
    for a, b, want in zip(got, own, exact):
        want = np.asarray(want)
        assert np.isfinite(want).all() and off(a, want) <= max(2 * off(b, want), least)
    return exe


SIZES = [
    (2, 1, 300, 257, 64, 64, BF16),
    (1, 2, 130, 140, 128, 128, BF16),
    (1, 1, 128, 640, 40, 200, BF16),
    (2, 3, 129, 128, 160, 3, F32),
    (1, 1, 700, 128, 2, 80, F32),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(target, size):
    expect(gradients(), data(*size), target)


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("masked", [-jnp.inf, -1e9, -3e38, 0.25])
@pytest.mark.parametrize("name", PLACES)
def test_conditions(name, masked, target):
    """`later`: the last rows have no column. With -inf the graph makes NaN of them, which no gradient of ours has to repeat."""
    if name == "later" and masked == -jnp.inf:
        pytest.skip("nothing but NaN: see test_rows_without_columns")
    expect(gradients(places=PLACES[name], masked=masked), data(1, 1, 640, 640, 32, 128, BF16), target)


def test_rows_without_columns():
    """Weights of such rows are NaN, and so are all gradients of the values; those of the scores are chosen to be 0."""
    arguments = data(1, 1, 300, 260, 64, 64, F32)
    f = gradients(places=PLACES["later"])
    got, want = glia.jit(f, target="trn2")(*arguments), jax.jit(f)(*arguments)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite(which, number, dtype, target):
    """One row, one column or one element of the width: nothing else becomes NaN, also where turning multiplies (trn1)."""
    arguments = [np.array(a) for a in data(2, 1, 200, 301, 64, 64, dtype)]
    arguments[which][(0,) * (arguments[which].ndim - 2) + (7, 3)] = number
    f = gradients(places=PLACES["causal"])
    exe = glia.jit(f, target=target).compile(*arguments)
    assert exe.groups == 1
    got, want = exe(*arguments), jax.jit(f)(*arguments)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))


LONG = {
    "all": None,
    "late": lambda i, j: j - i <= 4100,
    "few": lambda i, j: (j >= i + 2500) & (j < i + 2600),
}


@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize(
    ("name", "dtype", "masked"),
    [
        ("all", F32, -jnp.inf),
        ("all", BF16, -jnp.inf),
        ("late", F32, -jnp.inf),
        ("few", F32, -1e9),
        ("few", F32, 0.25),
        ("few", BF16, -jnp.inf),
    ],
)
def test_columns_in_parts(target, name, dtype, masked):
    """Rows that do not fit SBUF: parts of the columns, some of which have nothing that counts."""
    columns = 4700 if dtype == F32 else 9300
    arguments = data(1, 2, 200, columns, 40, 130, dtype)
    exe = expect(gradients(places=LONG[name], masked=masked), arguments, target)
    assert exe.profile().to_json()["hbm_bytes_written"] < 2 * sum(a.nbytes for a in arguments[:3])


def test_long_rows_fit():
    """Heads of 128 in fp32, on every target: nothing with an element for each score goes through HBM."""
    for target in TARGETS:
        arguments = [jax.ShapeDtypeStruct((1, n, 4096, 128)[-s:], F32) for s, n in ((4, 1), (3, 1), (3, 1), (4, 1))]
        exe = glia.jit(gradients(), target=target).compile(*arguments)
        assert exe.groups == 1 and exe.profile().to_json()["hbm_bytes_written"] == 3 * 4096 * 128 * 4


def test_room_is_judged_once():
    """Whether it fits does not depend on how tensors lie, which is known later."""
    arguments = [jax.ShapeDtypeStruct(s, BF16) for s in ((1, 1, 512, 64), (1, 512, 64), (1, 512, 64), (1, 1, 512, 64))]
    groups = [
        glia.jit(gradients(), target=f"trn1,memory.sbuf_bytes={n}").compile(*arguments).groups
        for n in range(40960, 48128, 512)
    ]
    assert groups == sorted(groups, reverse=True) and groups[0] > 1 and groups[-1] == 1


def test_large_scores():
    expect(gradients(scale=5.0), data(1, 1, 200, 300, 64, 64, BF16), "trn2")


def both(q, k, v, g):
    result, back = jax.vjp(attend, q, k, v)
    return result, back(g)


def loss(q, k, v, g):
    return jax.value_and_grad(lambda *a: (attend(*a).astype(F32) * g).sum(), argnums=(0, 1, 2))(q, k, v)


def by_hand(q, k, v, g):
    """As PyTorch differentiates a softmax."""
    w = jax.nn.softmax(jnp.einsum("bgqd,bkd->bgqk", q, k) * 0.125, -1)
    t = w * jnp.einsum("bgqd,bkd->bgqk", g, v)
    s = (t - w * t.sum(-1, keepdims=True)) * 0.125
    of_q, of_k = jnp.einsum("bgqk,bkd->bgqd", s, k), jnp.einsum("bgqk,bgqd->bkd", s, q)
    return of_q, of_k, jnp.einsum("bgqk,bgqd->bkd", w, g)


def by_result(q, k, v, g):
    """As kernels of attention do: the sum of each row comes from the result."""
    w = jax.nn.softmax(jnp.einsum("bgqd,bkd->bgqk", q, k) * 0.125, -1)
    rows = (g * jnp.einsum("bgqk,bkd->bgqd", w, v)).sum(-1, keepdims=True)
    s = w * (jnp.einsum("bgqd,bkd->bgqk", g, v) - rows) * 0.125
    return jnp.einsum("bgqk,bkd->bgqd", s, k), jnp.einsum("bgqk,bgqd->bkd", s, q)


def one(which):
    def f(*a):
        return jax.vjp(lambda x: attend(*[x if i == which else a[i] for i in range(3)]), a[which])[1](a[3])

    return f


def moved(q, k, v, g):
    """Heads are not where the kernel wants them, and something is behind each result."""
    turn = lambda x: x.transpose(0, 2, 1, 3)  # noqa: E731
    dq, dk, dv = jax.vjp(lambda q, k, v: attend(turn(q), k, v), turn(q), k, v)[1](g)
    return dq * 2, dk.astype(F32) + 1, jnp.tanh(dv)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(
    ("f", "groups"),
    [(by_hand, 1), (both, 2), (loss, None), (by_result, None), (one(0), 1), (one(1), 1), (moved, 1)],
    ids=["by hand", "both", "loss", "by result", "of q", "of k", "moved"],
)
def test_forms(f, groups, dtype):
    exe = expect(f, data(2, 2, 200, 256, 64, 64, dtype), "trn2", groups)
    scores = 2 * 2 * 200 * 256 * dtype.dtype.itemsize
    assert exe.profile().to_json()["hbm_bytes_written"] < 1.5 * scores


def test_wide_values_between():
    """Scores in fp32 of operands in bf16."""

    def f(q, k, v, g):
        def mean(q, k, v):
            s = jnp.einsum("bgqd,bkd->bgqk", q, k, preferred_element_type=F32) * 0.125
            return jnp.einsum("bgqk,bkd->bgqd", jax.nn.softmax(s, -1).astype(BF16), v)

        return jax.vjp(mean, q, k, v)[1](g)

    expect(f, data(1, 2, 200, 256, 64, 64, BF16), "trn2")


def test_others_need_the_gradient_of_the_scores():
    def f(q, k, v, g, b):
        def mean(q, k, v, b):
            w = jax.nn.softmax(jnp.einsum("bgqd,bkd->bgqk", q, k) * 0.125 + b, -1)
            return jnp.einsum("bgqk,bkd->bgqd", w, v)

        return jax.vjp(mean, q, k, v, b)[1](g)

    expect(f, [*data(1, 1, 200, 256, 64, 64, F32), numbers(200, 256)], "trn2", None)


@pytest.mark.parametrize(("causal", "dtype"), [(False, BF16), (True, BF16), (False, F32)])
def test_traffic_and_time(causal, dtype):
    """HBM sees operands and results; the time is near what the graph needs at least."""
    how = {"places": PLACES["causal"]} if causal else {}
    arguments = [jax.ShapeDtypeStruct(a.shape, dtype) for a in data(4, 1, 2048, 2048, 128, 128, dtype)]
    exe = glia.jit(gradients(**how), target="trn2").compile(*arguments)
    profile = exe.profile().to_json()
    tensor = 4 * 2048 * 128 * dtype.dtype.itemsize
    assert exe.groups == 1
    assert profile["hbm_bytes_written"] <= 3 * tensor and profile["hbm_bytes_read"] <= 8 * tensor
    assert exe.time() < (2.1 if causal else 1.6) * exe.bound()["total"]
