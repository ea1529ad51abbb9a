"""Data for means weighted by a softmax, and how results are judged."""

import glia
import jax
import jax.numpy as jnp
import numpy as np

TARGETS = ("trn1", "trn2", "trn3")
F32, BF16, F16 = jnp.float32, jnp.bfloat16, jnp.float16


def numbers(*shape, dtype=F32, seed=0):
    return jnp.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape), dtype)


def qkv(batches, rows, columns, deep, width, dtype=F32):
    return [
        numbers(batches, rows, deep, dtype=dtype, seed=1),
        numbers(batches, columns, deep, dtype=dtype, seed=2),
        numbers(batches, columns, width, dtype=dtype, seed=3),
    ]


def expect(f, arguments, target, groups=1):
    """Against JAX in fp32, NaN for NaN."""
    exe = glia.jit(f, target=target).compile(*arguments)
    assert groups is None or exe.groups == groups
    got = np.asarray(exe(*arguments), np.float32)
    want = np.asarray(jax.jit(f)(*[a.astype(F32) if a.dtype != bool else a for a in arguments]))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    narrow = any(a.dtype in (BF16, F16) for a in arguments)
    size = np.max(np.abs(want), where=np.isfinite(want), initial=0)
    np.testing.assert_allclose(got, want, rtol=0, atol=(2e-2 if narrow else 3e-5) * size)
    return exe
