"""Linear algebra: what JAX makes of jnp.linalg, compiled, against JAX on the host and NumPy."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
import jax.numpy as jnp
from jax.lax import linalg

TARGETS = ("trn1", "trn2", "trn3")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def positive(*shape, seed=0):
    a = normal(*shape, seed=seed)
    return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1], dtype=np.float32) / 2


def close(got, want, tolerance=1e-5):
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape and x.dtype == y.dtype
        size = np.abs(y[np.isfinite(y)]).max(initial=0)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * size)


def same(f, *args, target="trn2", tolerance=1e-5):
    close(glia.jit(f, target=target)(*args), jax.jit(f)(*args), tolerance)


@pytest.mark.parametrize("i, shape", list(enumerate([(1, 1), (2, 2), (2, 3, 7, 7), (64, 64), (65, 65), (2, 150, 150)])))
def test_cholesky(i, shape):
    same(jnp.linalg.cholesky, positive(*shape), target=TARGETS[i % 3])


@pytest.mark.parametrize("n", [6, 80])
def test_cholesky_reads_one_triangle(n):
    a = positive(n, n)
    other = np.triu(np.full_like(a, np.nan), 1)
    got = glia.jit(lambda a: linalg.cholesky(a, symmetrize_input=False))(np.tril(a) + other)
    close(got, np.linalg.cholesky(a))
    close(glia.jit(lambda a: jnp.linalg.cholesky(a, upper=True))(a), np.linalg.cholesky(a).T)


def test_cholesky_of_what_has_none():
    a = positive(4, 70, 70)
    a[1, 66, 66] = -1
    a[2, 0, 0] = 0
    a[3, 60, 60] = np.nan
    same(jnp.linalg.cholesky, a[:3])
    got = glia.jit(jnp.linalg.cholesky)(a[3])
    assert np.isnan(got[60, 60]) and np.isfinite(got[:60, :60]).all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_cholesky_of_any_size_of_numbers(scale):
    same(jnp.linalg.cholesky, positive(70, 70) * np.float32(scale))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("n, target", [(5, "trn3"), (100, "trn1")])
def test_triangular_solve(n, target, left, lower, unit, transpose):
    a, b = positive(2, n, n) / n, normal(2, n, 3, seed=1)
    a[:, 0, n - 1] += 1
    b = b if left else b.swapaxes(1, 2)
    options = dict(left_side=left, lower=lower, unit_diagonal=unit, transpose_a=transpose)
    same(lambda a, b: linalg.triangular_solve(a, b, **options), a, b, target=target)


def test_triangular_solve_of_many_blocks():
    a = np.linalg.cholesky(positive(300, 300))
    same(lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True), a, normal(300, 40))


def test_nothing_to_solve():
    same(jnp.linalg.cholesky, np.zeros((0, 0), np.float32))
    same(jnp.linalg.cholesky, np.zeros((0, 4, 4), np.float32))
    same(lambda a, b: linalg.triangular_solve(a, b, left_side=True), positive(4, 4), np.zeros((4, 0), np.float32))
    same(jnp.linalg.qr, np.zeros((0, 3), np.float32))


def test_a_singular_matrix_has_no_finite_solution():
    a, b = np.array([[1, 1], [0, 0]], np.float32), np.ones((2, 1), np.float32)
    got = glia.jit(lambda a, b: linalg.triangular_solve(a, b, left_side=True))(a, b)
    assert not np.isfinite(got).all()


def regression(n):
    """A covariance of points that lie close: a condition of 1e5."""
    x = np.linspace(0, 1, n)[:, None]
    return (np.exp(-8 * (x - x.T) ** 2) + 1e-3 * np.eye(n)).astype(np.float32)


def test_the_error_of_an_ill_conditioned_solution_is_that_of_jax():
    def f(k, y):
        return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(k), True), y)

    k, y = regression(60), normal(60, 16)
    want = np.linalg.solve(np.float64(k), np.float64(y))
    errors = [np.linalg.norm(np.float64(x) - want) for x in (glia.jit(f)(k, y), f(k, y))]
    assert errors[0] <= 3 * errors[1]


def test_gradients():
    weights = np.sin(np.arange(400, dtype=np.float32)).reshape(20, 20)

    def loss(a, b):
        factor = jnp.linalg.cholesky(a)
        return (factor * weights).sum() + (linalg.triangular_solve(factor, b, left_side=True, lower=True) ** 2).sum()

    same(jax.value_and_grad(loss, (0, 1)), positive(20, 20), normal(20, 4), tolerance=1e-4)


@pytest.mark.parametrize("i, shape", list(enumerate([(1, 1), (8, 5), (5, 8), (2, 3, 9, 4), (90, 70), (70, 90)])))
def test_qr(i, shape):
    same(jnp.linalg.qr, normal(*shape), target=TARGETS[i % 3], tolerance=2e-5)


def test_more_of_qr():
    a = normal(9, 4)
    same(lambda a: jnp.linalg.qr(a, mode="complete"), a)
    same(lambda a: jnp.linalg.qr(a, mode="r"), a)
    same(lambda a: jnp.linalg.qr(a, mode="raw"), a)
    for scale in (1e-25, 1e25):
        same(jnp.linalg.qr, a * np.float32(scale))
    a[:, 1] = 0
    same(lambda a: jnp.linalg.qr(a, mode="r"), a)
    same(jax.grad(lambda a: sum((x * jnp.cos(x)).sum() for x in jnp.linalg.qr(a))), normal(7, 6), tolerance=1e-4)


def test_what_is_made_of_lu():
    a, b = normal(7, 7), normal(7, 3, seed=1)
    same(jnp.linalg.solve, a, b, target="trn1", tolerance=1e-4)
    same(jnp.linalg.inv, normal(2, 5, 5), target="trn2", tolerance=1e-4)
    same(jnp.linalg.slogdet, a, target="trn3", tolerance=1e-4)
    same(jax.grad(lambda a: jnp.sin(jnp.linalg.inv(a)).sum()), a[:4, :4], tolerance=1e-4)


def symmetric(*shape, seed=0):
    a = normal(*shape, seed=seed)
    return a + a.swapaxes(-1, -2)


def recomposed(a):
    """Values, the matrix of values and vectors, and products of vectors: what does not depend on signs."""
    values, vectors = jnp.linalg.eigh(a)
    adjoint = vectors.conj().swapaxes(-1, -2)
    return values, (vectors * values[..., None, :]) @ adjoint, adjoint @ vectors


def hermitian(n):
    a = normal(n, n) + 1j * normal(n, n, seed=1)
    return (a + a.conj().T).astype(np.complex64)


EIGEN = [
    symmetric(1, 1),
    symmetric(2, 2),
    symmetric(2, 5, 5),
    symmetric(24, 24),
    hermitian(5),
    np.eye(4, dtype=np.float32),
]
EIGEN += [symmetric(6, 6) * np.float32(1e30), symmetric(6, 6) * np.float32(1e-30), np.zeros((0, 0), np.float32)]


@pytest.mark.parametrize("i", range(len(EIGEN)))
def test_eigh(i):
    same(recomposed, EIGEN[i], target=TARGETS[i % 3])


def test_eigh_of_other_platforms_is_not_ours():
    glia.jit(jnp.linalg.eigh)(symmetric(2, 2))
    traced = jax.jit(jnp.linalg.eigh).trace(symmetric(2, 2))
    assert "Eigh" not in traced.lower(lowering_platforms=("cpu",)).as_text()
    with pytest.raises(NotImplementedError, match="no lowering rule for METAL"):
        traced.lower(lowering_platforms=("METAL",))


def test_more_of_eigh():
    a = symmetric(5, 5)
    same(jax.grad(lambda a: (jnp.linalg.eigvalsh(a) * jnp.arange(5.0)).sum()), a)
    a[1, 2] = a[2, 1] = np.nan
    assert np.isnan(glia.jit(jnp.linalg.eigvalsh)(a)).all()
    upper = np.triu(symmetric(4, 4)) + np.tril(np.full((4, 4), np.inf, np.float32), -1)
    got = glia.jit(lambda a: linalg.eigh(a, lower=False, symmetrize_input=False)[1])(upper)
    close(got, np.linalg.eigvalsh(symmetric(4, 4), UPLO="U"))
    with pytest.raises(NotImplementedError, match="a part of the eigenvalues"):
        glia.jit(lambda a: linalg.eigh(a, subset_by_index=(0, 2)))(symmetric(4, 4))


def test_svd():
    def f(a):
        u, s, v = jnp.linalg.svd(a, full_matrices=False)
        return s, (u * s[..., None, :]) @ v

    same(f, normal(6, 4))
    same(f, np.ones((4, 5), np.float32), target="trn3")
    same(jnp.linalg.pinv, normal(5, 4), target="trn1")


def test_inside_of_a_loop_that_data_ends():
    def f(a):
        return jax.lax.while_loop(lambda a: a[0, 0] > 0.1, lambda a: jnp.linalg.cholesky(a @ a.T / 8), a)

    same(f, positive(5, 5))


SOLVE = """func.func @main(%a: tensor<2x6x6xf32>, %b: tensor<2x6x3xf32>) -> tensor<2x6x3xf32> {{
  %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = {lower}, unit_diagonal = {unit},
    transpose_a = #stablehlo<transpose {how}>}}> : (tensor<2x6x6xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
  return %0 : tensor<2x6x3xf32>
}}"""


@pytest.mark.parametrize("how", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_the_reference_solves(how, lower, unit):
    a, b = positive(2, 6, 6), normal(2, 6, 3)
    text = SOLVE.format(lower=str(lower).lower(), unit=str(unit).lower(), how=how)
    (got,) = glia.interpret(text, a, b)
    t = np.tril(a) if lower else np.triu(a)
    if unit:
        t = np.where(np.eye(6, dtype=bool), 1, t)
    close(got, np.linalg.solve(t if how == "NO_TRANSPOSE" else t.swapaxes(1, 2), b).astype(np.float32))
    assert glia.reference.check(text, a, b, target="trn1" if unit else "trn3").ok


def test_the_reference_factors():
    a = positive(3, 5, 5)
    text = """func.func @main(%a: tensor<3x5x5xf32>) -> (tensor<3x5x5xf32>, tensor<3x5x5xf32>) {
      %0 = stablehlo.cholesky %a, lower = true : tensor<3x5x5xf32>
      %1 = stablehlo.cholesky %a, lower = false : tensor<3x5x5xf32>
      return %0, %1 : tensor<3x5x5xf32>, tensor<3x5x5xf32>
    }"""
    lower, upper = glia.interpret(text, a)
    close([lower, upper], [np.linalg.cholesky(a), np.linalg.cholesky(a).swapaxes(1, 2)])
    assert glia.reference.check(text, a, target="trn2").ok


def test_the_reference_has_eigenvalues():
    a = np.tril(symmetric(2, 5, 5))
    text = """func.func @main(%a: tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5xf32>) {
      %0, %1 = stablehlo.custom_call @Eigh(%a) {backend_config = "1,1,100,1e-6"} : (tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5xf32>)
      return %0, %1 : tensor<2x5x5xf32>, tensor<2x5xf32>
    }"""
    vectors, values = glia.interpret(text, a)
    close(values, np.linalg.eigvalsh(symmetric(2, 5, 5)))
    close(symmetric(2, 5, 5) @ vectors, vectors * values[:, None])


def test_the_reference_has_the_reflections_of_lapack():
    lapack = pytest.importorskip("scipy.linalg.lapack")
    a = normal(7, 5)
    text = """func.func @main(%a: tensor<7x5xf32>) -> (tensor<7x5xf32>, tensor<5xf32>, tensor<7x5xf32>) {
      %0, %1 = stablehlo.custom_call @Qr(%a) : (tensor<7x5xf32>) -> (tensor<7x5xf32>, tensor<5xf32>)
      %2 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0, %1) : (tensor<7x5xf32>, tensor<5xf32>) -> tensor<7x5xf32>
      return %0, %1, %2 : tensor<7x5xf32>, tensor<5xf32>, tensor<7x5xf32>
    }"""
    packed, taus, _, _ = lapack.sgeqrf(a)
    got = glia.interpret(text, a)
    close(got[:2], [np.float32(packed), np.float32(taus)])
    close(got[2], np.float32(lapack.sorgqr(packed, taus)[0]))
    assert glia.reference.check(text, a, target="trn2").ok


def test_custom_calls_may_give_tuples():
    """As XLA's builders write them; torch_xla does."""
    a = normal(5, 3)
    text = """
func.func @main(%a: tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  %0 = stablehlo.custom_call @Qr(%a) : (tensor<5x3xf32>) -> tuple<tensor<5x3xf32>, tensor<3xf32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<5x3xf32>, tensor<3xf32>>) -> tensor<3xf32>
  %2 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<5x3xf32>, tensor<3xf32>>) -> tensor<5x3xf32>
  return %1, %2 : tensor<3xf32>, tensor<5x3xf32>
}"""
    packed, taus = np.linalg.qr(a, mode="raw")
    close(glia.interpret(text, a), [taus, packed.T])
    assert glia.reference.check(text, a, target="trn2").ok
