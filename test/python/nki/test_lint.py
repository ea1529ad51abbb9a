"""python -m glia lint: what the vendor's front end would not take, each with its code and place; what it takes is not reported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from glia.linting.command import main
from glia.linting.file import kernels_and_findings

ROOT = Path(__file__).resolve().parents[3]
HEAD = """import math, itertools, functools
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl
from enum import Enum
import glia
"""
KERNEL = (
    HEAD
    + """
@nki.jit
def kernel(x, n=3):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    {line}
    return out
"""
)
LINE = KERNEL.split("{line}")[0].count("\n") + 1


def kernels_and_findings_of(tmp_path, text):
    path = tmp_path / "k.py"
    path.write_text(text)
    return kernels_and_findings(str(path))


def found(tmp_path, text):
    return kernels_and_findings_of(tmp_path, text)[1]


REFUSED = [
    ("y = [i for i in range(3)]", "LINT-COMPREHENSION", 9),
    ("y = {i: 1 for i in range(3)}", "LINT-COMPREHENSION", 9),
    ("y = tuple(i for i in range(3))", "LINT-COMPREHENSION", 14),
    ("f = lambda a: a", "LINT-LAMBDA", 9),
    ("y = {1, 2}", "LINT-EXPRESSION", 9),
    ("print(y := 3)", "LINT-EXPRESSION", 11),
    ("y = x @ x", "LINT-EXPRESSION", 9),
    ("out[0], y = 1, 2", "LINT-EXPRESSION", 5),
    ("y = (*x.shape, 1)", "LINT-STAR", 10),
    ("nl.load(*x)", "LINT-STAR", 13),
    ("nl.load(**n)", "LINT-STAR", 15),
    ("try: pass\n    except ValueError: pass", "LINT-STATEMENT", 5),
    ("raise n", "LINT-STATEMENT", 5),
    ("del x", "LINT-STATEMENT", 5),
    ("global z", "LINT-STATEMENT", 5),
    ("import os", "LINT-STATEMENT", 5),
    ("match n:\n        case 1: pass", "LINT-STATEMENT", 5),
    ("for i in range(3): pass\n    else: n = 1", "LINT-ELSE", 11),
    ("while n: pass\n    else: n = 1", "LINT-ELSE", 11),
    ("with open('f'): pass", "LINT-WITH", 10),
    ("with nl.no_reorder() as y: pass", "LINT-WITH", 10),
    ("for i in nl.dynamic_range(n): break", "LINT-LEAVE", 35),
    ("for i, y in enumerate(x.shape): pass", "LINT-BUILTIN", 17),
    ("y = sum(x.shape)", "LINT-BUILTIN", 9),
    ("y = []\n    y.insert(0, 1)", "LINT-METHOD", 5),
    ("y = {}\n    y.update(n)", "LINT-METHOD", 5),
    ("y = '-'.join(n)", "LINT-METHOD", 9),
    ("y = np.zeros((2, 2))", "LINT-MODULE", 9),
    ("y = itertools.product(n, n)", "LINT-MODULE", 9),
    ("y = math.erf(n)", "LINT-MODULE", 9),
    ("y = nl.wobble(x)", "LINT-NAME", 9),
    ("y = nl.arange(128)", "LINT-NAME", 9),
    ("nisa.tensor_copy(dst=out, src=x, dtype=n)", "LINT-CALL", 44),
    ("nisa.tensor_copy(out)", "LINT-CALL", 5),
    ("nki.assume(x, 0, 3)", "LINT-OWN", 5),
    ("glia.mark('m', x)", "LINT-OWN", 5),
    ("class A(nl.NKIObject): pass", "LINT-CLASS", 5),
]
WARNED = [
    ("y = n is None", "LINT-IDENTITY", 9),
    ("y = n in (1, 2)", "LINT-IN", 9),
    ("print(f'{n:3}')", "LINT-FORMAT", None),
    ("def f(): pass", "LINT-INNER", 5),
]
TAKEN = [
    "assert n > 0, f'{n} and {x.shape}'",
    "y = n if n > 3 else -n",
    "a, (b, c) = 1, (2, 3)",
    "y: int = 3; y += 1",
    "for i in range(3):\n        if i == 1: continue\n        else: break",
    "while n < 5: n += 1",
    "with nl.no_reorder(): nl.load(x)",
    "y = [1, 2]; y.append(3); y.sort()",
    "y = {'a': 1}; y.get('b', 2); y.setdefault('c', 3)",
    "y = math.ceil(math.log2(n)) + math.pi",
    "y = min(max(abs(n), 1), 3, divmod(7, 2)[0], len(x.shape))",
    "nisa.tensor_tensor(dst=x, data1=x, data2=x, op=np.add)",
    "def body(i): nl.load(x)\n    nl.fori_loop(0, n, body)",
    "for i in nl.dynamic_range(n):\n        for j in range(3): break",
    "sum = 3; y = sum",
]


@pytest.mark.parametrize("line,code,column", REFUSED)
def test_refused(tmp_path, line, code, column):
    f = found(tmp_path, KERNEL.replace("{line}", line))
    assert [x.code for x in f] == [code] and f[0].column == column and not f[0].warning
    last = LINE + line.count("\n") if code in ("LINT-ELSE", "LINT-METHOD") else LINE
    assert f[0].line == last and f[0].context == "kernel kernel" and f[0].advice


@pytest.mark.parametrize("line,code,column", WARNED)
def test_warned(tmp_path, line, code, column):
    f = found(tmp_path, KERNEL.replace("{line}", line))
    assert [(x.code, x.line, x.warning) for x in f] == [(code, LINE, True)]
    assert column is None or f[0].column == column


@pytest.mark.parametrize("line", TAKEN)
def test_taken(tmp_path, line):
    assert found(tmp_path, KERNEL.replace("{line}", line)) == []


def test_what_kernels_use_and_nothing_else(tmp_path):
    text = (
        HEAD
        + """
