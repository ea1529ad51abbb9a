"""A second call of a kernel does not trace it again, unless something that the kernel reads is another one. Numbers against NumPy."""

import enum
import functools
import gc
import math
import os
import sys
import threading
import types
import weakref

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import Kernel, kept

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)
SCALE = 2.0
SCALES = [2.0, {"inner": 3.0}]
TABLE = np.array([2.0, 3.0], np.float32)
other = types.ModuleType("other")
other.scale = 2.0
exec("def twice(x):\n    return 2.0 * factor * x\nfactor = 1.0", vars(other))


class Mode(enum.Enum):
    DOUBLE = 2.0
    TRIPLE = 3.0


class Coded(enum.Enum):
    ONE = 1.0

    def scale(self):
        return SCALE


class Settings:
    scale = 2.0


@pytest.fixture
def traced(monkeypatch):
    """The names of the kernels that were traced."""
    names: list[str] = []
    real = Kernel._trace

    def counted(kernel, *args):
        names.append(kernel.__name__)
        return real(kernel, *args)

    monkeypatch.setattr(Kernel, "_trace", counted)
    kept._kept.clear()
    yield names
    kept._kept.clear()


def scaled(x, factor):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), factor))
    return out


def again(traced, kernel, *args) -> np.ndarray:
    """The result of a call that must have traced the kernel."""
    before = len(traced)
    result = kernel(X, *args)
    assert len(traced) == before + 1
    return result


def kept_call(traced, kernel, *args) -> np.ndarray:
    before = len(traced)
    result = kernel(X, *args)
    assert len(traced) == before
    return result


def test_a_second_call_only_runs(traced):
    @nki.jit
    def kernel(x, factor=SCALE, *, ways=(1, 2)):
        if len(ways) != 2:
            raise ValueError(ways)
        return scaled(x, math.sqrt(factor) * max(ways))

    for n in range(3):
        x = np.random.default_rng(n).standard_normal((128, 8)).astype(np.float32)
        np.testing.assert_allclose(kernel(x, 4.0), 4 * x, rtol=1e-6)
    assert len(traced) == 1


def test_arguments(traced):
    @nki.jit
    def kernel(x, factor, many):
        return scaled(x, factor if isinstance(factor, float) and many[0] is not None else 7)

    for factor in (2.0, 3.0, 1, True, 1.0, -0.0, 0.0):
        expected = X * np.float32(factor if type(factor) is float else 7)
        np.testing.assert_array_equal(again(traced, kernel, factor, [1]), expected)
        np.testing.assert_array_equal(kept_call(traced, kernel, factor, [1]), expected)
    assert not np.signbit(kernel(X, 0.0, [1])).any() and np.signbit(kernel(X, -0.0, [1])[1:]).all()
    again(traced, kernel, 2.0, [None])
    again(traced, kernel, 2.0, (1,))
    again(traced, kernel, 2.0, [1, 1])
    for x in (X[:64], X.astype(np.int32)):
        assert kernel(x, 2.0, [1]).shape == x.shape
    assert len(traced) == 12


def test_globals(traced, monkeypatch):
    @nki.jit
    def kernel(x):
        return scaled(x, SCALE)

    np.testing.assert_array_equal(again(traced, kernel), 2 * X)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(again(traced, kernel), 5 * X)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    np.testing.assert_array_equal(kept_call(traced, kernel), 2 * X)


def test_containers_that_change(traced):
    @nki.jit
    def kernel(x):
        return scaled(x, SCALES[0] * SCALES[1]["inner"] * float(TABLE[1]))

    np.testing.assert_array_equal(again(traced, kernel), 18 * X)
    try:
        SCALES[1]["inner"] = 4.0
        np.testing.assert_array_equal(again(traced, kernel), 24 * X)
        TABLE[1] = 1.0
        np.testing.assert_array_equal(again(traced, kernel), 8 * X)
    finally:
        SCALES[1]["inner"], TABLE[1] = 3.0, 3.0
    np.testing.assert_array_equal(kept_call(traced, kernel), 18 * X)


def test_closures_and_defaults(traced):
    scale, box = 2.0, [1.0]

    def helper(x, more=box):
        return scaled(x, scale * more[0])

    @nki.jit
    def kernel(x):
        return helper(x)

    np.testing.assert_array_equal(again(traced, kernel), 2 * X)
    scale = 3.0
    np.testing.assert_array_equal(again(traced, kernel), 3 * X)
    box[0] = 2.0
    np.testing.assert_array_equal(again(traced, kernel), 6 * X)
    helper.__defaults__ = ([4.0],)
    np.testing.assert_array_equal(again(traced, kernel), 12 * X)
    helper.__code__ = (lambda x, more=None: scaled(x, scale)).__code__
    np.testing.assert_array_equal(again(traced, kernel), 3 * X)
    helper.scale = 9.0  # a function with attributes: anything may be read of it
    again(traced, kernel)
    again(traced, kernel)


