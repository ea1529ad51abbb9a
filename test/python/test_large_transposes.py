"""Transposes of tensors that do not fit on chip, and whose pieces lie in thousands of runs each."""

import itertools

import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import numpy as np


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:], ids=str)
@pytest.mark.parametrize("shape,target", [((67, 824, 338), "trn3"), ((257, 64, 895), "trn2")], ids=["trn3", "trn2"])
def test_every_order(shape, target, order):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape).view(np.float32)
    got = glia.jit(lambda x: jnp.transpose(x, order), target=target)(x)
    np.testing.assert_array_equal(np.asarray(got).view(np.int32), x.transpose(order).view(np.int32))
