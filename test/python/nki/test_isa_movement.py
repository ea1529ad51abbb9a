"""nki.isa calls that move data: copies, DMA, shuffles, gathers, matmul and transposes, against NumPy."""

import glia
import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from tile_kernels import TARGETS, launch, numbers, run

F32, BF16, F16 = np.float32, ml_dtypes.bfloat16, np.float16
I32, U32, U16, U8 = np.int32, np.uint32, np.uint16, np.uint8
X = numbers((128, 40), F32, 1)


def tile(shape, dtype=nl.float32, buffer=nl.sbuf):
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def hbm(shape, dtype):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def into(shape, call, dtype=nl.float32):
    def body(*tiles):
        dst = tile(shape, dtype)
        call(dst, *tiles)
        return dst

    return body


@pytest.mark.parametrize("engine", [nisa.engine.unknown, "vector", "gpsimd", "scalar"])
def test_tensor_copy(engine):
    bits = numbers((64, 20), I32, 1)
    call = into((64, 20), lambda d, a: nisa.tensor_copy(d, a, engine=engine), nl.int32)
    np.testing.assert_array_equal(run(call, bits), bits)
    call = into((128, 40), lambda d, a: nisa.tensor_copy(dst=d, src=a, engine=engine), nl.bfloat16)
    np.testing.assert_array_equal(run(call, X), X.astype(BF16))


def test_tensor_copy_of_views():
    call = into((128, 20, 2), lambda d, a: nisa.tensor_copy(d, a.reshape((128, 2, 20)).permute((0, 2, 1))))
    np.testing.assert_array_equal(run(call, X), X.reshape(128, 2, 20).transpose(0, 2, 1))
    call = into((32, 20), lambda d, a: nisa.tensor_copy(d, a[64:96, 1:40:2]))
    np.testing.assert_array_equal(run(call, X), X[64:96, 1:40:2])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("source", ["tile", "number"])
def test_tensor_copy_predicated(source, reverse):
    p = np.random.default_rng(0).integers(0, 2, X.shape).astype(U8)

    def body(a, mask):
        d = tile(X.shape)
        nisa.memset(d, 5.0)
        nisa.tensor_copy_predicated(d, a if source == "tile" else -2.0, mask, reverse_pred=reverse)
        return d

    chosen = X if source == "tile" else F32(-2)
    np.testing.assert_array_equal(run(body, X, p), np.where((p != 0) != reverse, chosen, F32(5)))


@pytest.mark.parametrize("dtype,kind,value", [(nl.float32, F32, 1.5), (nl.bfloat16, BF16, -3), (nl.int32, I32, 2**31 - 1),
                                              (nl.int32, I32, -5), (nl.uint32, U32, 2**32 - 1), (nl.uint8, U8, 200)])  # fmt: skip
def test_memset(dtype, kind, value):
    actual = run(into((64, 9), lambda d, a: nisa.memset(d, value, engine="gpsimd"), dtype), X)
    np.testing.assert_array_equal(actual, np.full((64, 9), value, kind))


