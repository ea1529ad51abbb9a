"""Another machine: a program as it is, and compiled again for it, from each door."""

import json
import subprocess

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.command import path
from test_hook import python

PLENTY, LITTLE = {"memory.sbuf_bytes": "2x"}, {"memory.sbuf_bytes": "0.5x"}
X = np.zeros((128, 8_000), np.float32)


@nki.jit
def kept(x):
    """Four tiles of 32,000 bytes in a partition, which do not fit into half of SBUF together; three do."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    b, c, d = (nl.multiply(a, factor) for factor in (2.0, 3.0, 4.0))
    for tile in (c, d, a):
        nisa.tensor_tensor(dst=b, data1=b, data2=tile, op=nl.add)
    nl.store(out, b)
    return out


@pytest.fixture(scope="module")
def exe():
    return glia.compile(kept, X, target="trn2")


def test_a_smaller_memory(exe):
    small = exe.what_if(LITTLE)
    assert small.before == exe.time() and small.as_it_is is None and "SBUF" in small.text
    alone = glia.compile(kept, X, target="trn2,memory.sbuf_bytes=0.5x")
    assert small.compiled == alone.time() > small.before  # it spills


def test_a_larger_memory_changes_nothing_that_fits(exe):
    large = exe.what_if(PLENTY)
    assert large.before == large.as_it_is == large.compiled and large.text.count("as before") == 2


def test_costs(exe):
    fast = exe.what_if("clock.vector=4x")
    assert fast.as_it_is == exe.profile().what_if("clock.vector=4x") < fast.before
    assert fast.compiled <= fast.as_it_is


def test_what_cannot_be_compiled(exe):
    none = exe.what_if({"memory.sbuf_bytes": 64})
    assert none.as_it_is is None and none.compiled is None and "cannot be: " in none.text
    with pytest.raises(glia.Error, match="TARGET-KEY"):
        exe.what_if("memory.sbuf=1")


def test_kernels_that_name_their_target():
    exe = glia.compile(nki.jit(kept.func, target="trn2"), X, target="trn2")
    assert exe.what_if(LITTLE).compiled > exe.time()


def test_graphs():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    exe = glia.jit(lambda x, n: jnp.tanh(x @ x.T) * n, target="trn2", static_argnums=1).compile(X[:, :256], 3)
    slow = exe.what_if({"clock.tensor": "0.01x"})
    assert slow.as_it_is > slow.before and slow.compiled > slow.before
    with_kernel = glia.jit(lambda x: kept(x) + 1, target="trn2").compile(X)
    assert with_kernel.what_if(LITTLE).compiled > with_kernel.time()


def test_a_changed_target_is_one_everywhere(tmp_path, monkeypatch):
    reference = "trn2,clock.vector=0.125x"
    slow = glia.compile(kept, X, target=reference)
    assert slow.time() > glia.compile(kept, X, target="trn2").time()
    assert "trn2 (with clock.vector=0.125x)" in repr(slow.program)
    (tmp_path / "a,b.toml").write_text(json.dumps({}))  # a comma in a path is no change
    with pytest.raises(glia.Error, match="TARGET-FILE"):
        glia.compile(kept, X, target=tmp_path / "a,b.toml")
    with pytest.raises(glia.Error, match=r"TARGET-UNKNOWN.*`trn9`"):
        glia.compile(kept, X, target="trn9,clock.vector=2x")


SCRIPT = """import nki, nki.language as nl, numpy as np

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out

double(np.ones((128, 512), np.float32))
"""


def test_the_command(tmp_path):
    (tmp_path / "k.py").write_text(SCRIPT)
    run = lambda *words: python("-m", "glia", "profile", *words, str(tmp_path / "k.py"))  # noqa: E731
    said = run("--what-if", "dma.fixed_latency=0").stdout.splitlines()
    assert said[0] == "kernel double, call 1, trn2"
    assert said[1].startswith("as it is ") and said[1].endswith(" faster")
    assert said[2].startswith("compiled for it ") and said[2].endswith(" faster")
    entry = json.loads(run("--json", "--what-if", "dma.fixed_latency=0").stdout)
    assert entry["then_ns"] == entry["compiled_ns"] < entry["total_ns"]
    assert "dma.fixed_latency" in run("--sensitivity").stdout
    assert json.loads(run("--json", "--sensitivity").stdout)["sensitivities"][0]["key"]
    trace = tmp_path / "t.pftrace"
    assert f"trace: {trace}" in run("--trace", str(trace)).stdout and trace.stat().st_size > 500


GRAPH = """func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
"""


def test_the_command_for_files(tmp_path):
    graph, program = tmp_path / "g.mlir", tmp_path / "g.glia"
    graph.write_text(GRAPH)
    run = lambda *words: subprocess.run([path(), *map(str, words)], capture_output=True, text=True)  # noqa: E731
    assert run("compile", graph, "-o", program).returncode == 0
    assert run("profile", graph).stdout.splitlines()[0] == run("profile", program).stdout.splitlines()[0]
    change = ("--what-if", "memory.sbuf_bytes=0.01x")
    whole, compiled = run("profile", graph, *change).stdout.splitlines()
    assert whole.startswith("as it is         cannot run there: ") and compiled.startswith("compiled for it  ")
    again = json.loads(run("profile", graph, *change, "--json").stdout)
    assert run("compile", graph, "--target", "trn2,memory.sbuf_bytes=0.01x", "-o", program).returncode == 0
    assert again["compiled_ns"] == json.loads(run("profile", program, "--json").stdout)["total_ns"]
    assert "profile its graph or kernel to see" in run("profile", program, "--what-if", "clock.vector=2x").stdout
    assert "error[TARGET-KEY]" in run("profile", graph, "--what-if", "clock.vectr=2x").stderr
