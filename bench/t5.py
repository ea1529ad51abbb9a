"""A training step with the structure of T5 (small), as StableHLO in bytes: an encoder and a decoder of six layers, biases by relative position, root mean
squares, one step of Adam. Only its size counts: nothing is computed."""

import jax
import jax.numpy as jnp
from jaxlib.mlir.dialects import stablehlo

WIDTH, HIDDEN, HEADS, LAYERS, WORDS, BUCKETS = 512, 2048, 8, 6, 32128, 32
LENGTH, BATCH = 128, 4


def shapes():
    def attention():
        return {name: (WIDTH, WIDTH) for name in "qkvo"} | {"scale": (WIDTH,)}

    def layer(kinds):
        return {kind: attention() for kind in kinds} | {
            "up": (WIDTH, HIDDEN),
            "down": (HIDDEN, WIDTH),
            "scale": (WIDTH,),
        }

    made = {
        "words": (WORDS, WIDTH),
        "encoder": [layer(("self",)) for _ in range(LAYERS)],
        "decoder": [layer(("self", "cross")) for _ in range(LAYERS)],
        "bias": {"encoder": (BUCKETS, HEADS), "decoder": (BUCKETS, HEADS)},
        "last": {"encoder": (WIDTH,), "decoder": (WIDTH,)},
    }
    return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, jnp.float32), made, is_leaf=lambda x: isinstance(x, tuple))


def normalise(scale, x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def biases(table, causal):
    distance = jnp.arange(LENGTH)[None] - jnp.arange(LENGTH)[:, None]
    reach = jnp.clip(jnp.abs(distance), 0, BUCKETS // 2 - 1) + jnp.where(distance > 0, BUCKETS // 2, 0)
    bias = table[reach].transpose(2, 0, 1)
    return jnp.where(distance > 0, -1e9, bias) if causal else bias


def attend(p, x, memory, bias):
    def heads(y):
        return y.reshape(BATCH, LENGTH, HEADS, -1).transpose(0, 2, 1, 3)

    y = normalise(p["scale"], x)
    source = y if memory is None else memory
    scores = jnp.einsum("bhqd,bhkd->bhqk", heads(y @ p["q"]), heads(source @ p["k"])) + bias
    made = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), heads(source @ p["v"]))
    return x + made.transpose(0, 2, 1, 3).reshape(x.shape) @ p["o"]


def stack(layers, x, memory, bias):
    for p in layers:
        x = attend(p["self"], x, None, bias)
        if memory is not None:
            x = attend(p["cross"], x, memory, 0.0)
        x = x + jax.nn.relu(normalise(p["scale"], x) @ p["up"]) @ p["down"]
    return x


def loss(p, tokens, labels):
    source = stack(p["encoder"], p["words"][tokens], None, biases(p["bias"]["encoder"], False))
    memory = normalise(p["last"]["encoder"], source)
    shifted = jnp.pad(labels[:, :-1], ((0, 0), (1, 0)))
    made = stack(p["decoder"], p["words"][shifted], memory, biases(p["bias"]["decoder"], True))
    logits = normalise(p["last"]["decoder"], made) * WIDTH**-0.5 @ p["words"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def step(p, first, second, tokens, labels):
    value, slopes = jax.value_and_grad(loss)(p, tokens, labels)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
    return value, jax.tree.map(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, first, second), first, second


def artifact() -> bytes:
    p, words = shapes(), jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32)
    text = jax.jit(step).lower(p, p, p, words, words).as_text()
    return stablehlo.serialize_portable_artifact_str(text, stablehlo.get_current_version())
