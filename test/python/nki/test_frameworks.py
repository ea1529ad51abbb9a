"""Arrays of torch and JAX in and out, where those packages are installed; and that they are not imported otherwise."""

import subprocess
import sys

import glia
import nki
import nki.language as nl
import numpy as np
import pytest
from small_kernels import double

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


@nki.jit
def halve(x):
    nl.store(x, nl.multiply(nl.load(x), 0.5))
    return x


def test_neither_is_imported():
    code = "import sys, glia; glia.install(); import nki, nki.isa, nki.language; assert not {'torch', 'jax'} & set(sys.modules)"
    path = glia.__file__.rsplit("/", 2)[0]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path}, timeout=300)


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


@nki.jit
def total_and_scaled(pair, factor):
    """Arrays in a tuple, a number, and two results of other types."""
    a, b = nl.load(pair[0]), nl.load(pair[1])
    total = nl.ndarray(pair[0].shape, nl.float32, buffer=nl.shared_hbm)
    scaled = nl.ndarray(pair[0].shape, nl.bfloat16, buffer=nl.shared_hbm)
    nl.store(total, nl.add(a, b, dtype=nl.float32))
    nl.store(scaled, nl.multiply(a, factor, dtype=nl.bfloat16))
    return {"total": total, "parts": [scaled]}


def test_torch_of_many_types():
    torch = pytest.importorskip("torch")
    a, b = torch.arange(64, dtype=torch.float16).reshape(8, 8), torch.ones(8, 8, dtype=torch.bfloat16)
    out = nki.simulate(total_and_scaled)((a, b), 0.5)
    assert out["total"].dtype == torch.float32 and torch.equal(out["total"], a.float() + 1)
    assert out["parts"][0].dtype == torch.bfloat16 and torch.equal(out["parts"][0], (a * 0.5).to(torch.bfloat16))


def test_torch_views_and_gradients():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy()).requires_grad_()
    assert torch.equal(double(x[:, ::2].T), (x[:, ::2].T * 2).detach())  # strided, and part of a graph


def test_torch_on_an_xla_device(monkeypatch):
    monkeypatch.setenv("PJRT_DEVICE", "CPU")
    torch = pytest.importorskip("torch")
    torch_xla = pytest.importorskip("torch_xla")
    x = torch.from_numpy(X.copy()).to(torch_xla.device())
    y = double(x)
    assert y.device == x.device and torch.equal(y.cpu(), torch.from_numpy(X * 2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "float8_e5m2"])
def test_jax_types(dtype):
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X % 8).astype(dtype)
    y = nki.simulate(double)(x)
    assert isinstance(y, jax.Array) and y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x + x))


def test_jax_is_the_reference():
    """A kernel of several instructions against JAX's own softmax."""
    jax = pytest.importorskip("jax")

    @nki.jit
    def softmax(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.softmax(nl.load(x)))
        return out

    x = jax.random.normal(jax.random.key(0), (128, 300))
    np.testing.assert_allclose(np.asarray(softmax(x)), np.asarray(jax.nn.softmax(x)), rtol=2e-5)


def test_jax_transformations():
    """In jax.jit the kernel is compiled when the function is, and runs with it; errors come while it is traced."""
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    both = jax.jit(lambda x: (double(x + 1) - 1, halve(x)))(x)
    np.testing.assert_array_equal(np.asarray(both[0]), X * 2 + 1)
    np.testing.assert_array_equal(np.asarray(both[1]), X / 2)
    stack = jax.vmap(double)(jax.numpy.stack([x, x + 1]))
    np.testing.assert_array_equal(np.asarray(stack), np.stack([X, X + 1]) * 2)

    @nki.jit
    def wrong(x):
        return nl.add(nl.load(x), 1.0)

    with pytest.raises(glia.Error, match="NKI-RETURN"):
        jax.jit(wrong)(x)
