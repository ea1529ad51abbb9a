"""Every public call of nki has an example that runs and is compared with NumPy, and docs/nki-api.md shows them."""

import ast
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import glia
import numpy as np
import pytest
from glia.nki import book, collectives, isa, language
from glia.nki.book.calls import REFUSED, named, sentence
from glia.nki.book.page import page
from glia.nki.ops import Op
from glia.nki.tensor import NkiTensor
from glia.nki.views import METHODS

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]
CELLS = book.cells()
PAGE = (ROOT / "docs" / "nki-api.md").read_text()
CALLS = {call for cell in CELLS for call in cell.calls}
PUBLIC = {
    **{f"nki.{name}": getattr(glia.nki, name) for name in glia.nki.__all__},
    **{f"nl.{name}": getattr(language, name) for name in language.__all__},
    **{f"nisa.{name}": getattr(isa, name) for name in isa.__all__},
    **{f"ncc.{name}": getattr(collectives, name) for name in collectives.__all__},
    **{f"tensor.{name}": getattr(NkiTensor, name) for name in METHODS},
}


class Compared:
    """Counts comparisons, and looks at what is compared."""

    def __init__(self, check):
        self.check, self.count = check, 0

    def __call__(self, found, wanted, **tolerance):
        assert isinstance(found, np.ndarray) and found.shape == np.shape(wanted)
        self.check(found, wanted, **tolerance)
        self.count += 1


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.title)
def test_an_example(cell, target, monkeypatch, capfd, tmp_path):
    checks = [Compared(getattr(np.testing, name)) for name in ("assert_array_equal", "assert_allclose")]
    monkeypatch.setattr(np.testing, "assert_array_equal", checks[0])
    monkeypatch.setattr(np.testing, "assert_allclose", checks[1])
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    path = tmp_path / "example.py"
    path.write_text(cell.script)
    if f"not for {target}" in cell.notes:
        with pytest.raises(glia.Error):
            runpy.run_path(str(path))
        return
    runpy.run_path(str(path))
    assert sum(c.count for c in checks) >= 1
    if "nl.device_print" in cell.calls:
        assert "loaded" in capfd.readouterr().out


def calls_of(path: Path) -> set:
    """What a script calls itself: the code of functions, and operations of nki.language."""
    called = set()

    def look(frame, event, _):
        if event == "call" and frame.f_back is not None and frame.f_back.f_code.co_filename == str(path):
            called.add(frame.f_locals["self"] if frame.f_code is Op.__call__.__code__ else frame.f_code)

    sys.setprofile(look)
    try:
        runpy.run_path(str(path))
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.title)
def test_it_calls_what_it_is_about(cell, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(cell.script)
    called = calls_of(path)
    written = {ast.unparse(node) for node in ast.walk(ast.parse(cell.script)) if isinstance(node, ast.Attribute)}
    for call in cell.calls:
        value = named(call)
        if inspect.isfunction(value):
            assert value.__code__ in called, call
        elif isinstance(value, Op) and value.fn is not None:
            assert value in called, call
        else:  # a class, an enumeration, what is only an operand
            assert call in written, call


@pytest.mark.parametrize("call", sorted(PUBLIC))
def test_every_call_has_one(call):
    value = PUBLIC[call]
    if callable(value) and not inspect.isclass(value):
        assert (call in CALLS) != (call in REFUSED)
    else:  # a type, a buffer, an enumeration
        assert re.search(rf"\b{call.partition('.')[2]}\b", PAGE), "the page does not say what it is"


def test_every_example_is_of_something():
    for call in CALLS:
        value = named(call)
        assert value is not None, call
        if callable(value) and not inspect.isclass(value):
            assert sentence(call), f"{call} has no sentence"


def test_the_page():
    assert page() == PAGE


def explain(*words, folder=None):
    command = [sys.executable, "-m", "glia", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_explain(tmp_path):
    shown = explain("explain", "nki.language.softmax")
    assert shown.stdout.startswith("# nl.softmax(x, axis=-1, dtype=None)\n#     exp(x - max) / sum")
    (tmp_path / "example.py").write_text(shown.stdout)
    assert explain("example.py", folder=tmp_path).returncode == 0
    (tmp_path / "example.py").write_text(shown.stdout.replace("axis=1), x)", "axis=1), 2 * x)"))
    assert "Not equal to tolerance" in explain("example.py", folder=tmp_path).stderr
    assert explain("explain", "nisa.topk").stdout == "nisa.topk is refused: no public kernel uses it yet\n"
    listed = explain("explain", "nki.collectives.").stdout.splitlines()
    assert [line.split()[0] for line in listed] == sorted(c for c in CALLS if c.startswith("ncc."))
    wrong = explain("explain", "nl.sofmax")
    assert (
        wrong.returncode == 1 and wrong.stderr == "error: there is no example of nl.sofmax; did you mean nl.softmax?\n"
    )
    assert "RACE" in explain("explain", "RACE").stdout
