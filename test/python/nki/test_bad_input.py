"""Kernels and calls that are wrong: each gives one glia.Error that points to the line, says what it found, and leaves the
interpreter as it was. The line that must be named ends with the code of the error."""

import inspect

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import trace as _t

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(9).standard_normal((128, 64)).astype(np.float32)
TABLE = {"calls": 0}
SCALES = np.ones(4, np.float32)


class Settings:
    calls = 0


def stored(t):
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


# ---- shapes and types


def negative_size(x):
    return stored(nl.ndarray((128, -3), nl.float32))  # NKI-SHAPE


def no_sizes(x):
    return stored(nl.ndarray("abc", nl.float32))  # NKI-SHAPE


def too_many_partitions(x):
    return stored(nl.zeros((129, 8), nl.float32))  # NKI-SHAPE


def no_such_type(x):
    return stored(nl.ndarray((128, 64), "floaty"))  # NKI-DTYPE


def sixty_four_bits(x):
    return stored(nl.ndarray((128, 64), np.float64))  # NKI-DTYPE


def sizes_differ(x):
    t = nl.ndarray((128, 32), nl.float32)
    nisa.dma_copy(dst=t, src=x)  # DMA-ELEMENTS
    return stored(t)


def shapes_differ(x):
    t, u = nl.load(x), nl.zeros((64, 64), nl.float32)
    nisa.tensor_tensor(dst=t, data1=t, data2=u, op=nl.add)  # SAME-SHAPE
    return stored(t)


def inner_sizes_differ(x):
    t, p = nl.load(x), nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=t, moving=t[0:64])  # MATMUL-SHAPE
    return stored(nl.copy(p))


def types_differ(x):
    t, p = nl.load(x), nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=p, stationary=t, moving=nl.copy(t, dtype=nl.bfloat16))  # MATMUL-DTYPE
    return stored(nl.copy(p))


def wrong_operation(x):
    t = nl.load(x)
    nisa.tensor_tensor(dst=t, data1=t, data2=t, op=nl.exp)  # NKI-ARGUMENT
    return stored(t)


def no_tensor(x):
    nisa.dma_copy(dst=None, src=x)  # NKI-ARGUMENT


def list_for_a_tensor(x):
    return stored(nl.load([1.0, 2.0]))  # NKI-LANGUAGE


def operator(x):
    t = nl.load(x)
    return stored(t + t)  # NKI-OPERATOR


def operator_from_the_left(x):
    t = nl.load(x)
    return stored(np.ones((128, 64), np.float32) * t)  # NKI-OPERATOR


def function_of_numpy(x):
    return stored(np.add(x, x))  # NKI-OPERATOR


def comparison(x):
    t = nl.load(x)
    return stored(t > 0)  # NKI-OPERATOR


def changes_partitions(x):
    t, u = nl.load(x), nl.ndarray((64, 128), nl.float32)
    u.reshape((128, 64))[...] = t  # NKI-SHAPE
    return stored(u)


# ---- slices


def beyond_the_end(x):
    return stored(nl.load(x[:, 60:70]))  # NKI-SLICE


def beyond_with_ds(x):
    return stored(nl.load(x[nl.ds(100, 29)]))  # NKI-SLICE


def number_beyond(x):
    return stored(nl.load(x[-129]))  # NKI-SLICE


def backwards(x):
    return stored(nl.load(x[::-1]))  # NKI-SLICE


def too_many_indices(x):
    return stored(nl.load(x[0, 0, 0]))  # NKI-SLICE


def fraction(x):
    return stored(nl.load(x[0.5]))  # NKI-SLICE


def loop_beyond_the_end(x):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(9):
        nisa.dma_copy(dst=out[nl.ds(i * 16, 16)], src=x[nl.ds(i * 16, 16)])  # DGE-OOB
    return out


def address_beyond_the_end(x):
    t = nl.ndarray((128, 64), nl.float32, address=(0, 300_000))  # ALLOC-BOUNDS
    nisa.dma_copy(dst=t, src=x)
    return stored(t)


# ---- what is never written, and what cannot be returned


def undefined(x):
    t = nl.ndarray((128, 64), nl.float32)  # UNDEFINED-OUTPUT
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def undefined_through_engines(x):
    t, u = nl.ndarray((128, 64), nl.float32), nl.load(x)  # UNDEFINED-OUTPUT
    nisa.tensor_tensor(dst=u, data1=u, data2=t, op=nl.add)
    nisa.activation(dst=u, op=nl.exp, data=u)
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=u)
    return out


def half_written(x):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)  # OUTPUT-UNWRITTEN
    nisa.dma_copy(dst=out[0:64], src=nl.load(x[0:64]))
    return out


def maybe_not_written(x):
    out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)  # OUTPUT-UNWRITTEN
    for _ in nl.dynamic_range(0):
        nisa.dma_copy(dst=out, src=x)
    return out


def returns_sbuf(x):  # NKI-RETURN
    return nl.load(x)


def returns_psum(x):  # NKI-RETURN
    return nl.zeros((128, 64), nl.float32, buffer=nl.psum)


