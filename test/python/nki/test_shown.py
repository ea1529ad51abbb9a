"""How objects show themselves in a prompt and in a notebook, and what device_print shows."""

import inspect
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

X = np.arange(128 * 4, dtype=np.float32).reshape(128, 4)


@nki.jit
def double(x, times: int = 2):
    """Doubles."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), float(times)))
    return out


def test_the_signature_of_a_kernel_is_that_of_its_function():
    assert str(inspect.signature(double)) == "(x, times: int = 2)" == str(inspect.signature(double[2]))
    assert double.__wrapped__ is double.func and inspect.getdoc(double) == "Doubles."


def test_representations():
    assert repr(double) == "<kernel double(x, times: int = 2) for trn2>"
    assert repr(double[2].on("trn3")) == "<kernel double(x, times: int = 2), 2 cores for trn3>"
    exe = glia.compile(double, X)
    n = exe.program.instructions
    assert repr(exe) == f"<double: one kernel, {n} instructions for trn2>"
    assert repr(glia.compile(lambda x: double(double(x)), X)).startswith("<<lambda>: 2 calls of 1 kernels, ")
    verdict, profile = exe.verify(), exe.profile()
    assert repr(verdict) == f"<verified, {n} instructions on trn2: proved>"
    assert verdict._repr_html_() == f"<pre>ok, {n} instructions on trn2</pre>"
    assert repr(profile) == f"<predicted run: {profile.total / 1000:.2f} us, {profile.instructions} instructions>"
    page = profile._repr_html_()
    assert page.startswith('<iframe srcdoc="&lt;!') and page.count('"') == 4
    wrong = glia.assemble("output y : f32[128, 4]\n", "trn2").verify()
    assert "1 violations, the first <OUTPUT-UNWRITTEN" in repr(wrong)


@nki.jit
def printing(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    for i in range(2):
        t = nl.load(x[64 * me : 64 * me + 64])
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=float(i + 1))
        nl.device_print("t", t)
    nl.device_print("few", t[0:1, 0:4])
    nl.store(out[64 * me : 64 * me + 64], t)
    return out


def lines_of(core: int, at: int) -> list[str]:
    rows = X[64 * core : 64 * core + 64]
    out = []
    for i in range(2):
        y = rows * (i + 1)
        first = " ".join(f"{v:.7g}" for v in y.reshape(-1)[:6])
        out.append(
            f"t (test_shown.py:{at}, i = {i}) core {core} f32[64, 4]: min {y.min():.7g} max {y.max():.7g} mean {y.mean():.7g} "
            f"[{first} ...]"
        )
    few = " ".join(f"{v:.7g}" for v in rows[0] * 2)
    return [*out, f"few (test_shown.py:{at + 1}) core {core} f32[1, 4]: [{few}]"]


def test_device_print_in_one_line_core_by_core(capsys):
    printing[2](X)
    at = printing.func.__code__.co_firstlineno + 7
    assert capsys.readouterr().out.splitlines() == [*lines_of(0, at), *lines_of(1, at)]


def test_device_print_of_everything(capsys, monkeypatch):
    monkeypatch.setenv("GLIA_PRINT", "all")
    printing[2](X)
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2 * (3 + 64 + 64 + 1) and "\n0 2 4 6\n" in out


def test_device_print_of_a_script(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(
        "import nki, nki.language as nl, numpy as np\n\n@nki.jit\ndef k(x):\n"
        "    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n    m = nl.load(x)\n"
        '    nl.device_print("here", m)\n    nl.store(out, m)\n    return out\n\nk(np.full((2, 2), 3, np.float32))\n'
    )
    r = subprocess.run([sys.executable, "-m", "glia", str(path)], capture_output=True, text=True, timeout=300)
    assert r.stdout == "here (k.py:7) core 0 f32[2, 2]: [3 3 3 3]\n", r.stderr
