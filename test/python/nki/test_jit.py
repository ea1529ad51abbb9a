"""nki.jit up to the traced kernel: arguments, results, cores, purity, and where errors point."""

import dataclasses
import inspect
import types

import glia
import glia.nki as nki
import glia.nki.isa as nisa
import glia.nki.language as nl
import numpy as np
import pytest
from glia.nki import trace as _t

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)
KEPT = []
COUNT = 0


def line_of(function, text: str) -> int:
    lines, first = inspect.getsourcelines(getattr(function, "func", function))
    return first + next(n for n, line in enumerate(lines) if text in line)


def copied(x):
    t = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_a_kernel_is_recorded_not_run():
    traced = nki.jit(copied).trace(X)
    text = traced.kernel.text()
    assert text.count("dma_copy") == 2 and "%x = tensor input" in text and text.count("tensor output") == 1
    assert traced.lowered.inputs == ["x"] and [o.shape for o in traced.lowered.outputs] == [(128, 8)]


def test_the_same_kernel_has_the_same_fingerprint():
    k = nki.jit(copied)
    first = k.trace(X).kernel.fingerprint()
    assert k.trace(X + 1).kernel.fingerprint() == first
    assert k.trace(X.astype(np.int32)).kernel.fingerprint() != first
    assert k.trace(X[:, :4]).kernel.fingerprint() != first
    assert nki.jit(copied, target="trn1").trace(X).kernel.fingerprint() != first


def test_kernels_are_dataclasses_with_cores_and_schedule():
    k = nki.jit(copied)
    assert {f.name for f in dataclasses.fields(k)} >= {"func", "lnc", "schedule", "address_rotation"}
    assert k.lnc == 1 and k[2].lnc == 2 and k[(2,)].lnc == 2 and k.func is copied and k.__name__ == "copied"
    assert nki.simulate(copied).func is copied and nki.simulate(k[2]).lnc == 2 and nki.jit(k) is k
    assert nki.jit(mode="trace", debug_kernel=True, platform_target="trn1")(copied).func is copied


def test_bad_launches(fails):
    assert fails(lambda: nki.jit(copied)[0])[0].code == "NKI-CORES"
    assert fails(lambda: nki.jit(copied)["2"])[0].code == "NKI-CORES"
    (d,) = fails(lambda: nki.jit(copied)[3].trace(X))
    assert d.code == "NKI-CORES" and d.value == "3" and d.file == __file__
    assert fails(nki.jit(copied, target="trn1")[2].trace, X)[0].code == "NKI-CORES"
    assert fails(nki.jit, copied, speed=3)[0].code == "NKI-ARGUMENT"
    assert fails(nki.jit(copied).trace)[0].code == "NKI-ARGUMENT"
    assert fails(nki.jit(copied).trace, X, y=3)[0].code == "NKI-ARGUMENT"
    assert fails(nki.jit(copied).trace, X.astype(np.float64))[0].code == "NKI-DTYPE"
    assert fails(nki.jit(copied).trace, X[:0])[0].code == "NKI-SHAPE"
    assert fails(nki.jit(copied, target="trn9").trace, X)


class Config(nl.NKIObject):
    weights: object
    scale: float = 1.0


def test_arrays_inside_of_arguments():
    @nki.jit
    def k(pair, named, config, n=2, mode="fast"):
        assert config.scale == 0.5 and n == 3 and mode == "fast" and named["k"].shape == (128, 8)
        return copied(pair[1]), [copied(config.weights), named["k"]]

    traced = k.trace((X, X[:64]), {"k": X}, Config(X[:32], 0.5), n=np.int64(3))
    assert traced.lowered.inputs == ["pair_0", "pair_1", "named_k", "config_weights"]
    assert [getattr(r, "shape", r) for r in traced.lowered.results] == [(64, 8), (32, 8), 2]


def test_nested_kernels_are_inlined():
    inner = nki.jit(copied)

    @nki.jit
    def outer(x):
        return inner(inner(x))

    assert outer.trace(X).kernel.text().count("dma_copy") == 4


