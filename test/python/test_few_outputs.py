"""Convolutions of few channels and few outputs in fp32: two columns of taps share a product."""

import pytest

pytest.importorskip("jax")

import glia
import jax
import numpy as np
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")
# batch, channels, outputs, kernel, image, padding, dilation of the rows
CASES = (
    (1, 64, 64, (3, 3), (13, 40), ((1, 1), (1, 1)), 1),
    (2, 33, 20, (3, 3), (9, 11), ((0, 2), (2, 1)), 1),
    (1, 40, 50, (5, 4), (16, 530), ((2, 2), (1, 2)), 1),
    (3, 17, 1, (3, 7), (8, 9), ((1, 1), (3, 3)), 2),
    (2, 64, 32, (2, 5), (7, 600), ((0, 0), (0, 0)), 1),
    (1, 48, 64, (4, 2), (40, 5), ((1, 2), (1, 0)), 1),
)


def convolution(padding, dilation):
    return lambda x, w: lax.conv_general_dilated(x, w, (1, 1), padding, rhs_dilation=(dilation, 1))


def arguments(batch, channels, outputs, kernel, image):
    random = np.random.default_rng(channels)
    x = random.standard_normal((batch, channels, *image)).astype(np.float32)
    return x, (random.standard_normal((outputs, channels, *kernel)) / channels).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers(case, target):
    *shape, padding, dilation = case
    function, args = convolution(padding, dilation), arguments(*shape)
    exe = glia.jit(function, target=target).compile(*args)
    assert exe.verify().ok, str(exe.verify())
    with jax.enable_x64(True):
        want = np.asarray(function(*(a.astype(np.float64) for a in args)))
    assert np.abs(np.asarray(exe.run(*args)) - want).max() < 3e-6 * np.abs(want).max()


@pytest.mark.parametrize("target", TARGETS)
def test_infinities_stay_where_they_belong(target):
    """An output is finite unless its own window has an infinity: no tap's weight stands beside zeros."""
    function, args = convolution(((1, 1), (1, 1)), 1), arguments(1, 64, 64, (3, 3), (12, 40))
    args[0][0, 5, 4, 17] = np.inf
    args[0][0, 63, 11, 39] = np.nan
    got = np.asarray(glia.jit(function, target=target)(*args))
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(np.asarray(function(*args))))


@pytest.mark.parametrize("target", TARGETS)
def test_two_columns_share_a_product(target):
    function, args = convolution(((1, 1), (1, 1)), 1), arguments(1, 64, 64, (3, 3), (64, 512))
    exe = glia.jit(function, target=target).compile(*args)
    assert exe.time() < 2.3 * exe.bound()["total"]
