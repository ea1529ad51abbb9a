"""The stubs of nki: they are what the modules say now, and mypy finds with them what is wrong in a kernel and nothing in one that is right."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STUBS = ROOT / "python" / "nki-stubs"
GOOD = """import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def scale_add(x: nl.NkiTensor, y: nl.ndarray, factor: float = 2.0) -> nl.NkiTensor:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a, b = nl.load(x), nl.load(y[0:128, nl.ds(0, 512)])
    nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=1)
    first = nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add, engine=nisa.engine.vector)
    nisa.tensor_copy(dst=b, src=a, name="copy").depends_on(first)
    total = nl.sum(nl.exp(a), axis=1)
    for i in nl.affine_range(3):
        nl.store(out[:, i : i + 1], nl.add(total, 1.0))
    for r in nl.dynamic_range(nisa.register_alloc(3)):
        nisa.dma_copy(dst=a, src=x[r])
    with nl.no_reorder():
        nl.store(out, a.reshape((128, 512)).permute((0, 1)))
    if nisa.get_nc_version() >= nisa.nc_version.gen3:
        ncc.all_reduce([a], [b], ncc.ReplicaGroup([[0, 1]]), op=nl.add)
    width: int = nl.tile_size.pmax + x.shape[0]
    return out


class Config(nl.NKIObject):
    size: int = 3


result = scale_add[2](np.ones((128, 512)), 3)
plain = nki.simulate(scale_add)(np.ones(3))
other = nki.jit(mode="auto")(lambda x: x)
"""
BAD = [  # a line of a kernel with a tensor x and a tile t, and what mypy calls what is wrong with it
    ("nl.ndarray((128, 512), dtype=nl.float32, bufer=nl.sbuf)", "call-arg"),
    ("nisa.tensor_copy(dst=t, source=x)", "call-arg"),
    ("nisa.activation(dst=t, op=nl.exp)", "call-arg"),
    ("nisa.tensor_tensor(dst=t, data1=t, data2=3.0, op=nl.add)", "arg-type"),
    ('nl.load("x")', "arg-type"),
    ("nl.wobble(t)", "attr-defined"),
    ("t.transposed()", "attr-defined"),
    ("text: str = t.shape[0]", "assignment"),
]
KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x: nl.NkiTensor) -> None:
    t = nl.load(x)
"""


def made() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.files()


def test_they_are_what_the_modules_say():
    expected = made()
    assert sorted(p.name for p in STUBS.iterdir()) == sorted(expected)
    for name, text in expected.items():
        told = f"{name} has changed: python tools/stubs/stubs.py python/nki-stubs"
        assert (STUBS / name).read_text() == text, told


def mypy(folder: Path, *words: str) -> list[str]:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (folder / "nki").symlink_to(STUBS)
    options = ["--check-untyped-defs", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=/dev/null"]
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *options, *words]
    env = {"MYPYPATH": str(folder), "PATH": ""}
    r = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert not r.stderr, r.stderr
    return [line for line in r.stdout.splitlines() if ": error: " in line]


def test_good_files(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    examples = map(str, sorted((ROOT / "examples" / "nki").glob("*.py")))
    assert mypy(tmp_path, "good.py", *examples) == []


def test_bad_files(tmp_path):
    (tmp_path / "bad.py").write_text(KERNEL + "".join(f"    {line}\n" for line, _ in BAD))
    first = KERNEL.count("\n") + 1
    found = {int(line.split(":")[1]): line.rpartition("[")[2].rstrip("]") for line in mypy(tmp_path, "bad.py")}
    assert found == {first + n: code for n, (_, code) in enumerate(BAD)}


def test_they_are_well_formed(tmp_path):
    assert mypy(tmp_path, "--strict", "-p", "nki") == []
