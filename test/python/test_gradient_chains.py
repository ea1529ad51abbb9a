"""Gradients of weighted means in larger graphs: what one product gives is part of another, or a gradient is differentiated once more."""

import glia
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weighted_cases import BF16, F32, numbers


def mean(q, k, v, scale=0.2):
    weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) * scale, -1)
    return jnp.einsum("bqk,bkd->bqd", weights, v)


def between(q, k, v, g):
    """Weights, and the gradients of the scores."""
    w = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) * 0.125, -1)
    p = jnp.einsum("bqd,bkd->bqk", g, v)
    return w, w * (p - (w * p).sum(-1, keepdims=True))


def columns_from_result(q, k, v, g):
    w, s = between(q, k, v, g)
    dv = jnp.einsum("bqk,bqd->bkd", w, g)
    return dv, jnp.einsum("bqk,bkd->bqd", s, k + jnp.tanh(dv))


def rows_from_result(q, k, v, g):
    w, s = between(q, k, v, g)
    dq = jnp.einsum("bqk,bkd->bqd", s, k)
    return dq, jnp.einsum("bqk,bqd->bkd", s, q * dq.sum(-1, keepdims=True)), jnp.einsum("bqk,bqd->bkd", w, g)


def sum_of_scores(q, k, v, g):
    w, s = between(q, k, v, g)
    dv = jnp.einsum("bqk,bqd->bkd", w, g)
    return jnp.einsum("bqk,bkd->bqd", s, k) + jnp.einsum("bqk,bkd->bqd", w, dv), (s * s).sum()


def of_its_own_result(q, k, v, g):
    result, back = jax.vjp(lambda *a: mean(*a, scale=1.0), q, k, v)
    return back(g * result)


def twice(q, k, v, g):
    once = jax.grad(lambda q: (mean(q, k, v) * g).sum())
    return jax.grad(lambda q: (once(q) ** 2).sum())(q)


def two_layers(q, k, v, g):
    return jax.grad(lambda q: (mean(mean(q, k, v), k, v) * g).sum())(q)


def off(got, want):
    return np.linalg.norm(np.asarray(got, np.float64) - want) / (np.linalg.norm(want) + 1e-9)


@pytest.mark.parametrize("how", [("trn1", {}), ("trn2", {}), ("trn2", {"lnc": 2})], ids=["trn1", "trn2", "two cores"])
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(
    "f", [columns_from_result, rows_from_result, sum_of_scores, of_its_own_result, twice, two_layers]
)
def test_chains(f, dtype, how):
    shapes = ((2, 256, 64), (2, 384, 64), (2, 384, 64), (2, 256, 64))
    arguments = [numbers(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes)]
    target, options = how
    got, own = (jax.tree.leaves(r(*arguments)) for r in (glia.jit(f, target=target, **options), jax.jit(f)))
    with jax.enable_x64(True):
        exact = jax.tree.leaves(f(*[jnp.asarray(np.asarray(a, np.float64)) for a in arguments]))
    least = 2e-6 if dtype == F32 else 2e-2
    for a, b, want in zip(got, own, exact, strict=True):
        assert off(a, np.asarray(want)) <= max(3 * off(b, np.asarray(want)), least)
