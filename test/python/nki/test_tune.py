"""glia.tune: candidates in processes side by side, the best first; what fails is kept, what is known is not done again."""

import json
import os
import signal
import sys
import threading
import time
import types

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

X = np.random.default_rng(0).standard_normal((128, 2048), np.float32)
ONES = "f32[128, 2048]"


@nki.jit
def scaled(x, tile, by=2.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(0, x.shape[1], tile):
        t = nl.load(x[:, i : i + tile])
        nl.store(out[:, i : i + tile], nl.multiply(t, by))
    return out


def two(x, tile):
    return scaled(scaled(x, tile), tile)


def test_the_best_is_first():
    table = glia.tune(scaled, {"tile": [512, 2048, 256]}, [X])
    times = {tile: glia.compile(scaled, X, tile).time() for tile in (512, 2048, 256)}
    assert {row.tile: row.time for row in table} == times
    assert [row.tile for row in table] == sorted(times, key=times.get)
    assert table.best == table[0] and table.best.keywords == {"tile": min(times, key=times.get)}
    assert all(row.proved and row.ok and row.instructions > 0 for row in table)


def test_the_order_does_not_depend_on_the_workers():
    space = {
        "tile": [512, 1024, 2048],
        "by": [2.0, 3.0],
    }  # `by` changes nothing: equal times stay in the order of the space
    tables = [list(glia.tune(scaled, space, [ONES], workers=n)) for n in (1, 3)]
    assert tables[0] == tables[1]
    for tile in (512, 1024, 2048):
        assert [row.by for row in tables[0] if row.tile == tile] == [2.0, 3.0]


@pytest.mark.parametrize("given", [ONES, (128, 2048), X, [ONES], [(128, 2048)]], ids=str)
def test_arrays_may_be_described(given):
    assert glia.tune(scaled, {"tile": [512]}, given).best.time == glia.compile(scaled, X, 512).time()


def test_arrays_and_references_of_jax(recwarn):
    jnp = pytest.importorskip("jax.numpy")
    table = glia.tune(scaled, {"tile": [512, 1024]}, [jnp.asarray(X)], check=lambda x: jnp.asarray(x) * 2)
    assert all(row.ok for row in table) and not [w for w in recwarn if "fork" in str(w.message)]


def test_types_are_described():
    half = X.astype(np.float16)
    assert glia.tune(scaled, {"tile": [512]}, "f16[128,2048]").best.time == glia.compile(scaled, half, 512).time()


def test_functions_of_kernels_and_targets():
    table = glia.tune(two, {"tile": [512]}, ONES, target="trn1")
    assert table.target == "trn1" and table.best.time == glia.compile(two, X, 512, target="trn1").time()


def test_what_fails_is_kept():
    table = glia.tune(scaled, {"tile": [768, "wide", 1024]}, ONES)
    good, *bad = table
    assert good.tile == 1024 and good.ok
    found = {row.tile: (row.code, row.proved, row.time) for row in bad}
    assert found == {768: ("NKI-SLICE", False, None), "wide": ("TUNE-RAISED", False, None)}
    by = {row.tile: row for row in bad}
    line = scaled.func.__code__.co_firstlineno + 4
    assert by[768].place == f"{__file__}:{line}" and "index out of range" in by[768].message
    assert by["wide"].message.startswith("TypeError: ")


def test_what_the_kernel_does_not_take():
    (row,) = glia.tune(scaled, {"tile": [512], "wobble": [1]}, ONES)
    assert row.code == "GRAPH-ARGUMENT" and "wobble" in row.message and row.place == ""


def test_a_check_finds_wrong_results():
    table = glia.tune(scaled, {"tile": [512], "by": [2.0, 2.5]}, ONES, check=lambda x: 2 * x)
    assert [(row.by, row.code) for row in table] == [(2.0, ""), (2.5, "TUNE-WRONG")]
    assert table[1].proved and table[1].time and "elements differ" in table[1].message
    assert glia.tune(scaled, {"tile": [512], "by": [2.5]}, ONES, check=lambda x: 2 * x, tolerance=0.5).best
    other = glia.tune(scaled, {"tile": [512]}, ONES, check=lambda x: (2 * x)[:64])
    assert other.best is None and other[0].code == "TUNE-WRONG" and "shape" in other[0].message


def test_arguments_that_are_written_are_not_the_callers():
    @nki.jit
    def twice(x, tile):
        for i in range(0, x.shape[1], tile):
            nl.store(x[:, i : i + tile], nl.multiply(nl.load(x[:, i : i + tile]), 2.0))
        return x

    before = X.copy()
    assert len([row for row in glia.tune(twice, {"tile": [512, 1024]}, X, check=lambda x: 2 * x) if row.ok]) == 2
    assert (before == X).all()


def test_times_that_depend_on_data():
    @nki.jit
    def repeated(x, n, by):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.load(x)
        for _ in nl.dynamic_range(nisa.register_alloc(n)):
            nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=by)
        nl.store(out, t)
        return out

    x = np.ones((128, 64), np.float32)
    n = lambda k: np.array([k], np.int32)  # noqa: E731
    few, many = (glia.tune(repeated, {"by": [2.0]}, [x, n(k)]).best.time for k in (2, 20))
    assert few < many == glia.compile(repeated, x, n(20), 2.0).profile(x, n(20), 2.0).total
    assert glia.tune(repeated, {"by": [2.0]}, [x, "i32[1]"])[0].code == "TIME-DATA"


