"""The layers of the report, and ResNet-34 around them, in plain JAX: NCHW, batch normalisation in training mode."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# kernel, stride, padding, channels in and out, rows, columns; what the vendor's compiler did (seconds, or the error)
LAYERS = [
    (7, 2, 3, 3, 64, 256, 1024, "NCC_ITEN404"),
    (7, 2, 3, 3, 64, 64, 64, "NCC_ITEN404"),
    (7, 2, 3, 1, 64, 256, 256, "NCC_ITEN404"),
    (3, 1, 1, 64, 64, 128, 512, "62.4 s"),
    (3, 1, 1, 256, 256, 16, 64, "30.6 s"),
    (3, 1, 1, 512, 512, 8, 32, "4.6 s"),
    (3, 2, 1, 128, 256, 32, 128, "23.5 s"),
    (1, 1, 0, 64, 128, 8, 32, "1.8 s"),
]
BLOCKS = ((64, 3), (128, 4), (256, 6), (512, 3))  # channels and blocks of the four layers
CLASSES = 1000


def convolution(x, w, stride, padding):
    return lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2)


def normalised(x, scale, shift):
    mean = jnp.mean(x, (0, 2, 3), keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, (0, 2, 3), keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5) * scale[:, None, None] + shift[:, None, None]


def unit(x, p, stride, padding):
    return normalised(convolution(x, p["weight"], stride, padding), p["scale"], p["shift"])


def layer(kernel, stride, padding):
    """The sum of a layer's outputs, and its gradients for input, weight, scale and shift."""

    def total(x, p):
        return jnp.sum(jax.nn.relu(unit(x, p, stride, padding)))

    return jax.value_and_grad(total, (0, 1))


def block(x, p, stride):
    y = jax.nn.relu(unit(x, p["first"], stride, 1))
    y = unit(y, p["second"], 1, 1)
    return jax.nn.relu(y + (unit(x, p["skip"], stride, 0) if "skip" in p else x))


def layers(x, parameters):
    for i, blocks in enumerate(parameters):
        for j, p in enumerate(blocks):
            x = block(x, p, 2 if i > 0 and j == 0 else 1)
    return x


def layers_step(x, parameters):
    """Layers 1 to 4 without the stem: the sum of the outputs and all gradients."""
    return jax.value_and_grad(lambda x, p: jnp.sum(layers(x, p)), (0, 1))(x, parameters)


def loss(parameters, x, label):
    y = jax.nn.relu(unit(x, parameters["stem"], 2, 3))
    y = jnp.mean(layers(y, parameters["layers"]), (2, 3))
    logits = y @ parameters["linear"] + parameters["bias"]
    wanted = jax.nn.one_hot(label, logits.shape[1], dtype=logits.dtype)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * wanted, axis=1))


def descended(parameters, gradients):
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)


def step(parameters, x, label):
    """One step of stochastic gradient descent on all parameters."""
    value, gradients = jax.value_and_grad(loss)(parameters, x, label)
    return value, descended(parameters, gradients)


# ---- random parameters -------------------------------------------------------------------------------------------------------------


def unit_parameters(random, kernel, channels, outputs):
    size = (2 / (channels * kernel * kernel)) ** 0.5
    return {
        "weight": (random.standard_normal((outputs, channels, kernel, kernel)) * size).astype(np.float32),
        "scale": (1 + 0.1 * random.standard_normal(outputs)).astype(np.float32),
        "shift": (0.1 * random.standard_normal(outputs)).astype(np.float32),
    }


def layers_parameters(random, blocks=BLOCKS, channels=64):
    out = []
    for i, (outputs, count) in enumerate(blocks):
        out.append([])
        for j in range(count):
            p = {
                "first": unit_parameters(random, 3, channels, outputs),
                "second": unit_parameters(random, 3, outputs, outputs),
            }
            if i > 0 and j == 0:
                p["skip"] = unit_parameters(random, 1, channels, outputs)
            out[-1].append(p)
            channels = outputs
    return out


def parameters(random, blocks=BLOCKS, channels=64, classes=CLASSES):
    width = blocks[-1][0]
    return {
        "stem": unit_parameters(random, 7, 3, channels),
        "layers": layers_parameters(random, blocks, channels),
        "linear": (random.standard_normal((width, classes)) / width**0.5).astype(np.float32),
        "bias": np.zeros(classes, np.float32),
    }