def test_modules(traced, monkeypatch):
    @nki.jit
    def kernel(x):
        return scaled(x, other.twice(other.scale))

    np.testing.assert_array_equal(again(traced, kernel), 4 * X)
    np.testing.assert_array_equal(kept_call(traced, kernel), 4 * X)
    monkeypatch.setattr(other, "scale", 3.0)
    np.testing.assert_array_equal(again(traced, kernel), 6 * X)
    monkeypatch.setattr(other, "factor", 2.0)  # read by a function of the module
    np.testing.assert_array_equal(again(traced, kernel), 12 * X)
    monkeypatch.setattr(other, "twice", float)
    np.testing.assert_array_equal(again(traced, kernel), 3 * X)


def test_what_is_found_before_builtins_and_in_nki(traced, monkeypatch):
    @nki.jit
    def kernel(x):
        return scaled(x, max(2.0, 3.0))

    np.testing.assert_array_equal(again(traced, kernel), 3 * X)
    monkeypatch.setitem(globals(), "max", min)
    np.testing.assert_array_equal(again(traced, kernel), 2 * X)
    monkeypatch.setattr(nl, "multiply", nl.add)
    np.testing.assert_array_equal(again(traced, kernel), 2 + X)


def test_enumerations(traced):
    @nki.jit
    def kernel(x, mode=Mode.DOUBLE):
        return scaled(x, mode.value if mode is not Mode.TRIPLE else 30.0)

    np.testing.assert_array_equal(again(traced, kernel), 2 * X)
    np.testing.assert_array_equal(kept_call(traced, kernel, Mode.DOUBLE), 2 * X)
    np.testing.assert_array_equal(again(traced, kernel, Mode.TRIPLE), 30 * X)
    try:
        Mode.DOUBLE._value_ = 4.0
        np.testing.assert_array_equal(again(traced, kernel), 4 * X)
    finally:
        Mode.DOUBLE._value_ = 2.0
    try:
        Mode.DOUBLE.more = 1  # then others may be read too
        again(traced, kernel)
        again(traced, kernel)
    finally:
        del Mode.DOUBLE.more


def test_targets_schedules_and_cores(traced, monkeypatch):
    @nki.jit
    def kernel(x):
        return scaled(x, float(nl.tile_size.gemm_moving_fmax) if nisa.get_nc_version() is nisa.nc_version.gen2 else 1.0)

    again(traced, kernel)
    monkeypatch.setenv("GLIA_TARGET", "trn1")
    np.testing.assert_array_equal(again(traced, kernel), 512 * X)
    again(traced, kernel.on("trn3"))
    monkeypatch.delenv("GLIA_TARGET")
    kept_call(traced, kernel)
    again(traced, nki.jit(kernel, schedule="as_written"))
    assert traced == ["kernel"] * 4


def counted(x):
    print("traced")
    return scaled(x, 2.0)


def with_import(x):
    from math import sqrt

    return scaled(x, sqrt(4.0))


def with_class(x):
    return scaled(x, Settings.scale)


def with_coded_enumeration(x):
    return scaled(x, Coded.ONE.scale())


def with_module(x):
    m = other
    return scaled(x, m.scale)


def with_environment(x):
    return scaled(x, 2.0 if "GLIA_NO_SUCH" not in os.environ else 3.0)


def with_frames(x):
    return scaled(x, scaled.__globals__["SCALE"])


@pytest.mark.parametrize(
    "function",
    [counted, with_import, with_class, with_coded_enumeration, with_module, with_environment, with_frames],
    ids=lambda f: f.__name__,
)
def test_what_is_not_known_is_traced_at_every_call(traced, function):
    kernel = nki.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(again(traced, kernel), 2 * X)


def test_methods_read_their_objects(traced):
    class Owner:
        scale = 2.0

        def kernel(self, x):
            return scaled(x, self.scale)

    owner = Owner()
    kernel = nki.jit(owner.kernel)
    np.testing.assert_array_equal(again(traced, kernel), 2 * X)
    owner.scale = 3.0
    np.testing.assert_array_equal(again(traced, kernel), 3 * X)


def test_lines_that_somebody_follows(traced):
    kernel = nki.jit(lambda x: scaled(x, 2.0))
    again(traced, kernel)
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        again(traced, kernel)
    finally:
        sys.settrace(before)


def test_arguments_that_are_written_to(traced):
    @nki.jit
    def kernel(x):
        nl.store(x, nl.add(nl.load(x), 1.0))
        return x

    first, second = X.copy(), 2 * X
    kernel(first)
    assert kernel(second) is second
    np.testing.assert_array_equal(first, X + 1)
    np.testing.assert_array_equal(second, 2 * X + 1)
    assert len(traced) == 1


def test_numbers_are_not_kept(traced):
    class Array(np.ndarray):
        pass

    kernel, x = nki.jit(lambda x: scaled(x, 2.0)), X.copy().view(Array)
    gone = weakref.ref(x)
    kernel(x)
    del x
    gc.collect()
    assert gone() is None and len(kept._kept) == 1


