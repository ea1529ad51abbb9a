"""Reductions, softmax, rms_norm, matrices, selections and memory functions of nl against NumPy, on every target."""

import glia
import ml_dtypes
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from tile_kernels import TARGETS, close, launch, numbers, run

F32, BF16, F16 = np.float32, ml_dtypes.bfloat16, np.float16
I32, U32 = np.int32, np.uint32

AXES = [((64, 30), 1), ((64, 30), (1,)), ((64, 30), -1), ((33, 4, 5), 1), ((33, 4, 5), (1, 2)), ((16, 3, 2, 4), (1, 3)),
        ((64, 30), 0), ((64, 30), (0, 1)), ((33, 4, 5), (0, 2)), ((1, 7), 0)]  # fmt: skip
REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod}


def shape_of(x, axis, keepdims):
    """Axis 0 stays, and there are at least two dimensions."""
    axes = {a % x.ndim for a in np.atleast_1d(axis)}
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    if not keepdims:
        shape = [n for d, n in enumerate(shape) if d == 0 or d not in axes]
    return tuple(shape if len(shape) > 1 else [*shape, 1])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape,axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name, shape, axis, keepdims):
    x = numbers(shape, F32, 1, 0.9, 1.1) if name == "prod" else numbers(shape, F32, 1)
    axes = tuple(np.atleast_1d(axis))
    expected = REDUCTIONS[name](x.astype(np.float64), axis=axes).reshape(shape_of(x, axis, keepdims))
    actual = run(lambda a: getattr(nl, name)(a, axis, keepdims=keepdims), x)
    exact = name in ("max", "min")
    close(actual, expected, ulp=0 if exact else 200, absolute=1e-30 if exact else 1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [1, 0, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
def test_reduction_of_integers_is_exact(name, axis, target):
    for dtype in (I32, U32):
        x = numbers((40, 13), dtype, 1)
        axes = tuple(np.atleast_1d(axis))
        with np.errstate(over="ignore"):
            expected = REDUCTIONS[name](x, axis=axes, **({"dtype": dtype} if name in ("sum", "prod") else {}))
        actual = run(lambda a: getattr(nl, name)(a, axis), x, target=target)
        np.testing.assert_array_equal(actual, expected.reshape(shape_of(x, axis, False)))


def test_reduction_types():
    x = numbers((64, 40), BF16, 1)
    close(run(lambda a: nl.sum(a, 1), x), x.astype(np.float64).sum(1, keepdims=True), ulp=1, absolute=1e-2)
    assert run(lambda a: nl.sum(a, 1, dtype=nl.float32), x).dtype == F32


def test_reduction_of_a_long_row():
    x = np.ones((2, 70000), np.uint8)
    assert (run(lambda a: nl.sum(a, 1, dtype=nl.float32), x) == 70000).all()


@pytest.mark.parametrize("axis", [1, 0, (0, 1)])
def test_all(axis):
    x = np.ones((40, 13), F32)
    x[3, 4] = 0
    expected = x.all(axis=axis).astype(F32).reshape(shape_of(x, axis, False))
    np.testing.assert_array_equal(run(lambda a: nl.all(a, axis), x), expected)
    np.testing.assert_array_equal(run(lambda a: nl.all(a, axis), np.ones_like(x)), np.ones_like(expected))


@pytest.mark.parametrize("shape,axis", [((64, 30), 1), ((33, 4, 5), 2), ((33, 4, 5), (1, 2))], ids=str)
def test_var(shape, axis):
    x = numbers(shape, F32, 1) + F32(100)
    axes = tuple(np.atleast_1d(axis))
    close(run(lambda a: nl.var(a, axis), x), x.astype(np.float64).var(axis=axes, keepdims=True), ulp=64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "shape,axis", [((128, 100), -1), ((33, 4, 5), 2), ((33, 4, 5), (1, 2)), ((3, 5000), 1)], ids=str
)
def test_softmax(shape, axis, target):
    x = numbers(shape, F32, 1, -30, 30)
    axes = tuple(np.atleast_1d(axis))
    e = np.exp(x.astype(np.float64) - x.max(axis=axes, keepdims=True))
    close(run(lambda a: nl.softmax(a, axis), x, target=target), e / e.sum(axis=axes, keepdims=True), ulp=64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [1, 64])
def test_rms_norm(rows, target):
    x, w = numbers((64, 96), F32, 1), numbers((rows, 96), F32, 2)
    d = x.astype(np.float64)
    expected = d / np.sqrt((d * d).sum(1, keepdims=True) / 96 + 1e-5) * w
    close(run(lambda a, b: nl.rms_norm(a, b, axis=1, n=96, epsilon=1e-5), x, w, target=target), expected, ulp=16)


# ---- matrices ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("transpose_x", [False, True])
@pytest.mark.parametrize("m,k,n", [(128, 128, 512), (20, 70, 33), (64, 128, 1000)])
def test_matmul(m, k, n, transpose_x, dtype, target):
    x, y = numbers((k, m) if transpose_x else (m, k), dtype, 1), numbers((k, n), dtype, 2)
    a = x.astype(np.float64)
    expected = (a.T if transpose_x else a) @ y.astype(np.float64)
    actual = run(lambda u, v: nl.copy(nl.matmul(u, v, transpose_x=transpose_x)), x, y, target=target)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=2e-3)


def test_matmul_of_mixed_types():
    x, y = numbers((64, 32), BF16, 1), numbers((64, 48), F32, 2)
    actual = run(lambda u, v: nl.copy(nl.matmul(u, v, transpose_x=True)), x, y)
    np.testing.assert_allclose(actual, x.astype(F32).T @ y, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, BF16, F16, I32, np.int16, np.uint8])
