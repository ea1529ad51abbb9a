"""Convolutions of integers, which wrap, against JAX on the host."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(glia._glia, "compile_graph"):
    pytest.skip("glia was built without the compiler", allow_module_level=True)
from jax import lax

LAYOUTS = {1: ("NCH", "OIH", "NHC"), 2: ("NCHW", "HWIO", "NHWC"), 3: ("NCDHW", "OIDHW", "CNDHW")}
# Type, type of the result, groups of channels, groups of the batch; then strides, padding, dilation of the input and of the kernel.
CASES = {
    "bytes into words": (np.int8, np.int32, 1, 1, (2, 1), ((1, 1), (0, 2)), (1, 1), (1, 1)),
    "bytes that wrap": (np.int8, None, 2, 1, (1, 1), ((1, 1), (1, 1)), (2, 1), (1, 2)),
    "unsigned bytes": (np.uint8, np.int32, 1, 1, (1, 2), ((0, 0), (2, 2)), (1, 2), (2, 1)),
    "16 bits": (np.int16, None, 1, 2, (1, 1), ((-1, 2), (0, 0)), (1, 1), (1, 1)),
    "words in groups": (np.int32, None, 3, 1, (1,), ((2, 1),), (2,), (1,)),
    "unsigned words, three dimensions": (
        np.uint32,
        None,
        1,
        1,
        (1, 2, 1),
        ((1, 0), (0, 1), (1, 1)),
        (1, 1, 2),
        (1, 1, 1),
    ),
}


@pytest.mark.parametrize("target", ("trn1", "trn2", "trn3"))
@pytest.mark.parametrize("name", CASES)
def test_integers(name, target):
    dtype, result, features, batches, strides, padding, spread, dilation = CASES[name]
    rng = np.random.default_rng(len(name))
    bounds = np.iinfo(dtype)
    x = rng.integers(bounds.min, bounds.max, (2 * batches, 2 * features, *(7, 6, 5)[: len(strides)]), dtype)
    spatial = (3, 2, 2)[: len(strides)]
    outputs, inputs = 2 * features * batches, 2
    w = rng.integers(bounds.min, bounds.max, (outputs, inputs, *spatial), dtype)
    if LAYOUTS[len(strides)][1] == "HWIO":
        w = w.transpose(2, 3, 1, 0)

    def convolve(x, w):
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            padding,
            spread,
            dilation,
            LAYOUTS[len(strides)],
            features,
            batches,
            preferred_element_type=result,
        )

    got, want = np.asarray(glia.jit(convolve, target=target)(x, w)), np.asarray(jax.jit(convolve)(x, w))
    assert got.dtype == want.dtype and want.any()
    np.testing.assert_array_equal(got, want)
