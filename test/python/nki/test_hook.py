"""The import hook and `python -m glia`: unmodified scripts find glia's nki, and only when they are meant to."""

import os
import subprocess
import sys

import glia
import pytest

SCRIPT = """
import sys
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
from nki.isa.constants import dge_mode
from neuronxcc.nki.typing import mutable_tensor, tensor
import neuronxcc.nki.language as old
assert old is nl and nki.language is nl and nki.__name__ == "glia.nki"

@nki.jit
def k(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out, src=t)
    return out

if __name__ == "__main__":
    print("target", k.trace(np.zeros((128, 4), np.float32)).target, sys.argv[1:])
"""


def python(*args, **environment):
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(glia.__file__)), **environment}
    return subprocess.run([sys.executable, *args], env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT)
    return str(path)


def test_a_script_runs_unmodified(script):
    r = python("-m", "glia", script, "--speed", "3")
    assert r.returncode == 0, r.stderr
    assert r.stdout == "target trn2 ['--speed', '3']\n"


def test_targets(script):
    assert python("-m", "glia", "--target", "trn1", script).stdout.startswith("target trn1")
    assert python("-m", "glia", script, NEURON_PLATFORM_TARGET_OVERRIDE="gen4").stdout.startswith("target trn3")
    r = python("-m", "glia", "--target", "trn9", script)
    assert r.returncode == 1 and "trn9" in r.stderr and "Traceback" not in r.stderr


def test_without_the_hook_there_is_no_nki(script):
    r = python(script)
    assert r.returncode != 0 and "No module named 'nki'" in r.stderr


def test_environment_variables_without_meaning_say_so_once(script):
    r = python("-m", "glia", script, NKI_PRECISE_FP="1", NKI_SIMULATOR="1")
    assert r.returncode == 0 and r.stderr.count("NKI_PRECISE_FP has no effect") == 1


INSTALL = """
import sys
import glia
before = list(sys.meta_path)
glia.install()
glia.install()
import nki, nki.collectives as ncc
assert nki is glia.nki and glia.nki.__spec__.name == "glia.nki"
try:
    import nki.nothing
    raise SystemExit("nki.nothing was found")
except ModuleNotFoundError as e:
    assert "nki.nothing" in str(e)
try:
    ncc.all_gather_v([], [])
    raise SystemExit("all_gather_v was accepted")
except glia.Error as e:
    assert "all_gather_v is not supported" in str(e)
assert ncc.ReplicaGroup([[0, 1]]).groups == [[0, 1]]
glia.uninstall()
assert sys.meta_path == before and "nki" not in sys.modules
"""


def test_install_and_uninstall():
    r = python("-c", INSTALL)
    assert r.returncode == 0, r.stderr


def test_a_package_that_is_imported_already_is_not_shadowed(tmp_path):
    (tmp_path / "nki.py").write_text("vendor = True")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import glia, nki; assert nki.vendor\nglia.install()"
    r = python("-c", code)
    assert r.returncode != 0 and "imported already" in r.stderr
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import glia; import nki; assert nki.vendor"
    assert python("-c", code).returncode == 0


def test_the_pytest_plugin(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    import nki\n    assert nki.__name__ == 'glia.nki'\n")
    good = python("-m", "pytest", "-q", "-p", "glia.pytest", "--glia-target", "trn1", str(tmp_path))
    assert good.returncode == 0, good.stdout + good.stderr
    assert python("-m", "pytest", "-q", str(tmp_path)).returncode == 1


def test_errors_of_a_script(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(SCRIPT.replace("src=x)", "src=x[0:999])"))
    r = python("-m", "glia", str(path))
    assert r.returncode == 1 and f"{path}:16" in r.stderr and "Traceback" not in r.stderr
    assert python("-m", "glia", str(tmp_path / "missing.py")).returncode == 2


RUN = """
import numpy as np, nki, nki.language as nl

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, nl.add(t, t))
    return out

x = np.ones((128, 64), np.float32)
assert (double(x) == 2).all()
"""


@pytest.fixture
def running(tmp_path):
    path = tmp_path / "run.py"
    path.write_text(RUN)
    return str(path)


def test_check_compares_with_the_sequential_meaning(running):
    r = python("-m", "glia", "check", running)
    assert r.returncode == 0, r.stderr
    assert "kernel double: the compiled program agrees" in r.stdout


def test_profile_shows_each_kernel(running, tmp_path):
    page = tmp_path / "t.html"
    r = python("-m", "glia", "profile", "--html", str(page), "--target", "trn1", running)
    assert r.returncode == 0, r.stderr
    assert "kernel double, call 1, trn1" in r.stdout and "vector" in r.stdout
    assert "run.py" in page.read_text()


def test_modules_that_are_imported_for_their_names(tmp_path):
    path = tmp_path / "names.py"
    path.write_text(
        "import glia\n"
        "from nki.compiler.frontend import NKIFrontend, ParserFrontend\n"
        "from neuronxcc.nki.compiler.backends.penguin import compile_kernel\n"
        "def f(frontend: NKIFrontend = ParserFrontend()):\n    return frontend\n"
        "for use in (lambda: f().compile(1), lambda: compile_kernel(1), lambda: NKIFrontend.make()):\n"
        "    try:\n        use()\n    except glia.Error as e:\n        print(e.diagnostics[0].code)\n"
    )
    r = python("-m", "glia", str(path))
    assert r.returncode == 0 and r.stdout.split() == ["NKI-UNSUPPORTED"] * 3, r.stderr


# ---- the command itself


def test_a_mistyped_command(script):
    r = python("-m", "glia", "profle", script)
    assert r.returncode == 2 and r.stderr == "error: there is no file profle; did you mean the command `profile`?\n"


def test_a_file_that_is_not_there():
    r = python("-m", "glia", "somewhere/else.py")
    assert r.returncode == 2 and r.stderr == "error: there is no file somewhere/else.py\n"


@pytest.mark.parametrize("full", [False, True])
def test_tracebacks_show_the_users_lines(tmp_path, full):
    path = tmp_path / "wrong.py"
    path.write_text(
        "import nki, nki.language as nl, numpy as np\n\n@nki.jit\ndef k(x):\n    return undefined_name\n\n"
        "k(np.ones((1, 1), np.float32))\n"
    )
    r = python("-m", "glia", *(["--full-traceback"] if full else []), str(path))
    assert r.returncode == 1 and "NameError: name 'undefined_name' is not defined" in r.stderr
    assert f'"{path}", line 5' in r.stderr and f'"{path}", line 7' in r.stderr
    assert ("/glia/nki/" in r.stderr) == full and ("runpy" in r.stderr) == full


def test_a_reader_that_has_seen_enough(tmp_path):
    path = tmp_path / "much.py"
    path.write_text("for i in range(200000):\n    print(i)\n")
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(glia.__file__))}
    command = f"{sys.executable} -m glia {path} | head -n 2"
    r = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, timeout=300)
    assert r.stdout == "0\n1\n" and r.stderr == ""


@pytest.mark.parametrize(
    "command,text",
    [
        (["explain", "NKI-SLICE"], "NKI-SLICE"),
        (["rules"], "RACE"),
        (["targets", "trn2"], "trn2"),
        (["isa", "nc_matmul"], "stationary"),
    ],
)
def test_the_books(command, text):
    r = python("-m", "glia", *command)
    assert r.returncode == 0 and text in r.stdout, r.stderr
