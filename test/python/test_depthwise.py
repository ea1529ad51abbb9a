"""Depthwise convolutions and blocks of them, forward and gradients, against JAX on CPU; and how many instructions they need."""

import pytest

jax = pytest.importorskip("jax")

import glia
import jax.numpy as jnp
import numpy as np

LAYOUTS = {"first": ("NCHW", "OIHW", "NCHW"), "last": ("NHWC", "HWIO", "NHWC")}


def lying(layout, n, c, h, w):
    return (n, c, h, w) if layout == "first" else (n, h, w, c)


def kernel(layout, size, inputs, outputs):
    return (outputs, inputs, size, size) if layout == "first" else (size, size, inputs, outputs)


def convolution(x, w, layout, stride=1, groups=1):
    return jax.lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", feature_group_count=groups, dimension_numbers=LAYOUTS[layout]
    )


def compare(f, arguments, target):
    """Every result within a few roundings of its size."""
    exe = glia.jit(f, target=target).compile(*arguments)
    got = jax.tree.leaves(exe.run(*arguments))
    want = jax.tree.leaves(jax.jit(f)(*arguments))
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        assert np.linalg.norm(a - b) <= 2e-6 * np.linalg.norm(b)
    return exe


def block(layout, channels, wide, size, stride):
    """As in MobileNet and EfficientNet: out, each channel by itself, weighed, and back."""
    random = np.random.default_rng(channels)
    few = channels // 4 + 1

    def of(*shape):
        return np.asarray(random.standard_normal(shape) / np.sqrt(np.prod(shape[:-1])), np.float32)

    parameters = (
        of(*kernel(layout, 1, channels, wide)),
        of(*kernel(layout, size, 1, wide)),
        of(wide, few),
        of(few, wide),
        of(*kernel(layout, 1, wide, channels)),
    )
    axes, spread = ((2, 3), (slice(None), slice(None), None, None))
    if layout == "last":
        axes, spread = ((1, 2), (slice(None), None, None, slice(None)))

    def apply(p, x):
        y = jax.nn.silu(convolution(x, p[0], layout))
        y = jax.nn.silu(convolution(y, p[1], layout, stride, wide))
        scale = jax.nn.sigmoid(jax.nn.silu(y.mean(axes) @ p[2]) @ p[3])
        return convolution(y * scale[spread], p[4], layout)

    return apply, parameters, of


@pytest.mark.parametrize(
    "layout, size, stride, target", [("first", 3, 1, "trn1"), ("last", 5, 2, "trn2"), ("first", 3, 2, "trn3")]
)
def test_block(layout, size, stride, target):
    apply, parameters, of = block(layout, 16, 96, size, stride)
    x = of(*lying(layout, 2, 16, 10, 10))

    def step(p, x):
        y, back = jax.vjp(apply, p, x)
        return y, back(y)

    compare(step, (parameters, x), target)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_instructions(layout):
    """They are as many as taps and blocks of 128 channels, not as many as channels."""
    x = jax.ShapeDtypeStruct(lying(layout, 1, 256, 16, 16), jnp.float32)
    w = jax.ShapeDtypeStruct(kernel(layout, 3, 1, 256), jnp.float32)

    def forward(x, w):
        return convolution(x, w, layout, groups=256)

    def gradients(x, w, t):
        return jax.vjp(forward, x, w)[1](t)

    for f, arguments, most in ((forward, (x, w), 80), (gradients, (x, w, x), 200)):
        assert glia.jit(f, target="trn2").compile(*arguments).profile().instructions < most
