"""Every value that a variable of a kernel takes, against NumPy: bindings, writes, helpers, loops of Python and of the device, cores."""

import gc
import os
import subprocess
import sys

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(5).standard_normal((128, 64)).astype(np.float32)


@nki.jit
def running(x):
    """m is bound anew in each round, acc is written in place."""
    out = nl.ndarray((128, 16), x.dtype, buffer=nl.shared_hbm)
    m = nl.full((128, 1), -10.0, nl.float32)
    acc = nl.zeros((128, 16), nl.float32)
    for i in range(4):
        block = nl.load(x[:, 16 * i : 16 * i + 16])
        bm = nl.max(block, axis=1, keepdims=True)
        m = nl.maximum(m, bm)
        nisa.tensor_tensor(dst=acc, data1=acc, data2=block, op=nl.add)
    nisa.tensor_scalar(dst=acc, data=acc, op0=nl.add, operand0=m)
    nl.store(out, acc)
    return out


def blocks():
    return [X[:, 16 * i : 16 * i + 16] for i in range(4)]


def test_each_binding_and_each_write():
    exe = glia.compile(running, X)
    seen = exe.run(X, watch=["m", "acc", "block"])
    np.testing.assert_array_equal(seen.result, exe.run(X))
    ms = [np.full((128, 1), -10, np.float32)]
    sums = [np.zeros((128, 16), np.float32)]
    for b in blocks():
        ms.append(np.maximum(ms[-1], b.max(1, keepdims=True)))
        sums.append(sums[-1] + b)
    for found, expected in [("m", ms), ("acc", [*sums, sums[-1] + ms[-1]]), ("block", blocks())]:
        assert len(seen[found]) == len(expected)
        for value, want in zip(seen[found], expected):
            np.testing.assert_array_equal(value.value, want)
    first = running.func.__code__.co_firstlineno + 1  # after the decorator
    assert [(v.line - first, v.iteration) for v in seen["m"]] == [(3, {}), *((8, {"i": i}) for i in range(4))]
    assert [v.line - first for v in seen["acc"]] == [4, 9, 9, 9, 9, 10]
    assert all(v.file == __file__ and v.core == 0 and v.kernel == "running" for v in seen)


def test_a_name_that_is_bound_to_another_tile():
    """`m = bm` computes nothing and is an assignment."""

    def kernel(x):
        out = nl.ndarray((128, 1), x.dtype, buffer=nl.shared_hbm)
        m = nl.full((128, 1), -10.0, nl.float32)
        for i in range(4):
            bm = nl.max(nl.load(x[:, 16 * i : 16 * i + 16]), axis=1, keepdims=True)
            m = bm
        nl.store(out, m)
        return out

    seen = glia.compile(nki.jit(kernel), X).run(X, watch="m")["m"]
    assert len(seen) == 5 and [v.iteration for v in seen[1:]] == [{"i": i} for i in range(4)]
    for value, b in zip(seen[1:], blocks()):
        np.testing.assert_array_equal(value.value, b.max(1, keepdims=True))


def test_views_lines_and_helpers():
    def doubled(part):
        twice = nl.add(part, part)
        return twice

    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        column = t[:, 8:24:2]
        for i in range(2):  # noqa: B007
            y = doubled(column)
            nisa.tensor_copy(dst=column, src=y)
        nl.store(out, t)
        return out

    line = kernel.__code__.co_firstlineno + 6
    exe = glia.compile(nki.jit(kernel), X)
    seen = exe.run(X, watch=["twice", f"column@test_watch.py:{line}"])
    for i in range(2):
        np.testing.assert_array_equal(seen["column"][i].value, X[:, 8:24:2] * 2 ** (i + 1))
        np.testing.assert_array_equal(seen["twice"][i].value, X[:, 8:24:2] * 2 ** (i + 1))
        assert seen["twice"][i].iteration == {"i": i}
    assert len(seen["column"]) == 2 and len(exe.run(X, watch=f"column@{line}")) == 2


def test_loops_of_the_device():
    def kernel(x, n):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        for k in nl.dynamic_range(nisa.register_alloc(n)):  # noqa: B007
            nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
        nl.store(out, t)
        return out

    n = np.array([[3]], np.int32)
    seen = glia.compile(nki.jit(kernel), X, n).run(X, n, watch="t")
    assert [v.iteration for v in seen] == [{}, {"k": 0}, {"k": 1}, {"k": 2}]
    for k, value in enumerate(seen):
        np.testing.assert_array_equal(value.value, X * 2**k)


