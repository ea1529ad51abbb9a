"""nki.isa calls of the Vector, Scalar and GpSimd engines against NumPy, each call in a kernel of its own."""

import math

import glia
import ml_dtypes
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from tile_kernels import TARGETS, close, numbers, run

F32, BF16 = np.float32, ml_dtypes.bfloat16
I32, U32, U16 = np.int32, np.uint32, np.uint16


def tile(shape, dtype=nl.float32, buffer=nl.sbuf):
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def into(shape, call, dtype=nl.float32):
    """A function of tiles that makes a destination and gives it to `call`."""

    def body(*tiles):
        dst = tile(shape, dtype)
        call(dst, *tiles)
        return dst

    return body


X, Y = numbers((128, 40), F32, 1), numbers((128, 40), F32, 2)
P = numbers((128, 1), F32, 3)


@pytest.mark.parametrize("engine", [nisa.engine.unknown, nisa.vector_engine, "vector", None])
@pytest.mark.parametrize("op", [nl.add, "add", np.add])
def test_tensor_tensor(op, engine):
    actual = run(into(X.shape, lambda d, a, b: nisa.tensor_tensor(d, a, b, op, engine=engine)), X, Y)
    np.testing.assert_array_equal(actual, X + Y)


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_tensor_types_and_views(target):
    x = X.astype(BF16)
    actual = run(
        into((128, 40), lambda d, a, b: nisa.tensor_tensor(d, a, b.broadcast(1, 40), nl.multiply), nl.bfloat16),
        x,
        P,
        target=target,
    )
    np.testing.assert_array_equal(actual, (x.astype(F32) * P).astype(BF16))
    i, j = numbers((64, 8), I32, 1), numbers((64, 8), I32, 2)
    call = into((64, 8), lambda d, a, b: nisa.tensor_tensor(d, a, b, nl.multiply, engine=nisa.engine.gpsimd), nl.int32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(call, i, j, target=target), i * j)


def test_tensor_scalar():
    actual = run(into(X.shape, lambda d, a: nisa.tensor_scalar(d, a, nl.multiply, 2.0, op1=nl.add, operand1=1)), X)
    np.testing.assert_array_equal(actual, X * 2 + 1)
    actual = run(into(X.shape, lambda d, a, p: nisa.tensor_scalar(d, a, nl.subtract, p, reverse0=True)), X, P)
    np.testing.assert_array_equal(actual, P - X)
    actual = run(
        into(X.shape, lambda d, a, p: nisa.tensor_scalar(d, a, nl.maximum, 0.5, False, nl.subtract, p, True)), X, P
    )
    np.testing.assert_array_equal(actual, P - np.maximum(X, F32(0.5)))
    i = numbers((32, 8), U32, 1)
    actual = run(
        into(
            (32, 8),
            lambda d, a: nisa.tensor_scalar(d, a, nl.bitwise_and, 0xFFFF, op1=nl.left_shift, operand1=4),
            nl.uint32,
        ),
        i,
    )
    np.testing.assert_array_equal(actual, (i & U32(0xFFFF)) << U32(4))


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_scalar_rsqrt_on_gpsimd(target):
    x = numbers((64, 8), F32, 1, 0.1, 9)
    call = into(x.shape, lambda d, a: nisa.tensor_scalar(d, a, nl.add, 1.0, op1=nl.rsqrt, engine=nisa.gpsimd_engine))
    close(run(call, x, target=target), 1 / np.sqrt(x.astype(np.float64) + 1))


def test_scalar_tensor_tensor():
    call = into(
        X.shape, lambda d, a, p, b: nisa.scalar_tensor_tensor(d, a, nl.multiply, p, nl.subtract, b, reverse1=True)
    )
    np.testing.assert_array_equal(run(call, X, P, Y), Y - X * P)
    call = into(X.shape, lambda d, a, b: nisa.scalar_tensor_tensor(d, a, nl.add, 1.5, nl.multiply, b))
    np.testing.assert_array_equal(run(call, X, Y), (X + F32(1.5)) * Y)