def test_an_input_that_is_written_is_an_output_that_begins_as_it():
    @nki.jit
    def k(x, y):
        t = nl.ndarray((128, 8), nl.float32)
        nisa.dma_copy(dst=t, src=y)
        nisa.dma_copy(dst=y[0:64], src=t[0:64])
        return y

    traced = k.trace(X, X.copy())
    assert [o.name for o in traced.lowered.outputs] == ["y_out"] and list(traced.lowered.updates) == [1]
    assert traced.lowered.results == [1]
    assert traced.kernel.text().count("dma_copy") == 2 and 'alias "y"' in traced.kernel.text()


def test_two_cores_share_by_name_and_order():
    @nki.jit
    def k(x):
        me = nl.program_id(0)
        first = nl.ndarray((64, 8), nl.float32, buffer=nl.shared_hbm, name="first")
        mine = nl.ndarray((64, 8), nl.float32, buffer=nl.hbm)
        out = nl.ndarray((128, 8), nl.float32, buffer=nl.shared_hbm)
        t = nl.ndarray((64, 8), nl.float32)
        nisa.dma_copy(dst=t, src=x[me * 64 : me * 64 + 64])
        nisa.dma_copy(dst=mine, src=t)
        if me == 0:
            nisa.dma_copy(dst=first, src=t)
        nisa.dma_copy(dst=out[me * 64 : me * 64 + 64], src=t)
        return out

    text = k[2].trace(X).kernel.text()
    assert text.count("tensor output") == 1 and text.count("%first =") == 1 and text.count("core ") == 2
    assert text.count("tensor scratch") == 3 and text.count("dma_copy") == 7


def test_cores_that_disagree(fails):
    @nki.jit
    def k(x):
        n = 64 if nl.program_id(0) == 0 else 32
        nl.ndarray((n, 8), nl.float32, buffer=nl.shared_hbm, name="mail")
        return copied(x)

    (d,) = fails(k[2].trace, X)
    assert d.code == "NKI-SHARED" and d.line == line_of(k, "mail")


