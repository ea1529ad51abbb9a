"""Pointwise graphs: work that engines share keeps its bits, rewrites keep special values, parts of tensors are addressing."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import ml_dtypes

TARGETS = ["trn1", "trn2", "trn3"]
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-45,
    -1e-45,
    1e-38,
    3e38,
    -3e38,
    88.7,
    -88.7,
    88.8,
    -88.8,
    -90,
    -100,
    -103,
]
SPECIAL += [
    -104,
    -110,
    11,
    -11,
    -11.2,
    -12,
    -17,
    -18,
    1e-20,
    65504,
    -65504,
    1e19,
    -1e19,
    1e13,
    7e12,
    1,
    -1,
    0.5,
    -0.5,
    -2,
]


def numbers(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp(rng.uniform(-6, 4, shape))
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL
    x.reshape(-1)[-len(SPECIAL) :] = SPECIAL[::-1]
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def same(a, b):
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True) and np.array_equal(
        np.signbit(a)[~np.isnan(np.asarray(a, np.float64))], np.signbit(b)[~np.isnan(np.asarray(b, np.float64))]
    )


def scalars(x):
    n = x.dtype.type if isinstance(x, np.ndarray) else lambda v: jnp.asarray(v, x.dtype)
    return (
        (x + n(1)) * n(0.5),
        (x + n(2)) * n(-0.25),
        (x * n(0.5)) + n(3),
        x * n(0.3),
        n(2) - x,
        x - n(7),
        (x * n(0.7)) * n(3),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_shared_work_keeps_its_bits(dtype, target):
    x = numbers(384, 512, dtype=TYPES[dtype])
    exe = glia.jit(scalars, target=target).compile(x)
    if target == "trn1" and dtype != "f32":  # of which transfers take all the time
        assert "fn=copy" in exe.program.disassemble()
    with np.errstate(all="ignore"):
        expected = scalars(x)
    for i, (got, want) in enumerate(zip(exe(x), expected, strict=True)):
        assert same(got, want), (i, target)


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_rows(target):
    def sums(x):
        return x.astype(jnp.float32).sum(-1), jnp.max(x, -1), (x * x).astype(jnp.float32).sum(-1)

    x = np.random.default_rng(1).standard_normal((1024, 512)).astype(ml_dtypes.bfloat16)
    wide = x.astype(np.float64)
    total, largest, squares = glia.jit(sums, target=target)(x)
    assert np.allclose(total, wide.sum(-1), rtol=0, atol=1e-4)
    assert same(largest, x.max(-1))
    assert np.allclose(squares, (wide * wide).sum(-1), rtol=1e-5)  # not rounded on the way (docs/numerics.md)


def logistics(x, a, np=jnp, one=1):
    e = np.exp(-x)
    return (
        one / (one + e),
        a / (one + e),
        x / (np.exp(-x) + one),
        a / (np.exp(x) + one),
        x * np.tanh(x) / (one + np.exp(-x)),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_logistic(dtype, target):
    t = TYPES[dtype]
    x, a = numbers(20, 130, dtype=t), numbers(20, 130, dtype=t, seed=1)[:, ::-1]
    results = glia.jit(logistics, target=target)(x, a)
    with np.errstate(all="ignore"):
        w = x.astype(np.float64)
        exact, own = logistics(w, a.astype(np.float64), np), logistics(x, a, np, t(1))
    eps, tiny = (float(v) for v in (ml_dtypes.finfo(t).eps, ml_dtypes.finfo(t).tiny))
    for got, want, graph in zip(results, exact, own, strict=True):
        got, graph = got.astype(np.float64), graph.astype(np.float64)
        with np.errstate(all="ignore"):  # the last bit of a logistic that is no normal number, times the dividend
            near = abs(got - want) <= 6 * eps * abs(want) + eps * tiny * (4 + abs(w))
        # What overflows in the type, and NaN, is as the graph has it.
        assert (near | (got == graph) | (np.isnan(got) & np.isnan(graph))).all()
        assert (np.isnan(got) == np.isnan(graph)).all()


@pytest.mark.parametrize("target", TARGETS)
def test_cubes(target):
    def cube(x):
        return x + 0.044715 * (x * x * x), jnp.float32(0.5) * x**3 + x

    x = numbers(20, 130)
    with np.errstate(all="ignore"):
        w = x.astype(np.float64)
        exact = [(w + np.float64(np.float32(c)) * w**3).astype(np.float32) for c in (0.044715, 0.5)]
        graph = [x + np.float32(c) * (x * x * x) for c in (0.044715, 0.5)]
    for got, want, own in zip(glia.jit(cube, target=target)(x), exact, graph, strict=True):
        with np.errstate(all="ignore"):
            near = abs(got.astype(np.float64) - want) <= 4 * 2.0**-24 * abs(want.astype(np.float64))
        assert (near | (got == want) | (got == own) | (np.isnan(got) & np.isnan(own))).all()
        assert (np.isnan(got) == np.isnan(own)).all()
        assert (np.signbit(got) == np.signbit(own))[x == 0].all()


def rotary(x, c, s, np=jnp):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * c - b * s, a * s + b * c], -1)


def rotary_heads(x, c, s, np=jnp):
    """[batch, sequence, heads, width]: a row of cosines for all heads of a place."""
    return rotary(x, c[None, :, None, :], s[None, :, None, :], np)


def some_heads(x, c, np=jnp):
    """Rows that repeat are stored, too, and read in pieces that are no multiple of them."""
    wide = np.broadcast_to(c[:, None, :], x.shape)
    return np.concatenate([x * wide, wide], 1), x - wide


def beside(x, y, np=jnp):
    return np.concatenate([x + y, x - y, x * y], 0)


def between(x, y, np=jnp):
    return np.concatenate([x[:, :128] + y, y * x[:, 128:256], x[:, 256:] - y], 1)


def unequal(x, y, np=jnp):
    return np.concatenate([x[:, :128] + y, x[:, 128:] * x[:, 128:]], 1)


def read_again(x, y, np=jnp):
    z = np.concatenate([x + y, x - y], 1)
    return z[:, 100:400] * z[:, :300], z + z


PARTS = {
    "rotary": (rotary, [(200, 512), (200, 256), (200, 256)], 1),
    "rotary of heads": (rotary_heads, [(2, 150, 6, 128), (150, 64), (150, 64)], 1),
    "rotary of many heads": (rotary_heads, [(1, 130, 37, 192), (130, 96), (130, 96)], None),
    "what repeats": (some_heads, [(140, 9, 40), (140, 40)], None),
    "rows beside rows": (beside, [(130, 256), (130, 256)], 1),
    "three of a dimension": (between, [(140, 384, 5), (140, 128, 5)], 1),
    "unequal": (unequal, [(140, 384), (140, 128)], None),
    "read again": (read_again, [(130, 256), (130, 256)], None),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name):
    function, shapes, groups = PARTS[name]
    arguments = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    with np.errstate(all="ignore"):
        expected = jax.tree.leaves(function(*arguments, np=np))
    for target, lnc in [("trn1", 1), ("trn2", 1), ("trn2", 2), ("trn3", 1)]:
        exe = glia.jit(function, target=target, lnc=lnc).compile(*arguments)
        assert groups in (None, exe.groups), (target, lnc)
        for got, want in zip(jax.tree.leaves(exe(*arguments)), expected, strict=True):
            assert same(got, want), (target, lnc)


def test_a_part_of_a_bias_stays_with_its_product():
    def biased(x, w, b):
        return x @ w + b[:, 128:640]

    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in [(130, 64), (64, 512), (130, 700)])
    for target in TARGETS:
        exe = glia.jit(biased, target=target).compile(x, w, b)
        assert exe.groups == 1
        assert np.allclose(exe(x, w, b), x @ w + b[:, 128:640], atol=1e-4)