@pytest.mark.parametrize("axis", [2, (1, 2), [1, 2], -1, (-2, -1)])
@pytest.mark.parametrize("negate", [False, True])
def test_tensor_reduce(axis, negate):
    x = numbers((64, 5, 8), F32, 1)
    axes = tuple(a % 3 for a in np.atleast_1d(axis))
    expected = x.max(axis=axes).reshape(64, -1) * (-1 if negate else 1)
    call = into(expected.shape, lambda d, a: nisa.tensor_reduce(d, nl.maximum, a, axis, negate=negate))
    np.testing.assert_array_equal(run(call, x), expected)


@pytest.mark.parametrize("op,f", [(nl.add, np.sum), (nl.max, np.max), (nl.average, np.mean)])
def test_tensor_partition_reduce(op, f):
    x = np.round(X * 8)
    expected = f(x.astype(np.float64), axis=0, keepdims=True)
    close(run(into((1, 40), lambda d, a: nisa.tensor_partition_reduce(d, op, a)), x), expected)


@pytest.mark.parametrize("start", ["number", "tile"])
def test_tensor_tensor_scan(start):
    def call(d, a, b, p):
        nisa.tensor_tensor_scan(d, a, b, 0.5 if start == "number" else p, nl.multiply, nl.add)

    state = np.full((128, 1), 0.5, F32) if start == "number" else P
    expected, last = np.empty_like(X), state[:, 0]
    x = X / 4
    for i in range(X.shape[1]):
        last = expected[:, i] = x[:, i] * last + Y[:, i]
    np.testing.assert_allclose(run(into(X.shape, call), x, Y, P), expected, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_scalar_reduce(target):
    def body(a):
        d, total = tile(X.shape), tile((128, 1))
        nisa.tensor_scalar_reduce(d, a, nl.add, 1.0, nl.maximum, reduce_res=total, reduce_res_negate=True)
        return d, total

    d, total = run(body, X, target=target)
    np.testing.assert_array_equal(d, X + 1)
    np.testing.assert_array_equal(total, -(X + 1).max(1, keepdims=True))


def test_accumulator_over_two_instructions():
    def body(a, b):
        d, total = tile(X.shape), tile((128, 1))
        nisa.tensor_scalar_reduce(d, a, nl.add, 0.0, nl.maximum, reduce_cmd=nisa.reduce_cmd.reset_reduce)
        nisa.tensor_scalar_reduce(d, b, nl.add, 0.0, nl.maximum, reduce_res=total, reduce_cmd="reduce")
        return total

    np.testing.assert_array_equal(run(body, X, Y), np.maximum(X, Y).max(1, keepdims=True))


@pytest.mark.parametrize("target", TARGETS)
def test_activation(target):
    call = into(X.shape, lambda d, a, p: nisa.activation(d, nl.exp, a, bias=p, scale=0.5))
    close(run(call, X, P, target=target), np.exp(X.astype(np.float64) * 0.5 + P), ulp=4)
    call = into(X.shape, lambda d, a, p: nisa.activation(d, "tanh", a, scale=p))
    close(run(call, X, P, target=target), np.tanh(X.astype(np.float64) * P), ulp=4)


def test_activation_with_a_number_as_bias():
    call = into(X.shape, lambda d, a: nisa.activation(d, nl.sigmoid, a, bias=1.0))
    close(run(call, X, target="trn2"), 1 / (1 + np.exp(-X.astype(np.float64) - 1)), ulp=4)
    with pytest.raises(glia.Error, match="bias"):
        run(call, X, target="trn1")


@pytest.mark.parametrize("target", TARGETS)
def test_results_thrown_away(target):
    """A destination with a step of 0 beside a reduction: only the reduction is wanted."""

    def both(a):
        small, total, lowest, out = tile((128, 1)), tile((128, 1)), tile((128, 1)), tile((128, 2))
        away = small.ap([[1, 128], [0, 40]])
        nisa.activation_reduce(away, nl.square, a, nl.add, total)
        nisa.tensor_scalar_reduce(away, a, nl.multiply, 2.0, nl.minimum, lowest)
        nisa.tensor_copy(out[:, 0:1], total)
        nisa.tensor_copy(out[:, 1:2], lowest)
        return out

    actual = run(both, X, target=target)
    close(actual[:, 0], (X.astype(np.float64) ** 2).sum(1))
    np.testing.assert_array_equal(actual[:, 1], (2 * X).min(1))


def test_what_is_thrown_away_is_not_there():
    def reads(a):
        small, total = tile((128, 1)), tile((128, 1))
        nisa.activation_reduce(small.ap([[1, 128], [0, 40]]), nl.square, a, nl.add, total)
        return small

    with pytest.raises(glia.Error, match="UNDEFINED"):
        run(reads, X)


@pytest.mark.parametrize("target", TARGETS)
def test_activation_reduce(target):
    def body(a):
        d, total = tile(X.shape), tile((128, 1))
        nisa.activation_reduce(d, nl.square, a, nl.add, total)
        return d, total

    d, total = run(body, X, target=target)
    np.testing.assert_array_equal(d, X * X)
    np.testing.assert_allclose(total, (X.astype(np.float64) ** 2).sum(1, keepdims=True), rtol=1e-6)


def test_reciprocal():
    close(run(into(X.shape, nisa.reciprocal), X), 1 / X.astype(np.float64), ulp=0.51)


def test_bn_stats_and_aggr():
    def body(a):
        stats, result = tile((128, 6)), tile((128, 2))
        nisa.bn_stats(stats, a)
        nisa.bn_aggr(result, stats)
        return result

    actual = run(body, X)
    np.testing.assert_allclose(actual[:, 0], X.mean(1), atol=1e-6)
    np.testing.assert_allclose(actual[:, 1], X.var(1), rtol=1e-5)


def test_max8_find_index8_match_replace8():
    x = np.stack([np.random.default_rng(i).permutation(50) for i in range(64)]).astype(F32)

    def body(a):
        values, index, replaced, where = (
            tile((64, 8)),
            tile((64, 8), nl.uint32),
            tile((64, 50)),
            tile((64, 8), nl.uint32),
        )
        nisa.max8(values, a)
        nisa.nc_find_index8(index, a, values)
        nisa.nc_match_replace8(replaced, a, values, -1.0, dst_idx=where)
        return values, index, replaced, where

    values, index, replaced, where = run(body, x)
    order = np.argsort(-x, axis=1, kind="stable")[:, :8]
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(index, order)
    np.testing.assert_array_equal(where, order)
    expected = x.copy()
    np.put_along_axis(expected, order, -1, 1)
    np.testing.assert_array_equal(replaced, expected)


COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "greater_equal": np.greater_equal, "greater": np.greater,
           "less_equal": np.less_equal, "less": np.less}  # fmt: skip


