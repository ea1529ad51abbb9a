"""Views and indexing, against NumPy: the same operation on an array of element numbers must name the same elements."""

import glia
import numpy as np
import pytest
from glia.nki import trace as _t
from glia.nki.indexing import ds


def numbers(shape):
    return np.arange(np.prod(shape)).reshape(shape)


def make(shape, buffer="sbuf", dtype="float32"):
    return _t.ndarray(shape, dtype, buffer)


def same(elements, view, array):
    """The view has the array's shape, and strides, operand and pattern name its elements in its order."""
    assert view.shape == array.shape
    grid = np.zeros(view.shape, int) + view.offset
    for dim, (stride, n) in enumerate(view.get_pattern()):
        grid += (stride * np.arange(n)).reshape([-1 if d == dim else 1 for d in range(view.ndim)])
    np.testing.assert_array_equal(grid, array)
    np.testing.assert_array_equal(elements(view.operand()), array.reshape(-1))
    np.testing.assert_array_equal(elements(view.operand(merge=False)), array.reshape(-1))


KEYS = [
    np.s_[:],
    np.s_[0:32],
    np.s_[32:64, 3:9],
    np.s_[..., 2:6],
    np.s_[:, 1:3, ::2],
    np.s_[:, -2:, -5:-1],
    np.s_[64:, 1:2, 1:8:3],
    np.s_[:, :, 7:8],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("buffer", ["sbuf", "psum", "hbm", "shared_hbm"])
def test_slices(trace, elements, buffer, key):
    key = key if not isinstance(key, tuple) or len(key) < 2 or key[1] != slice(3, 9) else np.s_[32:64, 1:4]
    same(elements, make((128, 4, 8), buffer)[key], numbers((128, 4, 8))[key])


def test_ds_is_a_slice(trace, elements):
    same(elements, make((128, 40))[ds(32, 32), ds(8, 16)], numbers((128, 40))[32:64, 8:24])


def test_integers_on_chip_keep_the_partition_and_two_dimensions(trace, elements):
    a, n = make((128, 4, 8)), numbers((128, 4, 8))
    same(elements, a[5], n[5:6])
    same(elements, a[:, 3], n[:, 3])
    same(elements, a[:, 3, 2], n[:, 3, 2:3])
    same(elements, a[0, 0, 7], n[0:1, 0, 7:8])
    same(elements, a[-1, -1], n[-1:, -1])
    assert a[0, 0, 7].shape == (1, 1)


def test_integers_in_hbm_drop_the_dimension(trace, elements):
    a, n = make((6, 4, 8), "hbm"), numbers((6, 4, 8))
    same(elements, a[5], n[5])
    same(elements, a[:, 3, 2], n[:, 3, 2])
    same(elements, a[1, 2, 3], n[1, 2, 3:4])
    same(elements, a[np.int64(2), 1:3], n[2, 1:3])


def test_views_of_views(trace, elements):
    a, n = make((128, 4, 12)), numbers((128, 4, 12))
    same(elements, a[:, 1:3][:, :, 2:10:2][32:64, 1:2], n[:, 1:3][:, :, 2:10:2][32:64, 1:2])


def test_methods(trace, elements):
    a, n = make((128, 4, 6)), numbers((128, 4, 6))
    same(elements, a.permute((0, 2, 1)), n.transpose(0, 2, 1))
    same(elements, a.reshape((128, 24)), n.reshape(128, 24))
    same(elements, a.reshape((128, 2, -1)), n.reshape(128, 2, 12))
    same(elements, a.reshape_dim(2, (3, -1)), n.reshape(128, 4, 3, 2))
    same(elements, a.flatten_dims(1, 2), n.reshape(128, 24))
    same(elements, a.expand_dim(1), n[:, None])
    same(elements, a.expand_dim(3), n[..., None])
    same(elements, a.expand_dim(1).squeeze_dim(1), n)
    same(elements, a.expand_dim(2).broadcast(2, 5), np.broadcast_to(n[:, :, None], (128, 4, 5, 6)))
    same(elements, a.slice(2, 1, 6, 2), n[:, :, 1:6:2])
    same(elements, a.select(1, 2), n[:, 2])
    same(
        elements,
        a.rearrange(("p", ("x", "y"), "z"), ("p", "z", "x", "y"), {"x": 2}),
        n.reshape(128, 2, 2, 6).transpose(0, 3, 1, 2),
    )
    same(elements, a.rearrange(("p", "x", "z"), ("p", ("x", "z"))), n.reshape(128, 24))


def test_methods_in_hbm(trace, elements):
    a, n = make((6, 4, 8), "hbm"), numbers((6, 4, 8))
    same(elements, a.permute((2, 0, 1)), n.transpose(2, 0, 1))
    same(elements, a.reshape((24, 8)), n.reshape(24, 8))
    same(elements, a.reshape((3, 64)), n.reshape(3, 64))
    same(elements, a[:, 1:3].flatten_dims(1, 2), n[:, 1:3].reshape(6, 16))
    same(elements, a.select(0, 3), n[3])
    same(elements, a[0:1].broadcast(0, 7), np.broadcast_to(n[0:1], (7, 4, 8)))


@pytest.mark.parametrize("shape", [(24,), (2, 12), (3, 8), (4, 6), (2, 2, 6), (1, 24), (24, 1), (4, 1, 6)])
@pytest.mark.parametrize("of", ["whole", "rows", "columns", "permuted"])
def test_reshape_agrees_with_numpy_or_is_refused(trace, elements, of, shape):
    views = {
        "whole": lambda x: x,
        "rows": lambda x: x[1:3, :, :],
        "columns": lambda x: x[:, :, 1:3],
        "permuted": lambda x: x.permute((1, 0, 2)) if hasattr(x, "permute") else x.transpose(1, 0, 2),
    }
    full = {"whole": (2, 3, 4), "rows": (4, 3, 4), "columns": (3, 4, 5), "permuted": (3, 2, 4)}[of]
    a, n = views[of](make(full, "hbm")), views[of](numbers(full))
    wanted = n.copy().reshape(shape)
    try:
        strict = n.view()
        strict.shape = shape  # NumPy refuses where it would have to copy
    except AttributeError:
        with pytest.raises(glia.Error):
            a.reshape(shape)
    else:
        same(elements, a.reshape(shape), wanted)


def test_view_of_another_type(trace):
    bits = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)
    a = make((128, 8))
    for dtype, np_dtype in [("uint8", np.uint8), ("uint16", np.uint16), ("int32", np.int32)]:
        v = a[:, 2:6].view(dtype)
        expected = np.ascontiguousarray(bits[:, 2:6]).view(np_dtype)
        assert v.shape == expected.shape
        assert v.operand()[3] == 2 * 4
        assert v.view("float32").operand() == a[:, 2:6].operand()
    assert a.reinterpret_cast("bfloat16").shape == (128, 16)


