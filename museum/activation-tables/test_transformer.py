"""A training step of a transformer of any depth is one program with few activation tables, and as right as JAX on the CPU."""

import pytest

pytest.importorskip("jax")

import glia
import jax
import numpy as np
import transformer


def check(depth, target):
    exe = transformer.compiled(depth, target)
    assert exe.verify().ok, str(exe.verify())
    tables, loads = transformer.tables(exe)
    assert tables <= transformer.MOST_TABLES
    switches = 2 * depth + (target == "trn1")  # there, reciprocals of the backward pass are worth a table
    assert loads <= switches, "softmax and GELU switch once each in a block, forward; backward needs neither"
    results = exe.run(*transformer.arguments(depth))
    assert all(np.isfinite(np.asarray(x, np.float32)).all() for x in jax.tree.leaves(results))
    assert transformer.error(depth, results) <= transformer.CLOSE
    return exe


@pytest.mark.parametrize("target", transformer.TARGETS)
def test_two_blocks(target):
    check(2, target)


def test_twenty_blocks_are_two_blocks_ten_times():
    """Equal blocks are equal kernels: depth adds calls, not kernels."""
    two, twenty = (
        glia.jit(transformer.step, target="trn2", effort=0).compile(*transformer.arguments(depth)) for depth in (2, 20)
    )
    assert twenty.kernels == two.kernels
    assert twenty.program.instructions < 11 * two.program.instructions


def test_runs_of_blocks_are_few_kernels():
    """Blocks beside each other are one kernel, and runs of them are equal."""
    twenty, forty = check(20, "trn2"), transformer.compiled(40, "trn2")
    assert twenty.kernels <= twenty.calls <= 8
    assert forty.kernels <= 8
    assert forty.time() < 2.1 * twenty.time()


def test_a_wrong_gradient_is_seen():
    """The measure of error tells a missing term: the gradient of one bias without a tenth of it."""
    results = transformer.compiled(2, "trn2").run(*transformer.arguments(2))
    value, gradients = results
    bias = gradients["blocks"][0]["up"]["bias"]
    gradients["blocks"][0]["up"]["bias"] = (np.asarray(bias, np.float32) * 0.9).astype(bias.dtype)
    assert transformer.error(2, (value, gradients)) > transformer.CLOSE