def test_how_many_are_kept(traced, monkeypatch):
    kernel = nki.jit(scaled)
    monkeypatch.setattr(kept, "_MOST", 2)
    for factor in (1.0, 2.0, 3.0):
        again(traced, kernel, factor)
    kept_call(traced, kernel, 2.0)
    again(traced, kernel, 1.0)  # the one not used for longest was 1.0, then 3.0
    kept_call(traced, kernel, 2.0)
    monkeypatch.setattr(kept, "_INSTRUCTIONS", 4)
    again(traced, kernel, 4.0)
    again(traced, kernel, 4.0)


SIZES = [2, 3]
OTHER = SIZES
SCALAR_FUNCTION = np.frompyfunc(lambda v: v * SCALE, 1, 1)
BASE = np.arange(1.0, 7.0, dtype=np.float32)
VIEW = BASE[:2]
TURNED = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@functools.wraps(nl.load)
def loaded(x):
    return nl.multiply(nl.load(x), SCALE)


def wrapped_over_nki():
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, loaded(x))
        return out

    return kernel, {"SCALE": 3.0}, (2.0, 3.0)


class Lists(list, enum.Enum):
    A = [1, 2, 3]  # noqa: RUF012


class Asking(enum.EnumMeta):
    @property
    def scale(cls):
        return SCALE


class Asked(enum.Enum, metaclass=Asking):
    ONE = 1


class Number(np.float64):
    SCALE = 2.0


def members_that_change():
    return lambda x: scaled(x, float(len(Lists.A))), lambda: Lists.A.append(4), (3.0, 4.0)


def a_class_that_asks():
    return lambda x: scaled(x, Asked.scale), {"SCALE": 3.0}, (2.0, 3.0)


def a_function_of_scalars():
    return lambda x: scaled(x, float(SCALAR_FUNCTION(1.0))), {"SCALE": 3.0}, (2.0, 3.0)


def a_class_over_numpy():
    return lambda x: scaled(x, Number.SCALE), lambda: setattr(Number, "SCALE", 5.0), (2.0, 5.0)


def what_a_view_is_of():
    return lambda x: scaled(x, float(VIEW.base[5])), lambda: BASE.__setitem__(5, 50.0), (6.0, 50.0)


def the_order_of_an_array():
    return lambda x: scaled(x, float(TURNED.ravel("K")[1])), {"TURNED": np.asfortranarray(TURNED)}, (2.0, 3.0)


def whether_two_are_one():
    return lambda x: scaled(x, 2.0 if OTHER is SIZES else 3.0), {"OTHER": list(SIZES)}, (2.0, 3.0)


EXOTIC = [
    wrapped_over_nki,
    members_that_change,
    a_class_that_asks,
    a_function_of_scalars,
    a_class_over_numpy,
    what_a_view_is_of,
    the_order_of_an_array,
    whether_two_are_one,
]


@pytest.mark.parametrize("case", EXOTIC, ids=lambda case: case.__name__)
def test_what_changes_out_of_sight(case, monkeypatch):
    function, change, (before, after) = case()
    kernel = nki.jit(function)
    np.testing.assert_array_equal(kernel(X), before * X)
    if callable(change):
        change()
    else:
        for name, value in change.items():
            monkeypatch.setitem(globals(), name, value)
    np.testing.assert_array_equal(kernel(X), after * X)


def test_arrays_deep_in_lists(traced):
    @nki.jit
    def kernel(deep, x):
        return scaled(x, 2.0)

    deep = X
    for _ in range(9):
        deep = [deep]
    np.testing.assert_array_equal(kernel(deep, X), 2 * X)
    np.testing.assert_array_equal(kernel(deep, X[:64]), 2 * X[:64])


def test_what_the_kernel_changes_in_other_modules(traced):
    counter = types.ModuleType("counter")
    exec("calls = {'n': 0}\ndef count():\n    calls['n'] += 1\n    return 2.0", vars(counter))

    @nki.jit
    def kernel(x):
        return scaled(x, counter.count())

    for n in (1, 2, 3):
        kernel(X)
        assert counter.calls["n"] == n


def test_numpys_errors_are_said_again(traced):
    @nki.jit
    def kernel(x):
        return scaled(x, float(min(np.float32(3e38) * np.float32(10.0), 2.0)))

    with np.errstate(all="ignore"):
        kernel(X)
    with np.errstate(all="raise"), pytest.raises(Exception, match="overflow"):
        kernel(X)


def test_threads_with_many_kernels():
    @nki.jit
    def kernel(x, factor):
        return scaled(x, factor)

    wrong: list = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(60):
                factor = float(rng.integers(0, 100))
                if not np.array_equal(kernel(X, factor), np.float32(factor) * X):
                    wrong.append(factor)
        except Exception as e:
            wrong.append(e)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_what_is_no_kernel():
    with pytest.raises(glia.Error, match=r"NKI-ARGUMENT.*partial"):
        nki.jit(functools.partial(scaled, factor=2.0))
    with pytest.raises(glia.Error, match=r"NKI-SCHEDULE.*names"):
        nki.jit(scaled).with_schedule([("a", [["b"]])])
