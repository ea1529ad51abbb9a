"""The debugger of graphs against NumPy: what values hold in each round of a loop, forwards and backwards, and JAX functions by their lines."""

import re
import subprocess
import sys

import glia
import numpy as np
import pytest
from glia.command import path

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)


def squared(y):
    return y * y


def function(x):
    total = x.sum(axis=0)

    def body(c):
        i, y = c
        y = jnp.tanh(squared(y) + total)
        return i + 1, y

    return jax.lax.while_loop(lambda c: c[0] < 5, body, (0, x))[1].astype(jnp.bfloat16)


def rounds() -> list[np.ndarray]:
    """What y is before each round, and at the end."""
    out = [X]
    for _ in range(5):
        out.append(np.tanh(out[-1] * out[-1] + X.sum(axis=0)).astype(np.float32))
    return out


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / "g.mlir").write_text(jax.jit(function).lower(X).as_text())
    np.save(folder / "x.npy", X)
    return folder


def session(folder, *commands: str) -> list[str]:
    """What each command prints."""
    words = [path(), "debug", "g.mlir", "--input", "0=x.npy"]
    r = subprocess.run(words, cwd=folder, input="\n".join(commands), capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout + r.stderr
    parts = re.split(r"^\(glia operations\) .*\n", r.stdout, flags=re.M)
    assert len(parts) == len(commands) + 1
    return parts[1:]


def elements(text: str) -> list[float]:
    return [float(x) for line in text.splitlines()[1:] for x in line.split()]


def test_values_of_each_round(graph):
    commands = ["break tanh"]
    for _ in range(5):
        commands += ["continue", "print %iterArg_1[1:4:2, 0:3]", "print mean(%iterArg_1)", "print iteration"]
    out = session(graph, *commands)[1:]
    for n, y in enumerate(rounds()[:5]):
        stopped, printed, mean, iteration = out[4 * n : 4 * n + 4]
        assert f"(iteration {n}, step" in stopped
        np.testing.assert_allclose(elements(printed), y[1:4:2, 0:3].reshape(-1), rtol=1e-5)
        np.testing.assert_allclose(float(mean.split(": ")[1]), y.mean(dtype=np.float64), rtol=1e-5)
        assert iteration == f"iteration: {n}\n"


def test_the_way_back(graph):
    """From the end to the third round: the values there, and those that nobody uses any more."""
    out = session(graph, "break tanh if iteration == 2", "continue", "delete", "continue", "back", "print %arg0[0]")
    at = int(re.search(r"step (\d+)\)", out[1])[1])
    assert "the graph has ended" in out[3]
    np.testing.assert_allclose(elements(out[5]), X[0], rtol=1e-6)
    back = session(graph, "continue", f"back to {at}", "print %iterArg_1[0]", "step", "print %iterArg_1[0]")
    assert back[1] == out[1].removeprefix("breakpoint 1\n")
    for printed in (back[2], back[4]):
        np.testing.assert_allclose(elements(printed), rounds()[2][0], rtol=1e-5)


def test_conditions_of_values(graph):
    """It stops in the round in which the mean is largest."""
    means = [y.mean(dtype=np.float64) for y in rounds()[:5]]
    bound = sum(sorted(means)[-2:]) / 2
    out = session(graph, f"break tanh if mean(%iterArg_1) > {bound:.6f} and iteration > 0", "continue")
    assert f"(iteration {int(np.argmax(means))}, step" in out[1]


def test_results_and_who_made_them(graph):
    out = session(graph, "break %2", "continue", "print %2", "who wrote %2")
    made = np.asarray(elements(out[2]))
    np.testing.assert_allclose(made, rounds()[-1].reshape(-1), rtol=1e-2)  # bfloat16
    assert "stablehlo.convert %1#2" in out[3] and "%1#2: tensor<4x6xf32>" in out[3]


def test_lines_of_a_jax_function(tmp_path, capfd):
    line = squared.__code__.co_firstlineno + 1
    script = tmp_path / "commands"
    script.write_text(f"break {__file__}:{line} if iteration == 1\ncontinue\nprint x[0, 0]\nquit\n")
    assert glia.jit(function).debug(X, script=script) == 0
    out = capfd.readouterr().out
    assert f"test_graph_debug.py:{line}: return y * y\n" in out and "(iteration 1, step" in out
    assert f"x[0, 0]: tensor<f32>\n  {X[0, 0]:.7g}\n" in out
    script.write_text("frobnicate\n")
    assert glia.jit(function).debug(X, script=script) == 1


def test_a_script_with_a_jax_function(tmp_path):
    """It stops in the first call, and goes on with the script."""
    (tmp_path / "s.py").write_text(
        "import glia, jax.numpy as jnp, numpy as np\n\n@glia.jit\ndef f(x):\n    y = jnp.exp(x)\n    return y + 1\n\n"
        "print(f(np.zeros(4, np.float32)))\nprint(f(np.ones(4, np.float32)))\n"
    )
    (tmp_path / "commands").write_text("step\nprint %0\nquit\n")
    words = [sys.executable, "-m", "glia", "debug", "-x", "commands", "s.py"]
    r = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    assert "s.py:5: y = jnp.exp(x)\n  %0 = stablehlo.exponential" in r.stdout
    assert r.stdout.endswith("quit\n[2. 2. 2. 2.]\n[3.7182817 3.7182817 3.7182817 3.7182817]\n"), r.stdout
    assert "(glia operations) print %0\n%0: tensor<4xf32> min 1 max 1 mean 1\n  1 1 1 1\n" in r.stdout
