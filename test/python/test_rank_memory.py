"""Ranks that wait for their turn do not hold what they have done with, and share what all of them have got."""

import subprocess
import sys

import pytest

pytest.importorskip("jax")

RANKS, LAYERS, SIDE = 24, 8, 512
SCRIPT = f"""
import os, resource
os.environ["JAX_PLATFORMS"] = "cpu"
import glia, jax, jax.numpy as jnp, numpy as np
from glia import _glia
from glia.program import Program
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec as P

def loss(ws, x):
    for w in ws:
        x = x @ w
    return x.sum()

def step(ws, x):
    gradients = jax.grad(lambda ws: lax.psum(loss(ws, x), "data"))(ws)
    return [w - g for w, g in zip(ws, gradients)]

random = np.random.default_rng(0)
ws = [random.integers(-1, 2, ({SIDE}, {SIDE})).astype(np.float32) * (random.random(({SIDE}, {SIDE})) < 0.002) for _ in range({LAYERS})]
x = random.integers(-2, 3, ({RANKS}, {SIDE})).astype(np.float32)
mesh = AbstractMesh(({RANKS},), ("data",))
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
text = glia.jit(f, target="trn2").lower(ws, x).replace("mhlo.num_partitions = 1 ", "mhlo.num_partitions = {RANKS} ")
program = Program(_glia.compile_graph(text, "step", "trn2", "", 1, 1)[0])
want = [w - g for w, g in zip(ws, jax.grad(loss)(ws, x))]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
got = program.run(dict(zip((f"arg{{i}}" for i in range({LAYERS} + 1)), [*ws, x])), threads=1)
after = peak()
for i, w in enumerate(want):
    np.testing.assert_array_equal(got[f"result{{i}}"], w)
print(after - before)
"""


def test_ranks_that_wait_hold_little():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parameters = LAYERS * SIDE * SIDE * 4
    # Each has gradients of its own until they are added up; their sums and the results of each would be twice as much again.
    assert int(done.stdout) < 1.25 * RANKS * parameters