@pytest.mark.parametrize("name", COMPARE)
def test_affine_select(name):
    def call(d, a):
        nisa.affine_select(d, [[-1, 40]], 1, a, -9.0, cmp_op=getattr(nl, name), offset=3)

    value = 3 + np.arange(128)[:, None] - np.arange(40)[None, :]
    np.testing.assert_array_equal(run(into(X.shape, call), X), np.where(COMPARE[name](value, 0), X, F32(-9)))


@pytest.mark.parametrize("dtype,kind", [(nl.int32, I32), (nl.float32, F32), (nl.uint16, U16)])
def test_iota(dtype, kind):
    call = into((64, 4, 5), lambda d, a: nisa.iota(d, [[10, 4], [1, 5]], offset=2, channel_multiplier=100), dtype)
    value = 2 + 100 * np.arange(64)[:, None, None] + 10 * np.arange(4)[:, None] + np.arange(5)
    np.testing.assert_array_equal(run(call, X), value.astype(kind))


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_range_select(target):
    lo, hi = np.full((128, 1), 5, F32), np.arange(128, dtype=F32)[:, None]

    def body(a, b0, b1):
        d, most = tile(X.shape), tile((128, 1))
        nisa.range_select(d, a, nl.greater_equal, nl.less, b0, b1, reduce_res=most, range_start=2)
        return d, most

    d, most = run(body, X, lo, hi, target=target)
    at = 2 + np.arange(40)[None, :]
    expected = np.where((at >= lo) & (at < hi), X, np.finfo(F32).min)
    np.testing.assert_array_equal(d, expected)
    np.testing.assert_array_equal(most, expected.max(1, keepdims=True))


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_nonzero_with_count(target):
    x = np.random.default_rng(0).integers(0, 2, (128, 20)).astype(I32)

    def body(a):
        d = tile((128, 21), nl.int32)
        nisa.memset(d, 7)
        nisa.nonzero_with_count(d, a, index_offset=100, padding_val=-1)
        return d

    expected = np.full((128, 21), 7, I32)
    for p in range(0, 128, 16):
        found = np.flatnonzero(x[p])
        expected[p] = [*(found + 100), *[-1] * (20 - len(found)), len(found)]
    np.testing.assert_array_equal(run(body, x, target=target), expected)


