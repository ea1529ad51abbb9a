"""A decoder in JAX that calls the chunk kernel: three layers of linear attention, then one of attention with grouped queries, and so on;
each is followed by a mixture of experts. Widths are small, the structure is that of the model of the report.

python -m glia museum/deltanet-in-a-model/deltanet_model.py
"""

import functools
import sys
from pathlib import Path

import glia
import jax
import jax.numpy as jnp
import numpy as np
from deltanet import N, chunk

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, row_of, show

TOKENS = 2 * N
VOCABULARY = 512
WIDTH = 128
HEADS = 2  # of linear attention, each as wide as a chunk of the kernel is long
TAPS = 4  # of the convolution before it
QUERY_HEADS, KEY_HEADS, HEAD = 4, 2, 32
EXPERTS, CHOSEN, HIDDEN = 4, 2, 128
PERIOD = 4  # every fourth layer is attention
CORES = (("trn1", 1), ("trn2", 2), ("trn3", 2))
VENDOR = "out-of-bound access (vector DGE) on the device"


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight


def unit(x):
    return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6)


def in_chunks(query, key, value, beta, log_decay):
    """The gated delta rule by the kernel: per head one chunk after the other, the state handed on."""
    below, on = np.tril(np.ones((N, N), np.float32), -1), np.tril(np.ones((N, N), np.float32))
    eye = np.eye(N, dtype=np.float32)
    parts = log_decay.reshape(TOKENS // N, N, -1)
    sums = jnp.einsum("ts,csh->cth", on, parts, precision="highest")  # in each chunk, up to each token
    heads = []
    for h in range(query.shape[1]):
        state, outputs = jnp.zeros((N, N), jnp.float32), []
        for c in range(TOKENS // N):
            rows = slice(c * N, (c + 1) * N)
            columns = (beta[rows, h : h + 1], sums[c, :, h : h + 1], sums[c, N - 1 :, h : h + 1])
            wide = (jnp.broadcast_to(x, (N, N)) for x in columns)
            out, state = chunk(query[rows, h], key[rows, h], value[rows, h], *wide, state, below, eye, on)
            outputs.append(out)
        heads.append(jnp.concatenate(outputs))
    return jnp.stack(heads, axis=1)


def by_token(query, key, value, beta, log_decay):
    """The same as it is defined, one token after the other: decay the state, correct what it holds for this key, read it."""

    def step(state, token):
        q, k, v, b, g = token
        state = state * jnp.exp(g)[:, None, None]
        held = jnp.einsum("hk,hkv->hv", k, state, precision="highest")
        state = state + k[:, :, None] * (b[:, None] * (v - held))[:, None, :]
        return state, jnp.einsum("hk,hkv->hv", q, state, precision="highest")

    state = jnp.zeros((query.shape[1], N, N), query.dtype)
    return jax.lax.scan(step, state, (query, key, value, beta, log_decay))[1]


def causal_convolution(x, taps):
    """Every channel by itself: the sum of the last tokens, each with its weight."""
    padded = jnp.pad(x, ((TAPS - 1, 0), (0, 0)))
    return sum(padded[t : t + TOKENS] * taps[t] for t in range(TAPS))


def all_here(part):
    """What all ranks have of a sum, where there is one."""
    return part


@functools.partial(jax.jit, static_argnums=(0, 1))
def linear_attention(rule, whole, p, x):
    h = norm(x, p["norm"])
    heads = p["qkv"].shape[2]
    mixed = causal_convolution(h @ p["qkv"].reshape(WIDTH, -1), p["taps"].reshape(TAPS, -1))
    mixed = jax.nn.silu(mixed).reshape(TOKENS, 3, heads, N)
    query, key, value = unit(mixed[:, 0]) * N**-0.5, unit(mixed[:, 1]), mixed[:, 2]
    beta = jax.nn.sigmoid(h @ p["beta"])
    log_decay = -jnp.exp(p["log_rate"]) * jax.nn.softplus(h @ p["rate"] + p["rate_bias"])
    out = norm(rule(query, key, value, beta, log_decay), p["out_norm"]).reshape(TOKENS, heads * N)
    return x + whole((out * jax.nn.silu(h @ p["gate"])) @ p["out"])


def rotated(x, cos, sin):
    """The two halves of each head as one complex number, turned by an angle that grows with the position."""
    a, b = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


@functools.partial(jax.jit, static_argnums=0)
def attention(whole, p, x):
    h = norm(x, p["norm"])
    queries, keys = p["query"].shape[1] // HEAD, p["key"].shape[1] // HEAD
    angle = np.arange(TOKENS)[:, None] * 10000.0 ** -(np.arange(HEAD // 2) / (HEAD // 2))
    cos, sin = (f(angle)[:, None, :].astype(x.dtype) for f in (np.cos, np.sin))
    query = rotated(norm((h @ p["query"]).reshape(TOKENS, queries, HEAD), p["query_norm"]), cos, sin)
    key = rotated(norm((h @ p["key"]).reshape(TOKENS, keys, HEAD), p["key_norm"]), cos, sin)
    value = (h @ p["value"]).reshape(TOKENS, keys, HEAD)
    query = query.reshape(TOKENS, keys, queries // keys, HEAD)  # queries that share a key
    score = jnp.einsum("tkgd,skd->kgts", query, key, precision="highest") * HEAD**-0.5
    place = jnp.arange(TOKENS)
    score = jnp.where(place[:, None] >= place[None, :], score, -1e30)
    out = jnp.einsum("kgts,skd->tkgd", jax.nn.softmax(score, axis=-1), value, precision="highest")
    return x + whole(out.reshape(TOKENS, queries * HEAD) @ p["out"])


@functools.partial(jax.jit, static_argnums=0)
def experts(whole, p, x):
    """Each token goes to the experts that its router likes best, in shares that add up to one; and to one that all share. `number`: of
    the experts that are here."""
    h = norm(x, p["norm"])
    share, chosen = jax.lax.top_k(jax.nn.softmax(h @ p["router"], axis=-1), CHOSEN)
    share = share / jnp.sum(share, axis=-1, keepdims=True)
    shares = jnp.sum(jnp.where(chosen[:, :, None] == p["number"], share[:, :, None], 0), axis=1)
    inner = jax.nn.silu(jnp.einsum("td,edf->tef", h, p["gate"])) * jnp.einsum("td,edf->tef", h, p["up"])
    routed = jnp.einsum("tef,efd->td", inner * shares[:, :, None], p["down"])
    common = (jax.nn.silu(h @ p["shared_gate"]) * (h @ p["shared_up"])) @ p["shared_down"]
    return x + whole(routed + jax.nn.sigmoid(h @ p["shared_share"]) * common)


def decoder(rule, p, tokens, whole=all_here):
    """Logits of every token. Heads and hidden units are as many as the parameters have: a rank may have a part of them, and `whole` adds the
    parts of a sum."""
    x = p["embedding"][tokens]
    for n, (mixer, feed_forward) in enumerate(p["layers"]):
        x = attention(whole, mixer, x) if n % PERIOD == PERIOD - 1 else linear_attention(rule, whole, mixer, x)
        x = experts(whole, feed_forward, x)
    return norm(x, p["norm"]) @ p["head"]


def model(p, tokens):
    return decoder(in_chunks, p, tokens)


def twin(p, tokens):
    """The same without the kernel."""
    return decoder(by_token, p, tokens)


def inputs(layers, seed=1306, times=1):
    """Weights and tokens; `times`: more heads."""
    heads = times * HEADS
    rng = np.random.default_rng(seed)

    def matrix(*shape, scale=1.0):
        return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale * shape[-2] ** -0.5)

    def near_one(n):
        return 1 + np.float32(0.1) * rng.standard_normal(n, dtype=np.float32)

    def mixer(n):
        if n % PERIOD == PERIOD - 1:
            wide, narrow = times * QUERY_HEADS * HEAD, times * KEY_HEADS * HEAD
            matrices = {"query": matrix(WIDTH, wide), "key": matrix(WIDTH, narrow), "value": matrix(WIDTH, narrow)}
            norms = {"norm": near_one(WIDTH), "query_norm": near_one(HEAD), "key_norm": near_one(HEAD)}
            return matrices | norms | {"out": matrix(wide, WIDTH, scale=0.5)}
        return {
            "norm": near_one(WIDTH),
            "qkv": matrix(WIDTH, 3 * heads * N).reshape(WIDTH, 3, heads, N),
            "taps": matrix(TAPS, 3 * heads * N, scale=0.5).reshape(TAPS, 3, heads, N),
            "beta": matrix(WIDTH, heads),
            "rate": matrix(WIDTH, heads),
            "rate_bias": -2 + near_one(heads),
            "log_rate": np.log(np.linspace(0.05, 0.5, heads, dtype=np.float32)),
            "out_norm": near_one(N),
            "gate": matrix(WIDTH, heads * N),
            "out": matrix(heads * N, WIDTH, scale=0.5),
        }

    def feed_forward():
        return {
            "norm": near_one(WIDTH),
            "router": matrix(WIDTH, EXPERTS),
            "number": np.arange(EXPERTS, dtype=np.int32),
            "gate": matrix(EXPERTS, WIDTH, HIDDEN),
            "up": matrix(EXPERTS, WIDTH, HIDDEN),
            "down": matrix(EXPERTS, HIDDEN, WIDTH, scale=0.5),
            "shared_gate": matrix(WIDTH, HIDDEN),
            "shared_up": matrix(WIDTH, HIDDEN),
            "shared_down": matrix(HIDDEN, WIDTH, scale=0.5),
            "shared_share": matrix(WIDTH, 1),
        }

    p = {
        "embedding": matrix(VOCABULARY, WIDTH, scale=VOCABULARY**0.5),
        "layers": [(mixer(n), feed_forward()) for n in range(layers)],
        "norm": near_one(WIDTH),
        "head": matrix(WIDTH, VOCABULARY),
    }
    return p, rng.integers(0, VOCABULARY, TOKENS, dtype=np.int32)


@functools.lru_cache(maxsize=4)
def references(layers):
    """(arguments, logits of JAX on the CPU in fp32, the same in float64)."""
    args = inputs(layers)
    return args, twin(*args), float64(twin, *args)  # not jitted as a whole: each kind of layer is, once


def measured(target, layers, cores=1, vendor=""):
    """(compiled, its row); the model and its twin are fp32."""
    args, *twins = references(layers)
    exe, seconds = compiled(lambda: glia.jit(model, target=target, lnc=cores).compile(*args))
    error, allowed = against_twin(exe.run(*args), *twins)
    name = f"{layers} layers, {cores} core{'s' * (cores > 1)}"
    return exe, row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor=vendor)


def rows(everything=False):
    """4 layers, with everything also 40; on two cores that work as one (LNC2, as in the report) where a target has them."""
    for layers in (4, 40) if everything else (4,):
        for target, cores in CORES:
            yield measured(target, layers, cores, VENDOR if target == "trn2" else "not reported")[1]


if __name__ == "__main__":
    sys.exit(show(rows(everything=True)) != 0)
