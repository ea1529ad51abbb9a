"""Options that every command has, completion, tracebacks of the user's own lines, and what notebooks show."""

import inspect
import json
import os
import subprocess
import sys

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import environment
from glia.program import Program

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

KERNEL = """import numpy as np, nki, nki.language as nl

@nki.jit
def double(x, columns=64):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x[:, 0:columns])
    m = nl.add(t, t)
    nl.store(out, m)
    return out

def reference(x):
    return x + x

def wrong(x):
    return x + x + 1

print("result", double(np.ones((128, 64), np.float32)).sum())
"""
BROKEN = KERNEL.replace("nl.load(x[:, 0:columns])", "nl.load(x[:, 0:columns + 1])")
RAISES = KERNEL.replace("    m = nl.add(t, t)\n", "    m = nl.add(t, t)\n    [][3]\n")


@pytest.fixture
def run(tmp_path):
    def call(*words, text=KERNEL, plain=False, **environment):
        (tmp_path / "k.py").write_text(text)
        command = [sys.executable, *(() if plain else ("-m", "glia")), *words]
        env = os.environ | environment
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)

    return call


@pytest.mark.parametrize("command", [["run"], ["profile"], ["check"], ["compare", "--reference", "reference"]], ids=str)
def test_strict_mode(run, command):
    fast, strict = run(*command, "k.py"), run(*command, "--strict", "--seed", "3", "k.py")
    assert strict.returncode == 0 and strict.stdout == fast.stdout


def test_strict_mode_is_for_every_run(monkeypatch):
    told, original = [], Program.run

    def look(self, *args, **kwargs):
        told.append((kwargs.get("strict", False), kwargs.get("seed")))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Program, "run", look)
    x = np.ones((128, 8), np.float32)
    try:
        environment.choose_run(True, 5)
        scaled(x)
        glia.compile(scaled, x).run(x)
    finally:
        environment.choose_run(False, None)
    scaled(x)
    assert told == [(True, 5), (True, 5), (False, None)]


def test_a_seed_without_strict_mode(run):
    r = run("run", "--seed", "3", "k.py")
    assert r.returncode == 1 and "error[RUN-OPTION]" in r.stderr


def test_json(run):
    told = [json.loads(line) for line in run("profile", "--json", "k.py").stdout.splitlines()]
    assert told[0]["kernel"] == "double" and told[0]["call"] == 1 and told[0]["total_ns"] > 0 and told[0]["lanes"]
    told = [json.loads(line) for line in run("check", "--json", "k.py").stdout.splitlines()]
    assert told == [{"kernel": "double", "agrees": True}]
    for reference, ok in (("reference", True), ("wrong", False)):
        r = run("compare", "--reference", reference, "--json", "k.py")
        entry = json.loads(r.stdout.splitlines()[0])
        assert entry["ok"] is ok and entry["reference"] == reference and r.returncode == (0 if ok else 1)
        assert ok or entry["difference"]["expected"] == 3.0
    told = json.loads(run("run", "--watch", "m", "--json", "k.py").stdout.splitlines()[0])
    assert told["name"] == "m" and told["line"] == 7 and np.array(told["value"]).sum() == 128 * 64 * 2


@pytest.mark.parametrize("option", ["--html", "--trace"])
def test_a_folder_that_is_not_there(run, option):
    r = run("profile", option, "nowhere/x", "k.py")
    assert r.returncode == 1 and not r.stdout
    assert r.stderr.startswith("error[FILE-WRITE]: cannot write nowhere/x: there is no folder nowhere")


def test_json_is_alone_on_the_standard_output(run):
    """What the script prints goes elsewhere, and values that JSON has not are strings."""
    text = KERNEL.replace("m = nl.add(t, t)", "m = nl.log(nl.subtract(t, t))").replace("np.ones", "-np.ones")
    for command in (["profile"], ["check"], ["compare", "--reference", "reference"], ["run", "--watch", "m"]):
        r = run(*command, "--json", "--warn", "off", "k.py", text=text)
        told = [json.loads(line, parse_constant=pytest.fail) for line in r.stdout.splitlines()]
        assert len(told) == 1 and r.stderr.startswith("result")
    assert told[0]["value"] == [["-Infinity"] * 64] * 128


@pytest.mark.parametrize("command", [["run"], ["profile"], ["check"]], ids=str)
def test_diagnostics_as_json(run, command):
    r = run(*command, "--diagnostics", "json", "k.py", text=BROKEN)
    (d,) = json.loads(r.stderr)["diagnostics"]
    assert r.returncode == 1 and d["code"] == "NKI-SLICE" and d["line"] == 6 and d["file"].endswith("k.py")
    assert d.keys() == {*d.keys(), "severity", "advice", "notes", "context", "value", "limit", "column", "message"}
    r = run("tune", "k.py", "--diagnostics", "json")
    assert json.loads(r.stderr)["diagnostics"][0]["code"] == "TUNE-OPTION"


def test_warnings_as_json(run):
    text = KERNEL.replace("    m = nl.add(t, t)\n", "    m = nl.add(t, t)\n    nl.exp(t)\n")
    r = run("run", "--diagnostics", "json", "k.py", text=text)
    (d,) = json.loads(r.stderr)["diagnostics"]
    assert r.returncode == 0 and d["code"] == "NKI-UNUSED" and d["severity"] == "warning" and d["line"] == 8


