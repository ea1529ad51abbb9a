"""nl: operands in PSUM, buffers, sizes, the grid, printing, and errors that come together."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import environment
from tile_kernels import TARGETS, launch, numbers, run

F32 = np.float32


@pytest.mark.parametrize("target", TARGETS)
def test_operands_in_psum(target):
    x, y = numbers((64, 32), F32, 1), numbers((64, 16), F32, 2)

    def body(a, b):
        p, q = nl.matmul(a, b, transpose_x=True), nl.matmul(a, b, transpose_x=True)
        return nl.add(p, q), nl.multiply(p, 2.0), nl.sum(p, 0), nl.power(nl.abs(p), 1.0), nl.where(p, p, q)

    both, twice, total, same, chosen = run(body, x, y, target=target)
    product = x.T.astype(np.float64) @ y
    np.testing.assert_allclose(both, 2 * product, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(both, twice)
    np.testing.assert_allclose(total, product.sum(0, keepdims=True), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(same, np.abs(product), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(chosen, product, rtol=1e-4, atol=1e-4)


def test_long_rows_in_psum():
    x, y = numbers((32, 16), F32, 1), numbers((32, 4096), F32, 2)
    actual = run(lambda a, b: nl.add(nl.matmul(a, b, transpose_x=True), 1.0), x, y)
    np.testing.assert_allclose(actual, x.T @ y + 1, rtol=1e-4, atol=1e-4)


def test_buffers():
    assert nl.is_hbm(nl.hbm) and nl.is_hbm(nl.shared_hbm) and nl.is_hbm("private_hbm") and not nl.is_hbm(nl.sbuf)
    assert nl.is_sbuf(nl.sbuf) and nl.is_psum("psum") and nl.is_on_chip(nl.psum) and not nl.is_on_chip(nl.hbm)


@pytest.mark.parametrize("target,usable,version", [("trn1", 180224, 2), ("trn2", 212984, 3), ("trn3", 245752, 4)])
def test_sizes_of_the_target(target, usable, version):
    environment.choose_target(target)
    try:
        sizes = nl.tile_size
        assert (sizes.pmax, sizes.psum_bank_fmax, sizes.psum_fmax, sizes.psum_bank_fmax_bytes) == (128, 512, 512, 2048)
        assert (sizes.gemm_stationary_fmax, sizes.gemm_moving_fmax, sizes.bn_stats_fmax) == (128, 512, 512)
        assert (sizes.sbuf_fmax_bytes, sizes.total_available_sbuf_size) == (usable, usable)
        assert (sizes.sbuf_size_bytes, sizes.psum_num_banks) == (usable * 128, 8)
        assert nisa.get_nc_version() == nisa.nc_version(version) and nisa.get_nc_sub_version() == 0
    finally:
        environment.choose_target(None)


@pytest.mark.parametrize("cores", [1, 2])
def test_grid(cores):
    def kernel(x):
        me = nl.program_id(0)
        out = nl.ndarray((2, 32, 3), dtype=nl.int32, buffer=nl.shared_hbm)
        t = nl.ndarray((32, 3), dtype=nl.int32)
        for i, n in enumerate((me, nl.num_programs(0), nl.num_programs())):
            t[:, i : i + 1] = n
        nl.store(out[me], t)
        if nl.num_programs() == 1:
            nl.store(out[1], t)
        return out

    actual = launch(kernel, numbers((32, 4), F32, 1), cores=cores)
    assert actual[0].tolist() == [[0, cores, cores]] * 32
    assert actual[1].tolist() == [[cores - 1, cores, cores]] * 32


def test_ranges():
    for r in (nl.affine_range, nl.sequential_range, nl.static_range, nl.range):
        assert list(r(3)) == [0, 1, 2] and list(r(1, 8, 3)) == [1, 4, 7]


def test_device_print_takes_tensors_on_chip_and_in_hbm():
    @nki.jit
    def kernel(x):
        t = nl.load(x)
        nl.device_print("tile", t)
        nl.device_print("tensor", x)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, t)
        return out

    text = kernel.trace(np.zeros((200, 4), F32)[:100]).kernel.text()
    line = kernel.func.__code__.co_firstlineno + 3
    for name, at in (("tile", line), ("tensor", line + 1)):
        assert f'device_print prefix="{name} (test_language_misc.py:{at})"' in text


def test_errors_come_together_with_their_lines():
    def kernel(x):
        t = nl.load(x)
        nisa.tensor_tensor(t, t, 1.0, nl.add)
        nisa.activation(t, nl.add, t)
        nisa.rng(t)
        return x

    with pytest.raises(glia.Error) as e:
        launch(kernel, np.zeros((32, 4), F32))
    first = kernel.__code__.co_firstlineno
    assert [d.line - first for d in e.value.diagnostics[:3]] == [2, 3, 4]
    assert all(d.file == __file__ for d in e.value.diagnostics[:3])


def test_operations_are_values():
    import copy
    import pickle

    assert {nl.add: 1}[nl.add] == 1 and nl.add != nl.subtract
    assert pickle.loads(pickle.dumps(nl.add)) is nl.add and copy.deepcopy(nl.exp) is nl.exp
    assert nl.add.__name__ == "add" and "add" in repr(nl.add)
