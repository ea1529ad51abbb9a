"""Training steps of transformers of any depth in bf16: forward, and backward to every parameter, as one program.

python museum/activation-tables/transformer.py
"""

import functools
import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu,glia")

import glia
import jax
import jax.numpy as jnp
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, row_of
from table import compiled as timed

SIDE, WIDTH, HEADS, HIDDEN, LENGTH = 16, 128, 2, 512, 64
TARGETS = ("trn2", "trn1", "trn3")
DEPTHS = (2, 20)
DEEP = (40, 200)  # left to `make bench`
MOST_TABLES = 8
FAILS = "NCC_INLA001: more than 8 activation tables"
CLOSE = 1.0  # error(): at most as far from f64 as is allowed


def linear(p, x):
    return x @ p["weight"] + p["bias"]


def normalise(p, x):
    centred = x - x.mean(-1, keepdims=True)
    spread = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["shift"]


def attend(p, x):
    batch, length, width = x.shape
    query, key, value = (linear(p[name], x).reshape(batch, length, HEADS, -1) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * (width // HEADS) ** -0.5
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), value)
    return linear(p["out"], mixed.reshape(batch, length, width))


def block(p, x):
    """Both halves share one normalisation."""
    x = x + attend(p, normalise(p["norm"], x))
    hidden = jax.nn.gelu(linear(p["up"], normalise(p["norm"], x)), approximate=True)
    return x + linear(p["down"], hidden)


def loss(parameters, x, target):
    x = linear(parameters["first"], x)
    for p in parameters["blocks"]:
        x = block(p, x)
    return jnp.mean(jnp.square(linear(parameters["last"], x) - target))


step = jax.value_and_grad(loss)


def arguments(depth, dtype=jnp.bfloat16, seed=1314):
    """Parameters, input and target, rounded to bf16, in `dtype`."""
    rng = np.random.default_rng(seed)

    def draw(*shape, scale=1.0, around=0.0):
        return (around + rng.standard_normal(shape) * scale).astype(jnp.bfloat16).astype(dtype)

    def affine(n, m):
        return {"weight": draw(n, m, scale=n**-0.5), "bias": draw(m, scale=0.02)}

    def layer():
        names = ("query", "key", "value", "out")
        return {
            **{name: affine(WIDTH, WIDTH) for name in names},
            "up": affine(WIDTH, HIDDEN),
            "down": affine(HIDDEN, WIDTH),
            "norm": {"scale": draw(WIDTH, scale=0.02, around=1.0), "shift": draw(WIDTH, scale=0.02)},
        }

    blocks = [layer() for _ in range(depth)]
    parameters = {"first": affine(SIDE, WIDTH), "blocks": blocks, "last": affine(WIDTH, SIDE)}
    return parameters, draw(1, LENGTH, SIDE), draw(1, LENGTH, SIDE)


def on_host(depth, dtype):
    """The step by JAX on the CPU, leaf by leaf; block by block, so that the host's compiler sees one block at any depth."""
    parameters, x, target = arguments(depth, dtype)
    one_block, ends = jax.jit(block), jax.jit(linear)
    x, to_first = jax.vjp(lambda p: ends(p, x), parameters["first"])
    back = []
    for p in parameters["blocks"]:
        x, pull = jax.vjp(one_block, p, x)
        back.append(pull)
    value, to_last = jax.vjp(jax.jit(lambda p, x: jnp.mean(jnp.square(linear(p, x) - target))), parameters["last"], x)
    last, x = to_last(jnp.ones_like(value))
    blocks = []
    for pull in reversed(back):
        gradient, x = pull(x)
        blocks.insert(0, gradient)
    return jax.tree.leaves((value, {"first": to_first(x)[0], "blocks": blocks, "last": last}))


@functools.cache
def references(depth):
    """(in bf16, in f64)"""
    in_bf16 = on_host(depth, jnp.bfloat16)
    with jax.enable_x64(True):
        return in_bf16, on_host(depth, np.float64)


def error(depth, results):
    """How far the results are from an evaluation in f64, as a share of what is allowed (against_twin), at worst."""
    worst, allowed = against_twin(jax.tree.leaves(results), *references(depth))
    return worst / allowed


def tables(exe):
    """(activation tables, loads of one) of a program."""
    names = [
        line.split("act_table_load")[1].split()[0]
        for line in exe.program.disassemble().splitlines()
        if "act_table_load" in line
    ]
    return len(set(names)), len(names)


def compiled(depth, target):
    return glia.jit(step, target=target).compile(*arguments(depth))


def rows(everything=False):
    """2 and 20 blocks for trn2, and 2 for the others; with everything also 20 there, and deep ones for trn2."""
    for depth in (*DEPTHS, *DEEP) if everything else DEPTHS:
        for target in TARGETS if depth == min(DEPTHS) or (everything and depth in DEPTHS) else TARGETS[:1]:
            exe, seconds = timed(lambda depth=depth, target=target: compiled(depth, target))
            results = jax.tree.leaves(exe.run(*arguments(depth)))
            worst, allowed = against_twin(results, *references(depth))
            vendor = "not reported" if target != "trn2" else "compiles" if depth == 2 else FAILS
            yield row_of(exe, f"{depth} blocks", seconds=seconds, error=worst, allowed=allowed, vendor=vendor)


if __name__ == "__main__":
    print(
        f"{'program':12} {'target':7} {'groups':>7} {'kernels':>8} {'instructions':>12} {'predicted':>12} {'tables':>7} {'loads':>6} {'error':>6}  verified"
    )
    for depth in DEPTHS:
        for target in TARGETS:
            exe = compiled(depth, target)
            worst, (used, loads) = error(depth, exe.run(*arguments(depth))), tables(exe)
            print(
                f"{depth:3} blocks   {target:7} {exe.groups:7} {exe.kernels:8} {exe.program.instructions:12} {exe.time() / 1000:9.2f} us"
                f" {used:7} {loads:6} {worst:6.2f}  {'yes' if exe.verify().ok else 'NO'}"
            )
