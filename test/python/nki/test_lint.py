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
    ("y = list(x.shape)\n    y.insert(0, 1)", "LINT-METHOD", 5),
    ("y = 3 * [0] + [1]\n    y.insert(0, 1)", "LINT-METHOD", 5),
    ("y = {}\n    y.update(n)", "LINT-METHOD", 5),
    ("y = dict(a=1)\n    y.update(n)", "LINT-METHOD", 5),
    ("y = '-'.join(n)", "LINT-METHOD", 9),
    ("y = f'{n}'\n    y.join(n)", "LINT-METHOD", 5),
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
    "y = list(x.shape); y.append(3)",
    "y = list(x.shape)\n    y = n\n    y.insert(0, 1)",
    "n = None\n    n.insert(0, 1)",
    "y = []\n    for y in x: y.insert(0, 1)",
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


# ---- names that stand for something else, and files beside


def test_helpers_in_files_beside(tmp_path):
    package = tmp_path / "package"
    (package / "deep").mkdir(parents=True)
    for folder in (package, package / "deep"):
        (folder / "__init__.py").write_text("")
    (package / "deep" / "__init__.py").write_text("from .tools import tiles as pieces\n")
    (package / "deep" / "tools.py").write_text(
        "import nki.language as nl\n\ndef tiles(n):\n    return [i for i in range(n)]\n\ndef unused():\n    del nl\n\n"
        "def shared(x):\n    return nl.wobble(x)\n"
    )
    (package / "plain.py").write_text(
        "from package.deep import tools\n\ndef first(x):\n    return tools.shared(x) if x is None else second(x)\n\n"
        "def second(x):\n    return sorted(x)\n"
    )
    kernel = package / "k.py"
    kernel.write_text(
        "import nki\nfrom . import plain\nfrom .deep import pieces\n\n@nki.jit\ndef kernel(x):\n"
        "    for i in pieces(3): plain.first(x)\n    return x\n"
    )
    f = kernels_and_findings(str(kernel))[1]
    assert sorted((Path(x.file).name, x.code, x.line, x.context) for x in f) == [
        ("plain.py", "LINT-BUILTIN", 7, "function second, used by kernel kernel"),
        ("plain.py", "LINT-IDENTITY", 4, "function first, used by kernel kernel"),
        ("tools.py", "LINT-COMPREHENSION", 4, "function tiles, used by kernel kernel"),
        ("tools.py", "LINT-NAME", 10, "function shared, used by kernel kernel"),
    ]


def test_a_file_that_two_use_is_reported_once(tmp_path, capsys):
    (tmp_path / "helpers.py").write_text("def tiles(n):\n    return [i for i in range(n)]\n")
    files = [tmp_path / name for name in ("a.py", "b.py")]
    for file in files:
        file.write_text("import nki\nimport helpers as h\n\n@nki.jit\ndef k(x):\n    return h.tiles(x)\n")
    assert main([*map(str, files), "--json"]) == 1
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["file"] == str(tmp_path / "helpers.py") and entry["context"] == "function tiles, used by kernel k"


@pytest.mark.parametrize("text", ["def f(:\n", None, "import k\n\ndef tiles(n):\n    return n\n"])
def test_a_file_beside_that_is_nothing(tmp_path, text):
    if text is not None:
        (tmp_path / "helpers.py").write_text(text)
    head = "import nki\nfrom helpers import tiles\nfrom k import tiles as t\n"
    assert found(tmp_path, f"{head}\n@nki.jit\ndef kernel(x):\n    return tiles(t(x))\n") == []


OTHER_NAMES = [
    ("scale = lambda x: x", "scale(x)", ["LINT-LAMBDA"]),
    ("count = enumerate", "for i in count(x): pass", ["LINT-BUILTIN"]),
    ("def f(x): return [i for i in x]\ng = f\nh = g", "h(x)", ["LINT-COMPREHENSION"]),
    ("def f(x): return [i for i in x]\ng = functools.partial(f, 3)", "g(x)", ["LINT-COMPREHENSION"]),
    ("def f(x): return [i for i in x]\nTABLE = {'a': (f, 3)}", "TABLE['a'][0](x)", ["LINT-COMPREHENSION"]),
    ("def f(x): return [i for i in x]\nf2 = nki.jit(f)", "f2(x)", ["LINT-COMPREHENSION"]),
    ("isa = nisa\ncopy = isa.tensor_copy", "copy(out)", ["LINT-CALL"]),
    ("from nki.language import *", "load(x, wobble=3)", ["LINT-CALL"]),
    ("product = itertools.product", "product(n, n)", ["LINT-MODULE"]),
    # What they stand for is taken.
    ("from nki.language import *", "sum(x, axis=1)", []),
    ("from nki.language import no_reorder as still", "with still(): pass", []),
    ("def f(x): return [i for i in x]\nN = len(f((1, 2)))", "y = N", []),
    ("def f(x): return [i for i in x]", "for f in range(3): y = f", []),
    ("def f(x): return [i for i in x]\ng = f\ng = 3", "y = g", []),
    ("def enumerate(x): return x", "enumerate(x)", []),
    ("from nki.language import NKIObject as Base\nclass A(Base): pass", "A()", []),
    ("from dataclasses import dataclass as data\n@data\nclass A(nl.NKIObject): pass", "A()", []),
]