def returns_sbuf(x):
    t = nl.ndarray((128, 8), nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t


def returns_private(x):
    return nl.ndarray((128, 8), nl.float32, buffer=nl.hbm)


def returns_part(x):
    return copied(x)[0:64]


def returns_number(x):
    copied(x)
    return 3


@pytest.mark.parametrize("kernel", [returns_sbuf, returns_private, returns_part, returns_number])
def test_what_cannot_be_returned(fails, kernel):
    (d,) = fails(nki.jit(kernel).trace, X)
    assert d.code == "NKI-RETURN" and d.file == __file__ and d.line == kernel.__code__.co_firstlineno and d.advice


def test_a_reshaped_output_may_be_returned():
    @nki.jit
    def k(x):
        return copied(x).reshape((8, 128))

    assert k.trace(X).lowered.results[0].shape == (128, 8)


def keeps_a_tensor(x):
    out = copied(x)
    KEPT.append(out)
    return out


def counts(x):
    global COUNT
    COUNT += 1
    return copied(x)


def helped(x):
    KEPT.append(1)
    return x


def helper_changes(x):
    return copied(helped(x))


@pytest.mark.parametrize("kernel,text", [(keeps_a_tensor, "KEPT"), (counts, "COUNT += 1")])
def test_changing_python_state_is_refused(fails, kernel, text):
    (d,) = fails(nki.jit(kernel).trace, X)
    KEPT.clear()
    assert d.code == "NKI-PURITY" and d.file == __file__ and d.line == line_of(kernel, text)


def test_changing_state_in_a_helper_and_in_a_closure_and_in_an_argument(fails):
    assert fails(nki.jit(helper_changes).trace, X)[0].line == line_of(helped, "KEPT")
    KEPT.clear()
    log = []

    @nki.jit
    def closure(x):
        log.append(x)
        return copied(x)

    assert fails(closure.trace, X)[0].line == line_of(closure, "log.append")

    @nki.jit
    def argument(x, settings):
        settings["seen"] = True
        return copied(x)

    traced = argument.trace(X, {"seen": False})  # its own copy: nothing outside changes
    assert traced.lowered.inputs == ["x"]


def test_tensors_do_not_live_longer_than_a_call(fails):
    box = types.SimpleNamespace(value=None)  # not a container that is looked into

    @nki.jit
    def first(x):
        box.value = x
        return copied(x)

    @nki.jit
    def second(x):
        t = nl.ndarray((128, 8), nl.float32)
        nisa.dma_copy(dst=t, src=box.value)
        return copied(x)

    first.trace(X)
    (d,) = fails(second.trace, X)
    assert d.code == "NKI-PURITY" and d.line == line_of(second, "box.value")


def test_all_errors_come_together(fails):
    @nki.jit
    def k(x):
        t = nl.ndarray((128, 8), nl.float32)
        nisa.dma_copy(dst=t[:, 0:9], src=x)  # one
        nisa.dma_copy(dst=t, src=x[0:129])  # two
        t[5, 9]  # three
        return t

    found = fails(k.trace, X)
    lines = [d.line for d in found if d.code == "NKI-SLICE"]
    assert lines == [line_of(k, "# one"), line_of(k, "# two"), line_of(k, "# three")]
    assert found[-1].code == "NKI-RETURN"


def test_a_keyword_that_does_not_exist(fails):
    @nki.jit
    def k(x):
        nisa.dma_copy(dst=x, src=x, colour=3)

    (d,) = fails(k.trace, X)
    assert d.code == "NKI-ARGUMENT" and d.line == line_of(k, "colour") and "dma_copy" in d.advice


def test_exceptions_of_the_kernel_are_its_own():
    @nki.jit
    def k(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        k.trace(X)
    assert _t.current() is None


def test_a_kernel_that_does_not_end(fails, monkeypatch):
    monkeypatch.setattr(_t, "MAX_INSTRUCTIONS", 1000)

    @nki.jit
    def k(x):
        t = nl.ndarray((128, 8), nl.float32)
        while True:
            nisa.memset(t, value=0.0)

    (d,) = fails(k.trace, X)
    assert d.code == "NKI-ENDLESS" and d.line == line_of(k, "memset")


def test_tensors_of_a_loop_stay_in_it(fails):
    @nki.jit
    def k(x):
        for _ in nl.dynamic_range(4):
            t = nl.ndarray((128, 8), nl.float32)
            nisa.dma_copy(dst=t, src=x)
        out = nl.ndarray((128, 8), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=t)
        return out

    (d,) = fails(k.trace, X)
    assert d.code == "NKI-SCOPE" and d.line == line_of(k, "src=t)")


def test_schedule_by_name(fails):
    @nki.jit
    def k(x):
        t = nl.ndarray((128, 8), nl.float32)
        nisa.memset(t, value=0.0, name="clear")
        nisa.dma_copy(dst=t, src=x, name="load")
        return copied(x)

    assert "after" in k.with_schedule([("load", "clear")]).trace(X).kernel.text()
    assert fails(k.with_schedule([("load", ["nothing"])]).trace, X)[0].code == "NKI-SCHEDULE"


def test_outside_of_a_kernel(fails):
    (d,) = fails(lambda: nl.ndarray((128, 8), nl.float32))
    assert d.code == "NKI-OUTSIDE" and d.file == __file__
    assert fails(lambda: nl.fori_loop(0, 3, print))[0].code == "NKI-OUTSIDE"


def test_errors_read_well(fails):
    @nki.jit
    def k(x):
        return x[0:200]

    (d,) = [e for e in fails(k.trace, X) if e.code == "NKI-SLICE"]
    text = str(d)
    assert f"{__file__}:{d.line}" in text and "kernel k" in text and "0:200" in text and "0:128" in text
    assert isinstance(glia.Error("x"), Exception)


def loads(kernel, *args) -> list[str]:
    return [line.split("src=")[1] for line in kernel.trace(*args).kernel.text().splitlines() if "reg_load" in line]


def test_registers_are_loaded_from_the_input_that_their_tile_is_a_copy_of():
    def kernel(change, again):
        @nki.jit
        def k(x, n):
            t = nl.ndarray((1, 2), nl.int32)
            nisa.dma_copy(dst=t[0:1, 1:2], src=n[0:1, 3:4])
            if change:
                nisa.dma_copy(dst=n[0:1, 0:1], src=t[0:1, 1:2])
            r = nisa.register_alloc(t[0:1, 1:2])
            if again:
                nisa.memset(t, value=0)
            for _ in nl.dynamic_range(r):
                pass
            return copied(x)

        return k

    n = np.array([[1, 2, 3, 4]], np.int32)
    assert [s[:2] for s in loads(kernel(False, False), X, n)] == ["%n"]
    assert [s[:2] for s in loads(kernel(True, False), X, n)] == ["%t"]
    assert [s[:2] for s in loads(kernel(False, True), X, n)] == ["%t"]
