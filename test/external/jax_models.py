"""Models of flax with the structure of public ones and reduced width on the platform glia: forward and one training step (optax), compared with JAX on
the CPU.

    .venv/bin/python test/external/jax_models.py [--forward] [name ...]

Needs flax and optax beside JAX. Each model passes, is refused with a code, or is wrong; the script fails if one is wrong.
Logits, loss, gradients and new parameters are judged against double: see model_runs.py.
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "glia,cpu"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from model_runs import failure, judged, run

WORDS, LENGTH, LABELS = 97, 12, 5


class Feed(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(self.width)(x)))


class Experts(nn.Module):
    """Each token goes to two of the experts, as far as they have room; what finds none is left out."""

    width: int
    experts: int = 4
    chosen: int = 2
    room: int = 8

    @nn.compact
    def __call__(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        weights, which = jax.lax.top_k(jax.nn.softmax(nn.Dense(self.experts, use_bias=False)(tokens)), self.chosen)
        weights = weights / weights.sum(-1, keepdims=True)
        sent = jax.nn.one_hot(which, self.experts)  # token, choice, expert
        order = sent.transpose(1, 0, 2).reshape(-1, self.experts)  # first choices first
        place = ((jnp.cumsum(order, 0) - order) * order).sum(-1).reshape(self.chosen, -1).T
        seats = sent[..., None] * jax.nn.one_hot(place.astype(jnp.int32), self.room)[:, :, None, :]
        shape = (self.experts, x.shape[-1], self.width)
        up = self.param("up", nn.initializers.lecun_normal(batch_axis=0), shape)
        down = self.param("down", nn.initializers.lecun_normal(batch_axis=0), (shape[0], shape[2], shape[1]))
        inside = jnp.einsum("tkes,td->esd", seats, tokens)
        made = jnp.einsum("esh,ehd->esd", nn.silu(jnp.einsum("esd,edh->esh", inside, up)), down)
        return jnp.einsum("tkes,tk,esd->td", seats, weights, made).reshape(x.shape)


class RoutedRows(nn.Module):
    """The same by sorting: tokens are gathered in the order of their experts, the products are ragged."""

    width: int
    experts: int = 4
    chosen: int = 2

    @nn.compact
    def __call__(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        weights, which = jax.lax.top_k(jax.nn.softmax(nn.Dense(self.experts, use_bias=False)(tokens)), self.chosen)
        weights = weights / weights.sum(-1, keepdims=True)
        order = jnp.argsort(which.reshape(-1), stable=True)
        sizes = jnp.bincount(which.reshape(-1), length=self.experts).astype(jnp.int32)
        shape = (self.experts, x.shape[-1], self.width)
        up = self.param("up", nn.initializers.lecun_normal(batch_axis=0), shape)
        down = self.param("down", nn.initializers.lecun_normal(batch_axis=0), (shape[0], shape[2], shape[1]))
        rows = tokens[order // self.chosen]
        made = jax.lax.ragged_dot(nn.silu(jax.lax.ragged_dot(rows, up, sizes)), down, sizes)
        back = jnp.zeros_like(made).at[order].set(made).reshape(-1, self.chosen, x.shape[-1])
        return (back * weights[..., None]).sum(1).reshape(x.shape)


class Block(nn.Module):
    feed: type
    causal: bool

    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2])) if self.causal else None
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x), mask=mask)
        return x + self.feed(2 * x.shape[-1])(nn.LayerNorm()(x))


class Language(nn.Module):
    feed: type = Feed
    width: int = 32
    layers: int = 2

    @nn.compact
    def __call__(self, tokens):
        words = nn.Embed(WORDS, self.width)
        x = words(tokens) + nn.Embed(32, self.width)(jnp.arange(tokens.shape[1]))
        for _ in range(self.layers):
            x = Block(self.feed, True)(x)
        return words.attend(nn.LayerNorm()(x))


class Scanned(nn.Module):
    """One layer's code for all of them: nn.scan over stacked weights, with remat."""

    width: int = 32
    layers: int = 3

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(WORDS, self.width)(tokens)
        layer = nn.scan(nn.remat(Step), variable_axes={"params": 0}, split_rngs={"params": True}, length=self.layers)
        x, _ = layer()(x, None)
        return nn.Dense(WORDS)(nn.RMSNorm()(x))