def test_a_sample_is_always_the_same():
    space = {"tile": [512, 1024, 2048], "by": [float(n) for n in range(10**6)]}
    first, again, other = (
        {tuple(row.keywords.values()) for row in glia.tune(scaled, space, ONES, limit=4, seed=seed)}
        for seed in (1, 1, 2)
    )
    assert first == again != other and len(first) == 4


def test_the_journal(tmp_path):
    path = tmp_path / "scaled.jsonl"
    first = glia.tune(scaled, {"tile": [512, 768]}, ONES, journal=path)
    lines = path.read_text().splitlines()
    assert len(lines) == 2 and {json.loads(line)["keywords"]["tile"] for line in lines} == {512, 768}

    # What is in it is not done again: a time that is changed there comes back.
    entry = next(json.loads(line) for line in lines if json.loads(line)["keywords"]["tile"] == 512)
    path.write_text("".join(line + "\n" for line in lines).replace(str(entry["time"]), "1.0"))
    again = glia.tune(scaled, {"tile": [512, 768, 1024]}, ONES, journal=path)
    assert again.best.time == 1.0 and [row.tile for row in again] == [512, 1024, 768]
    assert again[2] == first[1] and len(path.read_text().splitlines()) == 3

    # Another target, another shape, another reference: something else.
    assert glia.tune(scaled, {"tile": [512]}, ONES, journal=path, target="trn1").best.time != 1.0
    assert glia.tune(scaled, {"tile": [512]}, "f32[128, 1024]", journal=path).best.time != 1.0
    assert glia.tune(scaled, {"tile": [512]}, ONES, journal=path, check=lambda x: 2 * x).best.time != 1.0


def test_a_journal_that_was_cut_off(tmp_path):
    path = tmp_path / "scaled.jsonl"
    glia.tune(scaled, {"tile": [512, 1024]}, ONES, journal=path)
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert len(glia.tune(scaled, {"tile": [512, 1024]}, ONES, journal=path)) == 2
    assert len(glia.tune(scaled, {"tile": [512, 1024]}, ONES, journal=path)) == 2
    assert path.read_text().count('"glia-tune"') == 3  # the line that was cut, and the whole one


def kernel_of_module(factor: int):
    text = f"FACTOR = {factor}\n\ndef helper(t):\n    return FACTOR\n\ndef kernel(x):\n    return helper(x)\n"
    module = types.ModuleType("edited")
    exec(compile(text, "edited.py", "exec"), vars(module))
    return module.kernel


def test_a_kernel_that_is_edited_is_another_one():
    from glia.tuning.journal import text_of

    assert text_of(kernel_of_module(2)) == text_of(kernel_of_module(2)) != text_of(kernel_of_module(3))


@nki.jit
def dangerous(x, how):
    if how == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "endless":
        time.sleep(3600)
    if how == "exit":
        os._exit(3)
    return scaled(x, 512)


def test_crashes_and_endless_ones_cost_nothing_else(tmp_path):
    path = tmp_path / "journal"
    ways = ["fine", "crash", "endless", "exit"]
    table = glia.tune(dangerous, {"how": ways}, ONES, timeout=5, journal=path)
    found = {row.how: (row.code, row.message) for row in table}
    assert found == {
        "fine": ("", ""),
        "crash": ("TUNE-CRASH", "its process ended by SIGKILL"),
        "endless": ("TUNE-TIME", "it was ended after 5 s"),
        "exit": ("TUNE-CRASH", "its process ended with status 3"),
    }
    assert len(path.read_text().splitlines()) == 1  # the others are tried again another time


def test_ctrl_c_ends_the_workers():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            glia.tune(dangerous, {"how": ["endless", "endless"]}, ONES)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize(
    "call,code",
    [
        (lambda: glia.tune(3, {"tile": [1]}), "TUNE-ARGUMENT"),
        (lambda: glia.tune(scaled, {"tile": [512]}, "f33[4]"), "TUNE-ARGUMENT"),
        (lambda: glia.tune(scaled, {"tile": [512]}, "f32[]"), "TUNE-ARGUMENT"),
        (lambda: glia.tune(scaled, {"tile": [512]}, (0, 4)), "TUNE-ARGUMENT"),
        (lambda: glia.tune(scaled, {}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, [512], ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"tile": []}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"tile": 512}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"tile": "512"}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"time": [1]}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"a b": [1]}, ONES), "TUNE-SPACE"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, limit=0), "TUNE-OPTION"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, workers=0), "TUNE-OPTION"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, timeout=-1), "TUNE-OPTION"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, journal="/no/such/folder/j"), "TUNE-JOURNAL"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, journal=__file__), "TUNE-JOURNAL"),
        (lambda: glia.tune(scaled, {"tile": [512]}, ONES, target="trn9"), "TARGET-UNKNOWN"),
    ],
)
def test_wrong_arguments(call, code, fails):
    before = open(__file__).read()
    assert fails(call)[0].code == code
    assert open(__file__).read() == before


def test_how_a_table_looks(monkeypatch):
    table = glia.tune(scaled, {"tile": [512, 768]}, ONES)
    lines = repr(table).splitlines()
    assert lines[0] == "scaled on trn2: 2 candidates, 1 good"
    assert lines[1].split() == ["tile", "time", "instructions"]
    assert lines[2].split() == ["512", f"{table.best.time / 1000:.2f}", "us", str(table.best.instructions)]
    assert "NKI-SLICE: index out of range" in lines[3]
    page = table._repr_html_()
    assert page.count("<tr>") == 3 and "<td>512</td>" in page and "NKI-SLICE" in page
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    rows = table.to_pandas()
    assert [row["tile"] for row in rows] == [512, 768] and [row["code"] for row in rows] == ["", "NKI-SLICE"]
