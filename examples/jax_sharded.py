"""Trains a small transformer on eight devices: the batch divided over four (data parallel), heads and hidden layers over two (tensor
parallel). A JAX program that only says where arrays lie; the devices are glia's. The same steps run on the CPU, on one device, beside it.

python examples/jax_sharded.py
"""

import functools
import sys

import glia
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

VOCABULARY, WIDTH, HEADS, HEAD, HIDDEN, LENGTH, LAYERS, BATCH = 32, 64, 4, 16, 256, 16, 2, 16
STEPS = 12

# How each parameter of a layer is divided: what makes heads and hidden units by columns, what uses them by rows.
LAYER = {
    "qkv": P(None, None, "tensor", None),
    "out": P("tensor", None, None),
    "up": P(None, "tensor"),
    "down": P("tensor", None),
    "norm": P(),
}
PLACES = {"embedding": P(), "layers": [LAYER] * LAYERS}
BATCHES = P("data", None)


def begin(random):
    def draw(*shape, scale):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    def layer():
        return {
            "qkv": draw(WIDTH, 3, HEADS, HEAD, scale=WIDTH**-0.5),
            "out": draw(HEADS, HEAD, WIDTH, scale=(HEADS * HEAD) ** -0.5),
            "up": draw(WIDTH, HIDDEN, scale=WIDTH**-0.5),
            "down": draw(HIDDEN, WIDTH, scale=HIDDEN**-0.5),
            "norm": np.ones((2, WIDTH), np.float32),
        }

    return {"embedding": draw(VOCABULARY, WIDTH, scale=0.3), "layers": [layer() for _ in range(LAYERS)]}


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight


def block(p, x):
    query, key, value = jnp.moveaxis(jnp.einsum("btw,wkhd->btkhd", norm(x, p["norm"][0]), p["qkv"]), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * HEAD**-0.5
    seen = np.tril(np.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e30), -1)
    x = x + jnp.einsum("bhqk,bkhd,hdw->bqw", weights, value, p["out"])
    return x + jax.nn.gelu(norm(x, p["norm"][1]) @ p["up"]) @ p["down"]


def loss(parameters, tokens):
    """Cross entropy of every token given those before it."""
    one_hot = jax.nn.one_hot(tokens, VOCABULARY)
    x = one_hot[:, :-1] @ parameters["embedding"]
    for p in parameters["layers"]:
        x = block(p, x)
    logits = x @ parameters["embedding"].T
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * one_hot[:, 1:], -1))


def step(parameters, speed, tokens):
    """One step of gradient descent with momentum."""
    value, gradient = jax.value_and_grad(loss)(parameters, tokens)
    speed = jax.tree.map(lambda s, g: 0.9 * s - 0.05 * g, speed, gradient)
    return jax.tree.map(jnp.add, parameters, speed), speed, value


def batch(random):
    """Sequences that count up by 1, 2 or 3."""
    first, by = random.integers(0, VOCABULARY, (BATCH, 1)), random.integers(1, 4, (BATCH, 1))
    return ((first + by * np.arange(LENGTH + 1)) % VOCABULARY).astype(np.int32)


def shardings(mesh):
    """(arguments, results) of a step."""
    place = functools.partial(jax.tree.map, lambda spec: NamedSharding(mesh, spec), is_leaf=lambda s: isinstance(s, P))
    held = place(PLACES)
    return (held, held, place(BATCHES)), (held, held, place(P()))


def sharded_step():
    """(the step on eight devices, shardings of its arguments)"""
    mesh = Mesh(np.array(glia.devices(8)).reshape(4, 2), ("data", "tensor"))
    given, made = shardings(mesh)
    return jax.jit(step, in_shardings=given, out_shardings=made), given


def arguments(random):
    """Parameters, their speed, and tokens."""
    start = begin(random)
    return start, jax.tree.map(np.zeros_like, start), batch(random)


def main():
    sharded, given = sharded_step()
    alone = jax.jit(step)
    random = np.random.default_rng(0)
    start = arguments(random)[:2]
    state = {"glia": jax.device_put(start, given[:2]), "cpu": start}
    for i in range(STEPS):
        tokens = batch(random)
        *state["glia"], there = sharded(*state["glia"], jax.device_put(tokens, given[2]))
        with jax.default_device(jax.devices("cpu")[0]):
            *state["cpu"], here = alone(*state["cpu"], tokens)
        if i % 4 == 0 or i == STEPS - 1:
            print(f"step {i:3}  loss {float(there):.5f} on 8 devices, {float(here):.5f} on the CPU")
    apart = max(
        np.abs(np.asarray(a) - np.asarray(b)).max()
        for a, b in zip(jax.tree.leaves(state["glia"][0]), jax.tree.leaves(state["cpu"][0]), strict=True)
    )
    print(f"parameters differ by at most {apart:.0e}")
    up = state["glia"][0]["layers"][0]["up"]
    print(f"`up` is {up.shape}, {up.addressable_shards[0].data.shape} on each device")
    return apart < 1e-4


if __name__ == "__main__":
    sys.exit(not main())
