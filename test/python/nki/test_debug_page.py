"""What docs/debug.md shows is what its commands print, and Ctrl-C comes back to the prompt."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import glia
import numpy as np
import pytest
from glia.command import path as tool_path

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "debug.md").read_text()
SHOWN = re.findall(r"^    \$ ([^\n]*)\n((?:    [^$\n][^\n]*\n)*)", PAGE, re.M)
PROMPT = re.compile(r"^\((?:\w+ lines|glia instructions|glia operations)\) (.*)$", re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("debug")
    workbench = (ROOT / "docs" / "workbench.md").read_text()
    (out / "attention.py").write_text(re.search(r"```python\n(.*?)```", workbench, re.S)[1])
    (out / "softmax.gasm").write_text((ROOT / "examples" / "softmax.gasm").read_text())
    race = re.search(r"^    ; A tile is loaded.*?(?=^`)", PAGE, re.S | re.M)[0]
    (out / "reuse.gasm").write_text(re.sub(r"^    ", "", race, flags=re.M).rstrip() + "\n")
    for name, first in [("roots.mlir", "module {"), ("overflow.py", "import glia")]:
        text = re.search(rf"^    {first}.*?(?=^\S|^    \$)", PAGE, re.S | re.M)[0]
        (out / name).write_text(re.sub(r"^    ", "", text, flags=re.M).rstrip() + "\n")
    np.save(out / "squares.npy", np.array([4, 2, 0, 9], np.float32))
    np.save(out / "x.npy", (np.arange(128 * 1024, dtype=np.float32) / 1e4).reshape(128, 1024))
    np.save(out / "a.npy", np.ones((128, 8), np.float32))
    np.save(out / "b.npy", np.full((128, 8), 5, np.float32))
    return out


@pytest.mark.parametrize("n", range(len(SHOWN)), ids=[command for command, _ in SHOWN])
def test_a_session(n, folder):
    command, shown = SHOWN[n]
    if command == "python overflow.py":
        pytest.importorskip("jax")
    shown = re.sub(r"^    ", "", shown, flags=re.M)
    words = command.split()
    words[:1] = [sys.executable] if words[0] == "python" else [tool_path()]
    typed = "".join(line + "\n" for line in PROMPT.findall(shown))
    r = subprocess.run(words, cwd=folder, input=typed, capture_output=True, text=True, timeout=120)
    assert re.sub(r" +$", "", r.stdout, flags=re.M) == shown, r.stderr


def test_all_of_them():
    assert len(SHOWN) == 7


LONG = """import nki, nki.language as nl, nki.isa as nisa, numpy as np


@nki.jit
def long(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    for i in nl.dynamic_range(100000):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
    nl.store(out, t)
    return out


long(np.zeros((128, 8), np.float32))
"""
ENDLESS = """target trn2
output y : f32[1, 1]
vector reg_move dst=r1 src=1
vector while cond=r1
vector nop
vector end_loop
"""


def processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(words: list[str], folder: Path, after: str) -> str:
    """What is printed if Ctrl-C is pressed while the program runs on, and then there are more commands."""
    p = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        p.stdin.write("continue\n")
        p.stdin.flush()
        while not p.stdout.readline().rstrip().endswith(") continue"):
            pass
        begin = processor_time(p.pid)
        while processor_time(p.pid) < begin + 0.3:
            time.sleep(0.05)
        os.kill(p.pid, signal.SIGINT)
        out, _ = p.communicate(after, timeout=300)
    finally:
        p.kill()
    assert p.returncode == 0
    return out


def test_ctrl_c_in_a_kernel(tmp_path):
    (tmp_path / "long.py").write_text(LONG)
    out = interrupted(
        [sys.executable, "-m", "glia", "debug", "long.py"], tmp_path, "print t[0, 0] - i in (0, 1)\nstep\nquit\n"
    )
    assert out.startswith("interrupted\nlong.py:")
    assert "print t[0, 0] - i in (0, 1)\nTrue\n" in out
    assert "(long lines) step\nlong.py:" in out


def test_ctrl_c_in_a_program(tmp_path):
    (tmp_path / "endless.gasm").write_text(ENDLESS)
    out = interrupted([tool_path(), "debug", "endless.gasm"], tmp_path, "print r1\nstep\nquit\n")
    assert out.startswith("interrupted\nstep ")
    assert "core0.vector.r1: 1\n" in out


LOOP = """func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<f32>
  cond {
    %1 = stablehlo.compare GE, %iterArg, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %iterArg, %arg0 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}
"""


def test_ctrl_c_in_a_graph(tmp_path):
    (tmp_path / "endless.mlir").write_text(LOOP)
    np.save(tmp_path / "x.npy", np.float32(1))
    words = [tool_path(), "debug", "endless.mlir", "--input", "0=x.npy"]
    out = interrupted(words, tmp_path, "print max(%iterArg)\nprint iteration\nstep\nquit\n")
    assert out.startswith("interrupted\nendless.mlir:")
    value, number = (float(x) for x in re.search(r"max.*: (\S+)\n.*\niteration: (\S+)\n", out).groups())
    assert number > 0 and value == number + 1
    assert "(glia operations) step\nendless.mlir:" in out
