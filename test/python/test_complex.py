"""Complex numbers of f32, two tensors each, and Fourier transforms: compiled, against JAX on the host and NumPy."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")


def real(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def numbers(*shape, seed=0):
    return real(*shape, seed=seed) + np.complex64(1j) * real(*shape, seed=seed + 100)


def close(got, want, tolerance=2e-6):
    """By the largest element: a sum may cancel."""
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype
        if y.size:
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())


def same(f, *args, target="trn2", tolerance=2e-6):
    close(glia.jit(f, target=target)(*args), jax.jit(f)(*args), tolerance)


@pytest.mark.parametrize("target", TARGETS)
def test_arithmetic(target):
    def f(a, b):
        return (
            a + b,
            a - b,
            a * b,
            a / b,
            -a,
            abs(a),
            a.conj(),
            a.real,
            a.imag,
            a == b,
            a != b,
            jnp.where(a.real > 0, a, b),
        )

    a, b = numbers(7, 33), numbers(7, 33, seed=1)
    b[2] = a[2]
    same(f, a, b, target=target)


FUNCTIONS = "exp log sqrt sin cos tan tanh sinh cosh expm1 log1p sign angle square reciprocal "
FUNCTIONS += "arcsin arccos arctan arcsinh arccosh arctanh"


@pytest.mark.parametrize("i, target", list(enumerate(TARGETS)))
def test_functions(i, target):
    functions = [getattr(jnp, n) for n in FUNCTIONS.split()]
    functions += [lax.rsqrt, jax.nn.sigmoid, lambda z: z**0.5, lambda z: z**3, lambda z: z ** jnp.flip(z)]
    same(lambda z: [f(z) for f in functions[i::3]], numbers(40), target=target)


def special():
    parts = np.array([0, 1, -1, 0.5, 1e30, -1e30, 1e-30, 3e38, 2e-38, 88, -100, 1.0000001], np.float32)
    z = np.empty((12, 12), np.complex64)
    z.real, z.imag = np.meshgrid(parts, parts)
    return z.reshape(-1)


def test_nothing_overflows_or_vanishes_on_the_way():
    z = special()
    wide = z.astype(np.complex128)
    roots, sizes, logs = glia.jit(lambda z: (jnp.sqrt(z), abs(z), jnp.log(z)))(z)
    with np.errstate(all="ignore"):
        for got, want in [(roots, np.sqrt(wide)), (sizes, np.abs(wide)), (logs, np.log(wide))]:
            small = np.abs(want) < np.finfo(np.float32).max
            np.testing.assert_allclose(got[small], want[small], rtol=1e-6, atol=1e-37)
    a, b = np.repeat(z[z != 0], z.size - 1), np.tile(z[z != 0], z.size - 1)
    want = a.astype(np.complex128) / b.astype(np.complex128)
    got = glia.jit(lambda a, b: a / b)(a, b)
    sizes = np.maximum(np.abs(want.real), np.abs(want.imag))
    fits = (sizes < 1e38) & (sizes > 1e-37)
    assert (np.abs(got[fits] - want[fits]) <= 1e-6 * np.abs(want[fits])).all()


def test_special_values():
    inf, nan = np.inf, np.nan
    z = np.array(
        [complex(inf, 1), complex(1, inf), complex(-inf, 1), complex(nan, 1), complex(inf, nan), 0, -1], np.complex64
    )
    size, root, grown, log = glia.jit(lambda z: (abs(z), jnp.sqrt(z), jnp.exp(z), jnp.log(z)))(z)
    np.testing.assert_array_equal(size, [inf, inf, inf, nan, inf, 0, 1])
    np.testing.assert_array_equal(root.real[:3], [inf, inf, 0])
    np.testing.assert_array_equal(root.imag[:3], [0, inf, inf])
    assert root[5] == 0 and abs(root[6] - 1j) < 1e-6 and np.isnan(root[3])
    assert grown[2] == 0 and np.isinf(grown[0].real) and np.isnan(grown[3])
    assert log[5].real == -inf and log[0].real == inf and abs(log[6] - 1j * np.pi) < 1e-6
    by_zero = glia.jit(lambda z: (z / 0, 1 / z))(z)
    assert np.isinf(by_zero[0][6].real) and by_zero[1][0] == 0


def test_movement():
    def f(z, i):
        return [
            z.T,
            z[::2, 1:],
            jnp.pad(z, 1),
            z[::-1],
            jnp.concatenate([z, z], 1),
            z.reshape(12, 4),
            z[jnp.array([1, 3, 2])],
            jnp.broadcast_to(z[:, None], (6, 2, 8)),
            lax.dynamic_slice(z, (i, i), (2, 3)),
            lax.dynamic_update_slice(z, z[:2, :3], (i, i)),
            z.at[jnp.array([1, 1, 3])].add(1 + 2j),
            z.at[2].set(1j),
        ]

    z = numbers(6, 8)
    z[0, 0] = complex(np.nan, np.inf)
    want = jax.jit(f)(z, 2)
    for target in TARGETS:
        for x, y in zip(glia.jit(f, target=target)(z, np.int32(2)), want, strict=True):
            np.testing.assert_array_equal(x, y)


def test_sums_and_products():
    def f(a, b):
        return (
            a.sum(),
            a.sum(0),
            a.prod(1),
            a.prod(),
            a.mean(),
            jnp.cumsum(a, 1),
            a @ b.T,
            jnp.einsum("ij,ij->i", a, b),
            jnp.vdot(a, b),
        )

    same(f, numbers(5, 7), numbers(5, 7, seed=1))
    same(lambda a, b: lax.conv(a, b, (1, 1), "SAME"), numbers(2, 3, 8, 8), numbers(4, 3, 3, 3, seed=1))


def test_constants_conversions_and_nothing():
    same(lambda a: a * jnp.array([1 + 2j, 3j, 4], jnp.complex64) + (2 - 1j), numbers(4, 3))
    same(lambda a, r: (r.astype(jnp.complex64), lax.iota(jnp.complex64, 4) * a, a), numbers(4), real(4))
    same(lambda a: (a, a.sum(0), jnp.fft.fft(a)), np.zeros((0, 3), np.complex64))
    same(lambda a: (jnp.linalg.cholesky(a), jnp.fft.rfft(a.real)), np.zeros((0, 2, 2), np.complex64))
    same(lambda a: a * a, np.complex64(1 + 2j))


def test_loops_and_branches():
    z = numbers(5)
    same(
        lambda z, n: lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * c[0] + 0.1j, c[1] + 1), (z * 0.3, 0)),
        z,
        np.int32(4),
    )
    same(lambda z: lax.scan(lambda c, x: (c * 0.5 + x, c.real), z[0], jnp.stack([z, z * 1j])[:, 0]), z)
    same(lambda z, p: lax.cond(p > 0, lambda z: z * 2j, lambda z: z.conj(), z), z, np.float32(1))
    same(lambda z, p: lax.cond(p > 0, lambda x: abs(z * 2j) * x, lambda x: x, z.real), z, np.float32(1))
    same(lambda z, p: lax.switch(p, [lambda z: z * 2j, lambda z: z.conj(), lambda z: z / 2], z), z, np.int32(1))


def test_gradients():
    same(jax.grad(lambda a: abs(jnp.exp(1j * a) * a).sum()), real(5, 5))
    same(jax.grad(lambda z: abs(jnp.sin(z) * jnp.log(z) / (z + 2)).sum()), numbers(5, 5))
    same(jax.grad(lambda a: (abs(jnp.fft.rfft(a)) ** 2).sum()), real(3, 20))


def test_linear_algebra():
    a = numbers(2, 20, 20)
    a = (a @ a.conj().swapaxes(1, 2) + 10 * np.eye(20)).astype(np.complex64)
    same(jnp.linalg.cholesky, a)
    same(jnp.linalg.qr, numbers(9, 5))
    options = dict(left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    same(lambda a, b: lax.linalg.triangular_solve(a, b, **options), a, numbers(2, 20, 3))
    same(jnp.linalg.inv, numbers(4, 4), tolerance=1e-5)


LENGTHS = [1, 2, 3, 8, 97, 128, 131, 257, 509, 1000, 1046, 4096]


@pytest.mark.parametrize("i, n", list(enumerate(LENGTHS)))
def test_fourier(i, n):
    def f(z, x):
        spectrum = jnp.fft.rfft(x)
        return jnp.fft.fft(z), jnp.fft.ifft(z), spectrum, jnp.fft.irfft(spectrum, n)

    z, x = numbers(3, n), real(3, n)
    wide, half = np.complex128(z), np.fft.rfft(np.float64(x))
    want = np.fft.fft(wide), np.fft.ifft(wide), half, np.fft.irfft(half, n)
    want = [w.astype(np.complex64 if np.iscomplexobj(w) else np.float32) for w in want]
    close(glia.jit(f, target=TARGETS[i % 3])(z, x), want)


@pytest.mark.parametrize("n", [9, 8, 300, 1000])
def test_ends_of_a_real_spectrum_have_no_imaginary_part(n):
    """Whatever is given there is not looked at, as NumPy does not."""
    z = numbers(2, n // 2 + 1)
    want = np.fft.irfft(np.complex128(z), n).astype(np.float32)
    z.imag[0, 0], z.imag[1, 0] = np.nan, -np.inf
    if n % 2 == 0:
        z.imag[:, -1] = np.inf
    close([glia.jit(lambda z: jnp.fft.irfft(z, n))(z)], [want])


def test_more_of_fourier():
    same(jnp.fft.fft2, numbers(2, 12, 10))
    same(jnp.fft.ifftn, numbers(6, 5, 4))
    same(jnp.fft.rfftn, real(6, 5, 4))
    same(jnp.fft.irfftn, numbers(6, 5, 4))
    same(lambda z: (jnp.fft.irfft(z, 9), jnp.fft.irfft(z, 8), jnp.fft.irfft(z, 200)), numbers(2, 5))
    same(lambda z: jnp.fft.fft(z, axis=0), numbers(5, 3))
    same(lambda a, b: jax.scipy.signal.fftconvolve(a, b), real(50), real(20))


def test_what_is_refused():
    with pytest.raises(glia.Error, match=r"(?s)GRAPH-TYPE.*`stablehlo.sort` on complex numbers"):
        glia.jit(lambda z: lax.sort(z.reshape(-1)))(numbers(3))
    with jax.enable_x64(True), pytest.raises(glia.Error, match=r"GRAPH-TYPE.*complex numbers of f64"):
        glia.jit(lambda z: z + 1)(np.complex128([1, 2j]))


GRAPH = """func.func @main(%a: tensor<2x6xcomplex<f32>>, %b: tensor<2x6xf32>) -> (tensor<2x6xcomplex<f32>>, tensor<2x4xcomplex<f32>>) {
  %c = stablehlo.constant dense<(1.0, -2.0)> : tensor<2x6xcomplex<f32>>
  %0 = stablehlo.fft %a, type = IFFT, length = [2, 6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
  %1 = stablehlo.multiply %0, %c : tensor<2x6xcomplex<f32>>
  %2 = stablehlo.fft %b, type = RFFT, length = [2, 6] : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  return %1, %2 : tensor<2x6xcomplex<f32>>, tensor<2x4xcomplex<f32>>
}"""


def test_the_reference():
    a, b = numbers(2, 6), real(2, 6)
    want = np.fft.ifft2(np.complex128(a)) * (1 - 2j), np.fft.rfft2(np.float64(b))
    close(glia.interpret(GRAPH, a, b), [w.astype(np.complex64) for w in want], 1e-6)
    for wide, w in zip(glia.interpret(GRAPH, a, b, in_double=True), want, strict=True):
        np.testing.assert_allclose(wide, w, rtol=1e-12, atol=1e-12)
    for target in TARGETS:
        assert glia.reference.check(GRAPH, a, b, target=target).ok