@pytest.mark.parametrize("shape", [(128, 128), (37, 90), (5, 3)])
def test_transpose(shape, dtype, target):
    x = numbers(shape, dtype, 1)
    np.testing.assert_array_equal(run(lambda a: nl.copy(nl.transpose(a)), x, target=target), x.T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, BF16, I32, np.uint8])
@pytest.mark.parametrize("shape", [(128, 128), (200, 64), (5, 3)])
def test_load_transpose2d(shape, dtype, target):
    x = numbers(shape, dtype, 1)

    def kernel(a):
        out = nl.ndarray((a.shape[1], a.shape[0]), dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load_transpose2d(a))
        return out

    np.testing.assert_array_equal(launch(kernel, x, target=target), x.T)


@pytest.mark.parametrize("dtype", [nl.float32, nl.bfloat16, nl.uint8])
def test_identity(dtype):
    actual = run(lambda a: nl.shared_identity_matrix(40, dtype=dtype), np.zeros((1, 1), F32))
    np.testing.assert_array_equal(actual.astype(F32), np.eye(40, dtype=F32))


# ---- memory --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 40), (70, 1), (1, 1)])
@pytest.mark.parametrize("dtype", [F32, BF16, I32, np.uint8])
def test_broadcast_to(shape, dtype):
    x = numbers(shape, dtype, 1)
    np.testing.assert_array_equal(run(lambda a: nl.broadcast_to(a, (70, 40)), x), np.broadcast_to(x, (70, 40)))


def test_broadcast_keeps_the_bits_of_nan():
    x = np.array([[0x7FC01234, 0xFF800001, 0x80000000]], U32).view(F32)
    actual = run(lambda a: nl.broadcast_to(a, (100, 3)), x)
    np.testing.assert_array_equal(actual.view(U32), np.broadcast_to(x.view(U32), (100, 3)))


def test_reshape_across_partitions():
    x = numbers((64, 6), F32, 1)
    np.testing.assert_array_equal(run(lambda a: a.reshape((1, 384)), x), x.reshape(1, 384))
    np.testing.assert_array_equal(run(lambda a: a.reshape((128, 3)), x), x.reshape(128, 3))


def test_where():
    c = np.random.default_rng(0).integers(0, 2, (64, 20)).astype(F32)
    x, y = numbers((64, 20), F32, 1), numbers((64, 20), F32, 2)
    x[0, 0] = np.nan
    np.testing.assert_array_equal(run(nl.where, c, x, y), np.where(c != 0, x, y))
    np.testing.assert_array_equal(run(lambda a, b: nl.where(a, b, 7.0), c, x), np.where(c != 0, x, F32(7)))
    np.testing.assert_array_equal(run(lambda a, b: nl.where(a, -1.0, b), c, y), np.where(c != 0, F32(-1), y))
    np.testing.assert_array_equal(run(nl.where, c, x[:1].copy(), y[:, :1].copy()), np.where(c != 0, x[:1], y[:, :1]))


@pytest.mark.parametrize("index_type", [U32, I32, np.uint16])
def test_gather_flattened(index_type):
    x = numbers((64, 50), F32, 1)
    i = np.random.default_rng(0).integers(0, 50, (64, 33)).astype(index_type)
    np.testing.assert_array_equal(run(nl.gather_flattened, x, i), np.take_along_axis(x, i.astype(np.int64), 1))


