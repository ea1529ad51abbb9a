"""Layers of convolutions and their gradients: groups are done beside each other, and the numbers stay right."""

import pytest

pytest.importorskip("jax")

import glia
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TARGETS = ("trn1", "trn2", "trn3")


def unit(x, w, scale, stride):
    y = lax.conv_general_dilated(x, w, (stride, stride), [(1, 1)] * 2)
    centred = y - jnp.mean(y, (0, 2, 3), keepdims=True)
    return centred * lax.rsqrt(jnp.mean(centred * centred, (0, 2, 3), keepdims=True) + 1e-5) * scale[:, None, None]


def step(stride):
    """The new weights of three layers, the second with a stride and the third around a residual."""

    def total(p, x):
        y = jax.nn.relu(unit(x, *p[0], 1))
        y = jax.nn.relu(unit(y, *p[1], stride))
        return jnp.sum(jnp.tanh(y + unit(y, *p[2], 1)))

    def new(p, x):
        value, gradients = jax.value_and_grad(total)(p, x)
        return value, jax.tree.map(lambda a, g: a - 0.01 * g, p, gradients)

    return new


def arguments(channels, rows, columns, batch, dtype=np.float32):
    random = np.random.default_rng(rows)
    layer = lambda c, o: (  # noqa: E731
        (random.standard_normal((o, c, 3, 3)) / (3 * c**0.5)).astype(dtype),
        (1 + 0.1 * random.standard_normal(o)).astype(dtype),
    )
    p = [layer(channels[0], channels[1]), layer(channels[1], channels[2]), layer(channels[2], channels[2])]
    return p, random.standard_normal((batch, channels[0], rows, columns)).astype(dtype)


def in_double(function, args):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(function)(*jax.tree.map(lambda a: a.astype(np.float64), args)))


def worst(got, want):
    """The largest error of a result, in parts of its largest element."""
    pairs = zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True)
    return max(np.abs(np.asarray(a, np.float64) - b).max() / np.abs(b).max() for a, b in pairs)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("channels", "rows", "columns", "batch", "stride"),
    (((24, 40, 72), 20, 28, 2, 1), ((64, 64, 64), 32, 40, 1, 2), ((96, 130, 150), 17, 23, 1, 2)),
)
def test_numbers(channels, rows, columns, batch, stride, target):
    args = arguments(channels, rows, columns, batch)
    exe = glia.jit(step(stride), target=target).compile(*args)
    assert exe.verify().ok, str(exe.verify())
    assert worst(exe.run(*args), in_double(step(stride), args)) < 2e-5


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_of_weights_beside_normalisations(target):
    """Vector normalises while the Tensor engine multiplies: less time than one group after the other."""
    args = arguments((128, 128, 128), 64, 128, 1)
    apart = glia.jit(step(1), target=target, effort=0).compile(*args)
    exe = glia.jit(step(1), target=target).compile(*args)
    assert exe.time() < 0.88 * apart.time()
    assert exe.verify().ok