class Step(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return Block(Feed, True)(x), None


class StateSpace(nn.Module):
    """Mamba's layer: a short causal convolution of each channel, then a linear recurrence whose coefficients the input chooses."""

    states: int = 8

    @nn.compact
    def __call__(self, x):
        width, inner = x.shape[-1], 2 * x.shape[-1]
        x, gate = jnp.split(nn.Dense(2 * inner)(nn.RMSNorm()(x)), 2, -1)
        x = nn.silu(nn.Conv(inner, (4,), padding=((3, 0),), feature_group_count=inner)(x))
        into, out = jnp.split(nn.Dense(2 * self.states)(x), 2, -1)
        step = nn.softplus(nn.Dense(inner)(nn.Dense(2)(x)))
        rates = self.param("rates", lambda _: jnp.log(jnp.tile(jnp.arange(1.0, self.states + 1), (inner, 1))))
        decay = jnp.exp(-step[..., None] * jnp.exp(rates))
        fed = (step * x)[..., None] * into[:, :, None, :]
        _, state = jax.lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, fed), axis=1)
        return nn.Dense(width)((jnp.einsum("bldn,bln->bld", state, out) + x) * nn.silu(gate))


class Selective(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(WORDS, 32)(tokens)
        for _ in range(2):
            x = x + StateSpace()(x)
        return nn.Dense(WORDS)(nn.RMSNorm()(x))


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(WORDS, 24)(tokens)
        x = nn.RNN(nn.OptimizedLSTMCell(32, param_dtype=x.dtype))(x)
        x = nn.Bidirectional(*(nn.RNN(nn.GRUCell(16, param_dtype=x.dtype)) for _ in range(2)))(x)
        return nn.Dense(WORDS)(x)


class Vision(nn.Module):
    width: int = 32

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (4, 4), strides=(4, 4))(x)
        x = x.reshape(x.shape[0], -1, self.width)
        first = self.param("first", nn.initializers.normal(), (1, 1, self.width))
        x = jnp.concatenate([jnp.broadcast_to(first, (x.shape[0], 1, self.width)), x], 1)
        x = x + self.param("places", nn.initializers.normal(), (1, x.shape[1], self.width))
        for _ in range(2):
            x = Block(Feed, False)(x)
        return nn.Dense(LABELS)(nn.LayerNorm()(x)[:, 0])


class Residual(nn.Module):
    @nn.compact
    def __call__(self, x):
        def norm(x):
            return nn.BatchNorm(use_running_average=False)(x)

        x = nn.relu(norm(nn.Conv(16, (7, 7), strides=(2, 2), use_bias=False)(x)))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        for width, stride in ((16, 1), (32, 2)):
            y = nn.relu(norm(nn.Conv(width, (3, 3), strides=(stride, stride), use_bias=False)(x)))
            y = norm(nn.Conv(width, (3, 3), use_bias=False)(y))
            if x.shape != y.shape:
                x = norm(nn.Conv(width, (1, 1), strides=(stride, stride), use_bias=False)(x))
            x = nn.relu(x + y)
        return nn.Dense(LABELS)(x.mean((1, 2)))