@pytest.mark.parametrize("head,line,codes", OTHER_NAMES)
def test_other_names(tmp_path, head, line, codes):
    text = KERNEL.replace("{line}", line).replace("@nki.jit", f"{head}\n\n@nki.jit")
    assert [x.code for x in found(tmp_path, text)] == codes


F = "def f(x): return [i for i in x]\n"
OBJECTS = [
    (
        F + "@dataclass\nclass A:\n    n: int\n    load: object = None\nTOOLS = A(3, f)",
        "TOOLS.load(x)",
        ["LINT-COMPREHENSION"],
    ),
    (F + "@dataclass\nclass A:\n    load: object = f\nTOOLS = A()", "TOOLS.load(x)", ["LINT-COMPREHENSION"]),
    (F + "class A(NamedTuple):\n    load: object\nTOOLS = A(load=f)\nT = TOOLS", "T.load(x)", ["LINT-COMPREHENSION"]),
    (F + "class A:\n    def __init__(self, g): self.load = g\nTOOLS = A(f)", "TOOLS.load(x)", ["LINT-COMPREHENSION"]),
    (F + "class A:\n    def __init__(self, g=f): self.load = g\nTOOLS = A()", "TOOLS.load(x)", ["LINT-COMPREHENSION"]),
    ("class A:\n    def __init__(self): self.load = lambda x: x\nTOOLS = A()", "TOOLS.load(x)", ["LINT-LAMBDA"]),
    (
        F + "class B:\n    load = staticmethod(f)\nclass A(B): pass\nTOOLS = A()",
        "TOOLS.load(x)",
        ["LINT-COMPREHENSION"],
    ),
    (
        "class A:\n    def load(self, x): return self.all(x)\n    def all(self, x): return [i for i in x]\nTOOLS = A()",
        "TOOLS.load(x)",
        ["LINT-COMPREHENSION"],
    ),
    # What the kernel does not use of the object.
    (F + "@dataclass\nclass A:\n    n: int\n    load: object = f\nTOOLS = A(3)", "y = TOOLS.n", []),
    ("class A:\n    def host(self, x): return [i for i in x]\n    size = 3\nTOOLS = A()", "y = TOOLS.size", []),
    (F + "@dataclass\nclass A:\n    load: object\nTOOLS = A(f)", "TOOLS = x\n    TOOLS.load(x)", []),
]


@pytest.mark.parametrize("head,line,codes", OBJECTS)
def test_what_objects_hold(tmp_path, head, line, codes):
    text = KERNEL.replace("{line}", line).replace("@nki.jit", f"{head}\n\n@nki.jit")
    assert [x.code for x in found(tmp_path, text)] == codes


def test_an_object_of_a_file_beside(tmp_path):
    (tmp_path / "tools.py").write_text(
        "class Tools:\n    def __init__(self, f):\n        self.f = f\n    def load(self, x):\n        return self.f(x)\n"
        "def plain(x):\n    return [i for i in x]\nTOOLS = Tools(plain)\n"
    )
    text = "import nki\nimport tools\n\n@nki.jit\ndef kernel(x):\n    return tools.TOOLS.load(x)\n"
    assert [(x.code, x.context) for x in found(tmp_path, text)] == [
        ("LINT-COMPREHENSION", "function plain, used by kernel kernel")
    ]


def test_what_functions_around_a_kernel_hold(tmp_path):
    text = (
        HEAD
        + """
def make(filter, n):
    act = lambda x: x
    def helper(x):
        return [i for i in x]
    table = (helper,)

    @nki.jit
    def kernel(x):
        return filter(act(table[0](x)))
    return kernel

def other(n):
    def helper(x):
        del x
    return helper
"""
    )
    f = found(tmp_path, text)
    assert [(x.code, x.context) for x in f] == [
        ("LINT-LAMBDA", "lambda act, used by kernel kernel"),
        ("LINT-COMPREHENSION", "function helper, used by kernel kernel"),
    ]


def test_jit_by_another_name(tmp_path):
    text = "from nki import jit as compiled\n\n@compiled\ndef k(x):\n    f = lambda: 3\n"
    assert [f.code for f in found(tmp_path, text)] == ["LINT-LAMBDA"]
