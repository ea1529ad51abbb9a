"""What is allowed and most likely a mistake: a warning at the line, an error where that is asked for. The line that must be named
ends with the code."""

import inspect
import subprocess
import sys

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia import warn

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(3).standard_normal((128, 64)).astype(np.float32)


@pytest.fixture(autouse=True)
def as_errors():
    warn.choose("error")
    yield
    warn.choose(None)


def line_of(function, code) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, text in enumerate(lines) if text.rstrip().endswith(f"# {code}"))


def stored(t):
    out = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out


def nothing_comes_back(x):  # NKI-NOTHING
    t = nl.load(x)
    nl.store(nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm), nl.exp(t))


def result_dropped(x):
    t = nl.load(x)
    nl.exp(t)  # NKI-UNUSED
    return stored(t)


def end_of_a_chain(x):
    t = nl.load(x)
    u = nl.exp(t)
    nl.add(u, u)  # NKI-UNUSED
    return stored(t)


def wrong_tile_stored(x):
    t = nl.load(x)
    for _ in range(3):
        y = nl.multiply(t, 2.0)
        nisa.tensor_tensor(dst=y, data1=y, data2=t, op=nl.add)  # NKI-UNUSED
    return stored(t)


def scratch_that_nobody_loads(x):
    t = nl.load(x)
    nl.store(nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm), t)  # NKI-UNUSED
    return stored(t)


def log_of_a_negative(x):
    t = nl.load(x)
    y = nl.log(t)  # RUN-NAN
    return stored(nl.add(y, 1.0))


def nan_that_matters(x):
    """The NaN of the first line is masked; the result has that of the second."""
    t = nl.load(x)
    positive = nl.greater(t, 0.0)
    a = nl.where(positive, nl.log(t), 0.0)
    b = nl.sqrt(nl.subtract(a, 100.0))  # RUN-NAN
    return stored(b)


def copied_as_if_transposed(x):
    out = nl.ndarray((64, 128), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))  # NKI-TURNED
    return out


@pytest.mark.parametrize(
    "function,code",
    [
        (nothing_comes_back, "NKI-NOTHING"),
        (result_dropped, "NKI-UNUSED"),
        (end_of_a_chain, "NKI-UNUSED"),
        (wrong_tile_stored, "NKI-UNUSED"),
        (scratch_that_nobody_loads, "NKI-UNUSED"),
        (copied_as_if_transposed, "NKI-TURNED"),
        (log_of_a_negative, "RUN-NAN"),
        (nan_that_matters, "RUN-NAN"),
    ],
)
@pytest.mark.parametrize("how", ["called", "compiled"])
def test_the_line_is_named(function, code, how, fails):
    kernel = nki.jit(function)
    ds = fails(lambda: kernel(X) if how == "called" else glia.compile(kernel, X).run(X))
    assert [(d.code, d.file, d.line) for d in ds] == [(code, __file__, line_of(function, code))]


def every_result_is_used(x, flag):
    """What a reduction throws away, a prefetch of the last round, sums that are carried over, a register, a print."""
    t = nl.load(x)
    total, squares = nl.ndarray((128, 1), nl.float32), nl.ndarray((128, 64), nl.float32)
    nisa.activation_reduce(dst=squares, op=nl.square, data=t, reduce_op=nl.add, reduce_res=total)
    following = nl.load(x[:, 0:32])
    for i in range(2):
        now, following = following, nl.load(x[:, 32:64])
        nisa.tensor_tensor(dst=t[:, 32 * i : 32 * i + 32], data1=now, data2=now, op=nl.add)
    n = nl.ndarray((1, 1), nl.int32)
    nisa.dma_copy(dst=n, src=flag)
    for _ in nl.dynamic_range(nisa.register_alloc(n)):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=total)
    return stored(t)


def carried_sums(x):
    t, out = nl.load(x), nl.ndarray((128, 64), nl.float32)
    total = nl.ndarray((128, 1), nl.float32)
    for k, command in enumerate((nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.reduce)):
        nisa.activation(
            dst=out,
            op=nl.exp,
            data=t,
            reduce_op=nl.add,
            reduce_res=total if k else None,
            reduce_cmd=command,
        )
    return stored(total)


def order_that_is_meant(x):
    out = nl.ndarray((64, 128), x.dtype, buffer=nl.shared_hbm)
    nl.store(out.reshape((128, 64)), nl.load(x))
    return out


def test_a_reshape_says_that_the_order_is_meant():
    np.testing.assert_array_equal(nki.jit(order_that_is_meant)(X), X.reshape(64, 128))


def test_what_is_used_is_not_warned_of():
    nki.jit(every_result_is_used)(X, np.array([[1]], np.int32))
    nki.jit(carried_sums)(X)


@nki.jit
def one_core_each(x):
    """What one core writes, the other one reads."""
    shared = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    if nl.program_id(0) == 0:
        nl.store(shared, nl.load(x))
    nisa.core_barrier(data=shared, cores=(0, 1))
    if nl.program_id(0) == 1:
        nl.store(out, nl.load(shared))
    return out


