"""Steps between scores and softmax (biases, masks that are data, caps) are part of the kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weighted_cases import BF16, F16, F32, TARGETS, expect, numbers, qkv


def attend(step, scale=0.125):
    def f(q, k, v, *rest):
        s = step(jnp.einsum("bqd,bkd->bqk", q, k) * scale, *rest)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s, -1), v)

    return f


def truth(*shape):
    return jnp.asarray(np.random.default_rng(shape).random(shape) < 0.5)


def causal(s):
    return jnp.arange(s.shape[1])[:, None] >= jnp.arange(s.shape[2])[None]


SOME = ("trn1", "trn2")  # trn3 turns and chooses as trn2 does
ROWS, COLUMNS = 140, 270
PLUS = {
    "whole": ((2, ROWS, COLUMNS), lambda s, b: s + b),
    "shared": ((ROWS, COLUMNS), lambda s, b: b + s),
    "turned": ((COLUMNS, ROWS), lambda s, b: s - b.T),
    "of columns": ((2, COLUMNS), lambda s, b: s + b[:, None]),
    "of rows": ((2, ROWS), lambda s, b: s * b[:, :, None]),
    "of heads": ((2,), lambda s, b: b[:, None, None] - s),
    "largest": ((ROWS, COLUMNS), lambda s, b: jnp.maximum(s, b)),
    "behind a condition": ((2, ROWS, COLUMNS), lambda s, b: jnp.where(causal(s), s + b, -1e9)),
    "before a number": ((2, ROWS, COLUMNS), lambda s, b: -(2 * s + b) + 1),
    "two": ((2, ROWS, COLUMNS), lambda s, b: (s + b) * b),
}


@pytest.mark.parametrize("target", SOME)
@pytest.mark.parametrize("name", PLUS)
def test_tensors(target, name):
    shape, step = PLUS[name]
    expect(attend(step), [*qkv(2, ROWS, COLUMNS, 48, 40), numbers(*shape, seed=9)], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "size", [(1, 140, 700, 160, 255, F32), (2, 130, 129, 128, 128, BF16), (1, 513, 128, 17, 5, F16)]
)
def test_sizes(target, size):
    batches, rows, columns, *_, dtype = size
    expect(attend(lambda s, b: s + b, 0.3), [*qkv(*size), numbers(batches, rows, columns, dtype=dtype, seed=9)], target)


@pytest.mark.parametrize("target", SOME)
@pytest.mark.parametrize("least", [-np.inf, np.finfo(np.float32).min, -1e9])
def test_padding_that_is_added(target, least):
    """Whole rows too: NaN if it is infinite, the plain mean if it is not."""
    pad = np.zeros((3, 1, COLUMNS), np.float32)
    pad[0, :, 70:] = pad[1, :, 1:] = pad[2] = least
    expect(attend(lambda s, b: s + b, 0.088), [*qkv(3, 129, COLUMNS, 48, 40), jnp.asarray(pad)], target)
    expect(attend(lambda s, b: (s + b) * 0.3), [*qkv(3, 129, COLUMNS, 48, 40), jnp.asarray(pad)], target)


MASKS = {
    "whole": ((2, ROWS, COLUMNS), lambda s, b, n: jnp.where(b, s, n)),
    "by a number near the scores": ((2, ROWS, COLUMNS), lambda s, b, n: jnp.where(b, s, 0.25)),
    "of columns": ((2, 1, COLUMNS), lambda s, b, n: jnp.where(b, s, n)),
    "of rows": ((2, ROWS, 1), lambda s, b, n: jnp.where(b, s, n)),
    "shared": ((ROWS, COLUMNS), lambda s, b, n: jnp.where(b, n, s) * 0.5),
    "not": ((2, ROWS, COLUMNS), lambda s, b, n: jnp.where(~b, s, n)),
    "and a condition": ((2, ROWS, COLUMNS), lambda s, b, n: jnp.where(b & causal(s), s, n)),
    "negative": ((2, ROWS, COLUMNS), lambda s, b, n: -0.5 * jnp.where(b, s, -n)),
    "behind a function": ((2, ROWS, COLUMNS), lambda s, b, n: jnp.where(b, jnp.tanh(s), n)),
}


@pytest.mark.parametrize("target", SOME)
@pytest.mark.parametrize("number", [-np.inf, -3.4e38])
@pytest.mark.parametrize("name", MASKS)
def test_masks_that_are_data(target, name, number):
    shape, step = MASKS[name]
    mask = truth(*shape).at[0, 0].set(False).at[..., 5, :].set("negative" in name or shape[-2] == 1)
    expect(attend(lambda s, b: step(s, b, number), 0.158), [*qkv(2, ROWS, COLUMNS, 48, 40), mask], target)


@pytest.mark.parametrize("target", SOME)
def test_what_a_mask_hides_may_be_anything(target):
    q, k, v = (np.array(a) for a in qkv(2, ROWS, COLUMNS, 48, 40))
    k[0, 7] = np.nan
    k[1, 130, 3] = np.inf
    mask = truth(2, ROWS, COLUMNS).at[0, :, 7].set(False).at[1, :, 130].set(False)
    step = attend(lambda s, b: jnp.where(b, s, -1e9))
    expect(step, [jnp.asarray(q), jnp.asarray(k), jnp.asarray(v), mask], target)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_finite_stays_in_its_rows(target):
    bias = np.array(numbers(2, ROWS, COLUMNS))
    bias[0, 3, 4], bias[0, 9, 17], bias[1, 5], bias[1, 6, 1:], bias[0, 130] = np.nan, np.inf, -np.inf, -np.inf, -1e9
    arguments = [*qkv(2, ROWS, COLUMNS, 48, 40), jnp.asarray(bias)]
    expect(attend(lambda s, b: s + b), arguments, target)
    for which in range(3):
        other = [np.array(a) for a in arguments]
        other[which][0, 7] = np.nan
        other[which][1, 130, 3] = np.inf
        expect(attend(lambda s, b: s + b), [jnp.asarray(a) for a in other], target)


CAPS = {
    "plain": lambda s: 5 * jnp.tanh(s / 5),
    "causal": lambda s: jnp.where(causal(s), 50 * jnp.tanh(s / 50), -2e38),
    "later": lambda s: jnp.where(causal(s), -1e9, 5 * jnp.tanh(s / 5)),
    "never": lambda s: jnp.where(causal(s), -jnp.inf, 5 * jnp.tanh(s / 5)),
    "clipped": lambda s: jnp.clip(s, -1, 2),
}


@pytest.mark.parametrize("target", SOME)
@pytest.mark.parametrize("name", CAPS)
def test_caps(target, name):
    """`later`, `never`: no column counts in the last rows."""
    expect(attend(CAPS[name], 1.0), qkv(1, 450, 400, 32, 16), target, groups=None if name == "clipped" else 1)
    expect(attend(CAPS[name], 1.0), qkv(1, 129, 250, 64, 64, BF16), target, groups=None if name == "clipped" else 1)


@pytest.mark.parametrize("target", TARGETS)
def test_attention_of_jax(target):
    q, kv = numbers(1, 256, 8, 64, dtype=BF16), numbers(1, 256, 2, 64, dtype=BF16, seed=5)

    def f(q, k, v, bias, mask):
        return jax.nn.dot_product_attention(q, k, v, bias=bias, mask=mask, is_causal=True)

    expect(f, [q, kv, kv, numbers(1, 8, 256, 256, dtype=BF16), truth(1, 1, 1, 256).at[..., 0].set(True)], target)


def distances(s):
    return (jnp.arange(s.shape[2])[None] - jnp.arange(s.shape[1])[:, None]).astype(F32)


def heads(step):
    def f(q, k, v, *rest):
        s = step(jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5, *rest)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)

    return f


MODELS = {
    "slopes": (1, lambda s, a, m: s + a[:, None, None] * distances(s[0])),
    "slopes, causal": (1, lambda s, a, m: jnp.where(distances(s[0]) <= 0, s - a[:, None, None] * distances(s[0]), -1e9)),
    "padding from numbers": (1, lambda s, a, m: s + (1 - m[:, None, None]) * -1e9),
    "padding and causal": (2, lambda s, a, m: jnp.where((distances(s[0]) <= 0)[None, None] & (m[:, None, None] > 0), s, -3.4e38)),
    "product of rows and columns": (1, lambda s, a, m: s - 2 * m[:, None, :, None] * m[:, None, None]),
}  # fmt: skip


@pytest.mark.parametrize("target", SOME)
@pytest.mark.parametrize("name", MODELS)
def test_models(target, name):
    """What is computed before is small: one group for distances, padding or none."""
    groups, step = MODELS[name]
    padding = jnp.asarray(np.arange(150)[None] < np.array([[150], [40]]), F32).at[0, 0].set(0)
    arguments = [*(numbers(2, 3, 150, 40, seed=i) for i in range(3)), jnp.asarray([0.5, 0.25, -0.1]), padding]
    exe = expect(heads(step), arguments, target, groups=None)
    assert exe.groups <= groups + 1


def test_many_small_ones_are_a_loop():
    few, many = (
        expect(attend(lambda s, b: s + b), [*qkv(n, 128, 128, 2, 1, BF16), numbers(n, 128, 128, dtype=BF16)], "trn2")
        for n in (17, 1700)
    )
    assert many.program.instructions < 100 * few.program.instructions / 2  # not written out


def test_constant_masks():
    chess = (np.arange(150)[:, None] + np.arange(150)) % 2 == 0
    band = np.tril(np.ones((150, 150), bool))
    expect(attend(lambda s: jnp.where(chess, s, -1e9)), qkv(1, 150, 150, 32, 16), "trn2")
    expect(
        attend(lambda s, b: jnp.where(band, s, -1e9) + b), [*qkv(1, 150, 150, 32, 16), numbers(150, 150)], "trn2", None
    )


LOOKALIKES = {
    "squares": lambda s: s * s,
    "scores as their own bias": lambda s: s + s.transpose(0, 2, 1),
    "largest scores as a bias": lambda s: s + s.max(1, keepdims=True),
    "numbers over scores": lambda s: 1 / (s * s + 1),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes(name):
    expect(attend(LOOKALIKES[name]), qkv(2, 150, 150, 32, 16), "trn2", groups=None)


def test_biases_that_are_products():
    """Each of the two could be the scores."""

    def f(q, k, v, a, b):
        s = jnp.einsum("qe,ke->qk", a, b) + jnp.einsum("bqd,bkd->bqk", q, k)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s, -1), v)

    expect(f, [*qkv(2, 150, 170, 32, 16), numbers(150, 8), numbers(170, 8)], "trn2", groups=2)