def test_cores_and_several_kernels():
    def halves(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        rows = slice(64 * nl.program_id(0), 64 * nl.program_id(0) + 64)
        t = nl.load(x[rows])
        u = nl.add(t, 1.0)
        nl.store(out[rows], u)
        return out

    def twice(x):
        return nki.jit(halves)[2](nki.jit(halves)[2](x))

    seen = glia.compile(twice, X).run(X, watch="u")
    assert sorted((v.call, v.core) for v in seen) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for v in seen:
        np.testing.assert_array_equal(v.value, X[64 * v.core : 64 * v.core + 64] + 1 + np.float32(v.call))
    np.testing.assert_array_equal(seen.result, X + 1 + 1)


def test_other_arrays_of_the_same_kinds():
    """A second run under watch does not trace again: its values are those of its own arrays."""
    exe = glia.compile(running, X)
    exe.run(X, watch=["m", "acc"])
    other = np.ascontiguousarray(X[::-1]) * 3
    seen = exe.run(other, watch=["m", "acc"])
    np.testing.assert_array_equal(seen.result, exe.run(other))
    np.testing.assert_array_equal(seen["m"][-1].value, np.maximum(other.max(1, keepdims=True), -10))
    again = glia.compile(running, other).run(other, watch=["m", "acc"])
    assert [v[2:] for v in seen] == [v[2:] for v in again]
    for a, b in zip(seen, again):
        np.testing.assert_array_equal(a.value, b.value)


def test_nothing_is_left_of_a_watcher():
    """Neither a trace function nor the record of the kernel."""
    from glia.nki import watch

    exe = glia.compile(running, X)
    before = sys.gettrace()
    exe.run(X, watch="m")
    assert sys.gettrace() is before
    del exe
    gc.collect()
    assert not any(isinstance(x, watch.Watcher) for x in gc.get_objects())


def test_errors_of_a_kernel_under_watch(monkeypatch):
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        if os.environ.get("RAISES"):
            raise KeyError("the second time")
        nl.store(out, t)
        return out

    exe = glia.compile(nki.jit(kernel), X)
    before = sys.gettrace()
    monkeypatch.setenv("RAISES", "1")
    with pytest.raises(KeyError, match="the second time"):
        exe.run(X, watch="t")
    assert sys.gettrace() is before


def test_arguments_that_are_no_arrays():
    def kernel(x, factors, n):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        for i in range(n):
            t = nl.multiply(t, factors[i])
        nl.store(out, t)
        return out

    exe = glia.compile(nki.jit(kernel), X, [2.0, 4.0, 8.0], 3)
    factors = [2.0, 4.0, 8.0]
    for n in (3, 2, 3):
        seen = exe.run(X, factors, n, watch="t")["t"]
        assert len(seen) == n + 1
        np.testing.assert_array_equal(seen[-1].value, X * np.prod(factors[:n]))
    factors[0] = 0.5  # the same list, changed
    np.testing.assert_array_equal(exe.run(X, factors, 3, watch="t")["t"][-1].value, X * 16)


def test_arguments_that_are_written():
    def kernel(x, y):
        t = nl.load(y)
        nl.store(y, nl.add(t, nl.load(x)))
        return y

    exe = glia.compile(nki.jit(kernel), X, X.copy())
    for start in (1, 2):
        y = np.full_like(X, start)
        seen = exe.run(X, y, watch="t")
        np.testing.assert_array_equal(seen["t"][0].value, np.full_like(X, start))
        np.testing.assert_array_equal(y, X + start)


@pytest.mark.parametrize("watch", ["nothing", "m@1", "@3", "m@", "m@x"])
def test_what_is_not_there(watch, fails):
    (d,) = fails(glia.compile(running, X).run, X, watch=watch)
    first = running.func.__code__.co_firstlineno + 1
    assert d.code == "NKI-WATCH"
    assert ("@" in watch and watch != "m@1") or f" m (line {first + 3}, {first + 8})" in d.advice


def test_on_the_command_line(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(
        "import nki, nki.language as nl, numpy as np\n\n@nki.jit\ndef k(x):\n"
        "    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n    for i in range(2):\n"
        "        m = nl.multiply(nl.load(x), i + 1.0)\n    nl.store(out, m)\n    return out\n\n"
        "print(k(np.full((128, 2), 3, np.float32))[0])\n"
    )
    command = [sys.executable, "-m", "glia", "run", "--watch", "m", str(path)]
    r = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines() == [
        "m at i = 0: float32[128, 2] min 3 max 3 mean 3 [3 3 3 3 ...]  core 0, k.py:7: m = nl.multiply(nl.load(x), i + 1.0)",
        "m at i = 1: float32[128, 2] min 6 max 6 mean 6 [6 6 6 6 ...]  core 0, k.py:7: m = nl.multiply(nl.load(x), i + 1.0)",
        "[6. 6.]",
    ]


def test_what_is_not_there_on_the_command_line(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(
        "import nki, nki.language as nl, numpy as np\n\n@nki.jit\ndef k(x):\n"
        "    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n    m = nl.load(x)\n    nl.store(out, m)\n"
        "    return out\n\nk(np.full((128, 2), 3, np.float32))\n"
    )
    command = [sys.executable, "-m", "glia", "run", "--watch", "m@7", str(path)]
    r = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert r.returncode == 1 and "error[NKI-WATCH]" in r.stderr and "m (line 6)" in r.stderr


def test_lines_are_those_of_the_author():
    """Not those of libraries that glia calls meanwhile."""
    names = ["out", "m", "acc", "block", "bm"]
    assert {v.file for v in glia.compile(running, X).run(X, watch=names)} == {__file__}


class Running(nki.NKIObject):
    def __init__(self, x):
        self.acc = nl.load(x)

    def add(self, x):
        self.acc = nl.add(self.acc, nl.load(x))


def test_parts_of_variables():
    def kernel(x):
        out = nl.ndarray((128, 16), x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(x[:, 16 * i : 16 * i + 16]) for i in range(4)]
        state = Running(x[:, 0:16])
        for i in range(1, 4):
            state.add(x[:, 16 * i : 16 * i + 16])
            nisa.tensor_tensor(dst=tiles[0], data1=tiles[0], data2=tiles[i], op=nl.add)
        nl.store(out, nl.add(state.acc, tiles[0]))
        return out

    exe = glia.compile(nki.jit(kernel), X)
    seen = exe.run(X, watch=["tiles", "state.acc"])
    sums = np.cumsum(np.stack(blocks()), axis=0, dtype=np.float32)
    for found, expected in [("tiles[0]", sums), ("tiles[3]", blocks()[3:]), ("state.acc", sums)]:
        assert len(seen[found]) == len(expected)
        for value, want in zip(seen[found], expected):
            np.testing.assert_array_equal(value.value, want)
    assert len(seen["tiles"]) == 4 + 3 and len(exe.run(X, watch="tiles[0]")) == 4
    assert {v.iteration["i"] for v in exe.run(X, watch="self.acc") if v.iteration} == {1, 2, 3}


def test_names_bound_around_loops_of_the_device():
    """A binding takes place as often as its line is run, whatever the loops of the instructions beside it."""

    def kernel(x, n):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        for k in nl.dynamic_range(nisa.register_alloc(n)):  # noqa: B007
            at_start = t
            nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
            at_end = t
        after = t
        nl.store(out, nl.add(nl.add(after, at_start), at_end))
        return out

    n = np.array([[3]], np.int32)
    seen = glia.compile(nki.jit(kernel), X, n).run(X, n, watch=["at_start", "at_end", "after"])
    line = kernel.__code__.co_firstlineno + 4
    bound = [v for v in seen if v.line in (line, line + 2, line + 3)]
    for name, lines, times in [
        ("at_start", line, [1, 2, 4]),
        ("at_end", line + 2, [2, 4, 8]),
        ("after", line + 3, [8]),
    ]:
        values = [v for v in bound if v.name == name and v.line == lines]
        assert [v.iteration.get("k") for v in values] == ([0, 1, 2] if len(times) == 3 else [None])
        for value, factor in zip(values, times, strict=True):
            np.testing.assert_array_equal(value.value, X * factor)