def test_what_the_other_core_uses_is_used():
    np.testing.assert_array_equal(one_core_each[2](X), X)


def test_a_nan_of_an_argument_is_no_surprise():
    x = X.copy()
    x[3, 4] = np.nan
    assert np.isnan(nki.jit(log_of_a_negative)(x)[3, 4])


def test_the_first_element_and_what_made_it(fails):
    x = np.abs(X) + 1
    x[7, 5] = -1
    (d,) = fails(nki.jit(log_of_a_negative), x)
    assert "has 1 NaN, the first at [7, 5]" in d.message
    assert d.notes[0].startswith("made in `y` at [7, 5]: test_warnings.py:")


def test_shown_once_and_can_be_silent(capfd, monkeypatch):
    monkeypatch.setattr(warn, "_shown", set())
    warn.choose("off")
    nki.jit(result_dropped)(X)
    assert capfd.readouterr().err == ""
    warn.choose("show")
    kernel = nki.jit(lambda x: result_dropped(nl_shifted(x)))
    kernel(X), kernel(X[:, :32])
    said = capfd.readouterr().err
    assert said.count("warning[NKI-UNUSED]") == 1 and f"{__file__}:{line_of(result_dropped, 'NKI-UNUSED')}" in said


def nl_shifted(x):
    return x


def test_a_mode_that_is_none(fails, monkeypatch):
    (d,) = fails(warn.choose, "loud")
    assert d.code == "RUN-WARN"
    warn.choose(None)
    monkeypatch.setenv("GLIA_WARN", "loud")
    assert fails(warn.mode)[0].code == "RUN-WARN"


@pytest.mark.parametrize("option,status", [([], 0), (["--warn=error"], 1), (["--warn=off"], 0)], ids=str)
def test_on_the_command_line(tmp_path, option, status):
    path = tmp_path / "k.py"
    path.write_text(
        "import nki, nki.language as nl, numpy as np\n@nki.jit\ndef k(x):\n    t = nl.load(x)\n    nl.exp(t)\n\n"
        "k(np.ones((128, 4), np.float32))\n"
    )
    r = subprocess.run([sys.executable, "-m", "glia", *option, str(path)], capture_output=True, text=True, timeout=300)
    assert r.returncode == status, r.stderr
    kind = {"": "warning", "--warn=error": "error", "--warn=off": ""}["".join(option)]
    assert (f"{kind}[NKI-NOTHING]" in r.stderr and f"{path}:2" in r.stderr) if kind else r.stderr == ""


@nki.jit
def sent_over(x):
    """Core 0 makes a NaN and sends it to core 1, which stores it."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    t, got = nl.load(x), nl.ndarray(x.shape, x.dtype)
    mine = nl.log(t) if me == 0 else nl.exp(t)
    nisa.sendrecv(dst=got, src=mine, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    if me == 1:
        nl.store(out, got)
    return out


@pytest.mark.parametrize("options", [["--nan"], ["--nan", "--warn=off"]], ids=str)
def test_nans_alone_are_errors(tmp_path, options):
    text = (
        "import numpy as np, nki, nki.language as nl\n\n"
        "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n    t = nl.load(x)\n"
        "    nl.exp(t)\n    nl.store(out, nl.log(t))\n    return out\n\n"
        "k(np.ones((128, 8), np.float32))\nprint('fine')\nk(-np.ones((128, 8), np.float32))\nprint('late')\n"
    )
    (tmp_path / "k.py").write_text(text)
    command = [sys.executable, "-m", "glia", *options, "k.py"]
    r = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert r.returncode == 1 and r.stdout == "fine\n"
    assert "error[RUN-NAN]: `out` has 1024 NaN" in r.stderr and "k.py:8" in r.stderr
    assert ("warning[NKI-UNUSED]" in r.stderr) == ("--warn=off" not in options)


def test_a_nan_that_comes_from_the_other_core(fails):
    (d,) = fails(sent_over[2], X)
    assert d.code == "RUN-NAN" and d.line == sent_over.func.__code__.co_firstlineno + 6
    assert d.notes[0].startswith("made in `mine` at [")


@nki.jit
def scattered(x, at):
    """Rows at places that data choose."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.zeros(x.shape, x.dtype))
    index = nl.ndarray((128, 1), nl.int32)
    nisa.dma_copy(dst=index, src=at)
    y = nl.log(nl.load(x))
    nisa.dma_copy(dst=out.ap([[64, 128], [1, 64]], vector_offset=index), src=y)
    return out


def test_a_nan_that_is_scattered(fails):
    from glia.nki import assume

    def kernel(x, at):
        assume(at, unique=True, range=(0, 127))
        return scattered(x, at)

    at = np.random.default_rng(0).permutation(128).astype(np.int32).reshape(128, 1)
    (d,) = fails(nki.jit(kernel), X, at)
    assert d.code == "RUN-NAN" and d.line == scattered.func.__code__.co_firstlineno + 7
