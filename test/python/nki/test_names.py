"""Messages, dumps and profiles speak of the names in the author's source: tiles, arguments of calls, loop indices, calls."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.ones((128, 64), np.float32)


def names_of(function, *args) -> list[str]:
    traced = nki.jit(function).trace(*args)
    return [s.name for t in traced.traces for s in t.storages]


class Tiles(nki.NKIObject):
    def __init__(self, x):
        self.first = nl.load(x)


def test_tiles_are_called_like_their_variables():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        a, b = nl.load(x), nl.load(x)
        tiles = [nl.zeros(x.shape, x.dtype) for _ in range(2)]
        more = []
        more.append(nl.copy(a))
        held = Tiles(x)
        for i in range(2):
            m = nl.maximum(nl.add(a, 1.0), b)
            tiles[i] = nl.maximum(m, held.first)
        given = nl.ndarray(x.shape, x.dtype, name="mine")
        nisa.tensor_tensor(dst=given, data1=tiles[1], data2=more[0], op=nl.add)
        nl.store(out, nl.add(given, tiles[0]))
        return out

    assert names_of(kernel, X) == (
        "x out a b tiles tiles_1 more first add m tiles_2 add_1 m_1 tiles_3 mine add_2".split()
    )


def test_names_are_in_the_kernel_and_in_the_program():
    def kernel(x):
        result = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        loaded = nl.load(x)
        nl.store(result, nl.add(loaded, 1.0))
        return result

    exe = glia.compile(nki.jit(kernel), X)
    assert "%loaded = alloc sbuf : f32[128, 64]" in nki.jit(kernel).trace(X).kernel.text()
    assert "loaded" in exe.program.disassemble()
    assert glia.assemble(exe.program.disassemble()).instructions == exe.program.instructions


def test_shared_tensors_of_two_cores_are_paired_in_order_whatever_they_are_called():
    def kernel(x):
        if nl.program_id(0) == 0:
            mine = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        else:
            other = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        out = mine if nl.program_id(0) == 0 else other
        half = slice(64 * nl.program_id(0), 64 * nl.program_id(0) + 64)
        nl.store(out[half], nl.load(x[half]))
        return out

    np.testing.assert_array_equal(nki.jit(kernel)[2](X), X)


def test_operands_are_called_like_the_arguments(fails):
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t, narrow = nl.load(x), nl.load(x[:, 0:32])
        nisa.tensor_tensor(dst=t, data1=t, data2=narrow, op=nl.add)
        nl.store(out, t)
        return out

    (d,) = fails(nki.jit(kernel), X)
    assert d.code == "SAME-SHAPE" and "`narrow` (data2)" in d.message


def helper(t, n):
    return t[:, n : n + 32]  # line 2 of helper


def test_an_error_in_a_helper_shows_the_way_to_it(fails):
    def outer(x):
        for j in range(4):
            nl.load(helper(x, 32 * j))

    def kernel(x):
        for i in range(3):  # noqa: B007
            outer(x)

    d = fails(nki.jit(kernel), X)[0]
    first = outer.__code__.co_firstlineno
    assert d.code == "NKI-SLICE" and d.line == helper.__code__.co_firstlineno + 1
    assert d.notes == [
        f"called from outer at {__file__}:{first + 2}, with j = 2",
        f"called from kernel at {__file__}:{first + 6}, with i = 0",
    ]


def test_indices_of_the_loops_around_a_line(fails):
    def kernel(x):
        for i in range(2):  # noqa: B007
            for k in range(2):
                nl.load(x[:, 40 * k : 40 * k + 40])

    assert fails(nki.jit(kernel), X)[0].notes == ["with i = 0, k = 1"]


def add_two(dst, a, b):
    nisa.tensor_tensor(dst=dst, data1=a, data2=b, op=nl.add)


def test_a_broken_rule_in_a_helper_shows_the_way_to_it(fails):
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        for i in range(2):  # noqa: B007
            add_two(t, t, nl.load(x[:, 0:32]))
        nl.store(out, t)
        return out

    (d,) = fails(nki.jit(kernel), X)
    assert d.code == "SAME-SHAPE" and d.line == add_two.__code__.co_firstlineno + 1
    line = kernel.__code__.co_firstlineno + 4
    assert d.notes == ["the same 1 more times at this line", f"called from kernel at {__file__}:{line}, with i = 0"]


@pytest.mark.parametrize(
    "use,advice",
    [
        (lambda: nl.arange(128), "Index with slices"),
        (lambda: nl.ndaray((1, 1), nl.float32), "Did you mean `ndarray`?"),
        (lambda: nisa.tensor_tenser, "Did you mean `tensor_tensor`?"),
    ],
)
def test_names_that_do_not_exist(use, advice, fails):
    (d,) = fails(nki.jit(lambda x: use()), X)
    assert d.code == "NKI-UNKNOWN" and advice in d.advice and d.line == use.__code__.co_firstlineno
    with pytest.raises(AttributeError, match="has no"):
        use()
    assert not hasattr(nl, "arange")


def test_what_is_said_instead_of_arange_works():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        numbers = nl.ndarray((128, 64), nl.float32)
        nisa.iota(dst=numbers, pattern=[[1, 64]], offset=0, channel_multiplier=0)
        i = 0
        nl.store(out[0:128, i : i + 32], nl.add(numbers[0:128, i : i + 32], nl.load(x[0:128, nl.ds(i, 32)])))
        nl.store(out[0:128, 32:64], numbers[:, 32:64])
        return out

    expected = np.broadcast_to(np.arange(64, dtype=np.float32), (128, 64)) + np.where(np.arange(64) < 32, 1, 0)
    np.testing.assert_array_equal(nki.jit(kernel)(X), expected)


def test_the_transpose_of_8_bits_as_its_rule_says(fails):
    import ml_dtypes

    def transposed(x, dtype, use):
        out = nl.ndarray((64, 128), x.dtype, buffer=nl.shared_hbm)
        data, dst = nl.load(x), nl.ndarray((64, 128), dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=dst, data=data, engine=nisa.engine.tensor)
        result = nl.ndarray((64, 128), x.dtype)
        nisa.tensor_copy(dst=result, src=use(dst, data))
        nl.store(out, result)
        return out

    x = np.random.default_rng(0).standard_normal((128, 64)).astype(ml_dtypes.float8_e4m3)
    d = fails(nki.jit(transposed), x, nl.float8_e4m3, lambda dst, data: dst)[0]
    assert d.code == "TRANSPOSE-DTYPE" and "dst.view(data.dtype)[:, ::2]" in d.advice and "uint16" in d.advice
    made = nki.jit(transposed)(x, nl.uint16, lambda dst, data: dst.view(data.dtype)[:, ::2])
    np.testing.assert_array_equal(made, x.T)
