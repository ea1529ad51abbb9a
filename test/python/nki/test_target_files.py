"""Target files in every door: one that calls itself like a built-in target counts all the same, and is named where it counts."""

from pathlib import Path

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from test_hook import python

STOCK = (Path(__file__).parents[3] / "targets" / "trn2.toml").read_text()
X = np.ones((128, 512), np.float32)
TITLE = "trn2 (from mine.toml)"


def slow(text: str = STOCK) -> str:
    """trn2 with a Vector engine of an eighth of its clock."""
    made = text.replace("vector = { value = 0.96", "vector = { value = 0.12")
    assert made != text
    return made


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(slow())
    return path


def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nl.store(out, t)
    return out


def test_compile(mine):
    stock = glia.compile(nki.jit(double), X, target="trn2")
    for given in (mine, str(mine)):
        exe = glia.compile(nki.jit(double), X, target=given)
        assert exe.time() > 1.2 * stock.time()
        assert TITLE in repr(exe.program) and TITLE in exe.profile().summary() and TITLE in str(exe.verify())
    assert "(" not in repr(stock.program).split(",")[0]
    np.testing.assert_array_equal(exe.run(X), 2 * X)


def test_nki_jit(mine):
    kernel = nki.jit(double, target=str(mine))
    assert str(kernel.trace(X).target) == TITLE
    assert kernel.trace(X).kernel.fingerprint() != nki.jit(double).trace(X).kernel.fingerprint()
    np.testing.assert_array_equal(kernel(X), 2 * X)
    assert glia.compile(kernel, X, target=mine).time() > 1.2 * glia.compile(nki.jit(double), X).time()
    with pytest.raises(glia.Error, match="GRAPH-TARGET"):
        glia.compile(kernel, X, target="trn2")


def test_a_kernel_in_a_kernel_for_another_target(mine):
    inner = nki.jit(double, target="trn2")
    with pytest.raises(glia.Error, match="NKI-TARGET"):
        nki.jit(lambda x: inner(x), target=str(mine))(X)


def test_a_relative_path_stays_what_it_was(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    glia.install("mine.toml")
    try:
        monkeypatch.chdir("/")
        assert str(nki.jit(double).trace(X).target) == TITLE
    finally:
        glia.install()


def test_a_file_that_changes(mine):
    kernel = nki.jit(double)
    before = glia.compile(kernel, X, target=mine).time()
    mine.write_text(STOCK)
    after = glia.compile(kernel, X, target=mine)
    assert after.time() == glia.compile(kernel, X, target="trn2").time() < before


def test_jax(mine):
    pytest.importorskip("jax")

    def f(x):
        return nki.jit(double)(x * 3)

    stock, own = glia.jit(f, target="trn2").compile(X), glia.jit(f, target=mine).compile(X)
    assert own.time() > 1.2 * stock.time() and own.check(X).ok
    np.testing.assert_array_equal(own.run(X), 6 * X)
    jitted = glia.jit(f, target=mine)
    assert jitted.compile(X).time() == own.time()
    mine.write_text(STOCK)
    assert jitted.compile(X).time() == stock.time()


def test_other_doors(mine):
    text = "output y : i32[1]\nsync reg_move dst=r1 src=7\nsync reg_store dst=y src=r1\n"
    assert TITLE in repr(glia.assemble(text, target=mine))
    assert TITLE in repr(glia.Builder(mine).finish())
    assert glia.target(mine)["values"]["clock.vector"]["value"] == 0.12


def test_a_generation_that_nki_does_not_name(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(STOCK.replace('name = "trn2"', 'name = "what-if"', 1))

    def asks(x):
        assert nisa.get_nc_version()
        return double(x)

    np.testing.assert_array_equal(nki.jit(double, target=str(path))(X), 2 * X)
    with pytest.raises(glia.Error, match="NKI-TARGET"):
        nki.jit(asks, target=str(path))(X)


SCRIPT = """
import nki
import nki.language as nl
import numpy as np

@nki.jit
def k(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out

k(np.ones((128, 512), np.float32))
"""


def test_python_m_glia(mine, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def nanoseconds(target):
        r = python("-m", "glia", "profile", "--target", str(target), str(script))
        assert r.returncode == 0, r.stderr
        return r.stdout

    own, stock = nanoseconds(mine), nanoseconds("trn2")
    assert f"call 1, {TITLE}\n" in own and f"us on {TITLE}, " in own
    assert "call 1, trn2\n" in stock
    time = [float(s.split("\n")[1].split(" us")[0]) for s in (own, stock)]
    assert time[0] > 1.2 * time[1]
