"""Layers of the report, forward and backward, as right as JAX on the CPU; a whole network of small size; wrong gradients are seen."""

import pytest

pytest.importorskip("jax")

import conv_backward as case
import data_parallel
import glia
import jax
import numpy as np
import resnet
from table import against_twin


@pytest.mark.parametrize("target", case.TARGETS)
@pytest.mark.parametrize("i", (7, 1))
def test_a_layer_of_the_report(i, target):
    row = case.measure(*case.case(i), target)
    assert row.verified
    assert row.error <= row.allowed
    assert row.instructions < 20_000


def small_network(random):
    """ResNet's kinds of blocks, few channels: a stem, two layers, the second with a stride and a skip of its own."""
    parameters = resnet.parameters(random, data_parallel.SMALL, 8, 10)

    def total(parameters, x):
        y = jax.nn.relu(resnet.unit(x, parameters["stem"], 2, 3))
        return jax.numpy.mean(resnet.layers(y, parameters["layers"]))

    del parameters["linear"], parameters["bias"]
    return jax.value_and_grad(total), (parameters, random.standard_normal((2, 3, 20, 24)).astype(np.float32))


@pytest.mark.parametrize("target", case.TARGETS)
def test_a_small_network(target):
    function, args = small_network(np.random.default_rng(5))
    exe = glia.jit(function, target=target).compile(*args)
    assert exe.verify().ok, str(exe.verify())
    error, allowed = against_twin(exe.run(*args), *case.on_host("small network", function, args))
    assert error <= allowed


def test_a_missing_tap_is_seen():
    """The measure of error tells a gradient that lacks one tap of the kernel."""
    name, function, args, _ = case.case(1)
    twin, want = case.on_host(name, function, args)
    value, (of_x, of_p) = twin
    less = np.array(of_p["weight"])
    less[:, :, 6, 0] = 0
    error, allowed = against_twin((value, (of_x, {**of_p, "weight": less})), twin, want)
    assert error > allowed


@pytest.mark.parametrize("topology", ("trn1.32xlarge", "trn2.48xlarge"))
def test_a_step_on_eight_ranks(topology):
    row = data_parallel.measure(data_parallel.small_case, topology)
    assert row.verified
    assert row.error <= row.allowed


def test_a_rank_that_is_left_out_is_seen():
    """The measure of error tells gradients of seven ranks from those of eight."""
    _, (parameters, x, label) = data_parallel.small_case()
    twin, want = data_parallel.on_host(data_parallel.small_case)
    less = data_parallel.on_one_device(parameters, x[:-2], label[:-2], data_parallel.RANKS - 1)
    error, allowed = against_twin(less, twin, want)
    assert error > allowed
