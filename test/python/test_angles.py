"""Sine, cosine and tangent in graphs, of every size of argument, against NumPy in float64."""

import glia
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

WORST = 16367173 * 2.0**72  # the fp32 number that is next to a multiple of pi / 2
TARGETS = ("trn1", "trn2", "trn3")
FUNCTIONS = {"sin": (jnp.sin, np.sin, 4), "cos": (jnp.cos, np.cos, 4), "tan": (jnp.tan, np.tan, 8)}


def angles() -> np.ndarray:
    random = np.random.default_rng(1)
    special = [0.0, 1e-45, -1e-40, 1e-38, WORST, -WORST, 65536, 65537, 4e19, 3.4028235e38]
    special += [2.0**e for e in (16, 24, 32, 33, 64, 65, 96, 97, 127)]
    parts = [
        np.array(special),
        random.uniform(-10, 10, 256),
        10 ** random.uniform(3, 6, 256),
        1e10 * random.uniform(0.5, 2, 128),
        10 ** random.uniform(19, 38.5, 512) * random.choice([-1, 1], 512),
        np.floor(2 ** random.uniform(0, 25, 512)) * np.pi / 2,
    ]
    x = np.concatenate(parts).astype(np.float32)
    return np.resize(x, (128, 14))


X = angles()


def ulps(got: np.ndarray, x: np.ndarray, function) -> float:
    want = function(x.astype(np.float64))
    return float((np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32))).max())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_angle(name, target):
    ours, numpys, allowed = FUNCTIONS[name]
    exe = glia.jit(ours, target=target).compile(X)
    assert exe.verify().ok
    assert ulps(exe.run(X), X, numpys) <= allowed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_number_gives_none(name):
    x = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    assert np.isnan(glia.jit(FUNCTIONS[name][0])(x)).tolist() == [True, True, True, False]
    clipped = glia.jit(lambda x: FUNCTIONS[name][0](x.astype(jnp.float16)))(x)
    assert np.isnan(clipped).tolist() == [True, True, True, False]


def test_signs_of_zero():
    zeros = np.array([0.0, -0.0], np.float32)
    for function in (jnp.sin, jnp.tan, lambda x: jnp.sin(jnp.clip(x, -1, 1))):
        assert np.signbit(glia.jit(function)(zeros)).tolist() == [False, True]


@pytest.mark.parametrize("target", TARGETS)
def test_next_to_each_small_multiple(target):
    """All multiples of pi / 2 up to the limit, of angles that are known to be small and of others."""
    x = np.resize((np.arange(41721) * np.pi / 2).astype(np.float32), (128, 326))
    assert np.abs(x).max() < 65536
    for ours, numpys, allowed in FUNCTIONS.values():
        assert ulps(glia.jit(ours, target=target)(x), x, numpys) <= allowed
        small = glia.jit(lambda x, f=ours: f(jnp.clip(x, -65535.0, 65535.0)), target=target)
        if ours is jnp.tan:
            assert ulps(small(x), x, numpys) <= allowed
        else:
            assert np.abs(small(x) - numpys(x.astype(np.float64))).max() <= 2**-22


def test_tangents_of_near_angles():
    x = np.resize(np.concatenate([np.arange(81) * np.pi / 2, np.linspace(-127, 127, 943)]).astype(np.float32), (128, 8))
    near = glia.jit(lambda x: jnp.tan(jnp.clip(x, -127.0, 127.0))).compile(x)
    assert ulps(near.run(x), x, np.tan) <= 8
    assert near.program.instructions < glia.jit(jnp.tan).compile(x).program.instructions / 3


SMALL = {
    "tanh": jnp.tanh,
    "clip": lambda x: jnp.clip(x, -100, 100),
    "minimum and maximum": lambda x: jnp.maximum(jnp.minimum(x, 50.0), -60.0),
    "half floats": lambda x: x.astype(jnp.float16),
    "a fraction": lambda x: 6.28 * (x - jnp.floor(x)),
    "bytes": lambda x: x.astype(jnp.int8).astype(jnp.float32) * 0.5,
    "rotary": lambda x: x * 0 + jnp.arange(1024).astype(jnp.float32)[:1] / 10000.0 ** (jnp.arange(14) / 14),
}
# What may be large all the same: a bound that is no bound, or one that an infinity gets around.
LARGE = {
    "an argument": lambda xp, x: x,
    "below": lambda xp, x: xp.minimum(x, 5.0),
    "between infinities": lambda xp, x: xp.minimum(xp.maximum(x, -xp.inf), xp.inf),
    "above an infinity": lambda xp, x: xp.maximum(x, xp.float32(-xp.inf) * (xp.abs(x) + 1)),
    "a sum": lambda xp, x: x + 1.0,
    "a product": lambda xp, x: x * 0.5,
    "a remainder": lambda xp, x: xp.fmod(x, xp.float32(xp.inf)),
}


def instructions(function) -> int:
    return glia.jit(lambda x: jnp.sin(function(x))).compile(X).program.instructions


@pytest.mark.parametrize("name", SMALL)
def test_known_small_angles_are_cheap(name):
    alone = glia.jit(SMALL[name]).compile(X).program.instructions
    assert instructions(SMALL[name]) <= alone + 14 < instructions(lambda x: x)


@pytest.mark.parametrize("name", LARGE)
def test_unknown_angles_are_right(name):
    want = LARGE[name](np, X).astype(np.float32)
    assert np.abs(want).max() > 1e30
    got = glia.jit(lambda x: jnp.sin(LARGE[name](jnp, x)))(X)
    assert np.abs(got - np.sin(want.astype(np.float64))).max() <= 2**-22
