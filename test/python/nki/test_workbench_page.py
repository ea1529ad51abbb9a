"""What docs/workbench.md shows is what its commands print."""

import re
import subprocess
import sys
from pathlib import Path

import glia
import pytest
from pages import occurs, output, parts

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "workbench.md").read_text()
KERNEL = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
SHOWN = [(p.name, p.text) for p in parts(PAGE) if p.name.startswith("python -m glia ")]


@pytest.mark.parametrize("n", range(len(SHOWN)), ids=[command for command, _ in SHOWN])
def test_a_command(n, tmp_path):
    command, shown = SHOWN[n]
    mended = n > 0 and any(c == command for c, _ in SHOWN[:n])  # the same command once more: after the line is mended
    text = KERNEL.replace("            m = bm\n", "            m = new\n") if mended else KERNEL
    (tmp_path / "attention.py").write_text(text)
    occurs(shown, output(command, tmp_path, status=None))


def test_all_of_them():
    assert len(SHOWN) == 4


HALF = """import nki, numpy as np
import nki.isa as nisa, nki.language as nl


@nki.jit
def half(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    acc = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(dst=acc[:, 0:40], src=x[:, 0:40])
    y = nl.add(acc, nl.load(x))
    nl.store(out, y)
    return out

half(np.ones((128, 64), np.float32))
"""
TILES = """import nki, nki.language as nl, numpy as np


def part(x, j):
    return nl.load(x[:, 32 * j : 32 * j + 32])

@nki.jit
def tiles(x):
    for j in range(3):
        part(x, j)

tiles(np.ones((128, 64), np.float32))
"""


@pytest.mark.parametrize("text,code", [(HALF, "UNDEFINED-OUTPUT"), (TILES, "NKI-SLICE")])
def test_the_errors(text, code, tmp_path):
    (tmp_path / "kernel.py").write_text(text)
    r = subprocess.run(
        [sys.executable, "-m", "glia", "kernel.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    shown = re.search(rf"^(    error\[{code}\].*?)\n\n", PAGE, re.S | re.M)[1]
    assert r.stderr.strip() == re.sub(r"^    ", "", shown, flags=re.M)


def test_the_values_in_python(tmp_path):
    (tmp_path / "attention.py").write_text(KERNEL)
    block = re.findall(r"```python\n(.*?)```", PAGE, re.S)[1]
    code = (
        "import glia\nglia.install()\nimport numpy as np\nfrom attention import attention\n"
        "q = k = v = np.random.default_rng(0).standard_normal((1024, 128), np.float32)\n"
        f"{block}\nvalue = seen['m'][2]\nprint(value.value.shape, value.line, value.iteration, value.core)\n"
        "assert (seen.result == exe.run(q, k, v)).all()\n"
    )
    r = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert r.stdout == "(128, 1) 24 {'i': 0, 'j': 1} 0\n", r.stderr