@pytest.mark.parametrize("engine,n", [("tensor", 128), ("vector", 32), (nisa.engine.unknown, 100)])
def test_nc_transpose(engine, n):
    x = numbers((n, n // 2), F32, 1)

    def body(a):
        p = tile((n // 2, n), buffer=nl.psum)
        nisa.nc_transpose(p, a, engine=engine)
        return nl.copy(p)

    np.testing.assert_array_equal(run(body, x), x.T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, BF16, F16])
def test_nc_matmul(dtype, target):
    a, b = numbers((256, 64), dtype, 1), numbers((256, 200), dtype, 2)

    def kernel(x, y):
        acc = tile((64, 200), buffer=nl.psum)
        for k in range(2):
            s, m = nl.load(x[k * 128 : (k + 1) * 128]), nl.load(y[k * 128 : (k + 1) * 128])
            nisa.nc_matmul(acc, s, m)
        out = hbm((64, 200), nl.float32)
        nl.store(out, nl.copy(acc))
        return out

    expected = a.astype(np.float64).T @ b.astype(np.float64)
    np.testing.assert_allclose(launch(kernel, a, b, target=target), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("accumulate", [(False, True), (None, None), (None, True), (False, False)])
def test_nc_matmul_accumulate(accumulate):
    a, b = numbers((64, 32), F32, 1), numbers((64, 16), F32, 2)

    def body(x, y):
        acc = tile((32, 16), buffer=nl.psum)
        for flag in accumulate:
            nisa.nc_matmul(acc, x, y, accumulate=flag)
        return nl.copy(acc)

    times = 1 if accumulate == (False, False) else 2
    np.testing.assert_allclose(run(body, a, b), times * (a.T @ b), rtol=1e-4, atol=1e-4)


def test_nc_matmul_on_zeros():
    a, b = numbers((64, 32), F32, 1), numbers((64, 16), F32, 2)

    def body(x, y):
        acc = nl.zeros((32, 16), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(acc, x, y, accumulate=True)
        nisa.nc_matmul(acc, x, y, accumulate=True)
        return nl.copy(acc)

    np.testing.assert_allclose(run(body, a, b), 2 * (a.T @ b), rtol=1e-4, atol=1e-4)


def test_nc_matmul_transpose_and_tiles():
    a = numbers((64, 64), F32, 1)

    def body(x):
        p = tile((64, 64), buffer=nl.psum)
        nisa.nc_matmul(p, x, nl.shared_identity_matrix(64, nl.float32), is_transpose=True, is_moving_onezero=True)
        return nl.copy(p)

    np.testing.assert_array_equal(run(body, a), a.T)
    b = numbers((64, 48), F32, 2)

    def tiled(x, y):
        p = tile((64, 48), buffer=nl.psum)
        nisa.nc_matmul(p, x, y, tile_position=(0, 0), tile_size=(64, 64))
        return nl.copy(p)

    np.testing.assert_allclose(run(tiled, a, b), a.T @ b, rtol=1e-4, atol=1e-4)


def test_nc_matmul_double_row():
    f8 = ml_dtypes.float8_e4m3
    a, b = numbers((64, 2, 32), F32, 1).astype(f8), numbers((64, 2, 16), F32, 2).astype(f8)

    def body(x, y):
        p = tile((32, 16), buffer=nl.psum)
        nisa.nc_matmul(p, x, y, perf_mode="double_row")
        return nl.copy(p)

    expected = np.einsum("kjm,kjn->mn", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(run(body, a, b), expected, rtol=1e-5, atol=1e-4)


# ---- DMA -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, BF16, I32, U8])
def test_dma_copy(dtype, target):
    x = numbers((4, 30, 16), dtype, 1)

    def kernel(a):
        t = tile((30, 4, 16), a.dtype)
        nisa.dma_copy(dst=t, src=a.permute((1, 0, 2)))
        out = hbm((30, 64), a.dtype)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, x, target=target), x.transpose(1, 0, 2).reshape(30, 64))


def test_dma_copy_casts_and_broadcasts():
    row = numbers((1, 40), F32, 1)

    def kernel(a):
        t = tile((100, 40), nl.bfloat16)
        nisa.dma_copy(t, a.ap([[0, 100], [1, 40]]))
        out = hbm((100, 40), nl.bfloat16)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, row), np.broadcast_to(row, (100, 40)).astype(BF16))


@pytest.mark.parametrize("mode", [nisa.dge_mode.unknown, nisa.dge_mode.none, "swdge", nisa.dge_mode.hwdge])
def test_descriptor_modes(mode):
    def kernel(a):
        t = tile(a.shape, a.dtype)
        nisa.dma_copy(t, a, dge_mode=mode)
        out = hbm(a.shape, a.dtype)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, X), X)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_dma_gather_and_scatter(target):
    rows = np.random.default_rng(0).permutation(100)[:64].astype(I32)[:, None]
    table = numbers((100, 12), F32, 1)

    def gather(a, i):
        index, t = nl.load(i), tile((64, 12))
        nisa.dma_copy(t, a.ap([[12, 64], [1, 12]], vector_offset=index))
        out = hbm((64, 12), nl.float32)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(gather, table, rows, target=target), table[rows[:, 0]])

    def scatter(a):
        index, t = tile((32, 1), nl.int32), nl.load(a[0:32])
        nisa.iota(index, [[0, 1]], offset=2, channel_multiplier=3)
        out = nl.zeros((100, 12), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out.ap([[12, 32], [1, 12]], vector_offset=index), t)
        return out

    expected = np.zeros_like(table)
    expected[2:98:3] = table[:32]
    np.testing.assert_array_equal(launch(scatter, table, target=target), expected)


