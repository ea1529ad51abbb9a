"""glia reduce: what docs/reduce.md shows, results that JAX runs, and Ctrl-C."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import glia
import jax
import numpy as np
import pytest
from jax._src.lib import xla_client

if not hasattr(glia._glia.Kernel, "compile"):
    pytest.skip("this build of glia has no compiler", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(glia.__file__).parents[2] / "bin" / "glia"
PAGE = (ROOT / "docs" / "reduce.md").read_text()
SHOWN = re.findall(r"^    \$ (glia [^\n]*)\n((?:    [^$\n][^\n]*\n|\n(?=    [^$\n]))*)", PAGE, re.M)


def run(command: str, folder: Path):
    words = [str(TOOL), *shlex.split(command)[1:]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)


def without_numbers(text: str) -> str:
    """How long it takes, and how many tries, is not said twice alike."""
    return re.sub(r"[\d,]+ bytes [\d,]+, after \d+ tries in [\d.]+ s", "...", text)


def test_the_page(tmp_path):
    softmax = (ROOT / "examples" / "softmax.gasm").read_text()
    (tmp_path / "racy.gasm").write_text(softmax.replace("when max_found >= 1 ", ""))
    (tmp_path / "wrong.mlir").write_text(re.search(r"```mlir\n(.*?)```", PAGE, re.S)[1])
    assert len(SHOWN) == 2
    for command, shown in SHOWN:
        done = run(command, tmp_path)
        want = without_numbers(re.sub(r"^    ", "", shown, flags=re.M))
        found = without_numbers(done.stderr + done.stdout)
        assert found == want, command


def model(x, w):
    def step(carry, row):
        carry = jax.numpy.tanh(carry @ w + row)
        return carry, jax.numpy.sort(row)

    last, rows = jax.lax.scan(step, x[0], x)
    return jax.nn.softmax(rows, axis=-1).sum(0), jax.numpy.cumsum(last)


def run_by_jax(text: str):
    """The results of a StableHLO text, computed by XLA on the host."""
    device = jax.devices("cpu")[0]
    types = re.search(r"@main\((.*?)\) ->", text, re.S)[1]
    arguments = []
    for shape, kind in re.findall(r"tensor<((?:\d+x)*)(\w+)>", types):
        dims = [int(n) for n in shape.split("x") if n]
        arguments.append(np.ones(dims, {"f32": np.float32, "i32": np.int32, "i1": np.bool_}[kind]))
    loaded = device.client.compile_and_load(text, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    out = loaded.execute_sharded([jax.device_put(a, device) for a in arguments])
    return arguments, [np.asarray(r[0]) for r in out.disassemble_into_single_device_arrays()]


@pytest.mark.parametrize("kept", [("dot_general", "tanh"), ("exponential", "reduce", "divide")], ids="-".join)
def test_jax_runs_the_result(kept, tmp_path):
    text = jax.jit(model).lower(np.ones((5, 8), np.float32), np.ones((8, 8), np.float32)).as_text()
    (tmp_path / "model.mlir").write_text(text)
    keep = " && ".join(f"grep -q stablehlo.{name} {{}}" for name in kept)
    done = run(f"glia reduce model.mlir --keep {shlex.quote(keep)} -o small.mlir", tmp_path)
    assert done.returncode == 0, done.stderr
    small = (tmp_path / "small.mlir").read_text()
    assert all(name in small for name in kept) and len(re.findall(r"^ +%\S+ = ", small, re.M)) <= len(kept) + 3
    arguments, results = run_by_jax(small)
    for got, want in zip(results, glia.interpret(small, *arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_an_interrupt_leaves_the_best_so_far(tmp_path):
    (tmp_path / "model.mlir").write_text(
        jax.jit(model).lower(np.ones((5, 8), np.float32), np.ones((8, 8), np.float32)).as_text()
    )
    keep = "echo >> tries; sleep 0.2; grep -q tanh {}"
    command = [str(TOOL), "reduce", "model.mlir", "--keep", keep, "-o", "small.mlir"]
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, handler)
    tries = tmp_path / "tries"
    while not tries.exists() or len(tries.read_text()) < 8:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    before = len(tries.read_text())
    said, _ = process.communicate(timeout=300)
    assert len(tries.read_text()) <= before + 2
    assert process.returncode == 130
    assert "interrupted, this is the smallest so far; written to small.mlir" in said
    assert "tanh" in (tmp_path / "small.mlir").read_text()
