"""Hurwitz zeta and polygamma against SciPy in double precision."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
special = pytest.importorskip("scipy.special")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")
INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("target", TARGETS)
def test_zeta(target):
    rng = np.random.default_rng(0)
    s = np.concatenate([rng.uniform(1.01, 9, 200), rng.integers(2, 40, 200)]).astype(np.float32)
    q = (10 ** rng.uniform(-2, 3, 400)).astype(np.float32)
    want = special.zeta(s.astype(np.float64), q.astype(np.float64))
    inside = (want < 3e38) & (want > 1e-37)
    got = np.asarray(glia.jit(lax.zeta, target=target)(s, q))
    np.testing.assert_allclose(got[inside], want[inside], rtol=2e-6)
    assert np.isinf(got[want > 3.5e38]).all()


@pytest.mark.parametrize("target", TARGETS)
def test_zeta_at_its_edges(target):
    #          a pole; none below 1; whole q; q below 0 of whole and other s; beyond; too large to sum; so far below that no term is above
    s = np.array([1, 0.5, 2, 3, 3, 2.5, 1e6, 50, NAN, 3, 3], np.float32)
    q = np.array([2, 2, 0, -4, -3.25, -0.5, 3, 0.01, 1, NAN, -20.5], np.float32)
    want = np.array([INF, NAN, INF, INF, special.zeta(3.0, -3.25), NAN, 0, INF, NAN, NAN, NAN])
    np.testing.assert_allclose(np.asarray(glia.jit(lax.zeta, target=target)(s, q)), want, rtol=2e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_polygamma(target):
    rng = np.random.default_rng(1)
    n = rng.integers(0, 9, 400).astype(np.float32)
    x = (10 ** rng.uniform(-2, 2, 400)).astype(np.float32)
    want = np.array([special.polygamma(int(k), np.float64(v)) for k, v in zip(n, x)])
    got = np.asarray(glia.jit(lax.polygamma, target=target)(n, x))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=4e-6)
    assert np.isnan(np.asarray(glia.jit(lax.polygamma, target=target)(np.float32([-1, 1.5]), np.float32([2, 2])))).all()
