"""Norms over rows, with weights that all rows share: against NumPy in float64, in sizes whose rows fill much of SBUF."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import ml_dtypes

TARGETS = ["trn1", "trn2", "trn3"]
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}
ROWS, COLUMNS = 1060, 2100


def layer_norm(x, w, b, np=jnp):
    x, w, b = (v.astype(np.float32 if np is jnp else np.float64) for v in (x, w, b))
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) * w + b


def root_norm(x, w, b, np=jnp):
    x, w = (v.astype(np.float32 if np is jnp else np.float64) for v in (x, w))
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def log_softmax(x, w, b, np=jnp):
    x = x.astype(np.float32 if np is jnp else np.float64) * 4 + b.astype(np.float32)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def squares(x, w, b, np=jnp):
    """Both operands are what all rows share."""
    w, b = (v.astype(np.float32 if np is jnp else np.float64) for v in (w, b))
    return x * (w * b) + w * w


def in_type(function):
    return lambda x, w, b: function(x, w, b).astype(x.dtype)


FUNCTIONS = {"layer norm": layer_norm, "root norm": root_norm, "log softmax": log_softmax, "squares": squares}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_norm(name, dtype, target):
    t = TYPES[dtype]
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((ROWS, COLUMNS)) * np.exp(rng.uniform(-3, 3, (ROWS, 1)))).astype(t)
    w, b = (rng.standard_normal(COLUMNS).astype(t) for _ in range(2))
    x[3, 5], x[130, 7], x[1059, 2099] = np.nan, np.inf, -np.inf
    got = np.asarray(glia.jit(in_type(FUNCTIONS[name]), target=target)(x, w, b)).astype(np.float64)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](x, w, b, np=np).astype(np.float64)
    assert (np.isnan(got) == np.isnan(want)).all()
    fine = np.isfinite(want)
    assert (got[~fine & ~np.isnan(want)] == want[~fine & ~np.isnan(want)]).all()
    eps = float(ml_dtypes.finfo(t).eps)
    scale = np.sqrt(np.mean(want[fine] ** 2))
    assert abs(got - want)[fine].max() <= 4 * eps * max(abs(want[fine]).max(), scale)
    assert np.sqrt(np.mean((got - want)[fine] ** 2)) <= eps * scale