def test_is_contiguous(trace):
    a = make((128, 4, 8))
    assert a.is_contiguous() and a[0:32].is_contiguous() and a[:, 1:3].is_contiguous() is True
    assert not a[:, :, 0:4].is_contiguous() and not a.permute((0, 2, 1)).is_contiguous()
    h = make((4, 8), "hbm")
    assert h.is_contiguous() and h[1:3].is_contiguous() and not h[:, 0:4].is_contiguous()


def test_ap(trace, elements):
    a, n = make((128, 32)), numbers((128, 32))
    same(elements, a.ap([[32, 128], [1, 32]]), n)
    same(elements, a.ap([[32, 64], [2, 8]], offset=3), n[:64, 3:19:2])
    same(elements, a.ap([(32, 16), (0, 4), (1, 8)], offset=32 * 32), np.broadcast_to(n[32:48, None, :8], (16, 4, 8)))
    same(elements, a[64:128, 4:8].ap([[32, 32], [1, 4]]), n[64:96, 4:8])
    same(elements, a[64:128, 4:8].ap([[32, 32], [1, 4]], offset=2), n[64:96, 6:10])
    h, m = make((10, 20), "hbm"), numbers((10, 20))
    same(elements, h.ap([[1, 5], [20, 10]], offset=7), m.T[7:12])


def test_ap_of_another_type(trace):
    a = make((128, 32))
    v = a.ap([[64, 128], [1, 16]], offset=8, dtype="bfloat16")
    assert v.operand()[1:6] == (2, 0, 16, 128, (1, 16))


def test_dimensions_are_merged(trace):
    a = make((128, 2, 3, 4, 5))
    assert a.operand()[5] == (1, 120)
    assert a[:, :, 0:2].operand()[5] == (60, 2, 1, 40)
    assert a[:, 1:2].operand()[5] == (1, 60)
    assert make((4,), "hbm").operand()[1:] == (0, 0, 0, 0, (1, 4), ())


