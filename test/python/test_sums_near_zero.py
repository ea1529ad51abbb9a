"""What hangs on a sum that ends near zero: the program adds in another order than the reference, which moves such a sum by a share of the
terms, not of itself. `check` knows that, and does not call it wrong."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from jax.scipy.special import digamma


@pytest.mark.parametrize(
    "f,rows,terms,columns,scale",
    [(jnp.frexp, 64, 256, 64, 1.0), (digamma, 128, 64, 256, 0.03)],  # exponents; poles
    ids=["frexp", "digamma"],
)
@pytest.mark.parametrize("seed", [0, 4])
def test_what_hangs_on_a_sum_near_zero_is_not_called_wrong(f, rows, terms, columns, scale, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rows, terms), np.float32)
    b = (scale * rng.standard_normal((terms, columns))).astype(np.float32)
    checked = glia.jit(lambda a, b: f(a @ b), target="trn2").compile(a, b).check(a, b)
    assert checked.ok, str(checked)
