"""Predicted time of graphs against the least time that they need (`glia bound`). Deterministic: nothing runs.

python bench/least.py [NAME ...] [TARGET ...]        only rows whose name has one of these in it, on these targets
"""

import os
import sys
import time

os.environ["GLIA_CACHE"] = "off"  # compile times are those of a first compile

import glia
import jax
import jax.numpy as jnp

SIZES = [(1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 4096, 8192), (1000, 3000, 5000)]
LAYOUTS = ("nn", "nt", "tn", "tt")
TARGETS = ("trn1", "trn2", "trn3")
HALF = 0.5  # due of everything for which nothing sharper is: twice the least time at most


def of(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def product(m, k, n, layout, dtype):
    """Rows times columns; t: the operand lies the other way round."""
    left = of(m, k, dtype=dtype) if layout[0] == "n" else of(k, m, dtype=dtype)
    right = of(k, n, dtype=dtype) if layout[1] == "n" else of(n, k, dtype=dtype)
    axes = (((1 if layout[0] == "n" else 0,), (0 if layout[1] == "n" else 1,)), ((), ()))
    return lambda a, b: jax.lax.dot_general(a, b, axes), (left, right)


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def norm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) * w + b


def rotary(x, c, s):
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)


def rotary_heads(x, c, s):
    return rotary(x, c[None, :, None, :], s[None, :, None, :])


def attention(q, k, v, causal=False):
    s = jnp.einsum("bqd,bkd->bqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        s = jnp.where(jnp.arange(s.shape[1])[:, None] >= jnp.arange(s.shape[2])[None], s, -jnp.inf)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s, -1), v)


def backward(causal):
    """The gradients of q, k and v. The weights are made again."""
    return lambda q, k, v, g: jax.vjp(lambda *a: attention(*a, causal), q, k, v)[1](g)


def scores(q, k):
    return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) * q.shape[-1] ** -0.5, -1)


def gated(x, gate, up, down):
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


def layers(dtype, short):
    """Products and what stands around them in models."""
    m, k, n = 4096, 2048, 2048
    x, w = of(m, k, dtype=dtype), of(k, n, dtype=dtype)
    yield f"norm, product {short}", 0.85, lambda x, g, w: norm(x, g) @ w, (x, of(k, dtype=dtype), w)
    yield f"product, norm {short}", 0.77, lambda x, w, g: norm(x @ w, g), (x, w, of(n, dtype=dtype))
    rank = (of(k, 16, dtype=dtype), of(16, n, dtype=dtype))
    yield f"low rank {short}", 0.7, lambda x, w, a, b: x @ w + (x @ a) @ b, (x, w, *rank)
    yield f"gated {short}", 0.93, gated, (x, w, w, of(n, k, dtype=dtype))
    due = 0.77 if short == "f32" else 0.5
    yield f"scores {short}", due, scores, (of(4, 2048, 128, dtype=dtype),) * 2


def middle_norm(x):
    centred = x - x.mean(1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(1, keepdims=True) + 1e-6)


def biases(table, places):
    """Relative positions of an attention over windows of 7 x 7: a row of the table for each pair."""
    return table[places].reshape(49, 49, 4).transpose(2, 0, 1)


def chain(x):
    return x * jnp.tanh(x) / (1 + jnp.exp(-x))


def pair(p, q):
    return p[0] * q[0], q[0] * p[1] + q[1]


def states(axis):
    return lambda a, b: jax.lax.associative_scan(pair, (a, b), axis=axis)[1]


def carried(h, a, x):
    return jax.lax.scan(lambda h, t: (t[0] * h + t[1],) * 2, h, (a, x))


def scans():
    rows = of(1024, 4096)
    yield "associative scan 1024x4096", 0.67, states(1), (rows, rows)
    yield "scan loop 2048 of 2048", HALF, carried, (of(2048), of(2048, 2048), of(2048, 2048))
    yield "cumsum 2048x8192", 0.67, lambda x: jnp.cumsum(x, 1), (of(2048, 8192),)
    yield "cumsum 8192x2048, axis 0", 0.67, lambda x: jnp.cumsum(x, 0), (of(8192, 2048),)
    yield "cumsum 2048x8192, reverse", HALF, lambda x: jax.lax.cumsum(x, 1, reverse=True), (of(2048, 8192),)
    yield "cumsum 1048576", HALF, jnp.cumsum, (of(1048576),)


def depthwise(stride):
    def apply(x, w):
        numbers = ("NCHW", "OIHW", "NCHW")
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", feature_group_count=x.shape[1], dimension_numbers=numbers
        )

    return apply, (of(8, 192, 56, 56), of(192, 1, 3, 3))


