"""Layers of the report, forward and backward, as right as JAX on the CPU; a whole network of small size; wrong gradients are seen."""

import pytest

pytest.importorskip("jax")

import conv_backward as case
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
    blocks = ((8, 1), (16, 2))
    parameters = {
        "stem": resnet.unit_parameters(random, 7, 3, 8),
        "layers": resnet.layers_parameters(random, blocks, 8),
    }

    def total(parameters, x):
        y = jax.nn.relu(resnet.unit(x, parameters["stem"], 2, 3))
        for i, layer in enumerate(parameters["layers"]):
            for j, p in enumerate(layer):
                y = resnet.block(y, p, 2 if i > 0 and j == 0 else 1)
        return jax.numpy.mean(y)

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
