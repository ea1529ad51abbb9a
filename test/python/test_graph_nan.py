"""A NaN in a result of a graph, though no argument had one: a warning at the line of the first operation that gives one."""

import numpy as np
import pytest

pytest.importorskip("jax")

import glia
import jax.numpy as jnp
from glia import warn

if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)


@pytest.fixture(autouse=True)
def as_errors():
    warn.choose("error")
    yield
    warn.choose(None)


def scores(x):
    y = x * 2
    z = jnp.log(y)
    return z + 1


X = np.abs(np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)) + 0.1


def test_the_operation_is_named():
    x = X.copy()
    x[3, 5] = -1
    with pytest.raises(glia.Error) as e:
        glia.jit(scores)(x)
    (d,) = e.value.diagnostics
    assert (d.code, d.file, d.line) == ("RUN-NAN", __file__, scores.__code__.co_firstlineno + 2)
    assert d.notes == ["the first operation that gives a NaN: stablehlo.log, at [3, 5] of its result"]


def test_no_warning_without_a_nan_or_with_one_in_an_argument():
    f = glia.jit(scores)
    np.testing.assert_allclose(f(X), np.log(X * 2) + 1, rtol=1e-5)
    x = X.copy()
    x[0, 0] = np.nan
    assert np.isnan(f(x)[0, 0])


def test_said_once_for_each_executable(capfd, monkeypatch):
    monkeypatch.setattr(warn, "_shown", set())
    warn.choose("show")
    f = glia.jit(scores)
    for _ in range(3):
        f(-X)
    assert capfd.readouterr().err.count("warning[RUN-NAN]") == 1