def test_load_and_copy_cast():
    x = numbers((64, 20), F32, 1, -500, 500)

    def kernel(a):
        out = nl.ndarray(a.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a, dtype=nl.int32))
        return out

    np.testing.assert_array_equal(launch(kernel, x), np.rint(x).astype(I32))
    np.testing.assert_array_equal(run(lambda a: nl.copy(a, dtype=nl.bfloat16), x), x.astype(BF16))


def test_expand_dims():
    x = numbers((64, 20), F32, 1)
    assert run(lambda a: nl.copy(nl.expand_dims(a, 1)), x).shape == (64, 1, 20)


FILLS = {
    "zeros": (lambda b: nl.zeros((40, 5), nl.float32, buffer=b), np.zeros((40, 5), F32)),
    "ones": (lambda b: nl.ones((40, 5), nl.bfloat16, buffer=b), np.ones((40, 5), BF16)),
    "full": (lambda b: nl.full((300, 5), 2**30 + 1, nl.int32, buffer=b), np.full((300, 5), 2**30 + 1, I32)),
    "like": (lambda b: nl.zeros_like(nl.ndarray((7, 3), nl.float16), buffer=b), np.zeros((7, 3), F16)),
}


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm], ids=str)
@pytest.mark.parametrize("name", FILLS)
def test_filled_tensors(name, buffer):
    make, expected = FILLS[name]
    on_chip = nl.is_on_chip(buffer)
    if on_chip and expected.shape[0] > 128:
        pytest.skip("more than 128 partitions")
    if nl.is_psum(buffer) and expected.dtype.itemsize != 4:
        pytest.skip("PSUM is used for 32-bit types")

    def kernel(a):
        t = make(buffer)
        if buffer is nl.shared_hbm:
            return t
        out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
        if on_chip:
            nl.store(out, t)
        else:
            nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, np.zeros((1, 1), F32)), expected)


def test_shared_constant(tmp_path):
    table = numbers((64, 5), BF16, 1)
    np.testing.assert_array_equal(run(lambda a: nl.load(nl.shared_constant(table)), np.zeros((1, 1), F32)), table)
    np.save(tmp_path / "t.npy", table.astype(F32))
    path = str(tmp_path / "t.npy")
    np.testing.assert_array_equal(
        run(lambda a: nl.load(nl.shared_constant(path)), np.zeros((1, 1), F32)), table.astype(F32)
    )


def _assigned(fill):
    def body(a):
        t = nl.zeros(a.shape, a.dtype)
        fill(t, a)
        return t

    return body


ASSIGNMENTS = {
    "whole": lambda t, a: t.__setitem__(Ellipsis, a),
    "number": lambda t, a: t.__setitem__((slice(0, 64), slice(2, 5)), 3.0),
    "column": lambda t, a: t.__setitem__((slice(None), slice(0, 1)), a[:, 5:6]),
    "broadcast": lambda t, a: t.__setitem__((slice(None), slice(0, 4)), a[:, 5:6]),
    "row": lambda t, a: t.__setitem__((slice(0, 70), slice(None)), a[0:1]),
    "odd partitions": lambda t, a: t.__setitem__((slice(5, 25), slice(None)), a[40:60]),
    "odd number": lambda t, a: t.__setitem__((slice(5, 25), slice(None)), 2.0),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment(name):
    x = numbers((96, 8), F32, 1)
    expected = np.zeros_like(x)
    ASSIGNMENTS[name](expected, x)
    np.testing.assert_array_equal(run(_assigned(ASSIGNMENTS[name]), x), expected)


def test_overlapping_assignment():
    x = numbers((64, 8), F32, 1)

    def body(a):
        a[:, 1:8] = a[:, 0:7]
        return a

    np.testing.assert_array_equal(run(body, x), np.concatenate([x[:, :1], x[:, :7]], axis=1))


BAD = {
    "matmul sizes": lambda a: nl.matmul(a, a, transpose_x=False),
    "axis": lambda a: nl.sum(a, 5),
    "softmax of partitions": lambda a: nl.softmax(a, 0),
    "broadcast": lambda a: nl.broadcast_to(a, (32, 17)),
    "float indices": lambda a: nl.gather_flattened(a, a),
    "store to sbuf": lambda a: nl.store(a, a),
    "identity": lambda a: nl.shared_identity_matrix(200),
    "assign a string": lambda a: a.__setitem__(Ellipsis, "x"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_calls_are_refused(name):
    with pytest.raises(glia.Error):
        run(BAD[name], numbers((32, 16), F32, 1))
