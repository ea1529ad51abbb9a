"""Arrays for run-numpy.test: ml_dtypes, column-major and compressed ones. NumPy cannot load the "<f1" it saves, so the
check makes them again instead of reading them."""

import sys

import ml_dtypes
import numpy as np

rng = np.random.default_rng(1)
values = rng.standard_normal((128, 8))
arrays = {
    "a": values.astype(ml_dtypes.bfloat16),
    "b": values.astype(ml_dtypes.float8_e5m2),
    "c": np.asfortranarray(rng.integers(-1000, 1000, (128, 8), dtype=np.int32)),
}

if sys.argv[1] == "save":
    np.savez_compressed(sys.argv[2], **arrays)
else:
    results = np.load(sys.argv[2])
    for before, after in zip("abc", "def"):
        want, got = arrays[before], results[after]
        assert got.shape == want.shape and got.dtype.itemsize == want.dtype.itemsize, after
        assert np.array_equal(got.view(want.dtype), want), after