def test_tensors_in_hbm_are_true_and_all_are_equal_to_themselves(trace):
    a, b = make((128, 4)), make((128, 4))
    assert make((4,), "hbm") and a == a and (a == None) is False  # noqa: E711
    assert len({a, b, a}) == 2
    assert a.base_tensor is a and a[0:32].base_tensor.shape == (128, 4)
    assert (a.ndim, a.size, a.name, str(a.dtype)) == (2, 512, "a", "float32")


def test_indices_chosen_by_a_tensor(trace):
    table, rows = make((64, 8, 4), "hbm"), make((128, 1), dtype="int32")
    v = table.vector_select(0, rows)
    assert v.shape == (128, 8, 4) and v.index.tensor is rows and v.index.stride == 32 and v.is_indirect()
    assert v.operand()[5] == (32, 128, 1, 32)
    w = table.ap([[32, 128], [1, 16]], vector_offset=rows)
    assert w.index.stride == 32 and w.shape == (128, 16)
    with pytest.raises(glia.Error):
        v[0:4]
    with pytest.raises(glia.Error):
        v.vector_select(0, rows)
    assert v[:, 2].shape == (128, 4)


def test_an_index_in_sbuf_becomes_a_register(trace):
    table, at = make((64, 8), "hbm"), make((1, 1), dtype="int32")
    v = table.select(0, at)
    assert v.shape == (8,)
    before = len(trace.ops)
    terms = v.operand()[6]
    assert trace.ops[before][0] == "reg_load" and trace.ops[before][1][0][0] is terms[0]
    assert terms[1:] == (8 * 4, 0)
    v.operand()  # read again: it may have changed
    assert [op[0] for op in trace.ops[before:]] == ["reg_load", "reg_load"]
    w = make((128, 6, 4)).ap([[24, 128], [1, 4]], scalar_offset=at, indirect_dim=1)
    assert w.operand()[6][1:] == (4 * 4, 0)
    p = make((128, 4)).ap([[4, 32], [1, 4]], scalar_offset=at, indirect_dim=0)
    assert p.operand()[6][1:] == (1, 1)


def assert_here(d, function):
    lines = (function.__code__.co_firstlineno, make.__code__.co_firstlineno + 1)
    assert d.file == __file__ and d.line in lines and d.code.startswith("NKI-")


