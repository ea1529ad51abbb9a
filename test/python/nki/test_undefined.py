"""Undefined data are said where they come from: the tile that was never written, which elements of it, its first reader, the output."""

import inspect

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.ones((128, 64), np.float32)


def line_of(function, mark) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, text in enumerate(lines) if text.rstrip().endswith(f"# {mark}"))


def half_a_tile(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    acc = nl.ndarray(x.shape, x.dtype)  # made
    nisa.dma_copy(dst=acc[:, 0:40], src=x[:, 0:40])
    t = nl.load(x)
    y = nl.add(acc, t)  # read
    z = nl.multiply(y, 2.0)
    nl.store(out, z)  # stored
    return out


def sum_that_begins_with_nothing(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    acc = nl.ndarray(x.shape, x.dtype)  # made
    for _ in range(4):
        t = nl.load(x)
        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)  # read
    nl.store(out, acc)  # stored
    return out


def in_a_loop_of_the_device(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray(x.shape, x.dtype)  # made

    def body(i):
        nisa.tensor_tensor(dst=total, data1=total, data2=nl.load(x), op=nl.add)  # read

    nl.fori_loop(0, 3, body)
    nl.store(out, total)  # stored
    return out


@pytest.mark.parametrize(
    "function,name,elements",
    [
        (half_a_tile, "acc", "[0:128, 40:64]"),
        (sum_that_begins_with_nothing, "acc", "[0:128, 0:64]"),
        (in_a_loop_of_the_device, "total", "[0:128, 0:64]"),
    ],
)
@pytest.mark.parametrize("how", [lambda k: k(X), lambda k: glia.compile(k, X)], ids=["called", "compiled"])
def test_the_way_from_the_tile_to_the_output(function, name, elements, how, fails):
    (d,) = fails(how, nki.jit(function))
    assert d.code == "UNDEFINED-OUTPUT" and (d.file, d.line) == (__file__, line_of(function, "made"))
    assert d.message == f"`{name}` is never written at {elements}, and reaches output `out`"
    assert d.notes[0].startswith(f"first read by test_undefined.py:{line_of(function, 'read')}: ")
    assert d.notes[1].startswith(f"stored to `out` by test_undefined.py:{line_of(function, 'stored')}: ")


def test_an_output_that_is_not_written(fails):
    def part(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out[0:64], nl.load(x[0:64]))
        return out

    (d,) = fails(nki.jit(part), X)
    assert d.code == "OUTPUT-UNWRITTEN" and d.message == "output `out` is not written at [64:128, :]"
    assert (d.file, d.line) == (__file__, part.__code__.co_firstlineno + 1)


def test_an_undefined_index(fails):
    def picked(x):
        out = nl.ndarray((1, 64), x.dtype, buffer=nl.shared_hbm)
        at = nl.ndarray((1, 1), nl.int32)
        nl.store(out, nl.load(x.select(0, at).reshape((1, 64))))
        return out

    ds = fails(nki.jit(picked), X)
    assert all(d.code.startswith("UNDEFINED-") for d in ds)
    assert ds[0].message.startswith("`at` is never written at [0:1, 0:1]")
    assert ds[0].line == picked.__code__.co_firstlineno + 2


@nki.jit
def sent_over(x):
    """Core 0 sends a tile that it never writes."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    mine, got = nl.ndarray(x.shape, x.dtype), nl.ndarray(x.shape, x.dtype)
    if me == 1:
        nisa.dma_copy(dst=mine, src=x)
    nisa.sendrecv(dst=got, src=mine, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    if me == 1:
        nl.store(out, got)
    return out


def test_undefined_data_of_the_other_core(fails):
    (d,) = fails(sent_over[2], X)
    first = sent_over.func.__code__.co_firstlineno
    assert d.code == "UNDEFINED-OUTPUT" and d.line == first + 5
    assert d.message == "`mine` is never written at [0:128, 0:64], and reaches output `out`"
    assert d.notes[0].startswith(f"first read by test_undefined.py:{first + 8}: ")
