"""Kernels of graphs that are kept on disk (GLIA_CACHE) through glia.jit and the platform of JAX: a second process takes what the first one left,
and gives the lines that the source has now. Numbers against NumPy."""

import os
import re
import subprocess
import sys
from pathlib import Path

import glia
import numpy as np
import pytest

SOURCE = """\
import jax, jax.numpy as jnp, numpy as np

def f(x, g, w):
    x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g
    return jax.nn.softmax(x @ w, axis=-1)  # behind the norm and the product: a region

given = [np.load(f"{name}.npy") for name in "xgw"]
"""
CALLS = {
    "jit": """\
import glia
exe = glia.jit(f, target="trn2").compile(*given)
np.save("result", exe(*given))
exe.save("f.glia")
""",
    "platform": 'np.save("result", jax.jit(f)(*given))\n',
}


def run(folder: Path, door: str, text: str) -> np.ndarray:
    (folder / "script.py").write_text(text + CALLS[door])
    environment = {
        **os.environ,
        "GLIA_CACHE": str(folder / "kept"),
        "GLIA_TARGET": "trn2",
        "GLIA_PROFILE": str(folder / "pages"),
        "JAX_PLATFORMS": "glia" if door == "platform" else "cpu",
    }
    command = [sys.executable, "script.py"]
    r = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, r.stderr
    return np.load(folder / "result.npy")


def lines(folder: Path, door: str) -> set[int]:
    """Those of script.py that the program speaks of."""
    if door == "platform":
        (page,) = (folder / "pages").glob("jit_f*.html")
        text = page.read_text()
        page.unlink()
    else:
        text = glia.load(folder / "f.glia").disassemble()
    return {int(n) for n in re.findall(r'script\.py"[ ,](\d+)', text)}


def kept(folder: Path) -> dict[Path, int]:
    """The files; one that is written anew is another file."""
    return {p: p.stat().st_ino for p in (folder / "kept").rglob("*") if p.is_file()}


@pytest.mark.parametrize("door", CALLS)
def test_a_second_process_takes_what_the_first_one_left(tmp_path, door):
    random = np.random.default_rng(0)
    x, g, w = (random.standard_normal(s).astype(np.float32) for s in ((256, 512), (512,), (512, 256)))
    for name, array in (("x", x), ("g", g), ("w", w)):
        np.save(tmp_path / name, array)
    normed = x.astype(np.float64) / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * g
    e = np.exp(normed @ w - (normed @ w).max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True)

    cold = run(tmp_path, door, SOURCE)
    np.testing.assert_allclose(cold, want, rtol=2e-3, atol=1e-6)
    assert lines(tmp_path, door) == {4, 5}
    first = kept(tmp_path)
    assert first
    for path in first:
        os.utime(path, (0, 0))
    np.testing.assert_array_equal(run(tmp_path, door, "\n\n\n" + SOURCE), cold)
    assert lines(tmp_path, door) == {7, 8}
    second = kept(tmp_path)
    assert {p: second[p] for p in first} == first
    used = [p for p in first if p.stat().st_mtime > 0]
    assert used == list(first)
