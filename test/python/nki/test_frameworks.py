"""Arrays of torch and JAX in and out, where those packages are installed; and that they are not imported otherwise."""

import subprocess
import sys

import glia
import nki
import nki.language as nl
import numpy as np
import pytest

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, nl.add(t, t))
    return out


@nki.jit
def halve(x):
    nl.store(x, nl.multiply(nl.load(x), 0.5))
    return x


def test_neither_is_imported():
    code = "import sys, glia; glia.install(); import nki, nki.isa, nki.language; assert not {'torch', 'jax'} & set(sys.modules)"
    path = glia.__file__.rsplit("/", 2)[0]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path}, timeout=60)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_torch(dtype):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X % 64).to(getattr(torch, dtype))
    y = double(x)
    assert isinstance(y, torch.Tensor) and y.dtype == x.dtype and torch.equal(y, x + x)


def test_torch_in_place():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy())
    assert halve(x) is x and torch.equal(x, torch.from_numpy(X / 2))


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    y = double(x)
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(np.asarray(y), X * 2)
    np.testing.assert_array_equal(np.asarray(halve(x)), X / 2)
    np.testing.assert_array_equal(np.asarray(x), X)  # JAX arrays do not change


def test_threads_trace_for_themselves():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        for n, y in enumerate(pool.map(lambda n: double(X + n), range(16))):
            np.testing.assert_array_equal(y, (X + n) * 2)