class UNet(nn.Module):
    """Of diffusion: a time goes in, levels are joined by what was put aside, attention in the middle."""

    width: int = 8

    @nn.compact
    def __call__(self, x):
        angles = jnp.arange(1.0, x.shape[0] + 1)[:, None] * jnp.exp(-jnp.arange(4.0))
        when = nn.Dense(2 * self.width)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1))

        def block(x, width):
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(2)(x)) if x.shape[-1] % 2 == 0 else x)
            y = y + nn.Dense(width)(nn.silu(when))[:, None, None]
            return nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(2)(y))) + nn.Conv(width, (1, 1))(x)

        a = block(x, self.width)
        b = block(nn.avg_pool(a, (2, 2), strides=(2, 2)), 2 * self.width)
        flat = b.reshape(b.shape[0], -1, b.shape[-1])
        b = b + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(flat)).reshape(b.shape)
        wide = nn.ConvTranspose(self.width, (2, 2), strides=(2, 2))(b)
        wide = wide + jax.image.resize(b, (*a.shape[:3], b.shape[-1]), "bilinear")[..., : self.width]
        return nn.Conv(LABELS, (3, 3))(block(jnp.concatenate([a, wide], -1), self.width)).mean((1, 2))


TOKENS = np.arange(2 * LENGTH).reshape(2, LENGTH) * 7 % WORDS
MODELS = {
    "gpt": (Language(), TOKENS),
    "moe": (Language(feed=Experts), TOKENS),
    "moe-ragged": (Language(feed=RoutedRows), TOKENS),
    "scan": (Scanned(), TOKENS),
    "mamba": (Selective(), TOKENS),
    "rnn": (Recurrent(), TOKENS),
    "vit": (Vision(), 16),
    "resnet": (Residual(), 32),
    "unet": (UNet(), 16),
}


def example(given):
    """Inputs and labels."""
    if isinstance(given, int):
        shape = (2, given, given, 3)
        return np.sin(np.arange(np.prod(shape)).reshape(shape) * 0.37).astype(np.float32), np.array([1, 4], np.int32)
    return given.astype(np.int32), np.roll(given, -1, 1).astype(np.int32)


def forward(model):
    def function(variables, x, labels):
        logits, state = model.apply(variables, x, mutable=["batch_stats"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return loss, {"logits": logits, "loss": loss, "state": state}

    return function


def training(model):
    # A large epsilon: else a gradient that is zero but for rounding would be a step of its own.
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2, eps=1e-3))

    def step(variables, x, labels):
        parameters, rest = variables["params"], {k: v for k, v in variables.items() if k != "params"}

        def loss(p):
            return forward(model)({"params": p, **rest}, x, labels)

        gradients, made = jax.grad(loss, has_aux=True)(parameters)
        updates, moments = optimiser.update(gradients, optimiser.init(parameters), parameters)
        after = optax.apply_updates(parameters, updates)
        return made | {"gradient": gradients, "moments": moments, "parameters": after}

    return step


def evaluate(function, arguments, device, wide=False):
    """Names and values, in double, of what the function gives on a device."""

    def put(x):
        x = np.asarray(x)
        return jax.device_put(x.astype(np.float64) if wide and x.dtype == np.float32 else x, device)

    with jax.enable_x64(wide), jax.default_device(device):
        made = jax.jit(function)(*jax.tree.map(put, arguments))
        made = jax.tree_util.tree_leaves_with_path(made)
        return {jax.tree_util.keystr(path): np.asarray(x).astype(np.float64) for path, x in made}


def check(name, train):
    model, given = MODELS[name]
    cpu, device = jax.devices("cpu")[0], jax.devices("glia")[0]
    inputs, labels = example(given)
    with jax.default_device(cpu):
        arguments = (model.init(jax.random.key(0), inputs), inputs, labels)
    arguments = jax.tree.map(np.asarray, arguments)
    function = training(model) if train else lambda *a: forward(model)(*a)[1]
    want, exact = (evaluate(function, arguments, cpu, wide) for wide in (False, True))
    try:
        got = evaluate(function, arguments, device)
    except Exception as e:
        return failure(e, also=r"`\w+` cannot be compiled for the platform glia")
    return judged(got, want, exact)


if __name__ == "__main__":
    sys.exit(run(__doc__, MODELS, check))
