"""Trains a small network to tell two spirals apart. An ordinary JAX program: nothing in it knows of glia.

JAX_PLATFORMS=glia GLIA_TARGET=trn2 python examples/jax_train.py
"""

import jax
import jax.numpy as jnp


def spirals(n):
    t = jnp.linspace(0.5, 3.0, n)
    one = jnp.stack([t * jnp.cos(3 * t), t * jnp.sin(3 * t)], 1) / 3
    return jnp.concatenate([one, -one]), jnp.concatenate([jnp.zeros(n), jnp.ones(n)])


def begin(key, widths=(2, 64, 64, 1)):
    keys = jax.random.split(key, len(widths))
    return [
        (jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b))
        for k, a, b in zip(keys, widths, widths[1:], strict=False)
    ]


def logits(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = layers[-1]
    return (x @ w + b)[:, 0]


def loss(layers, x, y):
    z = logits(layers, x)
    return jnp.mean(jnp.logaddexp(0.0, z) - y * z)


@jax.jit
def step(layers, speed, x, y):
    """One step of gradient descent with momentum."""
    value, gradient = jax.value_and_grad(loss)(layers, x, y)
    speed = jax.tree.map(lambda s, g: 0.9 * s - 0.1 * g, speed, gradient)
    return jax.tree.map(jnp.add, layers, speed), speed, value


def main(steps=60):
    x, y = spirals(64)
    layers = begin(jax.random.key(0))
    speed = jax.tree.map(jnp.zeros_like, layers)
    for i in range(steps):
        layers, speed, value = step(layers, speed, x, y)
        if i % 20 == 0:
            print(f"step {i:3}  loss {value:.5f}")
    right = jnp.mean((logits(layers, x) > 0) == (y > 0.5))
    print(f"step {steps:3}  loss {loss(layers, x, y):.5f}  right {right:.3f}  on {x.devices()}")


if __name__ == "__main__":
    main()