class Plain:
    def method(self):
        return [i for i in range(3)]

class Config(nl.NKIObject):
    size: int = 3

class Kind(Enum):
    A = 1

def helper(x, *rest):
    return Plain()

@functools.lru_cache
def cached(n):
    return n

def host():
    return sorted(i for i in range(3))

def later(x):
    return helper(x, Config(), Kind.A, cached(3))

made = nki.jit(later)
"""
    )
    assert [(f.code, f.context) for f in found(tmp_path, text)] == [
        ("LINT-CLASS", "class Plain, used by kernel later"),
        ("LINT-COMPREHENSION", "class Plain, used by kernel later"),
        ("LINT-STAR", "function helper, used by kernel later"),
        ("LINT-DECORATOR", "function cached, used by kernel later"),
    ]


@pytest.mark.parametrize("head", ["@nki.jit", "@nki.jit()", "@nki.jit(mode='auto')", "@jit"])
def test_how_kernels_are_marked(tmp_path, head):
    text = f"import nki\nfrom nki import jit\n\n{head}\ndef k(x):\n    f = lambda: 3\n"
    assert [f.code for f in found(tmp_path, text)] == ["LINT-LAMBDA"]
    other = text.replace("import nki\nfrom nki", "import numba as nki\nfrom numba")
    assert kernels_and_findings_of(tmp_path, other) == (0, [])


@pytest.mark.parametrize("line", ["from glia import nki", "import glia.nki as nki", "from glia.nki import jit"])
def test_nki_of_glia(tmp_path, line):
    head = "@jit" if line.endswith("jit") else "@nki.jit"
    f = found(tmp_path, f"{line}\n\n{head}\ndef k(x):\n    f = lambda: 3\n")
    assert [(x.code, x.line) for x in f] == [("LINT-OWN", 1), ("LINT-LAMBDA", 5)]


def test_keywords_of_jit_that_are_glias(tmp_path):
    f = found(tmp_path, KERNEL.replace("@nki.jit", "@nki.jit(schedule='as_written')").replace("{line}", "pass"))
    assert [x.code for x in f] == ["LINT-OWN"]


def test_the_command(tmp_path, capsys):
    bad, good, none = (tmp_path / name for name in ("bad.py", "good.py", "none.py"))
    bad.write_text(KERNEL.replace("{line}", "y = [i for i in range(3)]; z = n is None"))
    good.write_text(KERNEL.replace("{line}", "y = n is None"))
    none.write_text("x = 3\n")
    assert main([str(bad)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("error[LINT-COMPREHENSION]: a list comprehension: the vendor's front end does not take it\n")
    assert f"  --> {bad}:{LINE}:9\n  in: kernel kernel\n  help: " in said and "warning[LINT-IDENTITY]" in said
    assert main([str(good)]) == 0 and main([str(good), "--warn", "error"]) == 1
    assert "error[LINT-IDENTITY]" in capsys.readouterr().out
    assert main([str(good), str(none), "--warn", "off"]) == 0
    said = capsys.readouterr().out
    assert said == f"{good}: nothing found\n{none}: no kernels: nothing has @nki.jit\n"
    assert main([str(bad), str(good), "--json"]) == 1
    entries = json.loads(capsys.readouterr().out)
    assert [(e["code"], e["file"], e["line"], e["column"], e["severity"]) for e in entries] == [
        ("LINT-COMPREHENSION", str(bad), LINE, 9, "error"),
        ("LINT-IDENTITY", str(bad), LINE, 36, "warning"),
        ("LINT-IDENTITY", str(good), LINE, 9, "warning"),
    ]


def test_files_that_cannot_be_looked_at(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n")
    for file, place in ((tmp_path / "absent.py", "absent.py"), (broken, "broken.py:1"), (tmp_path, str(tmp_path))):
        r = subprocess.run([sys.executable, "-m", "glia", "lint", file], capture_output=True, text=True, timeout=300)
        assert r.returncode == 1 and r.stderr.startswith("error[LINT-FILE]") and place in r.stderr


def test_the_examples_run_elsewhere_too():
    for path in sorted((ROOT / "examples" / "nki").glob("*.py")):
        count, findings = kernels_and_findings(str(path))
        assert count and not [f for f in findings if not f.warning], path
