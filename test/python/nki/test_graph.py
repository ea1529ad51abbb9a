"""glia.compile: what a function of kernels records before it is linked."""

import glia
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
from glia.nki import graph
from small_kernels import add, double

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


@nki.jit
def clear(x):
    t = nl.zeros((128, 8), nl.float32)
    nisa.dma_copy(dst=x, src=t)
    return x


@pytest.fixture
def record(monkeypatch):
    """Runs a function as glia.compile does and returns the graph, the results and how many kernels were compiled."""
    seen = {}
    monkeypatch.setattr(graph, "object_of", lambda traced: seen.setdefault(traced.kernel.fingerprint(), traced.name))

    class Stop(Exception):
        pass

    def call(function, *args, **kwargs):
        seen.clear()
        found = []

        def link(self):
            found.append(self)
            raise Stop

        monkeypatch.setattr(graph.Graph, "link", link)
        with pytest.raises(Stop):
            glia.compile(function, *args, **kwargs)
        return found[0], len(seen)

    return call


def binds(g):
    return [{name: tensor for name, tensor, _ in bindings} for _, _, bindings in g.calls]


def test_results_of_one_kernel_are_arguments_of_another(record):
    g, compiled = record(lambda a, b: add(double(a), double(double(b))), X, X)
    assert [label for _, label, _ in g.calls] == ["double", "double", "double", "add"] and compiled == 2
    c = binds(g)
    assert c[0]["x"] == "a" and c[1]["x"] == "b" and c[2]["x"] == c[1]["out"]
    assert (c[3]["x"], c[3]["y"]) == (c[0]["out"], c[2]["out"])
    kinds = {name: t[0] for name, t in g.tensors.items()}
    assert kinds["a"] == kinds["b"] == "input" and kinds[c[3]["out"]] == "output" and kinds[c[0]["out"]] == "scratch"
    assert len(set(c[n]["out"] for n in range(4))) == 4


def test_updates_and_constants_and_shapes(record):
    weights = np.ones((128, 8), np.float32)

    def f(a):
        clear(a.reshape(128, 8))
        return add(a.reshape((128, 8)), weights), add(a.reshape(128, 8), weights)

    g, _ = record(f, X.reshape(8, 128))
    c = binds(g)
    assert c[0]["x"] == "a" and c[1]["x"] == c[2]["x"] == c[0]["x_out"] and c[1]["y"] == c[2]["y"]
    assert g.tensors[c[1]["y"]][0] == "constant" and g.tensors[c[1]["y"]][3] == weights.tobytes()
    assert g.tensors[c[0]["x_out"]][0] == "output"


def test_a_kernel_may_be_compiled_itself(record):
    g, compiled = record(double, X)
    assert len(g.calls) == compiled == 1 and g.target == "trn2"
    assert record(double, X, target="trn1")[0].target == "trn1"


BAD = {
    "GRAPH-NUMPY": lambda: glia.compile(lambda a: a + 1, X),
    "GRAPH-EMPTY": lambda: glia.compile(lambda a: a, X),
    "GRAPH-ARGUMENT": lambda: glia.compile(lambda a: a),
    "NKI-DTYPE": lambda: glia.compile(double, X.astype(np.float64)),
    "GRAPH-TARGET": lambda: glia.compile(nki.jit(double.func, target="trn1"), X, target="trn2"),
    "GRAPH-UPDATE": lambda: glia.compile(lambda a: add(clear(np.ones((128, 8), np.float32)), a), X),
    "NKI-SLICE": lambda: glia.compile(nki.jit(lambda x: x[0:999]), X),
}


@pytest.mark.parametrize("code", BAD)
def test_what_cannot_be_compiled(record, fails, code):
    found = fails(BAD[code])
    assert found[0].code == code and found[0].file == __file__
    assert graph.active() is None


def test_not_inside_of_another(record, fails):
    assert fails(lambda: glia.compile(lambda a: glia.compile(double, a), X))[0].code == "GRAPH-NESTED"