def returns_numpy(x):  # NKI-RETURN
    return np.zeros(3)


def generates(x):  # NKI-RETURN
    yield stored(nl.load(x))


# ---- Python state that outlives the call


def counts_in_a_dict(x):
    TABLE["calls"] += 1  # NKI-PURITY
    return stored(nl.load(x))


def counts_in_a_class(x):
    Settings.calls += 1  # NKI-PURITY
    return stored(nl.load(x))


def changes_an_array(x):
    SCALES[0] += 1  # NKI-PURITY
    return stored(nl.load(x))


# ---- what does not end


def calls_itself(x):
    return calls_itself(x)  # NKI-ENDLESS


# ---- memory


def does_not_fit(x):
    a = nl.ndarray((128, 30000), nl.float32)  # KERNEL-MEMORY
    b = nl.ndarray((128, 30000), nl.float32)
    nisa.memset(a, value=1.0)
    nisa.memset(b, value=1.0)
    nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
    return stored(a)


def larger_than_the_memory(x):
    t = nl.ndarray((128, 60000), nl.float32)  # ALLOC-BOUNDS
    nisa.memset(t, value=1.0)
    return stored(t)


# ---- names and keywords


def unknown_keyword(x):
    return stored(nl.load(x, dtyp=nl.float32))  # NKI-ARGUMENT


def missing_argument(x):
    t = nl.load(x)
    nisa.tensor_tensor(dst=t, data1=t)  # NKI-ARGUMENT


def asks_a_register(x):
    if nisa.register_alloc(3):  # NKI-REGISTER
        return stored(nl.load(x))
    return x


KERNELS = [
    f
    for name, f in list(globals().items())
    if inspect.isfunction(f) and f.__module__ == __name__ and "  # " in inspect.getsource(f)
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda f: f.__name__)
def test_one_error_at_its_line(fails, kernel):
    lines, first = inspect.getsourcelines(kernel)
    n, code = next((n, text.rsplit("  # ", 1)[1].strip()) for n, text in enumerate(lines) if "  # " in text)
    table, calls, scales = dict(TABLE), Settings.calls, SCALES.copy()
    try:
        found = fails(nki.jit(kernel), X)
    finally:
        TABLE.update(table)
        Settings.calls = calls
        SCALES[:] = scales
    assert {(d.code, d.file, d.line) for d in found} == {(code, __file__, first + n)}
    assert all((d.message and f"kernel {kernel.__name__}" in str(d)) or not d.context for d in found)
    assert _t.current() is None and nki.jit(lambda x: stored(nl.load(x)))(X).tobytes() == X.tobytes()


def test_there_are_many():
    assert len(KERNELS) > 40


# ---- arguments of the call


def copied(x):
    return stored(nl.load(x))


CALLS = {
    "an array of objects": (lambda: nki.jit(copied)(X.astype(object)), "NKI-DTYPE"),
    "complex numbers": (lambda: nki.jit(copied)(X.astype(np.complex64)), "NKI-DTYPE"),
    "64 bits": (lambda: nki.jit(copied)(X.astype(np.int64)), "NKI-DTYPE"),
    "nothing in it": (lambda: nki.jit(copied)(X[:0]), "NKI-SHAPE"),
    "too many arguments": (lambda: nki.jit(copied)(X, X), "NKI-ARGUMENT"),
    "too few arguments": (lambda: nki.jit(copied)(), "NKI-ARGUMENT"),
    "an unknown argument": (lambda: nki.jit(copied)(X, speed=3), "NKI-ARGUMENT"),
    "an unknown keyword of jit": (lambda: nki.jit(copied, speed=3), "NKI-ARGUMENT"),
    "no function": (lambda: nki.jit(3), "NKI-ARGUMENT"),
    "a target of another type": (lambda: nki.jit(copied, target=3)(X), "NKI-TARGET"),
    "too many cores": (lambda: nki.jit(copied)[3](X), "NKI-CORES"),
    "two cores of trn1": (lambda: nki.jit(copied, target="trn1")[2](X), "NKI-CORES"),
    "other shapes than compiled": (lambda: glia.compile(nki.jit(copied), X).run(X[0:64]), "GRAPH-ARGUMENT"),
    "another type than compiled": (lambda: glia.compile(nki.jit(copied), X).run(X.astype(np.int32)), "GRAPH-ARGUMENT"),
}


@pytest.mark.parametrize("what", CALLS)
def test_bad_calls_point_to_the_call(fails, what):
    call, code = CALLS[what]
    (d,) = fails(call)
    assert (d.code, d.file, d.line) == (code, __file__, call.__code__.co_firstlineno)


def test_an_unknown_target_lists_those_that_exist(fails):
    (d,) = fails(nki.jit(copied, target="trn9"), X)
    assert d.code == "TARGET-UNKNOWN" and all(t in d.advice for t in ("trn1", "trn2", "trn3"))


# ---- targets that are mixed


