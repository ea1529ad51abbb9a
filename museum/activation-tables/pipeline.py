"""A training step of a transformer in two stages, each on a rank of its own: the second rank has the later half of the blocks. The batch goes
through in parts, so that both stages are busy; collective_permute hands activations on, and gradients back. Held against the whole
transformer on one device.

python museum/activation-tables/pipeline.py
"""

import functools
import sys
from pathlib import Path

import glia
import jax
import jax.numpy as jnp
import numpy as np
import transformer
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, row_of, show

STAGES, PARTS, DEPTH = 2, 4, 4
TOPOLOGY = "trn2.48xlarge"


def loss(parameters, x, target):
    """Of all parts, on every rank. `blocks` are the stage's own. In each round every stage works on one part: a later one than the stage
    behind it. Outside of the batch a stage works on zeros, which nothing depends on."""
    stage = lax.axis_index("stage")
    received, total = jnp.zeros((x.shape[0] // PARTS, *x.shape[1:-1], transformer.WIDTH), x.dtype), 0.0
    parts, targets = jnp.split(x, PARTS), jnp.split(target, PARTS)
    for t in range(PARTS + STAGES - 1):
        first = transformer.linear(parameters["first"], parts[min(t, PARTS - 1)])
        y = jnp.where(stage == 0, first, received)
        for p in parameters["blocks"]:
            y = transformer.block(jax.tree.map(lambda a: a[0], p), y)
        if t >= STAGES - 1:
            missed = transformer.linear(parameters["last"], y) - targets[t - STAGES + 1]
            total += jnp.where(stage == STAGES - 1, jnp.mean(jnp.square(missed)), 0) / PARTS
        received = lax.ppermute(y, "stage", [(s, s + 1) for s in range(STAGES - 1)])
    return lax.psum(total, "stage")


def sharded_step():
    mesh = Mesh(np.array(glia.devices(STAGES)), ("stage",))
    held = {"first": P(), "blocks": P("stage"), "last": P()}
    return jax.shard_map(jax.value_and_grad(loss), mesh=mesh, in_specs=(held, P(), P()), out_specs=(P(), held))


def arguments():
    """Parameters, input and target of a batch; all blocks one after the other."""
    parameters, *_ = transformer.arguments(DEPTH, np.float32)
    random = np.random.default_rng(1315)
    shape = (PARTS, transformer.LENGTH, transformer.SIDE)
    return parameters, *(random.standard_normal(shape).astype(np.float32) for _ in range(2))


def staged(parameters):
    """Block i of every stage as one array, the stages in front."""
    blocks, each = parameters["blocks"], DEPTH // STAGES
    stacked = [jax.tree.map(lambda *a: np.stack(a), *blocks[i::each]) for i in range(each)]
    return {**parameters, "blocks": stacked}


@functools.cache
def on_host():
    """What JAX gives on the CPU, in f32 and in f64, in the order of the stages."""
    jitted, args = jax.jit(transformer.step), arguments()
    results = jax.tree.map(np.asarray, jitted(*args)), float64(jitted, *args)
    return tuple((value, staged(gradient)) for value, gradient in results)


def measure(topology=TOPOLOGY):
    """The row of the step: compiled, proved, run, and held against JAX on the CPU in f64 and in f32."""
    parameters, *batch = arguments()
    args = staged(parameters), *batch
    function = glia.jit(sharded_step(), target=topology[:4], topology=topology)
    exe, seconds = compiled(lambda: function.compile(*args))
    error, allowed = against_twin(exe.run(*args), *on_host())
    name = f"{DEPTH} blocks, {STAGES} stages, {PARTS} parts"
    return row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor="not reported")


def rows(everything=False):
    for topology in (TOPOLOGY, "trn1.32xlarge") if everything else (TOPOLOGY,):
        yield measure(topology)


if __name__ == "__main__":
    sys.exit(show(rows(everything=True)))