BAD = {
    "slice past the end": lambda: make((128, 8))[:, 0:9],
    "index past the end": lambda: make((128, 8))[:, 8],
    "negative index": lambda: make((128, 8))[:, -9],
    "negative step": lambda: make((128, 8))[:, ::-1],
    "ap leaves the tensor": lambda: make((128, 8)).ap([[8, 128], [1, 9]]).operand(),
    "ap leaves HBM": lambda: make((4, 8), "hbm").ap([[8, 5], [1, 8]]).operand(),
    "partition step of ap": lambda: make((128, 8)).ap([[4, 128], [1, 4]]).operand(),
    "partition step": lambda: make((128, 8))[::2].operand(),
    "too many partitions": lambda: make((129, 8)),
    "address in HBM": lambda: _t.ndarray((4, 4), "float32", "hbm", address=(0, 0)),
    "a bad address": lambda: _t.ndarray((4, 4), "float32", "sbuf", address=5),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_recorded(trace, what):
    BAD[what]()
    (d,) = trace.diagnostics()
    assert_here(d, BAD[what])


@pytest.mark.parametrize(
    "view",
    [
        lambda: make((128, 8)).ap([[8, 128], [1, 9]]),
        lambda: make((4, 8), "hbm").ap([[8, 5], [1, 8]])[0],
        lambda: make((128, 8))[:, 4:4],
        lambda: make((128, 8))[:, 4:2],
        lambda: make((4, 8), "hbm")[4:],
    ],
)
def test_what_cannot_be_used_can_be_made(trace, view):
    """A kernel may prepare a view for a case that never comes."""
    view()
    assert trace.diagnostics() == []


def test_empty_slices_have_the_shapes_of_numpy(trace):
    a = np.zeros((128, 8, 4))
    for key in [np.s_[:, 4:4], np.s_[:, 3:1, 2:], np.s_[5:5], np.s_[:, 8:, 1]]:
        assert make((128, 8, 4))[key].shape == a[key].shape


FATAL = {
    "empty slice": lambda: make((128, 8))[:, 4:4].operand(),
    "too many indices": lambda: make((128, 8))[0, 0, 0],
    "two ellipses": lambda: make((128, 8, 2))[..., 0, ...],
    "newaxis": lambda: make((128, 8))[:, None],
    "a tensor as index": lambda: make((128, 8))[make((1, 1), dtype="int32")],
    "a float": lambda: make((128, 8))[1.0],
    "permute of partitions": lambda: make((128, 8)).permute((1, 0)),
    "no permutation": lambda: make((128, 8, 4)).permute((0, 1, 1)),
    "broadcast of partitions": lambda: make((1, 8)).broadcast(0, 128),
    "broadcast of more than one": lambda: make((128, 8)).broadcast(1, 3),
    "partitions reshaped": lambda: make((128, 8)).reshape((256, 4)),
    "other size": lambda: make((128, 8)).reshape((128, 9)),
    "not adjacent": lambda: make((128, 8, 4))[:, :, 0:2].flatten_dims(1, 2),
    "squeeze": lambda: make((128, 8)).squeeze_dim(1),
    "no such dimension": lambda: make((128, 8)).expand_dim(5),
    "too many dimensions": lambda: make((64, 4, 4, 4, 4, 4))[:, ::2, ::2, ::2, ::2, ::2].operand(),
    "view": lambda: make((128, 6))[:, ::2].view("uint8"),
    "view of a part": lambda: make((128, 6), dtype="bfloat16")[:, 1:4].view("float32"),
    "rows on chip": lambda: make((128, 6)).vector_select(0, make((128, 1), dtype="int32")),
    "index of floats": lambda: make((4, 6), "hbm").select(0, make((1, 1))),
    "indirection": lambda: make((128, 6)).indirect(make((128, 1), dtype="int32")),
    "shape": lambda: make((128, 0)),
    "shape of names": lambda: make(("a", 2)),
    "buffer": lambda: make((128, 2), "dram"),
    "type": lambda: make((128, 2), dtype="float64"),
    "MX": lambda: make((128, 2), dtype="float8_e4m3fn_x4"),
    "iteration": lambda: list(make((128, 2))),
    "rearrange": lambda: make((128, 6)).rearrange(("p", "x"), ("p", "y")),
    "pattern": lambda: make((128, 6)).ap([3]),
}


@pytest.mark.parametrize("what", FATAL)
def test_what_cannot_go_on(trace, fails, what):
    (d,) = fails(FATAL[what])
    assert_here(d, FATAL[what])


def test_names_are_unique(trace):
    _t.ndarray((4, 4), "float32", "sbuf", name="a")
    _t.ndarray((4, 4), "float32", "sbuf", name="a")
    assert [d.code for d in trace.diagnostics()] == ["NKI-NAME"]


def random_key(rng, shape):
    key = []
    for n in shape[: rng.integers(1, len(shape) + 1)]:
        kind = rng.integers(4)
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            key.append(slice(None))
        else:
            start = int(rng.integers(0, n))
            stop = int(rng.integers(start + 1, n + 1))
            key.append(slice(start, stop, int(rng.integers(1, 4)) if kind == 3 else None))
    return tuple(key)


@pytest.mark.parametrize("seed", range(60))
def test_random_chains_of_views(trace, elements, seed):
    """Indexing, permuting and reshaping in a row, in HBM, where every view is legal."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 7, rng.integers(2, 5)))
    view, array = make(shape, "hbm"), numbers(shape)
    for _ in range(4):
        if array.ndim == 1 and array.shape[0] == 1:
            break
        step = rng.integers(4)
        if step < 2:
            key = random_key(rng, array.shape)
            if all(isinstance(k, int) for k in key) and len(key) == array.ndim:
                key = (*key[:-1], slice(None))
            view, array = view[key], array[key]
        elif step == 2:
            order = rng.permutation(array.ndim)
            view, array = view.permute(order), array.transpose(order)
        else:
            dim = int(rng.integers(array.ndim))
            n = array.shape[dim]
            if n % 2 == 0 and array.ndim < 5:
                view, array = (
                    view.reshape_dim(dim, (2, -1)),
                    array.reshape(*array.shape[:dim], 2, n // 2, *array.shape[dim + 1 :]),
                )
        same(elements, view, array)
    assert not trace.errors
