"""Arrays for run-numpy.test, column-major and compressed ones among them."""

import sys

import ml_dtypes
import numpy as np

if sys.argv[1] == "save":
    rng = np.random.default_rng(1)
    values = rng.standard_normal((128, 8))
    np.savez_compressed(
        sys.argv[2],
        a=values.astype(ml_dtypes.bfloat16),
        b=values.astype(ml_dtypes.float8_e5m2),
        c=np.asfortranarray(rng.integers(-1000, 1000, (128, 8), dtype=np.int32)),
    )
else:
    x, y = np.load(sys.argv[2]), np.load(sys.argv[3])
    for before, after in zip("abc", "def"):
        assert x[before].shape == y[after].shape
        assert np.ascontiguousarray(x[before]).tobytes() == y[after].tobytes(), before
    assert y["f"].dtype == np.int32