def test_dma_gather_skips():
    rows = np.arange(64, dtype=I32)[:, None]
    rows[::3] = -1
    table = numbers((100, 12), F32, 1)

    def kernel(a, i):
        index, t = nl.load(i), nl.full((64, 12), 9.0, nl.float32)
        nisa.dma_copy(t, a.ap([[12, 64], [1, 12]], vector_offset=index), oob_mode="skip")
        out = hbm((64, 12), nl.float32)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, table, rows), np.where(rows >= 0, table[rows[:, 0]], F32(9)))


@pytest.mark.parametrize("dtype", [BF16, F32])
@pytest.mark.parametrize(
    "shape,axes", [((64, 100), (1, 0)), ((8, 3, 50), (2, 1, 0)), ((4, 2, 3, 20), (3, 1, 2, 0))], ids=str
)
def test_dma_transpose(shape, axes, dtype):
    x = numbers(shape, dtype, 1)

    def kernel(a):
        t = tile(tuple(shape[i] for i in axes), a.dtype)
        nisa.dma_transpose(t, a, axes=axes)
        out = hbm(t.shape, a.dtype)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, x), x.transpose(axes))


def test_dma_compute():
    xs = [numbers((64, 12), F32, i) for i in range(3)]

    def kernel(a, b, c):
        t = tile((64, 12))
        nisa.dma_compute(t, [a, b, c], nl.add)
        out = hbm((64, 12), nl.float32)
        nisa.dma_copy(out, t)
        return out

    np.testing.assert_array_equal(launch(kernel, *xs), xs[0] + xs[1] + xs[2])


# ---- across partitions -------------------------------------------------------------------------------------------------------------