REFUSED = {
    "activate2": lambda d, a: nisa.activate2(d, nl.exp, a, 1.0, 1.0, nl.add, nl.add),
    "exponential": lambda d, a: nisa.exponential(d, a),
    "tensor_scalar_cumulative": lambda d, a: nisa.tensor_scalar_cumulative(d, a, nl.add, nl.add, 1.0),
    "select_reduce": lambda d, a: nisa.select_reduce(d, a, a, 0.0),
    "sequence_bounds": lambda d, a: nisa.sequence_bounds(d, a),
    "topk": lambda d, a: nisa.topk(d, d, a, 8),
    "quantize_mx": lambda d, a: nisa.quantize_mx(d, a, d),
    "nc_matmul_mx": lambda d, a: nisa.nc_matmul_mx(d, a, a, a, a),
    "rng": lambda d, a: nisa.rng(d),
    "dropout": lambda d, a: nisa.dropout(d, a, 0.5),
    "set_rng_seed": lambda d, a: nisa.set_rng_seed(a),
    "rand_set_state": lambda d, a: nisa.rand_set_state(a),
    "rand_get_state": lambda d, a: nisa.rand_get_state(d),
    "rand2": lambda d, a: nisa.rand2(d, 0.0, 1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name):
    with pytest.raises(glia.Error, match=name) as e:
        run(into(X.shape, REFUSED[name]), X)
    assert e.value.diagnostics[0].file == __file__


BAD = {
    "no tensor": lambda d, a: nisa.tensor_tensor(d, a, 3.0, nl.add),
    "no operation": lambda d, a: nisa.tensor_tensor(d, a, a, None),
    "function as alu": lambda d, a: nisa.tensor_tensor(d, a, a, nl.exp),
    "alu as function": lambda d, a: nisa.activation(d, nl.add, a),
    "prelu": lambda d, a: nisa.activation(d, nl.prelu, a),
    "engine": lambda d, a: nisa.tensor_copy(d, a, engine="fast"),
    "dma as an engine": lambda d, a: nisa.tensor_copy(d, a, engine=nisa.engine.dma),
    "reduce_cmd": lambda d, a: nisa.activation(d, nl.exp, a, reduce_cmd="never"),
    "reduce_op": lambda d, a: nisa.activation(d, nl.exp, a, reduce_op=nl.maximum, reduce_res=d[:, 0:1]),
    "operand1 alone": lambda d, a: nisa.tensor_scalar(d, a, nl.add, 1.0, operand1=2.0),
    "shape": lambda d, a: nisa.tensor_tensor(d, a[:, 0:5], a, nl.add),
    "axis 0": lambda d, a: nisa.tensor_reduce(d[:, 0:1], nl.add, a, 0),
    "dst of a reduction": lambda d, a: nisa.tensor_reduce(d[:, 0:2], nl.add, a, 1),
    "pattern": lambda d, a: nisa.iota(d, [1, 40]),
    "compare": lambda d, a: nisa.affine_select(d, [[1, 40]], 0, a, 0.0, cmp_op=nl.add),
    "wide mask": lambda d, a: nisa.tensor_scalar(d, a, nl.bitwise_and, 0x12345678),
    "scalar engine power": lambda d, a: nisa.tensor_scalar(d, a, nl.power, 2.0, engine="scalar"),
    "keyword": lambda d, a: nisa.tensor_copy(d, a, mask=None),
    "hbm operand": lambda d, a: nisa.tensor_copy(nl.ndarray(a.shape, a.dtype, buffer=nl.hbm), a),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_calls_are_refused(name):
    with pytest.raises((glia.Error, TypeError)):
        run(into(X.shape, BAD[name]), X)


def test_enums():
    assert nisa.nc_version.gen3 >= nisa.nc_version.gen2 and nisa.nc_version.gen4 > nisa.nc_version.gen3
    assert nisa.tensor_engine is nisa.engine.tensor and nisa.engine.vector.value == 5
    assert nisa.constants.dge_mode.swdge is nisa.dge_mode.swdge
    assert nisa.matmul_perf_mode("double_row") is nisa.matmul_perf_mode.double_row
    assert math.isclose(nl.tile_size.pmax, 128)