def rows():
    """(name, what is due of least / predicted, function, arguments)"""
    for dtype, short in ((jnp.float32, "f32"), (jnp.bfloat16, "bf16")):
        for size in SIZES:
            for layout in LAYOUTS:
                due = 0.92 if min(size) >= 4096 else 0.85 if max(size) >= 2048 else HALF
                yield f"product {short} {'x'.join(map(str, size))} {layout}", due, *product(*size, layout, dtype)
        big = of(8192, 4096, dtype=dtype)
        yield f"chain {short}", 0.8, chain, (big,)
        yield f"silu {short}", 0.8, jax.nn.silu, (big,)
        yield f"gelu {short}", 0.8, jax.nn.gelu, (big,)
        yield f"gelu by erfc {short}", 0.8, lambda x: jax.nn.gelu(x, approximate=False), (big,)
        yield f"bias and gelu {short}", 0.69, lambda x, b: jax.nn.gelu(x + b), (big, of(4096, dtype=dtype))
        yield f"softplus {short}", 0.8, jax.nn.softplus, (big,)
        yield f"mish {short}", 0.8, jax.nn.mish, (big,)
        yield f"leaky relu {short}", 0.8, jax.nn.leaky_relu, (big,)
        yield f"elu {short}", 0.4 if short == "bf16" else 0.65, jax.nn.elu, (big,)
        yield f"quotient {short}", 0.8, jnp.divide, (big, big)
        yield f"layer norm {short}", 0.5 if short == "bf16" else 0.79, layer_norm, (big, *(of(4096, dtype=dtype),) * 2)
        yield f"log softmax {short}", 0.8, jax.nn.log_softmax, (big,)
        yield f"norm {short}", 0.8, norm, (big, of(4096, dtype=dtype))
        yield f"softmax {short}", 0.8, jax.nn.softmax, (big,)
        yield f"rotary {short}", 0.8, rotary, (big, of(8192, 2048, dtype=dtype), of(8192, 2048, dtype=dtype))
        heads = (of(4, 2048, 32, 128, dtype=dtype), *(of(2048, 64, dtype=dtype),) * 2)
        yield f"rotary of heads {short}", 0.8, rotary_heads, heads
        yield from layers(dtype, short)
        for heads, length, width in ((4, 2048, 64), (4, 2048, 128), (1, 4096, 128), (1, 16384, 64)):
            qkv = (of(heads, length, width, dtype=dtype),) * 3
            yield f"attention {short} {heads}x{length}x{width}", 1 / 1.35, attention, qkv
            causal = lambda q, k, v: attention(q, k, v, True)  # noqa: E731
            yield f"attention causal {short} {heads}x{length}x{width}", 1 / 1.35, causal, qkv
        for heads, length, width in ((4, 2048, 64), (4, 2048, 128), (1, 4096, 128)):
            qkvg = (of(heads, length, width, dtype=dtype),) * 4
            yield f"attention backward {short} {heads}x{length}x{width}", 1 / 1.6, backward(False), qkvg
            yield f"attention backward causal {short} {heads}x{length}x{width}", 1 / 1.6, backward(True), qkvg
    yield "depthwise f32 3x3", HALF, *depthwise(1)
    yield "depthwise f32 3x3 by 2", HALF, *depthwise(2)
    yield "product by element f32", HALF, lambda x, y: jnp.einsum("bslh,sh->bslh", x, y), (of(2, 64, 16, 8), of(64, 8))
    yield "inner products f32", HALF, lambda x, y: jnp.einsum("bsh,bsh->bs", x, y), (of(64, 128, 64),) * 2
    yield "softmax of a middle axis f32", HALF, lambda x: jax.nn.softmax(x, axis=1), (of(8, 512, 128),)
    yield "maximum of the first axis f32", HALF, lambda x: x.max(0), (of(4096, 512),)
    yield "norm of a middle axis f32", HALF, middle_norm, (of(8, 512, 128),)
    yield "position biases f32", HALF, biases, (of(169, 4), of(2401, dtype=jnp.int32))
    yield "top_k f32", HALF, lambda x: jax.lax.top_k(x, 50), (of(1, 50257),)
    yield "top_k of 8 rows f32", HALF, lambda x: jax.lax.top_k(x, 50), (of(8, 50257),)
    yield "argmax f32", HALF, lambda x: jnp.argmax(x, -1), (of(8, 50257),)
    moment = of(4096, 4096)
    yield "adam f32", 0.8, adam, (moment,) * 4
    yield "adam bf16", 0.8, adam, (of(4096, 4096, dtype=jnp.bfloat16),) * 4
    yield from scans()


def measure(report=None, only=(), targets=TARGETS):
    for name, due, function, arguments in rows():
        if only and not any(part in name for part in only):
            continue
        for target in targets:
            start = time.perf_counter()
            exe = glia.jit(function, target=target).compile(*arguments)
            seconds = time.perf_counter() - start
            bound, predicted = exe.bound(), exe.time()
            ratio = bound["total"] / predicted
            if report:
                report(f"least / predicted: {name}, {target}", ratio, f">= {due}", ratio >= due, "")
            else:
                print(
                    f"{name:32} {target} {predicted / 1e6:9.3f} ms {bound['total'] / 1e6:9.3f} ms {ratio:6.2f} "
                    f"{'' if ratio >= due else '< ' + str(due):8} {bound['reason']:22} "
                    f"{exe.program.instructions:8} instructions, {seconds:.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    words = sys.argv[1:]
    measure(only=[w for w in words if w not in TARGETS], targets=[t for t in TARGETS if t in words] or TARGETS)