def test_a_kernel_for_another_target_inside_of_one(fails):
    inner = nki.jit(copied, target="trn1")

    def outer(x):
        return inner(x)

    (d,) = fails(nki.jit(outer, target="trn2"), X)
    assert (d.code, d.line) == ("NKI-TARGET", outer.__code__.co_firstlineno + 1)
    assert "`copied`" in d.message and "trn1" in d.message and "trn2" in d.message
    nki.jit(outer, target="trn1")(X)


def test_kernels_for_two_targets_in_one_program(fails):
    def both(x):
        return nki.jit(copied, target="trn3")(nki.jit(copied, target="trn2")(x))

    (d,) = fails(glia.compile, both, X, target="trn2")
    assert d.code == "GRAPH-TARGET" and "`copied`" in d.message and d.line == both.__code__.co_firstlineno + 1


# ---- loops of Python that do not end


def allocates_for_ever(x):
    while True:
        nl.ndarray((128, 8), nl.float32)


def emits_for_ever(x):
    t = nl.load(x)
    while True:
        nisa.memset(t, value=0.0)


@pytest.mark.parametrize("kernel", [allocates_for_ever, emits_for_ever])
def test_endless_loops_are_stopped(fails, monkeypatch, kernel):
    monkeypatch.setattr(_t, "MAX_INSTRUCTIONS", 2000)
    (d,) = fails(nki.jit(kernel), X)
    assert d.code == "NKI-ENDLESS" and d.file == __file__ and "nl.fori_loop" in d.advice


def test_many_errors_come_at_once_and_no_more_than_can_be_read(fails):
    def many(x):
        for n in range(100):
            x[:, n : n + 65]

    found = fails(nki.jit(many), X)
    assert 10 <= len(found) <= _t.MAX_ERRORS + 1 and {d.code for d in found} <= {"NKI-SLICE", "NKI-ERRORS"}


def test_an_unrolled_loop_says_it_once(fails):
    def unrolled(x):
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        t, u = nl.load(x), nl.ndarray((128, 64), nl.float32)
        for n in range(4):
            nisa.tensor_copy(dst=u[0:32], src=t[n * 16 + 1 : n * 16 + 33])
        nisa.dma_copy(dst=out, src=t)
        return out

    (d,) = fails(nki.jit(unrolled), X)
    assert d.code == "PARTITION-START" and any("3 more times" in note for note in d.notes)


def test_a_kernel_that_is_spilled_says_so(capfd):
    def spilled(x):
        first = nl.full((128, 30000), 1.0, nl.float32)
        second = nl.full((128, 30000), 2.0, nl.float32)
        return stored(second[:, 0:8]), stored(first[:, 0:8])

    def ordered(x):
        with nl.no_reorder():
            return spilled(x)

    second, first = nki.jit(ordered)(X)
    assert (first == 1).all() and (second == 2).all()
    said = capfd.readouterr().err
    assert "kernel ordered does not fit" in said and "120000 bytes" in said and __file__ in said


@pytest.mark.parametrize("kernel", [half_written, undefined], ids=lambda f: f.__name__)
def test_a_bad_kernel_in_a_program_points_to_its_line(fails, kernel):
    good, bad = nki.jit(copied), nki.jit(kernel)
    alone = fails(bad, X)
    (d,) = fails(glia.compile, lambda x: good(bad(good(x))), X)
    assert (d.code, d.file, d.line) == (alone[0].code, __file__, alone[0].line)


RACY = """
target trn2
input x : f32[128, 64]
output y : f32[128, 64]
sbuf t : f32[128, 64] @ 0
queue q
semaphore s
sync dma_copy dst=t src=x queue=q then s += 16
vector tensor_copy dst=t src=t
sync dma_copy dst=y src=t queue=q
"""


def test_an_order_that_the_verifier_refuses_is_our_fault(fails, monkeypatch):
    def tripled(x):
        t = nl.load(x)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=3.0)
        return stored(t)

    handle = glia.assemble(RACY)._handle
    monkeypatch.setattr(glia.nki.runtime, "object_of", lambda traced: handle)
    found = fails(nki.jit(tripled), X)
    ours = [d for d in found if d.code == "INTERNAL"]
    assert ours and "a fault of glia's, not of your program" in ours[0].message
    assert ours[0].notes[0].startswith("RACE: ") and "report" in ours[0].advice
    assert "RACE" not in {d.code for d in found}


@nki.jit
def number_of_a_tile(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, nl.multiply(t, float(t[0, 0])))
    return out


@nki.jit
def rows_by_an_array(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x[np.arange(8), :]))
    return out


@nki.jit
def keyword_that_is_none(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.exp(nl.load(x), axis=1))
    return out


@pytest.mark.parametrize(
    "kernel, text",
    [
        (number_of_a_tile, r"NKI-TRUTH.*number of `t`"),
        (rows_by_an_array, r"NKI-SLICE.*`x` is indexed with a ndarray"),
        (keyword_that_is_none, r"NKI-ARGUMENT.*nl\.exp\(\) got an unexpected keyword argument 'axis'"),
    ],
)
def test_python_that_a_kernel_cannot_run(kernel, text):
    with pytest.raises(glia.Error, match=text) as e:
        kernel(np.ones((8, 4), np.float32))
    assert e.value.diagnostics[0].file == __file__
