"""What docs/getting-started-nki.md shows is true: its programs run, its error is given."""

import re
import subprocess
import sys
from pathlib import Path

import glia
import numpy as np
import pytest
from pages import occurs, output, parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "getting-started-nki.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)
RESIDUAL = """
@nki.jit
def residual(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(x.shape[0] // 128):
        rows = slice(i * 128, (i + 1) * 128)
        nl.store(out[rows, :], nl.add(nl.load(x[rows, :]), nl.load(y[rows, :])))
    return out
"""


def glia_run(*arguments):
    done = subprocess.run([sys.executable, "-m", "glia", *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(BLOCKS[0])
    return path


@pytest.mark.parametrize("command", [[], ["--target", "trn1"]], ids=" ".join)
def test_the_kernel_runs(kernel, command):
    status, said = glia_run(*command, str(kernel))
    assert status == 0, said
    assert float(re.search(r"largest error: (\S+)", said)[1]) < 1e-5


def without_digits(text: str) -> str:
    """An error of 1e-6 is another one in another NumPy."""
    return re.sub(r"\d\.\d+e-\d+", "small", text)


@pytest.mark.parametrize(
    "part", [p for p in parts(PAGE) if p.text and p.name.endswith(" kernel.py")], ids=lambda p: p.name
)
def test_what_a_command_prints(part, kernel):
    found = output(part.name, kernel.parent)
    occurs(without_digits(part.text), [without_digits(line) for line in found])


@pytest.mark.parametrize(
    "old,new,code",
    [
        (
            "t = nl.load(x[i * 128 : (i + 1) * 128, :])",
            "t = nl.load(x[i * 128 + i // 3 : (i + 1) * 128 + i // 3, :])",
            "NKI-SLICE",
        ),
        ("operand0=total, op1", "operand0=total[0:64], op1", "PER-PARTITION-SCALAR"),
    ],
)
def test_the_errors_are_given(kernel, old, new, code):
    assert old in BLOCKS[0]
    kernel.write_text(BLOCKS[0].replace(old, new))
    shown = re.search(rf"^    error\[{code}\].*?\n(?=\n)", PAGE, re.S | re.M)[0]
    occurs(re.sub(r"^    ", "", shown, flags=re.M), output("python -m glia kernel.py", kernel.parent, status=1))


def test_the_programs_of_several_kernels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    x, weight = np.ones((512, 1024), np.float32), np.ones((1, 1024), np.float32)
    path = tmp_path / "page.py"  # source lines are looked up there
    path.write_text(BLOCKS[0] + RESIDUAL)
    exec(compile(path.read_text(), str(path), "exec"), space)
    space.update(x=x, weight=weight)
    exec(BLOCKS[1], space)
    np.testing.assert_allclose(space["y"], 4.0, rtol=1e-5)
    assert (tmp_path / "block.html").exists() and (tmp_path / "block.glia").exists()


def test_the_tuning(capsys):
    space = {"__name__": "page"}
    exec("import numpy as np, glia, nki, nki.language as nl", space)
    exec(compile(BLOCKS[2], "kernel.py", "exec"), space)
    shown = re.search(r"^    scaled on trn2.*?\n\n", PAGE, re.S | re.M)[0]
    untimed = lambda text: [re.sub(r"\d+\.\d+ us", "T", line.strip()) for line in text.splitlines()]  # noqa: E731
    assert untimed(capsys.readouterr().out) == untimed(shown.rstrip())


def test_the_fixture(tmp_path):
    block = next(b for b in BLOCKS if "glia_profile" in b)
    start = BLOCKS[0].partition('if __name__ == "__main__"')[0]
    arrays = "x, weight = np.ones((512, 1024), np.float32), np.ones((1, 1024), np.float32)\n"
    (tmp_path / "test_kernel.py").write_text(start + arrays + block)
    r = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "glia.pytest", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert r.returncode == 0 and "us  test_kernel.py::test_it_stays_fast" in r.stdout, r.stdout
