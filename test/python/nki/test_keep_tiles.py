"""Loads of what is still in SBUF are left out, and tiles that are written again become new ones: less moves, less waits, the same bits."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import runtime

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

RNG = np.random.default_rng(11)
TARGETS = ("trn1", "trn2", "trn3")


def compiled(kernel, *arguments):
    """The profile and the outputs; these are what the instructions give one after the other, bit for bit."""
    traced = kernel.trace(*arguments)
    program, inputs = runtime.program_of(traced), runtime.inputs_of(traced)
    outputs = program.run(inputs, verify=False)
    for name, expected in runtime.sequential(traced, inputs).items():
        assert outputs[name].tobytes() == expected.tobytes()
    return program.profile(inputs, timeline=False), list(outputs.values()), traced


@nki.jit
def product(lhs_t, rhs):
    """Both operands are loaded for every product of tiles."""
    k, m, n = *lhs_t.shape, rhs.shape[1]
    out = nl.ndarray((m, n), lhs_t.dtype, buffer=nl.shared_hbm)
    for row in range(0, m, 128):
        for column in range(0, n, 128):
            total = nl.ndarray((128, 128), nl.float32, buffer=nl.psum)
            for inner in range(0, k, 128):
                left, right = (nl.ndarray((128, 128), lhs_t.dtype) for _ in range(2))
                nisa.dma_copy(dst=left, src=lhs_t[inner : inner + 128, row : row + 128])
                nisa.dma_copy(dst=right, src=rhs[inner : inner + 128, column : column + 128])
                nisa.nc_matmul(dst=total, stationary=left, moving=right, accumulate=inner > 0)
            nl.store(out[row : row + 128, column : column + 128], nl.copy(total))
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_every_tile_is_loaded_once(target):
    a, b = RNG.standard_normal((2, 256, 384), np.float32)
    profile, (result,), _ = compiled(product.on(target), a, b)
    assert profile.hbm_bytes[0] == a.nbytes + b.nbytes
    np.testing.assert_allclose(result, a.T.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)


def test_no_more_than_there_is_room_for():
    """One pass over more than SBUF holds, and another: some of it stays, and nothing is spilled."""

    @nki.jit
    def twice(x):
        out = nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
        for i in range(2):
            for j in range(x.shape[0]):
                t = nl.ndarray((128, 4096), x.dtype)
                nisa.dma_copy(dst=t, src=x[j])
                nisa.dma_copy(dst=out[i, j], src=t)
        return out

    x = RNG.standard_normal((16, 128, 4096), np.float32)  # 256 KiB of a partition
    profile, (result,), traced = compiled(twice.on("trn2"), x)
    assert x.nbytes < profile.hbm_bytes[0] < 1.75 * x.nbytes
    assert "spill" not in dict(traced.kernel.compile().contract)
    np.testing.assert_array_equal(result, np.stack([x, x]))


def test_what_is_stored_in_between_is_loaded_again():
    @nki.jit
    def doubled(x):
        """Through memory that the kernel writes: every load sees the store before it."""
        out = nl.ndarray((3, *x.shape), x.dtype, buffer=nl.shared_hbm)
        place = nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm)
        nl.store(place, nl.load(x))
        for i in range(3):
            t = nl.ndarray(x.shape, x.dtype)
            nisa.dma_copy(dst=t, src=place)
            nl.store(out[i], t)
            nl.store(place, nl.multiply(t, 2.0))
        return out

    x = RNG.standard_normal((128, 64), np.float32)
    _, (result,), _ = compiled(doubled, x)
    np.testing.assert_array_equal(result, np.stack([x, 2 * x, 4 * x]))


@pytest.mark.parametrize("target", TARGETS)
def test_one_buffer_serves_as_many(target):
    """The same tile for all rows costs no more than a tile for each."""

    def scaled(one):
        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            shared = nl.ndarray((128, 1024), x.dtype)
            for i in range(x.shape[0]):
                t = shared if one else nl.ndarray((128, 1024), x.dtype)
                nisa.dma_copy(dst=t, src=x[i])
                nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
                nisa.dma_copy(dst=out[i], src=t)
            return out

        return kernel.on(target)

    x = RNG.standard_normal((6, 128, 1024), np.float32)
    (one, (result,), _), (many, _, _) = compiled(scaled(True), x), compiled(scaled(False), x)
    assert one.total == many.total
    np.testing.assert_array_equal(result, 2 * x)


def test_a_loop_of_the_program_loads_once_what_stays():
    @nki.jit
    def counted(w, x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for i in nl.dynamic_range(x.shape[0]):
            a, b = (nl.ndarray((128, 256), x.dtype) for _ in range(2))
            nisa.dma_copy(dst=a, src=w)
            nisa.dma_copy(dst=b, src=x[i])
            nisa.tensor_tensor(dst=b, data1=b, data2=a, op=nl.add)
            nisa.dma_copy(dst=out[i], src=b)
        return out

    w, x = RNG.standard_normal((128, 256), np.float32), RNG.standard_normal((5, 128, 256), np.float32)
    profile, (result,), _ = compiled(counted, w, x)
    assert profile.hbm_bytes[0] == w.nbytes + x.nbytes
    np.testing.assert_array_equal(result, x + w)