def test_kernels_in_a_function_of_jax(run):
    pytest.importorskip("jax")
    text = KERNEL.replace("print(", "import jax\nprint(", 1).replace("double(np.ones", "jax.jit(double)(np.ones")
    r = run("check", "--json", "k.py", text=text, JAX_PLATFORMS="cpu")
    assert r.returncode == 0, r.stderr
    assert json.loads(r.stdout.splitlines()[0]) == {"kernel": "double", "agrees": True}
    told = json.loads(
        run("run", "--watch", "m", "--json", "k.py", text=text, JAX_PLATFORMS="cpu").stdout.splitlines()[0]
    )
    assert told["name"] == "m" and told["shape"] == [128, 64]


def completed(script: str, function: str, *words: str) -> list[str]:
    typed = " ".join(f"'{w}'" for w in words)
    text = (
        f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; {function}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True).stdout.split()


def test_completion_of_python(run):
    script = run("completion", "bash").stdout
    python = lambda *words: completed(script, "_glia_python", "python", *words)  # noqa: E731
    assert python("-m", "glia", "pro") == ["profile"]
    assert {"run", "tune", "lint", "explain"} <= set(python("-m", "glia", ""))
    assert python("-m", "glia", "profile", "--ht") == ["--html"]
    assert python("-m", "glia", "--wat") == ["--watch"]  # of run, the default
    assert python("-m", "glia", "tune", "k.py:f", "--jou") == ["--journal"]
    assert python("-m", "glia", "lint", "--warn", "") == ["show", "error", "off"]
    assert python("-m", "glia", "run", "k") == [] and python("-m", "pytest", "--") == []
    for command in ("run", "profile", "check", "compare", "tune", "lint"):
        shown = run(command, "--help").stdout
        options = python("-m", "glia", command, "--")
        assert options and all(o in shown for o in options)


def test_completion_of_the_tool():
    from glia.command import path

    script = subprocess.run([path(), "completion", "bash"], capture_output=True, text=True, check=True).stdout
    tool = lambda *words: completed(script, "_glia", "glia", *words)  # noqa: E731
    assert tool("pro") == ["profile"] and tool("profile", "--ht") == ["--html"]
    assert tool("run", "x.glia", "--target", "trn") == ["trn1", "trn2", "trn3"]
    assert tool("--diagnostics", "json", "ver") == ["verify"]
    assert tool("run", "x") == []
    for command in tool(""):
        shown = subprocess.run([path(), command, "--help"], capture_output=True, text=True, check=True).stdout
        assert all(o in shown for o in tool(command, "--") if o not in ("--version", "--diagnostics")), command


def test_tracebacks_of_plain_python(run):
    start = "import glia\nglia.install()\n"
    for text, last in ((BROKEN, "glia.Error: error[NKI-SLICE]"), (RAISES, "IndexError: list index out of range")):
        r = run("k.py", text=start + text, plain=True)
        line = (start + text).count("\n")  # the last one calls the kernel
        assert r.returncode == 1 and last in r.stderr, r.stderr
        assert "Traceback (most recent call last):" in r.stderr and f'k.py", line {line}' in r.stderr
        assert "glia/nki/" not in r.stderr
        full = run("k.py", text=start + text, plain=True, GLIA_FULL_TRACEBACK="1").stderr
        assert "glia/nki/jit.py" in full and last in full
    hooked = start + "import sys\nsys.excepthook = lambda *e: print('mine')\n" + BROKEN
    assert "mine" in run("k.py", text=hooked, plain=True).stdout


def test_an_exception_of_somebody_else_is_shown_as_ever(run):
    text = "import glia\nglia.install()\nint('x')\n"
    expected = run("k.py", text="\n\nint('x')\n", plain=True).stderr
    assert run("k.py", text=text, plain=True).stderr == expected


@nki.jit
def scaled(x, factor=2.0):
    """x times <factor>."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), factor))
    return out


@nki.jit
def counted(x, n):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    for _ in nl.dynamic_range(nisa.register_alloc(n)):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nl.store(out, t)
    return out


def test_what_notebooks_show():
    x = np.ones((128, 64), np.float32)
    page = scaled[2]._repr_html_()
    assert "scaled(x, factor=2.0)" in page and "x times &lt;factor&gt;." in page and f"{__file__}:" in page
    assert "<td>cores</td><td>2</td>" in page
    exe = glia.compile(scaled, x)
    page = exe._repr_html_()
    assert "<td>input</td><td>x : f32[128, 64]</td>" in page and "<td>verified</td><td>proved</td>" in page
    assert f"<td>predicted time</td><td>{exe.time() / 1000:.2f} us</td>" in page
    assert "proved" in repr(exe.verify()) and exe.verify()._repr_html_().startswith("<pre>")
    assert "depends on" in glia.compile(counted, x, np.array([3], np.int32))._repr_html_()
    with pytest.raises(glia.Error) as e:
        scaled(x, wobble=3)
    shown = "\n".join(e.value._render_traceback_())
    assert "error[NKI-ARGUMENT]" in shown and __file__ in shown and "glia/nki/" not in shown


def test_signatures():
    assert str(inspect.signature(scaled)) == "(x, factor=2.0)" and scaled.__doc__ == "x times <factor>."
    assert str(inspect.signature(scaled[2])) == "(x, factor=2.0)"