def test_nc_stream_shuffle():
    mask = [31 - i if i % 4 else 255 for i in range(32)]

    def body(a):
        d = tile(X.shape)
        nisa.memset(d, 3.0)
        nisa.nc_stream_shuffle(d, a, mask)
        return d

    expected = np.full_like(X, 3)
    for p in range(128):
        if mask[p % 32] != 255:
            expected[p] = X[p // 32 * 32 + mask[p % 32]]
    np.testing.assert_array_equal(run(body, X), expected)


def test_nc_stream_shuffle_spreads_a_partition_of_its_own_tile():
    def body(a):
        d = tile((48, 40))
        nisa.tensor_copy(d[0:1], a[0:1])
        for first, count in ((32, 16), (0, 32)):
            nisa.nc_stream_shuffle(d[first : first + count], d[0:1], [0] * 32)
        return d

    np.testing.assert_array_equal(run(body, X), np.broadcast_to(X[0], (48, 40)))


def test_local_gather():
    index = np.random.default_rng(0).integers(0, 10, (32, 3)).astype(U16) * 4
    call = into((32, 48 * 4), lambda d, a, i: nisa.local_gather(d, a[0:32], i, num_elem_per_idx=4))
    expected = np.empty((32, 192), F32)
    for p in range(32):
        order = index[p // 16 * 16 : p // 16 * 16 + 16].T.reshape(-1)
        expected[p] = np.concatenate([X[p, o : o + 4] for o in order])
    np.testing.assert_array_equal(run(call, X, index), expected)


def test_nc_n_gather():
    index = np.random.default_rng(0).integers(0, 40, (128, 30)).astype(U32)
    call = into((128, 30), nisa.nc_n_gather)
    np.testing.assert_array_equal(run(call, X, index), np.take_along_axis(X, index.astype(np.int64), 1))


# ---- two cores, registers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nisa.dma_engine.dma, "gpsimd_dma"])
def test_sendrecv(kind):
    x = numbers((2, 64, 20), F32, 1)

    def kernel(a):
        me = nl.program_id(0)
        mine, other = nl.load(a[me]), tile((64, 20))
        nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0, dma_engine=kind)
        out = hbm((2, 64, 20), nl.float32)
        nisa.dma_copy(out[me], other)
        return out

    np.testing.assert_array_equal(launch(kernel, x, cores=2), x[::-1])


@pytest.mark.parametrize("cores", [(0, 1), [0, 1]])
def test_core_barrier(cores):
    x = numbers((2, 64, 20), F32, 1)

    def kernel(a):
        me = nl.program_id(0)
        shared = hbm((2, 64, 20), nl.float32)
        nl.store(shared[me], nl.multiply(nl.load(a[me]), 2.0))
        nisa.core_barrier(shared, cores)
        out = nl.ndarray((2, 64, 20), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out[me], nl.load(shared[1 - me]))
        return out

    np.testing.assert_array_equal(launch(kernel, x, cores=2), 2 * x[::-1])


@pytest.mark.parametrize("cores", [0, (0,), (0, 1)])
def test_core_barrier_of_one_core_waits_for_nobody(cores):
    def kernel(a):
        out = hbm(a.shape, a.dtype)
        nl.store(out, nl.load(a))
        nisa.core_barrier(out, cores)
        return out

    np.testing.assert_array_equal(launch(kernel, X), X)


@pytest.mark.parametrize("where", ["register", "tile"])
def test_registers(where):
    x, at = numbers((6, 8, 20), F32, 1), np.array([[4]], I32)

    def kernel(a, i):
        index, t = nl.load(i), tile((8, 20))
        register = nisa.register_alloc(0)
        nisa.register_load(register, index)
        nisa.dma_copy(t, a.ap([[20, 8], [1, 20]], scalar_offset=register if where == "register" else index))
        stored = tile((1, 1), nl.int32)
        nisa.register_store(stored, register)
        out, count = hbm((8, 20), nl.float32), hbm((1, 1), nl.int32)
        nisa.dma_copy(out, t)
        nisa.dma_copy(count, stored)
        return out, count

    out, count = launch(kernel, x, at)
    np.testing.assert_array_equal(out, x[4])
    assert count[0, 0] == 4


BAD = {
    "mask": lambda d, a: nisa.nc_stream_shuffle(d, a, [0] * 16),
    "elements": lambda d, a: nisa.dma_copy(d, a[:, 0:5]),
    "psum": lambda d, a: nisa.dma_copy(tile((128, 40), buffer=nl.psum), a),
    "axes": lambda d, a: nisa.dma_transpose(d, a, axes=(0, 1)),
    "shape of a transpose": lambda d, a: nisa.dma_transpose(d, a),
    "scales": lambda d, a: nisa.dma_compute(d, [a, a], nl.add, scales=[2.0, 1.0]),
    "reduce_op": lambda d, a: nisa.dma_compute(d, [a, a], nl.maximum),
    "tile_position": lambda d, a: nisa.nc_matmul(d, a, a, tile_position=3),
    "hwdge that casts": lambda d, a: nisa.dma_copy(tile((128, 40), nl.bfloat16), a, dge_mode="hwdge"),
    "skip without an index": lambda d, a: nisa.dma_copy(d, a, oob_mode="skip"),
    "engine without hwdge": lambda d, a: nisa.dma_copy(d, a, engine="sync"),
    "priority": lambda d, a: nisa.dma_copy(d, a, priority=1),
    "memset of a tile": lambda d, a: nisa.memset(d, a),
    "memset of a fraction": lambda d, a: nisa.memset(tile((128, 4), nl.int32), 0.5),
    "rank": lambda d, a: nisa.sendrecv(a, d, 0, 0, 0),
    "barrier": lambda d, a: nisa.core_barrier(a, (0, 5)),
    "register": lambda d, a: nisa.register_load(3, a),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_calls_are_refused(name):
    with pytest.raises(glia.Error):
        run(into(X.shape, BAD[name]), X)


@pytest.mark.parametrize("mode", [nisa.dge_mode.none, 3, "none", nisa.dge_mode(3)], ids=str)
def test_members_of_enumerations_are_given_as_they_are_or_by_value(mode):
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, x.dtype)
        nisa.dma_copy(dst=t, src=x, dge_mode=mode, oob_mode=0)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0, engine=nisa.engine.vector.value)
        nisa.dma_copy(dst=out, src=t)
        return out

    x = np.ones((128, 8), np.float32)
    assert "dge=" not in nki.jit(kernel).trace(x).kernel.text().replace("dge=none", "")
    np.testing.assert_array_equal(nki.jit(kernel)(x), x * 2)


def test_a_value_that_no_member_has(fails):
    def kernel(x):
        nisa.dma_copy(dst=nl.ndarray(x.shape, x.dtype), src=x, dge_mode=7)

    (d,) = fails(nki.jit(kernel), np.ones((128, 8), np.float32))
    assert d.code == "NKI-ARGUMENT" and "dge_mode is 7" in d.message


def test_generations_are_compared_with_numbers():
    assert nisa.nc_version.gen3 >= 3 and nisa.nc_version.gen2 < 3 and nisa.nc_version.gen4 > nisa.nc_version.gen3
