"""A training step of ResNet on eight ranks, data parallel: each rank has images of its own, normalises over them, and all_reduce makes the
mean of the gradients. Held against the same on one device: the parts one after the other, their gradients averaged.

python museum/conv7x7-backward/data_parallel.py
"""

import functools
import sys
from pathlib import Path

import glia
import jax
import numpy as np
import resnet
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table import against_twin, compiled, float64, relative_error, row_of, show

RANKS = 8
TOPOLOGY = "trn1.32xlarge"
SMALL = ((8, 1), (16, 2))  # channels and blocks, as resnet.BLOCKS
VENDOR = "not reported"


def rank_step(parameters, x, label):
    """What one rank does; the gradient of a mean over ranks is the mean of their gradients."""
    mean = lambda p: lax.pmean(resnet.loss(p, x, label), "data")  # noqa: E731
    value, gradients = jax.value_and_grad(mean)(parameters)
    return value, resnet.descended(parameters, gradients)


def sharded_step():
    mesh = Mesh(np.array(glia.devices(RANKS)), ("data",))
    return jax.shard_map(rank_step, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())


part_step = jax.jit(jax.value_and_grad(resnet.loss))


def on_one_device(parameters, x, label, parts=RANKS):
    made = [part_step(parameters, *both) for both in zip(np.split(x, parts), np.split(label, parts), strict=True)]
    value, gradients = jax.tree.map(lambda *each: np.mean(each, axis=0), *made)
    return value, resnet.descended(parameters, gradients)


@functools.cache
def on_host(case):
    """What JAX gives on the CPU for a case, in f32 and in f64. A ReLU whose argument is almost zero goes one way or the other by a rounding: in f32
    the images are also taken moved by one unit, and of each result the one that is farthest from f64 counts."""
    _, (parameters, x, label) = case()
    want = float64(on_one_device, parameters, x, label)
    random = np.random.default_rng(0)
    moved = [x, *(x * (1 + np.float32(2**-23) * random.choice([-1, 0, 1], x.shape)).astype(x.dtype) for _ in range(5))]
    twins = [on_one_device(parameters, each, label) for each in moved]
    return jax.tree.map(lambda w, *ts: max(ts, key=lambda t: relative_error(t, w)), want, *twins), want


def small_case():
    random = np.random.default_rng(36)
    x = random.standard_normal((2 * RANKS, 3, 20, 24)).astype(np.float32)
    label = random.integers(0, 10, 2 * RANKS).astype(np.int32)
    return f"small ResNet, a step, {RANKS} ranks", (resnet.parameters(random, SMALL, 8, 10), x, label)


def whole_case(rows=64, columns=128):
    random = np.random.default_rng(37)
    x = random.standard_normal((RANKS, 3, rows, columns)).astype(np.float32)
    label = random.integers(0, resnet.CLASSES, RANKS).astype(np.int32)
    return f"ResNet-34, a step, {RANKS} ranks", (resnet.parameters(random), x, label)


def measure(case, topology=TOPOLOGY):
    """The row of one program: compiled, proved, run, and held against JAX on the CPU in f64 and in f32."""
    name, args = case()
    function = glia.jit(sharded_step(), target=topology[:4], topology=topology)
    exe, seconds = compiled(lambda: function.compile(*args))
    error, allowed = against_twin(exe.run(*args), *on_host(case))
    return row_of(exe, name, seconds=seconds, error=error, allowed=allowed, vendor=VENDOR)


def rows(everything=False):
    """A small network of the same kinds of blocks; with everything ResNet-34."""
    for case in (small_case, whole_case) if everything else (small_case,):
        yield measure(case)


if __name__ == "__main__":
    sys.exit(show(rows(everything=True)))
